"""The hosts: what is known of each, in memory while it has work, on disk for ever.

Layout. `Host` objects are in memory for hosts with something waiting or in flight, and only for those.
When each may be asked is the business of turns.py.

What survives a kill. Each record is written with the change of state that altered it. After a kill
nobody knows which hosts were just being asked, so all wait for their delay once more.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from rdfaspider.frontier import HostView
from rdfaspider.frontier.politeness import Manners
from rdfaspider.frontier.schedule.clocks import Clocks
from rdfaspider.urls.keys import host_name, host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rocksdict import WriteBatch

    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.politeness import Politeness
    from rdfaspider.frontier.schedule.servers import Server
    from rdfaspider.frontier.tables.database import Database

# id, taken in, waiting, postponed, done, failed; then its manners, then the address of its server, as text
_COUNTS = struct.Struct(">IIIIII")


# The number of a host that has none: the frontier does not know it.
STRANGER = -1

# Most hosts have nothing in flight, so all share it.
NONE_IN_FLIGHT: frozenset[int] = frozenset()


class Host(Manners):
    """One host: its counts, its clock, the URLs at hand and the numbers of those in flight.

    `waiting` counts all of its URLs that are not finished, those in flight included; those put off until
    a time of their own are `postponed`. `queue` holds (place in a page, URL), the next one last, and is
    at most a page's quota long. `low` is where its waiting keys begin, as far as is known: before it there
    may be the remains of many that are gone, which RocksDB would have to step over. `address` is None
    until the host is placed; it and the name tell whether the host `is_own`, and so how many of its URLs
    may be in flight `at_once`. `turn` counts the takes up to its last one; `due` is the order's business,
    `server`, `stamp`, `engaged` and `before` are that of turns.py.
    """

    __slots__ = (
        "address",
        "before",
        "done",
        "due",
        "engaged",
        "failed",
        "id",
        "in_flight",
        "key",
        "low",
        "postponed",
        "queue",
        "server",
        "stamp",
        "taken_in",
        "turn",
        "waiting",
    )

    def __init__(self, key: bytes, number: int) -> None:
        super().__init__()
        self.key = key
        self.id = number
        self.taken_in = self.waiting = self.postponed = self.done = self.failed = 0
        self.in_flight: set[int] | frozenset[int] = NONE_IN_FLIGHT
        self.address: str | None = None
        self.server: Server | None = None
        self.stamp = -1
        self.turn = 0
        self.due: float = 0
        self.engaged = False
        self.before: tuple[float, Server, float] | None = None
        self.low = b""
        self.queue: list[tuple[int, Taken]] = []

    @property
    def name(self) -> str:
        return host_name(self.key)

    @property
    def pages(self) -> int:
        return self.done + self.failed

    @property
    def jitter(self) -> float:
        return 1 + self.id * 2654435761 % 1000 / 10_000

    @property
    def can_give(self) -> bool:
        """Tell whether it has a URL that is not in flight yet."""
        return self.waiting > len(self.in_flight)

    @property
    def prefix(self) -> bytes:
        """Return what the keys of its waiting URLs begin with."""
        return self.id.to_bytes(4, "big")

    def pack(self) -> bytes:
        counts = (self.id, self.taken_in, self.waiting, self.postponed, self.done, self.failed)
        address = b"" if self.address is None else b" " + self.address.encode()
        return _COUNTS.pack(*counts) + super().pack() + address

    @classmethod
    def read(cls, key: bytes, data: bytes) -> Host:
        """Return the host of a record."""
        number, *counts = _COUNTS.unpack_from(data)
        host = cls(key, number)
        host.taken_in, host.waiting, host.postponed, host.done, host.failed = counts
        host.unpack(data, _COUNTS.size)
        if end := data[_COUNTS.size + cls.SIZE :]:
            host.address = end[1:].decode()
        return host


class Hosts:
    """All hosts: those with work by key and by id, the others on disk."""

    def __init__(self, database: Database, politeness: Politeness) -> None:
        self.politeness = politeness
        self._family = database.hosts
        self._by_key: dict[bytes, Host] = {}
        self._by_id: dict[int, Host] = {}
        # Clocks of hosts that are not known, but were asked for something.
        self.strangers = Clocks()
        # Returns a host that is in memory, None if it has no work any more.
        self.by_id: Callable[[int], Host | None] = self._by_id.get
        self.in_memory: Callable[[bytes], Host | None] = self._by_key.get

    def all(self) -> Iterator[Host]:
        """Yield every host that was ever known."""
        for key, data in self._family.pairs():
            yield self._by_key.get(key) or self._read(key, data)

    def find(self, key: bytes) -> Host | None:
        """Return the host of this name, from memory or from disk, None if it is unknown."""
        host = self._by_key.get(key)
        if host is None and (data := self._family.get(key)) is not None:
            host = self.remember(self._read(key, data))
        return host

    def _read(self, key: bytes, data: bytes) -> Host:
        host = Host.read(key, data)
        self.mark(host)
        return host

    def mark(self, host: Host) -> None:
        """Find out whether a host is the user's own, which its name or its address tells."""
        own = self.politeness.own
        is_own = own is not None and own.includes(host.name, host.address)
        self.politeness.mark(host, is_own=is_own)

    def known(self, key: bytes) -> Host:
        """Return the host of a URL that was taken in."""
        host = self.find(host_of(key))
        assert host is not None
        return host

    def peek(self, key: bytes) -> Host | None:
        """Return the host of this name without bringing it into memory, None if it is unknown."""
        host = self._by_key.get(key)
        if host is None and (data := self._family.get(key)) is not None:
            host = self._read(key, data)
        return host

    def stranger(self, key: bytes, address: str) -> Host:
        """Return a host that is not known, with the clock it has."""
        host = Host(key, STRANGER)
        host.address, host.clock = address, self.strangers[key]
        self.mark(host)
        return host

    def create(self, key: bytes, number: int) -> Host:
        host = Host(key, number)
        host.clock = self.strangers.pop(key)
        self.mark(host)
        return self.remember(host)

    def __len__(self) -> int:
        return len(self._by_id)

    def __getitem__(self, number: int) -> Host:
        return self._by_id[number]

    def save(self, batch: WriteBatch, host: Host) -> None:
        batch.put(host.key, host.pack(), self._family.handle)

    def remember(self, host: Host) -> Host:
        self._by_key[host.key] = self._by_id[host.id] = host
        return host

    def forget(self, host: Host) -> None:
        """Drop a host without work from memory."""
        self._by_key.pop(host.key, None)
        self._by_id.pop(host.id, None)

    def view(self, host: Host, now: float) -> HostView:
        """Return a host as people see it."""
        server = host.server.clock if host.server else 0.0
        ready = max(host.clock, host.blocked, server)
        if len(host.in_flight) >= host.at_once:
            why = "is being fetched from"
        elif not host.waiting:
            why = "waits to try again" if host.postponed else "has nothing waiting"
        elif host.server is not None and host.server.is_busy:
            why = f"shares the server {host.address}, which is being fetched from"
        elif ready <= now:
            why = "is ready"
        elif server > max(host.clock, host.blocked):
            why = f"shares the server {host.address}, which keeps its delay"
        else:
            why = "was told to wait" if host.blocked > host.clock else "keeps its delay"
        return HostView(
            name=host.name,
            waiting=host.waiting + host.postponed - len(host.in_flight),
            in_flight=len(host.in_flight),
            done=host.done,
            failed=host.failed,
            delay=self.politeness.pause(host),
            ready=ready,
            why=why,
        )
