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
background (redis/ahead.py). With `read_ahead=0` every call goes to Redis at once and all times are the
caller's (redis/at_once.py).
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Self

from rdfaspider.frontier.borrowing import SharedBorrowing
from rdfaspider.frontier.failures import tidy
from rdfaspider.frontier.keys import host_of, to_key
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.partitions import ASSIGNMENTS
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.redis.address import Address
from rdfaspider.frontier.redis.ahead import Ahead
from rdfaspider.frontier.redis.at_once import AtOnce
from rdfaspider.frontier.redis.calls import Landing, host_at
from rdfaspider.frontier.redis.crew import Crew
from rdfaspider.frontier.redis.link import RedisAway, RedisLink
from rdfaspider.frontier.redis.opening import begin, join, open_desk
from rdfaspider.frontier.redis.seedlist import SeedList
from rdfaspider.frontier.redis.share import Share
from rdfaspider.frontier.redis.views import view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rdfaspider.frontier import Counts, HostView, State, Taken

logger = logging.getLogger(__name__)

# URLs are handed out to a worker at most so many seconds before their time.
_AHEAD = 1.0

# Targets of redirects whose hops a worker remembers.
_MOST_HOPS = 10_000


class SharedFrontier:
    """A Frontier (see the package) for any number of processes.

    url          redis://HOST:PORT/0?crawl=NAME, rediss://… or any node of a cluster
    partitions   how many, and `partitioning` by which function: a crawl keeps what it began with
    assignment   which partitions a worker asks first
    worker       its name, unique in the crawl; made up if empty
    read_ahead   URLs at hand; 0 takes each from Redis, and keeps the caller's time; without a name
                 that is an onlooker, whom the workers do not see
    waits        whether to wait for seeds when nothing is left

    `_way` is how the desk is emptied: by each call at once, or by exchanges in the background.
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
        address = Address.parse(url)
        self.link = RedisLink(address.url)
        self.crew = Crew(self.link, address.crawl, worker)
        self._seeds = SeedList(address.crawl, self.crew.name)
        is_onlooker = not worker and not read_ahead
        try:
            terms = begin(self.crew, order, limits, partitions, partitioning, clock())
            ahead = min(_AHEAD, lease / 4) if read_ahead else 0.0
            rules = (politeness or Politeness(), limits, lease)
            self._desk = open_desk(self.link, self.crew, terms, *rules, ahead)
            join(self.link, self._desk, None if read_ahead else now, clock, is_onlooker=is_onlooker)
        except (OSError, ValueError):
            self.link.close()
            raise
        self._is_closed = False
        self._borrowing = SharedBorrowing(politeness or Politeness())
        # How many redirects led to a URL, as far as this worker has seen them.
        self._hops: dict[str, int] = {}
        self.partitions = terms.partitions
        self.scripts = self._desk.scripts
        self._way: Ahead | AtOnce
        if read_ahead:
            share = Share(self._desk, ASSIGNMENTS[assignment], read_ahead)
            self._way = Ahead(self.link, self._desk, self._seeds, share, clock, waits=waits)
        else:
            self._way = AtOnce(self.link, self._desk, now, is_onlooker=is_onlooker)

    @property
    def state(self) -> str:
        """Return what all workers are told to do: run, pause or stop."""
        return self.crew.state

    @property
    def welcome(self) -> Callable[[list[str]], list[str]]:
        """Say which of the seeds that came by way of Redis may be crawled; to be set."""
        assert isinstance(self._way, Ahead)
        return self._way.duties.welcome

    @welcome.setter
    def welcome(self, function: Callable[[list[str]], list[str]]) -> None:
        assert isinstance(self._way, Ahead)
        self._way.duties.welcome = function

    def partition(self, host: bytes) -> int:
        """Return the partition of a host, by its key."""
        return self._desk.partition(host)

    # --- in and out ---

    def put(self, urls: Iterable[str], depth: int = 0, contexts: Sequence[int] = ()) -> None:
        for url in urls:
            self._desk.take_in(url, depth)
        self._way.tell()

    def knows(self, url: str) -> bool:
        if url in self._desk.known:
            return True
        key = to_key(url)
        try:
            return bool(self.link.ask(self.scripts.knows(self.partition(host_of(key)), 0.0, key)))
        except RedisAway:
            return True  # it is not worth waiting for

    def take(self, now: float) -> Taken | None:
        taken = self._way.take(now)
        if taken is not None and self._hops:
            taken.hops = self._hops.get(taken.url, 0)
        return taken

    def wait(self, now: float) -> float | None:
        return self._way.wait(now)

    # --- back ---

    def finish(
        self,
        taken: Taken,
        state: State,
        now: float,
        links: Iterable[str] = (),
        *,
        deeper: int = 1,
        hops: int = 0,
        gain: float = 0.0,
        contexts: Sequence[int] = (),
        reason: str = "",
        status: int = 0,
    ) -> None:
        lease = self._desk.let_go(taken, now, asked=state != "denied")
        if lease is None:
            return
        self._desk.done += 1
        self._hops.pop(taken.url, None)
        landing = self._desk.landing(state, lease, now)
        if state == "done":
            if hops:
                self._note_hops(links := tuple(links), hops)
            landing.links, landing.deeper = tuple(links), deeper
            self._desk.land_page(landing, taken.depth)
        else:
            landing.record = b"%d %b" % (status, tidy(reason))
            self._desk.landings.append(landing)
        self._way.tell(now)

    def _note_hops(self, links: Iterable[str], hops: int) -> None:
        for link in links:
            if len(self._hops) >= _MOST_HOPS:  # the oldest was perhaps taken by another worker
                del self._hops[next(iter(self._hops))]
            self._hops[link] = hops

    def retry(
        self, taken: Taken, now: float, after: float = 0.0, *, reason: str = "", status: int = 0
    ) -> None:
        if lease := self._desk.let_go(taken, now):
            landing = self._desk.landing("later", lease, now)
            landing.until = landing.time + after
            landing.record = b"%d %b" % (status, tidy(reason))
            self._desk.landings.append(landing)
            self._way.tell(now)

    def release(self, taken: Taken, now: float) -> None:
        if lease := self._desk.let_go(taken, now):
            self._desk.landings.append(self._desk.landing("waiting", lease, now))
            self._way.tell(now)

    # --- politeness ---

    def report(
        self,
        host: int,
        now: float,
        *,
        latency: float | None = None,
        refused: bool = False,
        wanted: float | None = None,
        strikes: int = 0,
    ) -> None:
        known = self._desk.hosts.get(host)
        if known is None:
            return
        there = now + self._desk.clock.high
        if strikes:
            self._desk.politeness.note_strikes(known, there, strikes)
        elif refused:
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
        self._way.tell()

    def borrow(self, host: int | None, url: str, address: str, now: float) -> float:
        return self._borrowing.borrow(host_of(to_key(url)), address, now)

    def repay(self, url: str, now: float) -> None:
        self._borrowing.repay(host_of(to_key(url)), now)

    def unplaced(self, most: int) -> list[tuple[int, str]]:
        if self._desk.politeness.server_delay is None:
            return []
        hosts = [host_at(key, self._desk.hosts) for key in self._way.unplaced(most)]
        return [(host.id, host.name) for host in hosts]

    def place(self, host: int, address: str) -> None:
        if (known := self._desk.hosts.get(host)) is not None:
            landing = Landing("placed", self._desk.partition(known.key), known.key, 0.0)
            landing.record = address.encode()
            self._desk.landings.append(landing)
            for lease in self._desk.held.values():
                if lease.taken.host == host and lease.address != address:
                    self._desk.move(lease, address, self._way.now)
            self._way.tell()

    # --- notes ---

    def note(self, name: str) -> bytes | None:
        return self._desk.notices.note(name)

    def set_note(self, name: str, value: bytes) -> None:
        self._desk.notices.pending[name] = value
        if isinstance(self._way, AtOnce):
            self._way.tell()  # else it goes with the next exchange: this may be in the midst of one

    def watch(self, name: str, recall: Callable[[bytes], None]) -> None:
        """Have `recall` called with a note when another worker has changed it.

        The note is a JSON array or an object of arrays, and to set it is to add to them. `recall` is
        called before any URL is handed out that was taken in after the change.
        """
        self._desk.notices.watch(name, recall)

    # --- looking ---

    def counts(self) -> Counts:
        if not self._is_closed:
            self._way.look()
        return self._desk.board.counts()

    def hosts(self, now: float) -> Iterator[HostView]:
        there = now + self._desk.clock.low
        for partition in range(self.partitions):
            cursor = b"0"
            while True:
                cursor, rows = self.link.one(self.scripts.hosts(partition, there, cursor))
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

    @property
    def loads(self) -> list[int]:
        """Return how many hosts of each partition are at work."""
        return self._desk.board.loads

    def backlog(self) -> list[tuple[int, int]]:
        """Return of each partition how many URLs wait and are in flight."""
        return self._desk.board.backlog()

    def close(self) -> None:
        """Bring everything to Redis, and give back what is in flight.

        If that fails, the others take this worker for dead before long, and put back what it had.
        """
        self._is_closed = True
        if self._way.leave():
            try:
                self.link.one(self.crew.farewell(self.crew.name))
            except OSError as error:
                logger.warning("This worker could not say that it leaves: %s", error)
        self.link.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
