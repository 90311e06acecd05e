"""The hosts: what is known of each, in memory while it has work, on disk for ever.

Layout. `Host` objects are in memory for hosts with something waiting or in flight, and only for those.
schedule.py decides when each may be asked.

What survives a kill. Each record is written with the change of state that altered it. After a kill nothing
shows which hosts were just being asked, so all wait for their delay once more.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

from rdfaspider.frontier import HostView
from rdfaspider.frontier.manners import MANNERS_FORMAT, NEVER_ASKED, Manners
from rdfaspider.urls.keys import host_name, host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rocksdict import WriteBatch

    from rdfaspider.frontier import Taken
    from rdfaspider.frontier.politeness import Politeness
    from rdfaspider.frontier.schedule.servers import Server
    from rdfaspider.frontier.tables.database import Database

# id, taken in, waiting, postponed, done, failed; then its manners; for a host with kept pages a plus sign and
# its revisits; then a space and the address of its server as text
_RECORD = struct.Struct(f">IIIIII{MANNERS_FORMAT}")
_COUNTS = 6
# The highest factor of a price that is written: no page is worth as much.
_HIGHEST = 1e30
# a plus, kept pages, its alarm, the factor of its price, right and wrong signals of change
_REVISITS = struct.Struct(">cIIfBB")
_PLUS = b"+"

# The number of a host that the frontier does not know.
STRANGER = -1

# Most hosts have nothing in flight and share this.
NONE_IN_FLIGHT: frozenset[int] = frozenset()

_MOST_CLOCKS = 10_000


class Host(Manners):
    """One host: its counts, its manners, the URLs at hand and the numbers of those in flight.

    `waiting` counts all its unfinished URLs, including those in flight, but not the `postponed` ones.
    `prefix` begins the keys of its waiting URLs. `queue` holds (place in a page, URL), the next one last, and
    at most a page's quota. `low` is where its waiting keys begin, as far as is known: before it there may be
    many deleted keys, which RocksDB would have to step over. `address` is None until it is resolved; it and
    the name decide whether the host `is_own`, and so how many of its URLs may be in flight `at_once`. `turn`
    counts the takes up to its last one. `due` belongs to the order; `server`, `stamp`, `engaged` and `before`
    belong to schedule.py.

    Of its `kept` pages, some are at hand to be visited again (`recalled`, the next one last), some are being
    visited (`revisiting`), and the first of the others is due at `next_due`, which is known while the host
    `is_awake` (engine/revisits/). `alarm`, `factor`, `right` and `wrong` are stored.
    """

    __slots__ = (
        "address",
        "alarm",
        "before",
        "done",
        "due",
        "engaged",
        "factor",
        "failed",
        "id",
        "in_flight",
        "is_awake",
        "kept",
        "low",
        "next_due",
        "postponed",
        "prefix",
        "queue",
        "recalled",
        "revisiting",
        "right",
        "server",
        "stamp",
        "taken_in",
        "turn",
        "waiting",
        "wrong",
    )

    def __init__(self, key: bytes, number: int) -> None:
        super().__init__(key)
        self.id = number
        self.prefix = b"" if number == STRANGER else number.to_bytes(4, "big")
        self.taken_in = self.waiting = self.postponed = self.done = self.failed = 0
        self.in_flight: set[int] | frozenset[int] = NONE_IN_FLIGHT
        self.address: str | None = None
        self.server: Server | None = None
        self.stamp = -1
        self.turn = 0
        self.due = 0.0
        self.engaged = False
        self.before: tuple[float, Server, float] | None = None
        self.low = b""
        self.queue: list[tuple[int, Taken]] = []
        self.kept = self.alarm = self.right = self.wrong = 0
        self.factor = 1.0
        self.is_awake = False
        self.next_due = self.revisiting = 0
        self.recalled: list[Taken] | tuple[()] = ()

    @property
    def name(self) -> str:
        return host_name(self.key)

    @property
    def pages(self) -> int:
        return self.done + self.failed + self.kept

    @property
    def jitter(self) -> float:
        return 1 + self.id * 2654435761 % 1000 / 10_000

    @property
    def can_give(self) -> bool:
        """Return whether it has a URL that is not in flight yet."""
        return bool(self.recalled) or self.waiting > len(self.in_flight) - self.revisiting

    @property
    def has_new(self) -> bool:
        """Return whether it has a URL that is not in flight yet, and was not visited before."""
        return self.waiting > len(self.in_flight) - self.revisiting

    @property
    def is_idle(self) -> bool:
        """Return whether there is nothing to do for it."""
        return not (self.waiting or self.recalled or self.revisiting)

    def pack(self) -> bytes:
        counts = (self.id, self.taken_in, self.waiting, self.postponed, self.done, self.failed)
        data = _RECORD.pack(*counts, *self.stored)
        if self.kept or self.alarm:
            factor = self.factor if self.factor < _HIGHEST else _HIGHEST
            data += _REVISITS.pack(_PLUS, self.kept, self.alarm, factor, self.right, self.wrong)
        return data if self.address is None else data + b" " + self.address.encode()

    @classmethod
    def read(cls, key: bytes, data: bytes) -> Host:
        """Return the host of a record."""
        numbers = _RECORD.unpack_from(data)
        number, *counts = numbers[:_COUNTS]
        host = cls(key, number)
        host.taken_in, host.waiting, host.postponed, host.done, host.failed = counts
        host.stored = numbers[_COUNTS:]
        end = data[_RECORD.size :]
        if end.startswith(_PLUS):
            _, *revisits = _REVISITS.unpack_from(end)
            host.kept, host.alarm, host.factor, host.right, host.wrong = revisits
            end = end[_REVISITS.size :]
        if end:
            host.address = end[1:].decode()
        return host


class Clocks:
    """The latest times by name; the oldest entries are dropped when there are too many."""

    def __init__(self) -> None:
        self._times: dict[bytes, float] = {}

    def __getitem__(self, name: bytes) -> float:
        """Return a time, NEVER_ASKED if none is known."""
        return self._times.get(name, NEVER_ASKED)

    def __setitem__(self, name: bytes, time: float) -> None:
        self._times.pop(name, None)
        if len(self._times) >= _MOST_CLOCKS:
            del self._times[next(iter(self._times))]
        self._times[name] = time

    def pop(self, name: bytes) -> float:
        return self._times.pop(name, NEVER_ASKED)


class Hosts:
    """All hosts: those with work by key and by id, the others on disk."""

    def __init__(self, database: Database, politeness: Politeness) -> None:
        self.politeness = politeness
        self._family = database.hosts
        self._by_key: dict[bytes, Host] = {}
        self._by_id: dict[int, Host] = {}
        # When unknown hosts were asked.
        self.strangers = Clocks()
        self._unsaved: set[int] = set()
        # Return a host in memory, None if it has no work any more.
        self.by_id: Callable[[int], Host | None] = self._by_id.get
        self.in_memory: Callable[[bytes], Host | None] = self._by_key.get

    def resting(self, now: float) -> list[Host]:
        """Return the hosts in memory that may not be asked yet."""
        return [host for host in self._by_id.values() if self.ready_at(host) > now]

    def all(self, total: int | None = None) -> Iterator[Host]:
        """Yield every host that was ever known, by key; if all of the `total` are in memory, from there."""
        if len(self._by_key) == total:
            yield from [self._by_key[key] for key in sorted(self._by_key)]
            return
        for key, data in self._family.pairs():
            yield self._by_key.get(key) or self._read(key, data)

    def find(self, key: bytes) -> Host | None:
        """Return the host of a name, from memory or from disk, None if it is unknown."""
        host = self._by_key.get(key)
        if host is None and (host := self.peek(key)) is not None:
            self.remember(host)
        return host

    def _read(self, key: bytes, data: bytes) -> Host:
        host = Host.read(key, data)
        self.mark(host)
        return host

    def ready_at(self, host: Host) -> float:
        """Return when a host may be asked again, whatever its server says."""
        clock, blocked = host.asked + self.politeness.pause(host), host.blocked
        return blocked if blocked > clock else clock

    def mark(self, host: Host) -> None:
        """Decide by its name or its address whether a host is the user's own."""
        own = self.politeness.own
        is_own = own is not None and own.includes(host.name, host.address)
        self.politeness.mark(host, is_own=is_own)

    def known(self, key: bytes) -> Host:
        """Return the host of a URL that was taken in."""
        host = self.find(host_of(key))
        assert host is not None
        return host

    def peek(self, key: bytes) -> Host | None:
        """Return the host of a name without keeping it in memory, None if it is unknown."""
        host = self._by_key.get(key)
        if host is None and (data := self._family.get(key)) is not None:
            host = self._read(key, data)
        return host

    def stranger(self, key: bytes, address: str) -> Host:
        """Return an unknown host with the time when it was asked."""
        host = Host(key, STRANGER)
        host.address, host.asked = address, self.strangers[key]
        self.mark(host)
        return host

    def create(self, key: bytes, number: int) -> Host:
        host = Host(key, number)
        host.asked = self.strangers.pop(key)
        self.mark(host)
        return self.remember(host)

    def __len__(self) -> int:
        return len(self._by_id)

    def __getitem__(self, number: int) -> Host:
        return self._by_id[number]

    def save(self, batch: WriteBatch, host: Host) -> None:
        batch.put(host.key, host.pack(), self._family.handle)

    def save_later(self, host: Host) -> None:
        """Save a host with the next batch of many: a kill before that loses what is new."""
        self._unsaved.add(host.id)

    def is_unsaved(self, host: Host) -> bool:
        return host.id in self._unsaved

    def save_rest(self, batch: WriteBatch) -> None:
        """Save the hosts that were left for later; those without work were saved when it ended."""
        while self._unsaved:
            if (host := self._by_id.get(self._unsaved.pop())) is not None:
                self.save(batch, host)

    def remember(self, host: Host) -> Host:
        self._by_key[host.key] = self._by_id[host.id] = host
        return host

    def forget(self, host: Host) -> None:
        self._by_key.pop(host.key, None)
        self._by_id.pop(host.id, None)

    def view(self, host: Host, now: float) -> HostView:
        """Return a host as people see it. A table of hosts needs all of them, so this is fast."""
        pause, blocked, shared = self.politeness.pause(host), host.blocked, host.server
        clock = host.asked + pause
        server = shared.clock if shared else 0.0
        own = blocked if blocked > clock else clock
        ready = server if server > own else own
        flight = len(host.in_flight)
        if flight >= host.at_once:
            why = "is being fetched from"
        elif not (host.waiting or host.recalled or host.revisiting):
            why = _why_idle(host)
        elif shared is not None and shared.is_busy:
            why = f"shares the server {host.address}, which is being fetched from"
        elif ready <= now:
            why = "is ready"
        elif server > own:
            why = f"shares the server {host.address}, which keeps its delay"
        else:
            why = "was told to wait" if blocked > clock else "keeps its delay"
        revisiting = host.revisiting
        return HostView(
            host_name(host.key),
            host.waiting + host.postponed + revisiting - flight,
            flight,
            host.done,
            host.failed,
            pause,
            ready,
            why,
            host.kept - revisiting,
        )


def _why_idle(host: Host) -> str:
    if host.postponed:
        return "waits to try again"
    return "waits for its pages to change" if host.kept else "has nothing waiting"
