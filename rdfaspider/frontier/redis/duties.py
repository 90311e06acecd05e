"""What a worker does for all: it buries who is gone, reads seeds, and names hosts that are to be placed."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rdfaspider.frontier.redis.batch import LANDS, LOOKS, TAKES, Batch, ignore

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.frontier.redis.desk import Desk
    from rdfaspider.frontier.redis.seedlist import SeedList

logger = logging.getLogger(__name__)

# Hosts that are named to be placed, at a time.
_PLACES = 100


class Duties:
    """`unplaced` are hosts that wait to be placed; `welcome` says which seeds may be crawled."""

    def __init__(self, desk: Desk, seeds: SeedList) -> None:
        self._desk = desk
        self._seeds = seeds
        self._dead: list[str] = []
        self._buried: set[str] = set()
        self._needs_recovery = False
        self.welcome: Callable[[list[str]], list[str]] = list
        self.unplaced: list[bytes] = []

    def add_to(self, batch: Batch, there: float) -> None:
        """Add what is to be done now."""
        for name in self._dead:
            self._bury(batch, there, name)
        self._dead = []
        if self._needs_recovery:
            self._needs_recovery = False
            self._recover(batch, there)
        if self._desk.politeness.server_delay is not None and not self.unplaced:
            known = {p for p, count in enumerate(self._desk.board.unplaced) if count}
            for partition in sorted(known | self._desk.filled):
                script = self._desk.scripts.unplaced(partition, there, _PLACES)
                batch.add(TAKES, script, self._named)

    def _bury(self, batch: Batch, there: float, name: str) -> None:
        for partition in range(self._desk.scripts.partitions):
            batch.add(LANDS, self._desk.scripts.evict(partition, there, name), self._desk.wake)
        batch.add(LANDS, self._seeds.give_up(name), ignore)
        batch.add(LOOKS, self._desk.crew.farewell(name), ignore)

    def _recover(self, batch: Batch, there: float) -> None:
        held = [*self._desk.held.values(), *self._desk.asking]
        for partition in range(self._desk.scripts.partitions):
            tokens = [lease.token for lease in held if lease.partition == partition]
            script = self._desk.scripts.evict_but(partition, there, tokens)
            batch.add(LANDS, script, self._desk.wake)

    def _named(self, reply: list[bytes]) -> None:
        self.unplaced += reply

    def sow(self, reply: list[bytes]) -> None:
        """Take in seeds that were read."""
        seeds = self._seeds.seeds(reply)
        welcome = set(self.welcome([url for url, _ in seeds]) if seeds else ())
        for url, depth in seeds:
            if url in welcome:
                self._desk.take_in(url, depth)

    def note_gap(self) -> None:
        """Take in that Redis may have come back without its last second: links are to be told again, and what
        was handed out meanwhile is to be put back."""
        self._desk.known.clear()
        self._needs_recovery = True

    def note_dead(self, there: float) -> None:
        """See who is gone."""
        dead = self._desk.crew.dead(there)
        self._dead = [name for name in dead if name not in self._buried]
        self._buried = set(dead)  # who is back may die again
        for name in self._dead:
            logger.warning("The worker %s is gone: its URLs are handed out again.", name)
