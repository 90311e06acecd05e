"""The host heap: which hosts have URLs waiting, and when each may be asked again.

Layout. `Host` objects are in memory for hosts with something waiting or in flight, and only for those.
A host that may be asked in future is in the heap of sleepers, by time; one that may be asked now and was
given a place in a queue page is in the heap of ready ones, by urgency and place. An entry of a heap is
valid while its stamp is the host's latest, so a host is moved by a new entry and nothing is searched.

Invariant. A host with a URL that can be handed out (waiting, not in flight, with room under its limit)
has exactly one valid entry in one heap. Hence the head is ready if and only if any host is.

What survives a kill. Each record is written with the change of state that altered it. After a kill
nobody knows which hosts were just being asked, so all wait for their delay once more.
"""

from __future__ import annotations

import heapq
import struct
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import HostView
from rdfaspider.frontier.keys import host_name, host_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rocksdict import WriteBatch

    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.database import Database
    from rdfaspider.frontier.politeness import Politeness

# id, taken in, waiting, later, done, failed, failures in a row;
# crawl delay, latency, back-off, clock, blocked until
_RECORD = struct.Struct(">IIIIIIHddddd")


class Host:
    """One host: its counts, its clock, the URLs at hand and the numbers of those in flight.

    `waiting` counts all of its URLs that are not finished, those in flight included; those put off until
    a time of their own are `later`. `queue` holds (place in a page, URL), the next one last, and is
    at most a page's quota long. `low` is where its waiting keys begin, as far as is known: before it there
    may be the remains of many that are gone, which RocksDB would have to step over.
    """

    __slots__ = (
        "backoff",
        "blocked",
        "clock",
        "crawl_delay",
        "done",
        "failed",
        "failures",
        "id",
        "in_flight",
        "key",
        "latency",
        "later",
        "low",
        "queue",
        "stamp",
        "taken_in",
        "waiting",
    )

    def __init__(self, key: bytes, number: int) -> None:
        self.key = key
        self.id = number
        self.taken_in = self.waiting = self.later = self.done = self.failed = self.failures = 0
        self.crawl_delay = self.latency = self.backoff = 0.0
        self.clock = self.blocked = 0.0
        self.in_flight: tuple[int, ...] = ()
        self.stamp = -1
        self.low = b""
        self.queue: list[tuple[int, Taken]] = []

    @property
    def name(self) -> str:
        return host_name(self.key)

    @property
    def can_give(self) -> bool:
        """Tell whether it has a URL that is not in flight yet."""
        return self.waiting > len(self.in_flight)

    @property
    def prefix(self) -> bytes:
        """Return what the keys of its waiting URLs begin with."""
        return self.id.to_bytes(4, "big")

    def pack(self) -> bytes:
        return _RECORD.pack(
            self.id,
            self.taken_in,
            self.waiting,
            self.later,
            self.done,
            self.failed,
            min(self.failures, 65_535),
            self.crawl_delay,
            self.latency,
            self.backoff,
            self.clock,
            self.blocked,
        )

    @classmethod
    def unpack(cls, key: bytes, data: bytes) -> Host:
        number, *rest = _RECORD.unpack(data)
        host = cls(key, number)
        host.taken_in, host.waiting, host.later, host.done, host.failed, host.failures = rest[:6]
        host.crawl_delay, host.latency, host.backoff, host.clock, host.blocked = rest[6:]
        return host


class Hosts:
    """All hosts with work, by key and by id, and the two heaps."""

    def __init__(self, database: Database, politeness: Politeness) -> None:
        self.politeness = politeness
        self.at_once = politeness.at_once
        self._database = database
        self._family = database.hosts
        self._by_key: dict[bytes, Host] = {}
        self._by_id: dict[int, Host] = {}
        self._sleeping: list[tuple[float, int, int]] = []
        self._ready: list[tuple[int, int, int, int]] = []
        self._stamps = 0

    def restore(self, now: float, *, killed: bool) -> None:
        """Bring back the hosts that have URLs waiting; after a kill each rests for its delay once more.

        That is written down, so that another restart does not forget it.
        """
        batch = self._database.batch()
        for key, data in self._family.pairs():
            host = Host.unpack(key, data)
            if killed:
                host.clock = max(host.clock, now + self.delay_of(host))
                self.save(batch, host)
            if host.waiting:
                self._remember(host)
                self.schedule(host)
        self._database.write(batch)

    def find(self, key: bytes) -> Host | None:
        """Return the host of this name, from memory or from disk, None if it is unknown."""
        host = self._by_key.get(key)
        if host is None and (data := self._family.get(key)) is not None:
            host = self._remember(Host.unpack(key, data))
        return host

    def known(self, key: bytes) -> Host:
        """Return the host of a URL that was taken in."""
        host = self.find(host_of(key))
        assert host is not None
        return host

    def create(self, key: bytes, number: int) -> Host:
        return self._remember(Host(key, number))

    def __getitem__(self, number: int) -> Host:
        return self._by_id[number]

    def by_id(self, number: int) -> Host | None:
        """Return a host that is in memory, None if it has no work any more."""
        return self._by_id.get(number)

    def save(self, batch: WriteBatch, host: Host) -> None:
        batch.put(host.key, host.pack(), self._family.handle)

    def delay_of(self, host: Host) -> float:
        return self.politeness.pause(host)

    def ready_at(self, host: Host) -> float:
        return max(host.clock, host.blocked)

    def schedule(self, host: Host) -> None:
        """Put a host where it belongs: asleep until its time, or out of memory if it has no work."""
        self._stamps += 1
        host.stamp = self._stamps
        if host.can_give and len(host.in_flight) < self.at_once:
            heapq.heappush(self._sleeping, (self.ready_at(host), host.stamp, host.id))
        self.forget_if_idle(host)

    def forget_if_idle(self, host: Host) -> None:
        if not host.waiting:
            del self._by_key[host.key], self._by_id[host.id]

    def wake(self, now: float) -> Host | None:
        """Return a sleeper whose time has come; the caller makes it ready or schedules it again."""
        if self._drop_stale(self._sleeping) and self._sleeping[0][0] <= now:
            return self._by_id[heapq.heappop(self._sleeping)[-1]]
        return None

    def make_ready(self, host: Host, urgency: int) -> None:
        """Put a host with URLs at hand among the ready ones, at the place of its first URL."""
        self._stamps += 1
        host.stamp = self._stamps
        heapq.heappush(self._ready, (urgency, host.queue[-1][0], host.stamp, host.id))

    def next_ready(self, now: float) -> Host | None:
        """Return the ready host that is first in turn."""
        while self._drop_stale(self._ready):
            host = self._by_id[heapq.heappop(self._ready)[-1]]
            if self.ready_at(host) <= now:
                return host
            self.schedule(host)  # it was told to wait meanwhile
        return None

    def next_time(self, now: float) -> float | None:
        """Return when the first host will be ready, None if none has work that can be handed out."""
        if self._drop_stale(self._ready):
            return now
        return self._sleeping[0][0] if self._drop_stale(self._sleeping) else None

    def _drop_stale(self, heap: list[Any]) -> bool:
        """Drop entries from the head of a heap until one is valid; tell whether there is one.

        An entry ends in the stamp it was made with and the id of its host.
        """
        while heap:
            stamp, number = heap[0][-2:]
            host = self._by_id.get(number)
            if host is not None and host.stamp == stamp:
                return True
            heapq.heappop(heap)
        return False

    def views(self, now: float) -> Iterator[HostView]:
        """Yield every known host as people see it."""
        for key, data in self._family.pairs():
            yield self._view(self._by_key.get(key) or Host.unpack(key, data), now)

    def _view(self, host: Host, now: float) -> HostView:
        ready = self.ready_at(host)
        if len(host.in_flight) >= self.at_once:
            why = "is being fetched from"
        elif not host.waiting:
            why = "waits to try again" if host.later else "has nothing waiting"
        elif ready <= now:
            why = "is ready"
        else:
            why = "was told to wait" if host.blocked > host.clock else "keeps its delay"
        return HostView(
            name=host.name,
            waiting=host.waiting + host.later - len(host.in_flight),
            in_flight=len(host.in_flight),
            done=host.done,
            failed=host.failed,
            delay=self.delay_of(host),
            ready=ready,
            why=why,
        )

    def _remember(self, host: Host) -> Host:
        self._by_key[host.key] = self._by_id[host.id] = host
        return host
