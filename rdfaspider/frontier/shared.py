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
import time
from collections import OrderedDict
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Self

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.partitions import ASSIGNMENTS
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.redis.batch import (
    LANDS,
    LOOKS,
    NOTES,
    PUTS,
    TAKES,
    VERSIONS,
    Batch,
    ignore,
)
from rdfaspider.frontier.redis.board import Board
from rdfaspider.frontier.redis.calls import (
    Inbox,
    Landing,
    Lease,
    host_at,
    pack_links,
    read_lease,
    unpack_links,
)
from rdfaspider.frontier.redis.crew import BEAT, SILENT_AFTER, Clock, Crew
from rdfaspider.frontier.redis.exchange import Answer, Exchange
from rdfaspider.frontier.redis.link import Address, RedisAway, RedisLink, Script
from rdfaspider.frontier.redis.opening import begin, warn_of_eviction
from rdfaspider.frontier.redis.scripts import Scripts
from rdfaspider.frontier.redis.seedlist import SeedList
from rdfaspider.frontier.redis.views import view

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rdfaspider.frontier import Counts, HostView, State, Taken
    from rdfaspider.frontier.hosts import Host

logger = logging.getLogger(__name__)

# URLs are handed out to a worker at most so many seconds before their time.
_AHEAD = 1.0
# With several fetches of a host at once, a start that is late by more than this is given back: others
# start by the clock.
_SLACK = 0.25
# Exchanges are so far apart at least, and what has ended waits so long at most.
_SHORTEST, _LONGEST = 0.05, 0.2
# A host of which a partition that is another worker's has had a URL ready for so long may be asked by all.
_LATE = 0.5
# Hosts and links that a worker remembers.
_HOSTS, _LINKS = 10_000, 100_000
# Hosts that are named to be placed, at a time.
_PLACES = 100
# Seconds that the end of a worker waits for Redis.
_LEAVING = 10.0
# What all workers can be told of politeness while they run.
TOLD = ("delay", "latency_factor", "first_backoff", "longest_backoff", "large_delay")


class SharedFrontier:
    """A Frontier (see the package) for any number of processes.

    url          redis://HOST:PORT/0?crawl=NAME, rediss://… or any node of a cluster
    partitions   how many, and `partitioning` by which function: a crawl keeps what it began with
    assignment   which partitions a worker asks first
    worker       its name, unique in the crawl; made up if empty
    read_ahead   URLs at hand; 0 takes each from Redis, and keeps the caller's time
    waits        whether to wait for seeds when nothing is left

    `welcome` is asked about seeds that come from Redis, and says whether they may be crawled.
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
        self._own_politeness = politeness or Politeness()
        limits = limits or FrontierLimits()
        self._read_ahead = read_ahead
        self._ahead = min(_AHEAD, lease / 4) if read_ahead else 0.0
        self._waits = waits
        self._caller_clock = clock
        self._assign = ASSIGNMENTS[assignment]
        self.welcome: Callable[[str], bool] = lambda url: True
        address = Address.parse(url)
        self.link = RedisLink(address.url)
        self.crew = Crew(self.link, address.crawl, worker)
        try:
            terms = begin(
                self.link, self.crew, address.crawl, order, limits, partitions, partitioning, clock()
            )
        except (OSError, ValueError):
            self.link.close()
            raise
        self.partitions, self._partitioning = terms.partitions, terms.partitioning
        self._scripts = Scripts(
            address.crawl,
            terms.epoch,
            self.partitions,
            self.crew.name,
            self._own_politeness,
            limits,
            lease,
        )
        self.clock = Clock()
        self._board = Board(self.partitions)
        self._seeds = SeedList(address.crawl, self.crew.name)
        self._inbox = Inbox(lambda host: self._partitioning(host, self.partitions))
        self._landings: list[Landing] = []
        self._turns: list[tuple[Script, Callable[[Any], None]]] = []
        self._notes: dict[str, bytes] = {}
        self._watched: dict[str, tuple[int, Callable[[bytes], None]]] = {}
        self._failure: FrontierUnavailable | None = None
        self._held: dict[int, Lease] = {}
        self._at_hand: list[Lease] = []
        self._asking: list[Lease] = []
        self._unplaced: list[bytes] = []
        self._hosts: OrderedDict[int, Host] = OrderedDict()
        self._known: OrderedDict[str, int] = OrderedDict()
        self._dead: list[str] = []
        self._needs_recovery = False
        self._turn = self._done = 0
        self._owners: tuple[object, list[str]] = (None, [])
        self._last_exchange = self._last_look = self._last_contact = now
        self._batch = Batch()
        try:
            self._join(now)
        except OSError:
            self.link.close()
            raise
        self._exchange = Exchange(self.link, clock) if read_ahead else None

    def _join(self, now: float) -> None:
        """Say that this worker is here, and put back what one of its name left in flight."""
        sent = self._caller_clock()
        there = self.crew.heard(self.link.one(self.crew.beat({}, self._told(now), silent=True)))
        if self._read_ahead:
            self.clock.learn(there, sent, self._caller_clock())
        self.crew.claim(there)
        if self.crew.told.get("state") == "stop" and self._read_ahead:
            self.crew.tell(state="run")
            self.crew.told["state"] = "run"
        self._heed()
        warn_of_eviction(self.link)
        name, batch = self.crew.name, Batch()
        for partition in range(self.partitions):
            batch.add(LANDS, self._scripts.evict(partition, there, name), self._wake)
        self._add_looks(batch, now)
        self._run(batch)
        self._board.conclude()

    def _told(self, now: float) -> float | None:
        """Return the time to be told to Redis: none where its own counts."""
        return None if self._read_ahead else now

    # --- batches ---

    def _run(self, batch: Batch) -> None:
        batch.deal_with(self.link.run(batch.stages))

    def _add_pending(self, batch: Batch, there: float) -> None:
        """Add all that is to be brought to Redis: links first, then what has ended."""
        for name, value in self._notes.items():
            self._add_note(batch, name, value)
        self._notes = {}
        for partition, lines in self._inbox.empty():
            script = self._scripts.put(partition, there, lines)
            batch.add(PUTS, script, partial(self._bettered, partition))
        groups: dict[int, list[Landing]] = {}
        for landing in self._landings:
            groups.setdefault(landing.partition, []).append(landing)
        for partition, landings in groups.items():
            script = self._scripts.land(partition, there, self._board.floor, landings)
            batch.add(LANDS, script, partial(self._landed, landings))
        for script, handler in self._turns:
            batch.add(LANDS, script, handler)
        self._landings, self._turns = [], []

    def _add_note(self, batch: Batch, name: str, value: bytes) -> None:
        is_watched = name in self._watched
        batch.add(NOTES, self._scripts.note(name, value, merge=is_watched), ignore)
        if is_watched:
            batch.add(VERSIONS, self.crew.version(name), partial(self._noted, name))

    def _noted(self, name: str, version: int) -> None:
        """Know a change of a note for this worker's own, if nobody else has changed it."""
        known, recall = self._watched[name]
        if version == known + 1:
            self._watched[name] = (version, recall)

    def _add_looks(self, batch: Batch, there: float) -> None:
        for partition in range(self.partitions):
            script = self._scripts.look(partition, there)
            batch.add(LOOKS, script, partial(self._looked, partition))
        about = {"held": len(self._held), "done": self._done, "trips": self.link.round_trips}
        batch.add(LOOKS, self.crew.beat(about, self._told(there)), ignore)

    # --- replies ---

    def _bettered(self, partition: int, reply: list[Any]) -> None:
        """Note shorter ways to URLs that this worker has in flight."""
        better, first = reply
        self._board.note_next(partition, first)
        for number, depth in zip(better[::2], better[1::2], strict=True):
            if lease := self._held.get(int(number)):
                lease.taken.depth = min(lease.taken.depth, int(depth))

    def _landed(self, landings: list[Landing], reply: list[Any]) -> None:
        """Take in the links of pages once more that were found by a shorter way meanwhile."""
        shallower, idle, first = reply
        self._board.note_next(landings[0].partition, first)
        better = {int(n): int(d) for n, d in zip(shallower[::2], shallower[1::2], strict=True)}
        for landing in landings:
            if landing.what == "done" and landing.subject in better:
                self._land_page(landing, better[int(landing.subject)])
            elif landing.what == "wake" and landing.record and landing.subject in idle:
                script = self._scripts.wake_next(landing.record.decode())
                self._turns.append((script, self._woken))

    def _took(self, partition: int, reply: list[Any]) -> list[Lease]:
        given = [read_lease(row, partition, self._hosts) for row in reply[0]]
        self._board.note_next(partition, reply[1])
        for lease in given:
            self._held[lease.taken.number] = lease
            self._hosts.move_to_end(lease.taken.host)
        while len(self._hosts) > _HOSTS:
            self._hosts.popitem(last=False)
        return given

    def _looked(self, partition: int, reply: list[Any]) -> None:
        for entry in self._board.looked(partition, reply):
            depth, links = unpack_links(entry)
            for link in links:
                self._inbox.add(link, depth)
            done = Landing("delivered", partition, "-", 0.0, depth=depth, record=entry)
            self._landings.append(done)

    def _wake(self, replies: list[bytes]) -> None:
        for reply in replies:
            self._woken(reply)

    def _woken(self, reply: bytes, other: bytes = b"") -> None:
        """Let a host know when its server may be asked: one that was refused, or the one that left."""
        if not reply:
            return
        moment, address, host = reply.split(b" ")
        if host:
            landing = Landing("wake", self._partition(host), host, float(moment), record=address)
            self._landings.append(landing)
        if other:
            until = float(moment) + (self._scripts.lease if host else 0.0)
            self._landings.append(Landing("wake", self._partition(other), other, until))

    def _left(self, host: bytes, reply: bytes) -> None:
        self._woken(reply, host)

    def _partition(self, host: bytes) -> int:
        return self._inbox.partition(host)

    # --- in ---

    def put(self, urls: Iterable[str], depth: int = 0) -> None:
        for url in urls:
            self._take_in(url, depth)
        self._tell(self._last_contact)

    def _take_in(self, url: str, depth: int) -> None:
        """Have a link brought to Redis, unless this worker has done so already."""
        if self._read_ahead:
            if self._known.get(url, 256) <= depth:
                return
            self._known[url] = depth
            if len(self._known) > _LINKS:
                self._known.popitem(last=False)
        self._inbox.add(url, depth)

    # --- out ---

    def take(self, now: float) -> Taken | None:
        if self._exchange is None:
            return self._take_at_once(now)
        self._advance(now)
        if self._failure is not None:
            raise self._failure
        if self._is_held_up(now):
            return None
        there = now + self.clock.low
        while self._at_hand and self._at_hand[0].start <= there:
            lease = heapq.heappop(self._at_hand)
            if not self._is_late(lease, there):
                return lease.taken
            self._give_back(lease, now)
        return None

    def _is_late(self, lease: Lease, there: float) -> bool:
        """Tell whether another may start at the host too soon after this one."""
        is_shared = self._politeness.at_once > 1 and self._politeness.pause(lease.host) > 0
        return is_shared and there > lease.start + _SLACK

    def _take_at_once(self, now: float) -> Taken | None:
        self._settle(now)
        if not self._at_hand:
            self._find_one(now)
        return self._at_hand.pop().taken if self._at_hand else None

    def _find_one(self, now: float) -> None:
        """Have a URL at hand if one is ready."""
        for step in range(self.partitions):
            partition = (self._turn + step) % self.partitions
            while reply := self.link.one(self._scripts.take(partition, now, 1)):
                self._read(partition, reply)
                self._ask_at_once(now)
                if self._at_hand:
                    self._turn = partition + 1
                    return
                if not reply[0]:
                    break

    def _ask_at_once(self, now: float) -> None:
        batch = Batch()
        for lease in self._asking:
            self._add_ask(batch, lease, now)
        self._asking = []
        self._run(batch)
        self._settle(now)

    def _is_held_up(self, now: float) -> bool:
        """Tell whether nothing may start: the crawl is paused or stopped, or Redis was not heard of."""
        return self.state != "run" or now - self._last_contact > SILENT_AFTER

    @property
    def state(self) -> str:
        """Return what all workers are told to do: run, pause or stop."""
        return self.crew.told.get("state", "run")

    @property
    def _politeness(self) -> Politeness:
        return self._scripts.politeness

    def wait(self, now: float) -> float | None:
        if self._exchange is None:
            return self._wait_at_once(now)
        self._advance(now)
        if self._failure is not None:
            return 0.0  # the next `take` says so
        if self.state == "stop":
            return _LONGEST if len(self._held) > len(self._at_hand) else None
        if self._is_held_up(now):
            return BEAT
        has_pending = bool(self._landings or self._inbox.size or self._asking)
        if self._at_hand:
            seconds = max(self._at_hand[0].start - now - self.clock.low, 0.0)
            return min(seconds, _LONGEST) if has_pending else min(seconds, BEAT)
        if self._exchange.is_busy or has_pending:
            return _SHORTEST / 2
        return self._wait_for_others(now)

    def _wait_for_others(self, now: float) -> float | None:
        first = self._board.first
        if first is None:
            return None if self._board.is_over and not self._held and not self._waits else _LONGEST
        seconds = max(first - now - self.clock.low, 0.0)
        # Others may bring links at any moment; but what is a day away is nothing to wait for.
        return seconds if seconds > self._scripts.lease else max(min(seconds, BEAT), _SHORTEST)

    def _wait_at_once(self, now: float) -> float | None:
        self._settle(now)
        self._look(now)
        first = self._board.first
        if first is not None and first <= now and self._politeness.server_delay is not None:
            # The host is ready, but its server may not be: only a try can tell.
            if not self._at_hand:
                self._find_one(now)
                self._look(now)
            first = now if self._at_hand else self._board.first
        return None if first is None else max(first - now, 0.0)

    # --- back ---

    def finish(
        self,
        taken: Taken,
        state: State,
        now: float,
        links: Iterable[str] = (),
        *,
        deeper: int = 1,
    ) -> None:
        lease = self._let_go(taken, now, asked=state != "denied")
        if lease is None:
            return
        self._done += 1
        landing = self._landing(state, lease, now)
        if state == "done":
            landing.links, landing.deeper = tuple(links), deeper
            self._land_page(landing, taken.depth)
        else:
            self._landings.append(landing)
        self._tell(now)

    def _land_page(self, landing: Landing, depth: int) -> None:
        """Take in the links of a page by its depth, and have it ended after that."""
        links, target, limits = landing.links, depth + landing.deeper, self._scripts.limits
        landing.depth, landing.rejected, landing.record = depth, 0, b""
        if target > max(limits.depth, limits.dynamic_depth):
            landing.rejected = len(links)
        else:
            for link in links:
                self._take_in(link, target)
        if self._exchange is None:
            self._settle(self._last_contact)  # so that the floor is known
        if depth > min(self._board.floor, self._inbox.floor()):
            landing.record = pack_links(landing.deeper, links)
        self._landings.append(landing)

    def retry(self, taken: Taken, now: float, after: float = 0.0) -> None:
        if lease := self._let_go(taken, now):
            landing = self._landing("later", lease, now)
            landing.until = landing.time + after
            self._landings.append(landing)
            self._tell(now)

    def release(self, taken: Taken, now: float) -> None:
        if lease := self._let_go(taken, now):
            self._landings.append(self._landing("waiting", lease, now))
            self._tell(now)

    def _let_go(self, taken: Taken, now: float, *, asked: bool = True) -> Lease | None:
        lease = self._held.get(taken.number)
        if lease is None or lease.taken is not taken:
            return None
        del self._held[taken.number]
        if lease.address:
            self._leave_server(lease, now, "asked" if asked else "unasked")
        return lease

    def _leave_server(self, lease: Lease, now: float, how: str) -> None:
        moment, host = now + self.clock.high, b"" if how == "moved" else lease.host.key
        script = self._scripts.leave_server(lease.address, lease.identity, moment, how, host)
        self._turns.append((script, partial(self._left, host)))

    def _give_back(self, lease: Lease, now: float) -> None:
        if self._let_go(lease.taken, now) is not None:
            self._landings.append(self._landing("waiting", lease, now))

    def _landing(self, what: str, lease: Lease, now: float) -> Landing:
        landing = Landing(what, lease.partition, lease.taken.number, now + self.clock.high)
        landing.token, landing.host = lease.token, lease.host
        landing.pause = self._politeness.pause(lease.host)
        return landing

    def _tell(self, now: float) -> None:
        if self._exchange is None:
            self._settle(now)
        else:
            self._advance(self._caller_clock())

    # --- at once ---

    def _settle(self, now: float) -> None:
        """Bring everything to Redis, and what that brings in turn."""
        self._last_contact = now
        while self._inbox.size or self._landings or self._turns:
            batch = Batch()
            self._add_pending(batch, now)
            self._add_looks(batch, now)
            self._run(batch)
            self._board.conclude()

    def _look(self, now: float) -> None:
        batch = Batch()
        self._add_looks(batch, now)
        self._run(batch)
        self._board.conclude()
        self._settle(now)

    # --- in the background ---

    def _advance(self, now: float) -> None:
        """Take in what has come from Redis, and begin the next exchange if there is reason to."""
        assert self._exchange is not None
        try:
            if (answer := self._exchange.collect()) is not None:
                self._arrived(answer)
        except FrontierUnavailable as error:
            self._failure = error
        if self._failure is None and not self._exchange.is_busy and self._has_reason(now):
            self._depart(now)

    def _has_reason(self, now: float) -> bool:
        since = now - self._last_exchange
        if since < _SHORTEST:
            return False
        if self._landings or self._inbox.size or self._asking or self._notes:
            if since >= _LONGEST or not self._at_hand or 2 * len(self._landings) >= self._read_ahead:
                return True
        if 2 * len(self._at_hand) < self._read_ahead and self._asked(now):
            return True
        return self._must_look(now)

    def _must_look(self, now: float) -> bool:
        is_quiet = not self._held and self._board.first is None
        return now - self._last_look >= (_LONGEST if is_quiet else BEAT)

    def _asked(self, now: float) -> list[int]:
        """Return the partitions to ask: one's own that have something, or any that are late."""
        if self.state != "run":
            return []
        there = now + self.clock.low
        owners = self._owners_now(there)
        ready = [(p, t) for p, t in enumerate(self._board.next) if t is not None]
        horizon = there + self._ahead
        own = {p for p, t in ready if owners[p] == self.crew.name and t <= horizon}
        # A host that has just been asked may be asked again before long.
        own |= {x.partition for x in self._landings if owners[x.partition] == self.crew.name}
        if own or self._at_hand:
            return sorted(own)
        return [p for p, t in ready if t <= there - _LATE]

    def _owners_now(self, there: float) -> list[str]:
        names = tuple(self.crew.alive(there)) or (self.crew.name,)
        known = (names, int(there))
        if self._owners[0] != known:
            self._owners = (known, self._assign(self.partitions, names, there))
        return self._owners[1]

    def _depart(self, now: float) -> None:
        """Begin an exchange."""
        assert self._exchange is not None
        there = now + self.clock.low
        batch = self._batch = Batch()
        self._add_takes(batch, now)
        self._add_pending(batch, there)
        for lease in self._asking:
            self._add_ask(batch, lease, there)
        self._asking = []
        self._add_duties(batch, there)
        if self._must_look(now):
            self._last_look = now
            batch.add(LOOKS, self._seeds.read(), self._sow)
            self._add_looks(batch, there)
            batch.add(LOOKS, self.crew.beat({}, None, silent=True), self._concluded)
        else:
            batch.add(LOOKS, self.crew.beat({}, None, silent=True), ignore)
        self._last_exchange = now
        self._exchange.submit(batch.stages)

    def _add_takes(self, batch: Batch, now: float) -> None:
        asked = self._asked(now)
        wanted = self._read_ahead - len(self._at_hand)
        if not asked or wanted <= 0:
            return
        count = -(-wanted // len(asked))
        slack = _SLACK if self._politeness.at_once > 1 else 0.0
        for partition in asked:
            script = self._scripts.take(
                partition, now + self.clock.low, count, self._ahead, slack
            )
            batch.add(TAKES, script, partial(self._read, partition))

    def _read(self, partition: int, reply: list[Any]) -> None:
        for lease in self._took(partition, reply):
            if self._politeness.server_delay is not None and lease.address:
                self._asking.append(lease)
            else:
                heapq.heappush(self._at_hand, lease)

    def _add_ask(self, batch: Batch, lease: Lease, there: float) -> None:
        """Ask for a turn at the server of a URL."""
        start, latest = max(lease.start, there), there + self._ahead
        script = self._scripts.ask_server(
            lease.address, lease.identity, start, latest, lease.host.key
        )
        batch.add(TAKES, script, partial(self._served, lease))

    def _served(self, lease: Lease, reply: bytes) -> None:
        start = float(reply)
        if not reply.startswith(b"-"):
            lease.start = start
            heapq.heappush(self._at_hand, lease)
            return
        del self._held[lease.taken.number]
        landing = Landing("refused", lease.partition, lease.taken.number, lease.start)
        landing.token, landing.until = lease.token, -start
        self._landings.append(landing)

    def _add_duties(self, batch: Batch, there: float) -> None:
        """Add what is done for others: who is gone is buried, hosts that wait to be placed are named."""
        for name in self._dead:
            for partition in range(self.partitions):
                batch.add(LANDS, self._scripts.evict(partition, there, name), self._wake)
            batch.add(LANDS, self._seeds.give_up(name), ignore)
            batch.add(LOOKS, self.crew.farewell(name), ignore)
        self._dead = []
        if self._needs_recovery:
            self._needs_recovery = False
            held = [*self._held.values(), *self._asking]
            for partition in range(self.partitions):
                tokens = [lease.token for lease in held if lease.partition == partition]
                script = self._scripts.evict_but(partition, there, tokens)
                batch.add(LANDS, script, self._wake)
        if self._politeness.server_delay is not None and not self._unplaced:
            for partition, count in enumerate(self._board.unplaced):
                if count:
                    script = self._scripts.unplaced(partition, there, _PLACES)
                    batch.add(TAKES, script, self._unplaced.extend)

    def _sow(self, reply: list[bytes]) -> None:
        for url, depth in self._seeds.seeds(reply):
            if self.welcome(url):
                self.put([url], depth)

    def _concluded(self, reply: list[Any]) -> None:
        self._board.conclude()
        if self._board.lost:
            logger.error(
                "Redis has lost %d URLs that waited: keys of the crawl are gone. Does it evict keys?",
                self._board.lost,
            )

    def _arrived(self, answer: Answer) -> None:
        self._last_contact = answer.received
        if answer.gap:
            # Redis may have come back without its last second: links are told again, and what was handed
            # out meanwhile is put back.
            self._known.clear()
            self._needs_recovery = True
        there = self.crew.heard(answer.replies[LOOKS][-1], gap=answer.gap)
        self.clock.learn(there, answer.sent, answer.received)
        self._heed()
        self._batch.deal_with(answer.replies)
        self._dead = self.crew.dead(there)
        for name in self._dead:
            logger.warning("The worker %s is gone: its URLs are handed out again.", name)

    def _heed(self) -> None:
        """Take over what all workers are told, and what they have noted."""
        told = {name: float(self.crew.told[name]) for name in TOLD if name in self.crew.told}
        if told or self._politeness is not self._own_politeness:
            self._scripts.politeness = replace(self._own_politeness, **told)  # type: ignore[arg-type]
        for name, (version, recall) in self._watched.items():
            latest = int(self.crew.told.get(f"note {name}", 0))
            if version != latest and (value := self.note(name)) is not None:
                self._watched[name] = (latest, recall)
                recall(value)

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
        known = self._hosts.get(host)
        if known is None:
            return
        there = now + self.clock.high
        if refused:
            self._politeness.note_refusal(known, there, wanted)
        elif latency is None:
            self._politeness.note_failure(known, there)
        else:
            self._politeness.note_answer(known, latency)

    def slow_down(
        self, host: int, *, crawl_delay: float | None = None, until: float | None = None
    ) -> None:
        known = self._hosts.get(host)
        if known is None:
            return
        if crawl_delay is not None:
            known.crawl_delay = crawl_delay
        if until is not None:
            known.blocked = max(known.blocked, until + self.clock.high)
        landing = Landing("slow", self._partition(known.key), known.key, 0.0, host=known)
        landing.pause = self._politeness.pause(known)
        self._landings.append(landing)
        self._tell(self._last_contact)

    def unplaced(self, most: int) -> list[tuple[int, str]]:
        if self._politeness.server_delay is None:
            return []
        if self._exchange is None:
            self._look(self._last_contact)
            for partition in range(self.partitions):
                if len(self._unplaced) < most and self._board.unplaced[partition]:
                    script = self._scripts.unplaced(partition, self._last_contact, most)
                    self._unplaced += self.link.one(script)
        named, self._unplaced = self._unplaced[:most], self._unplaced[most:]
        return [(host.id, host.name) for host in (host_at(key, self._hosts) for key in named)]

    def place(self, host: int, address: str) -> None:
        if (known := self._hosts.get(host)) is not None:
            landing = Landing("placed", self._partition(known.key), known.key, 0.0)
            landing.record = address.encode()
            self._landings.append(landing)
            for lease in self._held.values():
                if lease.taken.host == host and lease.address != address:
                    self._move(lease, address)
            self._tell(self._last_contact)

    def _move(self, lease: Lease, address: str) -> None:
        """Move a fetch that is under way to another server."""
        if lease.address:
            self._leave_server(lease, self._last_contact, "moved")
        lease.address = address
        if address:
            script = self._scripts.come_to_server(address, lease.identity, lease.start)
            self._turns.append((script, ignore))

    # --- notes ---

    def note(self, name: str) -> bytes | None:
        if name in self._notes:
            return self._notes[name]
        value: bytes | None = self.link.command("hget", self._notes_key(name), name)
        return value

    def set_note(self, name: str, value: bytes) -> None:
        if self._exchange is not None:
            self._notes[name] = value
            return
        batch = Batch()
        self._add_note(batch, name, value)
        self._run(batch)

    def watch(self, name: str, recall: Callable[[bytes], None]) -> None:
        """Have `recall` called with a note when another worker has changed it.

        The note is a JSON array, and to set it is to add to it. `recall` is called before any URL is
        handed out that was taken in after the change.
        """
        self._watched[name] = (int(self.crew.told.get(f"note {name}", 0)), recall)

    def _notes_key(self, name: str) -> str:
        return self._scripts.root_of(name.encode()) + ":notes"

    # --- looking ---

    def counts(self) -> Counts:
        if self._exchange is None:
            self._look(self._last_contact)
        return self._board.counts()

    def hosts(self, now: float) -> Iterator[HostView]:
        there = now + self.clock.low
        for partition in range(self.partitions):
            cursor = b"0"
            while True:
                cursor, rows = self.link.one(self._scripts.hosts(partition, there, cursor))
                yield from (view(row, self._politeness, now, self.clock.low) for row in rows)
                if cursor == b"0":
                    break

    def backlog(self) -> list[tuple[int, int]]:
        """Return of each partition how many URLs wait and are in flight."""
        return self._board.backlog()

    # --- closing ---

    def close(self) -> None:
        """Bring everything to Redis, and give back what is in flight."""
        if self._exchange is not None:
            self._leave(self._exchange)
        try:
            self.link.one(self.crew.farewell(self.crew.name))
        except (OSError, RedisAway) as error:
            logger.warning("This worker could not say that it leaves: %s", error)
        self.link.close()

    def _leave(self, exchange: Exchange) -> None:
        try:
            if (answer := exchange.collect(_LEAVING)) is not None:
                self._arrived(answer)
            if not exchange.is_busy and self._failure is None:
                now = self._caller_clock()
                for lease in list(self._held.values()):
                    self._give_back(lease, now)
                while self._inbox.size or self._landings or self._turns:
                    batch = Batch()
                    self._add_pending(batch, now + self.clock.low)
                    self._run(batch)
        except (OSError, FrontierUnavailable) as error:
            logger.warning("What was in flight is handed out again later: %s", error)
        finally:
            exchange.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
