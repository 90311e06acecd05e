"""Reading ahead: exchanges with Redis in the background, so that `take` answers from what is at hand.

An exchange brings links and what has ended, asks for more URLs (share.py), does what is done for all
(duties.py), and once a second looks at all partitions and says that this worker is alive.
"""

from __future__ import annotations

import heapq
import logging
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.redis.batch import LOOKS, Batch, ignore
from rdfaspider.frontier.redis.crew import BEAT, SILENT_AFTER
from rdfaspider.frontier.redis.duties import Duties
from rdfaspider.frontier.redis.exchange import Answer, Exchange
from rdfaspider.frontier.redis.share import SLACK

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.redis.calls import Lease
    from rdfaspider.frontier.redis.desk import Desk
    from rdfaspider.frontier.redis.link import RedisLink
    from rdfaspider.frontier.redis.seedlist import SeedList
    from rdfaspider.frontier.redis.share import Share

logger = logging.getLogger(__name__)

# Exchanges are so far apart at least, and what has ended waits so long at most.
SHORTEST, LONGEST = 0.05, 0.2
# Seconds that the end of a worker waits for Redis.
_LEAVING = 10.0


class Ahead:
    """Has URLs at hand, up to the `share`, and does the `duties`; `failure` says why nothing can go on.

    `waits` says whether to wait for seeds when nothing is left.
    """

    def __init__(
        self,
        link: RedisLink,
        desk: Desk,
        seeds: SeedList,
        share: Share,
        clock: Callable[[], float],
        *,
        waits: bool,
    ) -> None:
        self._link = link
        self._desk = desk
        self._seeds = seeds
        self._clock = clock
        self._waits = waits
        self.share = share
        self.duties = Duties(desk, seeds)
        self.failure: FrontierUnavailable | None = None
        self._run: bytes | None = None
        self._batch = Batch()
        self._last_exchange = self._last_look = self.last_contact = clock()
        self._exchange = Exchange(link, clock)

    @property
    def now(self) -> float:
        return self._clock()

    def tell(self, now: float | None = None) -> None:
        """Have everything brought to Redis before long."""
        self.advance(self._clock())

    def look(self) -> None:
        """Go on: whoever is too busy to take anything still says that it is alive."""
        self.advance(self._clock())

    def unplaced(self, most: int) -> list[bytes]:
        """Return up to so many hosts that wait to be placed."""
        hosts = self.duties.unplaced
        self.duties.unplaced = hosts[most:]
        return hosts[:most]

    # --- at hand ---

    def take(self, now: float) -> Taken | None:
        self.advance(now)
        if self.failure is not None:
            raise self.failure
        if self._is_held_up(now):
            return None
        desk, there = self._desk, now + self._desk.clock.low
        while desk.at_hand and desk.at_hand[0].start <= there:
            lease = heapq.heappop(desk.at_hand)
            if not self._is_late(lease, there) and not self._is_expired(lease, there):
                return lease.taken
            desk.give_back(lease, now)
        return None

    def _is_late(self, lease: Lease, there: float) -> bool:
        """Tell whether another may start at the host too soon after this one."""
        manners = self._desk.politeness
        is_shared = manners.at_once > 1 and manners.pause(lease.host) > 0
        return is_shared and there > lease.start + SLACK

    def _is_expired(self, lease: Lease, there: float) -> bool:
        """Tell whether others may have been given the URL meanwhile: after a pause, or a jam."""
        return there > lease.start + self._desk.scripts.lease / 2

    def wait(self, now: float) -> float | None:
        self.advance(now)
        desk = self._desk
        if self.failure is not None:
            return 0.0  # the next `take` says so
        if self.state == "stop":
            return LONGEST if len(desk.held) > len(desk.at_hand) else None
        if self._is_held_up(now):
            return BEAT
        has_pending = bool(desk.is_pending or desk.asking)
        if desk.at_hand:
            seconds = max(desk.at_hand[0].start - now - desk.clock.low, 0.0)
            return min(seconds, LONGEST if has_pending else BEAT)
        if self._exchange.is_busy or has_pending:
            return SHORTEST / 2
        return self._wait_for_others(now)

    def _wait_for_others(self, now: float) -> float | None:
        desk, first = self._desk, self._desk.board.first
        if first is None:
            is_over = desk.board.is_over and not desk.held and not self._seeds.is_reading
            return None if is_over and not self._waits else LONGEST
        seconds = max(first - now - desk.clock.low, 0.0)
        # Others may bring links at any moment; but what is a day away is nothing to wait for.
        return seconds if seconds > desk.scripts.lease else max(min(seconds, BEAT), SHORTEST)

    @property
    def state(self) -> str:
        """Return what all workers are told to do: run, pause or stop."""
        return self._desk.crew.state

    def _is_held_up(self, now: float) -> bool:
        """Tell whether nothing may start: the crawl is paused or stopped, Redis was not heard of, or
        others have noted something that is not known here yet."""
        is_silent = now - self.last_contact > SILENT_AFTER
        return self.state != "run" or is_silent or self._desk.notices.is_behind

    # --- exchanges ---

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
        desk = self._desk
        is_urgent = not desk.at_hand or 2 * len(desk.landings) >= self.share.most
        if now - self._last_exchange < (SHORTEST if is_urgent else LONGEST):
            return False
        if desk.is_pending or desk.asking or self._must_look(now):
            return True
        wants_more = 2 * len(desk.at_hand) < self.share.most
        return wants_more and bool(self.share.asked(now + desk.clock.low))

    def _must_look(self, now: float) -> bool:
        is_quiet = not self._desk.held and self._desk.board.first is None
        return now - self._last_look >= (LONGEST if is_quiet else BEAT)

    def _depart(self, now: float) -> None:
        """Begin an exchange."""
        there = now + self._desk.clock.low
        batch = self._batch = Batch()
        self.share.add_takes(batch, there)
        self._desk.add_pending(batch, there)
        for lease in self._desk.asking:
            self._desk.add_ask(batch, lease, there)
        self._desk.asking = []
        self.duties.add_to(batch, there)
        if self._must_look(now):
            self._last_look = now
            batch.add(LOOKS, self._seeds.read(), self.duties.sow)
            self._desk.add_looks(batch, there, None, silent=False)
            batch.add(LOOKS, self._desk.crew.beat({}, None, silent=True), self._concluded)
        else:
            batch.add(LOOKS, self._desk.crew.beat({}, None, silent=True), ignore)
        self._last_exchange = now
        self._exchange.submit(batch.stages)

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
        # A lost connection is mended silently if Redis is back at once.
        if gap := answer.gap or is_another:
            self.duties.note_gap()
        there = self._desk.crew.heard(answer.replies[LOOKS][-1], gap=gap)
        self._desk.clock.learn(there, answer.sent, answer.received)
        self._desk.notices.heed()
        self._batch.deal_with(answer.replies)
        if was_silent:
            # The others may have taken this worker for dead, and what it has at hand for theirs.
            for lease in [*self._desk.at_hand, *self._desk.asking]:
                self._desk.give_back(lease, answer.received)
            self._desk.at_hand, self._desk.asking = [], []
        self.duties.note_dead(there)

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
        batch = Batch()  # to count what is left behind
        desk.add_looks(batch, now + desk.clock.low, None, silent=False)
        batch.deal_with(self._link.run(batch.stages))
