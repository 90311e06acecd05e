"""A worker's share: which partitions it asks for URLs, and for how many.

Each partition has an owner among the workers that are present, so that connections, names and robots.txt
are at hand. The shares are even by the hosts at work. A partition whose owner lets it wait is
everybody's who has nothing to do.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from rdfaspider.frontier.partitions import even_out
from rdfaspider.frontier.redis.batch import TAKES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rdfaspider.frontier.redis.batch import Batch
    from rdfaspider.frontier.redis.desk import Desk

# With several fetches of a host at once, a start that is late by more than this is given back: others
# start by the clock.
SLACK = 0.25
# A host of which a partition that is another worker's has had a URL ready for so long may be asked by all.
_LATE = 0.5
# Seconds for which partitions stay with their workers, if none comes or goes.
_TERM = 2.0


class Share:
    """`most` is how many URLs may be at hand."""

    def __init__(
        self, desk: Desk, assign: Callable[[int, Sequence[str], float], list[str]], most: int
    ) -> None:
        self._desk = desk
        self._assign = assign
        self.most = most
        self._known: object = None
        self._owners: list[str] = []

    def asked(self, there: float) -> list[int]:
        """Return the partitions to ask: one's own that have something, or any that are late."""
        desk = self._desk
        if desk.crew.state != "run":
            return []
        owners, name = self._owners_at(there), desk.crew.name
        ready = [(p, time) for p, time in enumerate(desk.board.next) if time is not None]
        own = {p for p, time in ready if owners[p] == name and time <= there + desk.ahead}
        # A host that has just been asked may be asked again before long.
        own |= {x.partition for x in desk.landings if owners[x.partition] == name}
        if own or desk.at_hand:
            return sorted(own)
        return [p for p, time in ready if time <= there - _LATE]

    def add_takes(self, batch: Batch, there: float) -> None:
        desk, asked = self._desk, self.asked(there)
        wanted = self.most - len(desk.at_hand)
        if not asked or wanted <= 0:
            return
        owners = self._owners_at(there)
        if all(owners[partition] != desk.crew.name for partition in asked):
            # What is late is everybody's: no more of it than an even share.
            late = sum(desk.board.loads[partition] for partition in asked)
            wanted = min(wanted, 1 + late // len(set(owners)))
        count = -(-wanted // len(asked))
        slack = SLACK if desk.politeness.at_once > 1 else 0.0
        for partition in asked:
            script = desk.scripts.take(partition, there, count, desk.ahead, slack)
            batch.add(TAKES, script, partial(desk.read, partition))

    def _owners_at(self, there: float) -> list[str]:
        names = self._desk.crew.present(there)
        # All reckon anew at the same time, from much the same loads.
        known = names, there // _TERM
        if self._known != known:
            owners = self._assign(self._desk.scripts.partitions, names, there)
            self._known, self._owners = known, even_out(owners, self._desk.board.loads, names)
        return self._owners
