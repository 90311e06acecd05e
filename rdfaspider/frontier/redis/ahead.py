"""Reading ahead: exchanges with Redis in the background, so that `take` answers from what is at hand.

An exchange brings links and what has ended, asks for more URLs, and once a second looks at all
partitions and says that this worker is alive. It also does what is done for all: the URLs of workers
that are gone are put back, seeds are read, hosts are named whose servers nobody knows yet.
"""

from __future__ import annotations

import logging
from functools import partial
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.redis.batch import LANDS, LOOKS, TAKES, Batch, ignore
from rdfaspider.frontier.redis.crew import BEAT, SILENT_AFTER
from rdfaspider.frontier.redis.exchange import Answer, Exchange

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from rdfaspider.frontier.redis.desk import Desk
    from rdfaspider.frontier.redis.link import RedisLink
    from rdfaspider.frontier.redis.seedlist import SeedList

logger = logging.getLogger(__name__)

# With several fetches of a host at once, a start that is late by more than this is given back: others
# start by the clock.
SLACK = 0.25
# Exchanges are so far apart at least, and what has ended waits so long at most.
SHORTEST, LONGEST = 0.05, 0.2
# A host of which a partition that is another worker's has had a URL ready for so long may be asked by all.
_LATE = 0.5
# Hosts that are named to be placed, at a time.
_PLACES = 100
# Seconds that the end of a worker waits for Redis.
_LEAVING = 10.0


class Ahead:
    """`unplaced` are hosts that wait to be placed; `failure` says why nothing can go on."""

    def __init__(
        self,
        link: RedisLink,
        desk: Desk,
        seeds: SeedList,
        assign: Callable[[int, Sequence[str], float], list[str]],
        read_ahead: int,
        clock: Callable[[], float],
    ) -> None:
        self._link = link
        self._desk = desk
        self._seeds = seeds
        self._assign = assign
        self._read_ahead = read_ahead
        self._clock = clock
        self.welcome: Callable[[list[str]], list[str]] = list
        self.unplaced: list[bytes] = []
        self.failure: FrontierUnavailable | None = None
        self._dead: list[str] = []
        self._buried: set[str] = set()
        self._needs_recovery = False
        self._run: bytes | None = None
        self._owners: tuple[object, list[str]] = (None, [])
        self._batch = Batch()
        self._last_exchange = self._last_look = self.last_contact = clock()
        self._exchange = Exchange(link, clock)

    @property
    def state(self) -> str:
        """Return what all workers are told to do: run, pause or stop."""
        return self._desk.crew.state

    @property
    def is_busy(self) -> bool:
        return self._exchange.is_busy

    def is_held_up(self, now: float) -> bool:
        """Tell whether nothing may start: the crawl is paused or stopped, Redis was not heard of, or
        others have noted something that is not known here yet."""
        is_silent = now - self.last_contact > SILENT_AFTER
        return self.state != "run" or is_silent or self._desk.is_behind

    def advance(self, now: float) -> None:
        """Take in what has come from Redis, and begin the next exchange if there is reason to."""
        try:
            if (answer := self._exchange.collect()) is not None:
                self._arrived(answer)
        except FrontierUnavailable as error:
            self.failure = error
        if self.failure is None and not self._exchange.is_busy and self._has_reason(now):
            self._depart(now)

    def _has_reason(self, now: float) -> bool:
        if now < self._last_exchange:  # the clock was set back
            self._last_exchange = self._last_look = now
        since = now - self._last_exchange
        if since < SHORTEST:
            return False
        has_news = self._desk.is_pending or self._desk.asking or self._desk.notes
        is_urgent = not self._desk.at_hand or 2 * len(self._desk.landings) >= self._read_ahead
        if has_news and (is_urgent or since >= LONGEST):
            return True
        if 2 * len(self._desk.at_hand) < self._read_ahead and self._asked(now):
            return True
        return self._must_look(now)

    def _must_look(self, now: float) -> bool:
        is_quiet = not self._desk.held and self._desk.board.first is None
        return now - self._last_look >= (LONGEST if is_quiet else BEAT)

    def _asked(self, now: float) -> list[int]:
        """Return the partitions to ask: one's own that have something, or any that are late."""
        if self.state != "run":
            return []
        there = now + self._desk.clock.low
        owners = self._owners_now(there)
        ready = [(p, t) for p, t in enumerate(self._desk.board.next) if t is not None]
        horizon = there + self._desk.ahead
        own = {p for p, t in ready if owners[p] == self._desk.crew.name and t <= horizon}
        # A host that has just been asked may be asked again before long.
        own |= {
            x.partition for x in self._desk.landings if owners[x.partition] == self._desk.crew.name
        }
        if own or self._desk.at_hand:
            return sorted(own)
        return [p for p, t in ready if t <= there - _LATE]

    def _owners_now(self, there: float) -> list[str]:
        names = tuple(self._desk.crew.alive(there)) or (self._desk.crew.name,)
        known = (names, int(there))
        if self._owners[0] != known:
            self._owners = (known, self._assign(self._desk.scripts.partitions, names, there))
        return self._owners[1]

    def _depart(self, now: float) -> None:
        """Begin an exchange."""
        there = now + self._desk.clock.low
        batch = self._batch = Batch()
        self._add_takes(batch, now)
        self._desk.add_pending(batch, there)
        for lease in self._desk.asking:
            self._desk.add_ask(batch, lease, there)
        self._desk.asking = []
        self._add_duties(batch, there)
        if self._must_look(now):
            self._last_look = now
            batch.add(LOOKS, self._seeds.read(), self._sow)
            self._desk.add_looks(batch, there, None, silent=False)
            batch.add(LOOKS, self._desk.crew.beat({}, None, silent=True), self._concluded)
        else:
            batch.add(LOOKS, self._desk.crew.beat({}, None, silent=True), ignore)
        self._last_exchange = now
        self._exchange.submit(batch.stages)

    def _add_takes(self, batch: Batch, now: float) -> None:
        asked = self._asked(now)
        wanted = self._read_ahead - len(self._desk.at_hand)
        if not asked or wanted <= 0:
            return
        count = -(-wanted // len(asked))
        slack = SLACK if self._desk.politeness.at_once > 1 else 0.0
        for partition in asked:
            script = self._desk.scripts.take(
                partition, now + self._desk.clock.low, count, self._desk.ahead, slack
            )
            batch.add(TAKES, script, partial(self._desk.read, partition))

    def _add_duties(self, batch: Batch, there: float) -> None:
        """Add what is done for others: who is gone is buried, hosts that wait to be placed are named."""
        for name in self._dead:
            for partition in range(self._desk.scripts.partitions):
                batch.add(LANDS, self._desk.scripts.evict(partition, there, name), self._desk.wake)
            batch.add(LANDS, self._seeds.give_up(name), ignore)
            batch.add(LOOKS, self._desk.crew.farewell(name), ignore)
        self._dead = []
        if self._needs_recovery:
            self._needs_recovery = False
            held = [*self._desk.held.values(), *self._desk.asking]
            for partition in range(self._desk.scripts.partitions):
                tokens = [lease.token for lease in held if lease.partition == partition]
                script = self._desk.scripts.evict_but(partition, there, tokens)
                batch.add(LANDS, script, self._desk.wake)
        if self._desk.politeness.server_delay is not None and not self.unplaced:
            known = {p for p, count in enumerate(self._desk.board.unplaced) if count}
            for partition in sorted(known | self._desk.filled):
                script = self._desk.scripts.unplaced(partition, there, _PLACES)
                batch.add(TAKES, script, self._named)

    def _named(self, reply: list[bytes]) -> None:
        self.unplaced += reply

    def _sow(self, reply: list[bytes]) -> None:
        seeds = self._seeds.seeds(reply)
        welcome = set(self.welcome([url for url, _ in seeds]) if seeds else ())
        for url, depth in seeds:
            if url in welcome:
                self._desk.take_in(url, depth)

    def _concluded(self, reply: list[Any]) -> None:
        self._desk.board.conclude()
        if self._desk.board.stranded:
            parts = ", ".join(map(self._desk.scripts.root, sorted(self._desk.board.stranded)))
            self.failure = FrontierUnavailable(
                f"Redis has lost keys of the partitions {parts}: URLs wait there or are in flight, and"
                " nothing says when they are ready. Does it evict keys? Restore it from a backup, or"
                " begin anew with another crawl=NAME in FRONTIER_URL."
            )
        if self._desk.board.lost:
            logger.error(
                "Redis has lost %d URLs that waited: keys of the crawl are gone. Does it evict keys?",
                self._desk.board.lost,
            )

    def _arrived(self, answer: Answer) -> None:
        was_silent = answer.received - self.last_contact > SILENT_AFTER
        self.last_contact = answer.received
        run = answer.replies[LOOKS][-1][3]
        is_another, self._run = self._run not in (None, run), run
        gap = (
            answer.gap or is_another
        )  # a lost connection is mended silently if Redis is back at once
        if gap:
            # Redis may have come back without its last second: links are told again, and what was handed
            # out meanwhile is put back.
            self._desk.known.clear()
            self._needs_recovery = True
        there = self._desk.crew.heard(answer.replies[LOOKS][-1], gap=gap)
        self._desk.clock.learn(there, answer.sent, answer.received)
        self._desk.heed()
        self._batch.deal_with(answer.replies)
        if was_silent:
            # The others may have taken this worker for dead, and what it has at hand for theirs.
            for lease in [*self._desk.at_hand, *self._desk.asking]:
                self._desk.give_back(lease, answer.received)
            self._desk.at_hand, self._desk.asking = [], []
        dead = self._desk.crew.dead(there)
        self._dead = [name for name in dead if name not in self._buried]
        self._buried = set(dead)  # who is back may die again
        for name in self._dead:
            logger.warning("The worker %s is gone: its URLs are handed out again.", name)

    def leave(self) -> bool:
        """Bring everything to Redis, and give back what is in flight; tell whether that was done."""
        try:
            if (answer := self._exchange.collect(_LEAVING)) is not None:
                self._arrived(answer)
            if self._exchange.is_busy or self.failure is not None:
                return False
            self._hand_in(self._clock())
            return True
        except FrontierUnavailable as error:
            logger.warning("What was in flight is handed out again later: %s", error)
            return False
        finally:
            self._exchange.close()

    def _hand_in(self, now: float) -> None:
        desk = self._desk
        for lease in list(desk.held.values()):
            desk.give_back(lease, now)
        while desk.is_pending:
            batch = Batch()
            desk.add_pending(batch, now + desk.clock.low)
            batch.deal_with(self._link.run(batch.stages))
        self._link.one(self._seeds.acknowledge())
