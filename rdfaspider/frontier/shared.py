"""The frontier of many workers, in Redis: the same guarantees, held by scripts that run as one step.

Layout. The crawl is cut into partitions by host; what a script touches is in one partition, and so on one
node of a cluster. The keys are listed in redis/lua/common.lua. A URL is known by 63 bits of a hash.

Nothing is lost, and there is no transaction over partitions: the links of a page are taken in first and
the page is ended then. Between the two it is in flight, and whoever dies there leaves a URL that will
be handed out again, whose links are known already. If a shorter way to the page is found meanwhile,
its end is refused, and its links are taken in once more by the better depth.

Politeness. A host has its clock in Redis, and a URL is handed out with the time from which it may be
fetched. With one fetch at a time its host is not handed out again before that fetch has ended. What a
worker learns about a host goes back with the URL; the rules are those of the local frontier. Where
servers matter, a URL that was handed out then asks for a turn at its server, and goes back if it is busy.

Reading ahead. `take` answers from URLs at hand, and what ends is told in batches, by exchanges in the
background (redis/exchange.py). With `read_ahead=0` every call goes to Redis at once and all times are
the caller's; so tests run in simulated time, and commands look at a crawl.
"""

from __future__ import annotations

import heapq
import logging
import math
import time
from typing import TYPE_CHECKING, Self

from rdfaspider.frontier.keys import host_of, to_key
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.partitions import ASSIGNMENTS
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.redis.ahead import LONGEST, SHORTEST, SLACK, Ahead
from rdfaspider.frontier.redis.batch import LANDS, Batch
from rdfaspider.frontier.redis.board import Board
from rdfaspider.frontier.redis.calls import Landing, Lease, host_at
from rdfaspider.frontier.redis.crew import BEAT, Clock, Crew
from rdfaspider.frontier.redis.desk import Desk
from rdfaspider.frontier.redis.link import Address, RedisAway, RedisLink
from rdfaspider.frontier.redis.opening import begin, warn_of_eviction
from rdfaspider.frontier.redis.scripts import Scripts
from rdfaspider.frontier.redis.seedlist import SeedList
from rdfaspider.frontier.redis.views import view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rdfaspider.frontier import Counts, HostView, State, Taken

logger = logging.getLogger(__name__)

# URLs are handed out to a worker at most so many seconds before their time.
_AHEAD = 1.0


class SharedFrontier:
    """A Frontier (see the package) for any number of processes.

    url          redis://HOST:PORT/0?crawl=NAME, rediss://… or any node of a cluster
    partitions   how many, and `partitioning` by which function: a crawl keeps what it began with
    assignment   which partitions a worker asks first
    worker       its name, unique in the crawl; made up if empty
    read_ahead   URLs at hand; 0 takes each from Redis, and keeps the caller's time; without a name
                 that is an onlooker, whom the workers do not see
    waits        whether to wait for seeds when nothing is left

    Without reading ahead `_desk` is emptied by each call; with it, by the exchanges of `_ahead`.
    """

    def __init__(
        self,
        url: str,
        *,
        politeness: Politeness | None = None,
        lease: float = 600.0,
        order: str = "breadth",
        limits: FrontierLimits | None = None,
        now: float = 0.0,
        partitions: int = 32,
        partitioning: str = "digest",
        assignment: str = "rendezvous",
        worker: str = "",
        read_ahead: int = 64,
        waits: bool = False,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if assignment not in ASSIGNMENTS:
            raise ValueError(f"There is no assignment {assignment}: {', '.join(ASSIGNMENTS)}.")
        limits = limits or FrontierLimits()
        self._waits = waits
        self._keeps_own_time = not read_ahead
        self._is_onlooker = not worker and not read_ahead
        self._caller_clock = clock
        self._last_contact = now
        self._turn = 0
        self._unplaced: list[bytes] = []
        address = Address.parse(url)
        self.link = RedisLink(address.url)
        self.crew = Crew(self.link, address.crawl, worker)
        self._seeds = SeedList(address.crawl, self.crew.name)
        try:
            terms = begin(
                self.link,
                self.crew,
                address.crawl,
                order,
                limits,
                partitions,
                partitioning,
                clock(),
            )
            self.partitions = terms.partitions
            scripts = Scripts(
                address.crawl,
                terms.epoch,
                terms.partitions,
                self.crew.name,
                politeness or Politeness(),
                limits,
                lease,
            )
            self._desk = Desk(
                self.link,
                self.crew,
                scripts,
                Board(terms.partitions),
                lambda host: terms.partitioning(host, terms.partitions),
                min(_AHEAD, lease / 4) if read_ahead else 0.0,
            )
            self._join(now)
        except (OSError, ValueError):
            self.link.close()
            raise
        self._ahead: Ahead | None = None
        if read_ahead:
            assign = ASSIGNMENTS[assignment]
            self._ahead = Ahead(self.link, self._desk, self._seeds, assign, read_ahead, clock)

    def _join(self, now: float) -> None:
        """Say that this worker is here, and put back what one of its name left in flight."""
        sent = self._caller_clock()
        there = self.crew.heard(self.link.one(self.crew.beat({}, self._told(now), silent=True)))
        if not self._keeps_own_time:
            self._desk.clock = Clock(-math.inf, math.inf)
            self._desk.clock.learn(there, sent, self._caller_clock())
        self.crew.claim(there)
        if self.state == "stop" and not self._keeps_own_time:
            self.crew.tell(state="run")
            self.crew.told["state"] = "run"
        self._desk.heed()
        warn_of_eviction(self.link)
        batch = Batch()
        for partition in range(0 if self._is_onlooker else self.partitions):
            script = self._desk.scripts.evict(partition, there, self.crew.name)
            batch.add(LANDS, script, self._desk.wake)
        self._add_looks(batch, now)
        self._run(batch)
        self._desk.board.conclude()

    def _told(self, now: float) -> float | None:
        """Return the time to be told to Redis: none where its own counts."""
        return now if self._keeps_own_time else None

    def _run(self, batch: Batch) -> None:
        batch.deal_with(self.link.run(batch.stages))

    def _add_looks(self, batch: Batch, now: float) -> None:
        self._desk.add_looks(batch, now, self._told(now), silent=self._is_onlooker)

    @property
    def state(self) -> str:
        """Return what all workers are told to do: run, pause or stop."""
        return self.crew.state

    @property
    def welcome(self) -> Callable[[list[str]], list[str]]:
        """Say which of the seeds that came by way of Redis may be crawled; to be set."""
        assert self._ahead is not None
        return self._ahead.welcome

    @welcome.setter
    def welcome(self, function: Callable[[list[str]], list[str]]) -> None:
        assert self._ahead is not None
        self._ahead.welcome = function

    # --- in and out ---

    def put(self, urls: Iterable[str], depth: int = 0, contexts: Sequence[int] = ()) -> None:
        for url in urls:
            self._desk.take_in(url, depth)
        self._tell(self._last_contact)

    def knows(self, url: str) -> bool:
        if url in self._desk.known:
            return True
        key = to_key(url)
        partition = self._desk.partition(host_of(key))
        try:
            return bool(self.link.ask(self._desk.scripts.knows(partition, 0.0, key)))
        except RedisAway:
            return True  # it is not worth waiting for

    def take(self, now: float) -> Taken | None:
        if self._ahead is None:
            return self._take_at_once(now)
        self._ahead.advance(now)
        if self._ahead.failure is not None:
            raise self._ahead.failure
        if self._ahead.is_held_up(now):
            return None
        there = now + self._desk.clock.low
        while self._desk.at_hand and self._desk.at_hand[0].start <= there:
            lease = heapq.heappop(self._desk.at_hand)
            if not self._is_late(lease, there) and not self._is_expired(lease, there):
                return lease.taken
            self._desk.give_back(lease, now)
        return None

    def _is_late(self, lease: Lease, there: float) -> bool:
        """Tell whether another may start at the host too soon after this one."""
        is_shared = (
            self._desk.politeness.at_once > 1 and self._desk.politeness.pause(lease.host) > 0
        )
        return is_shared and there > lease.start + SLACK

    def _is_expired(self, lease: Lease, there: float) -> bool:
        """Tell whether others may have been given the URL meanwhile: after a pause, or a jam."""
        return there > lease.start + self._desk.scripts.lease / 2

    def wait(self, now: float) -> float | None:
        if self._ahead is None:
            return self._wait_at_once(now)
        self._ahead.advance(now)
        if self._ahead.failure is not None:
            return 0.0  # the next `take` says so
        if self.state == "stop":
            return LONGEST if len(self._desk.held) > len(self._desk.at_hand) else None
        if self._ahead.is_held_up(now):
            return BEAT
        desk = self._desk
        has_pending = bool(desk.is_pending or desk.asking)
        if desk.at_hand:
            seconds = max(desk.at_hand[0].start - now - self._desk.clock.low, 0.0)
            return min(seconds, LONGEST) if has_pending else min(seconds, BEAT)
        if self._ahead.is_busy or has_pending:
            return SHORTEST / 2
        return self._wait_for_others(now)

    def _wait_for_others(self, now: float) -> float | None:
        first = self._desk.board.first
        if first is None:
            is_over = (
                self._desk.board.is_over and not self._desk.held and not self._seeds.is_reading
            )
            return None if is_over and not self._waits else LONGEST
        seconds = max(first - now - self._desk.clock.low, 0.0)
        # Others may bring links at any moment; but what is a day away is nothing to wait for.
        return seconds if seconds > self._desk.scripts.lease else max(min(seconds, BEAT), SHORTEST)

    # --- back ---

    def finish(
        self,
        taken: Taken,
        state: State,
        now: float,
        links: Iterable[str] = (),
        *,
        deeper: int = 1,
        gain: float = 0.0,
        contexts: Sequence[int] = (),
    ) -> None:
        lease = self._desk.let_go(taken, now, asked=state != "denied")
        if lease is None:
            return
        self._desk.done += 1
        landing = self._desk.landing(state, lease, now)
        if state == "done":
            landing.links, landing.deeper = tuple(links), deeper
            self._desk.land_page(landing, taken.depth)
        else:
            self._desk.landings.append(landing)
        self._tell(now)

    def retry(self, taken: Taken, now: float, after: float = 0.0) -> None:
        if lease := self._desk.let_go(taken, now):
            landing = self._desk.landing("later", lease, now)
            landing.until = landing.time + after
            self._desk.landings.append(landing)
            self._tell(now)

    def release(self, taken: Taken, now: float) -> None:
        if lease := self._desk.let_go(taken, now):
            self._desk.landings.append(self._desk.landing("waiting", lease, now))
            self._tell(now)

    def _tell(self, now: float) -> None:
        if self._ahead is None:
            self._settle(now)
        else:
            self._ahead.advance(self._caller_clock())

    # --- at once ---

    def _settle(self, now: float) -> None:
        """Bring everything to Redis, and what that brings in turn."""
        self._last_contact = now
        while self._desk.is_pending:
            batch = Batch()
            self._desk.add_pending(batch, now)
            self._add_looks(batch, now)
            self._run(batch)
            self._desk.board.conclude()

    def _look(self, now: float) -> None:
        batch = Batch()
        self._add_looks(batch, now)
        self._run(batch)
        self._desk.board.conclude()
        self._settle(now)

    def _take_at_once(self, now: float) -> Taken | None:
        self._settle(now)
        if not self._desk.at_hand:
            self._find_one(now)
        return self._desk.at_hand.pop().taken if self._desk.at_hand else None

    def _find_one(self, now: float) -> None:
        """Have a URL at hand if one is ready."""
        for step in range(self.partitions):
            partition = (self._turn + step) % self.partitions
            while reply := self.link.one(self._desk.scripts.take(partition, now, 1)):
                self._desk.read(partition, reply)
                self._ask_at_once(now)
                if self._desk.at_hand:
                    self._turn = partition + 1
                    return
                if not reply[0]:
                    break

    def _ask_at_once(self, now: float) -> None:
        batch = Batch()
        for lease in self._desk.asking:
            self._desk.add_ask(batch, lease, now)
        self._desk.asking = []
        self._run(batch)
        self._settle(now)

    def _wait_at_once(self, now: float) -> float | None:
        self._settle(now)
        self._look(now)
        first = self._desk.board.first
        if first is not None and first <= now and self._desk.politeness.server_delay is not None:
            # The host is ready, but its server may not be: only a try can tell.
            if not self._desk.at_hand:
                self._find_one(now)
                self._look(now)
            first = now if self._desk.at_hand else self._desk.board.first
        return None if first is None else max(first - now, 0.0)

    # --- politeness ---

    def report(
        self,
        host: int,
        now: float,
        *,
        latency: float | None = None,
        refused: bool = False,
        wanted: float | None = None,
    ) -> None:
        known = self._desk.hosts.get(host)
        if known is None:
            return
        there = now + self._desk.clock.high
        if refused:
            self._desk.politeness.note_refusal(known, there, wanted)
        elif latency is None:
            self._desk.politeness.note_failure(known, there)
        else:
            self._desk.politeness.note_answer(known, latency)

    def slow_down(
        self, host: int, *, crawl_delay: float | None = None, until: float | None = None
    ) -> None:
        known = self._desk.hosts.get(host)
        if known is None:
            return
        if crawl_delay is not None:
            known.crawl_delay = crawl_delay
        if until is not None:
            known.blocked = max(known.blocked, until + self._desk.clock.high)
        landing = Landing("slow", self._desk.partition(known.key), known.key, known.blocked)
        landing.until = -1.0 if crawl_delay is None else crawl_delay
        landing.pause = self._desk.politeness.pause(known)
        self._desk.landings.append(landing)
        self._tell(self._last_contact)

    def unplaced(self, most: int) -> list[tuple[int, str]]:
        if self._desk.politeness.server_delay is None:
            return []
        if self._ahead is None:
            named = self._name_at_once(most)
        else:
            named, self._ahead.unplaced = self._ahead.unplaced[:most], self._ahead.unplaced[most:]
        hosts = [host_at(key, self._desk.hosts) for key in named]
        return [(host.id, host.name) for host in hosts]

    def _name_at_once(self, most: int) -> list[bytes]:
        self._look(self._last_contact)
        named: list[bytes] = []
        for partition, count in enumerate(self._desk.board.unplaced):
            if count and len(named) < most:
                room = most - len(named)
                script = self._desk.scripts.unplaced(partition, self._last_contact, room)
                named += self.link.one(script)
        return named

    def place(self, host: int, address: str) -> None:
        if (known := self._desk.hosts.get(host)) is not None:
            landing = Landing("placed", self._desk.partition(known.key), known.key, 0.0)
            landing.record = address.encode()
            self._desk.landings.append(landing)
            now = self._last_contact if self._ahead is None else self._caller_clock()
            for lease in self._desk.held.values():
                if lease.taken.host == host and lease.address != address:
                    self._desk.move(lease, address, now)
            self._tell(self._last_contact)

    # --- notes ---

    def note(self, name: str) -> bytes | None:
        return self._desk.note(name)

    def set_note(self, name: str, value: bytes) -> None:
        if self._ahead is not None:
            self._desk.notes[name] = value
            return
        batch = Batch()
        self._desk.add_note(batch, name, value)
        self._run(batch)

    def watch(self, name: str, recall: Callable[[bytes], None]) -> None:
        """Have `recall` called with a note when another worker has changed it.

        The note is a JSON array or an object of arrays, and to set it is to add to them. `recall` is
        called before any URL is handed out that was taken in after the change.
        """
        self._desk.watched[name] = (int(self.crew.told.get(f"note {name}", 0)), recall)

    # --- looking ---

    def counts(self) -> Counts:
        if self._ahead is None:
            self._look(self._last_contact)
        else:
            # Whoever is too busy to take anything still says that it is alive.
            self._ahead.advance(self._caller_clock())
        return self._desk.board.counts()

    def hosts(self, now: float) -> Iterator[HostView]:
        there = now + self._desk.clock.low
        for partition in range(self.partitions):
            cursor = b"0"
            while True:
                cursor, rows = self.link.one(self._desk.scripts.hosts(partition, there, cursor))
                yield from (
                    view(row, self._desk.politeness, now, self._desk.clock.low) for row in rows
                )
                if cursor == b"0":
                    break

    def redis_time(self) -> float:
        """Return the time by the clock of Redis."""
        return self.crew.heard(self.link.one(self.crew.beat({}, None, silent=True)))

    @property
    def seeds_waiting(self) -> int:
        """Return how many seeds wait to be read."""
        return self._seeds.waiting(self.link)

    def backlog(self) -> list[tuple[int, int]]:
        """Return of each partition how many URLs wait and are in flight."""
        return self._desk.board.backlog()

    def close(self) -> None:
        """Bring everything to Redis, and give back what is in flight.

        If that fails, the others take this worker for dead before long, and put back what it had.
        """
        if self._ahead is None or self._ahead.leave():
            try:
                self.link.one(self.crew.farewell(self.crew.name))
            except OSError as error:
                logger.warning("This worker could not say that it leaves: %s", error)
        self.link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
