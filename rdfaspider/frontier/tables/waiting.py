"""The waiting URLs, by host and rank: a small index on disk.

Layout: host (4 bytes), rank, number (5 bytes) → depth and attempts (a byte each), hint (3 bytes), for the
target of a redirect the hops (1 byte, smaller than any character of a key), then the URL's key without its
host. So one read is enough to hand out a URL. Rank and hint belong to the order.

Invariant: a host's `waiting` is the number of its keys here, and `low` is not after the first of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.frontier.tables.trie import DEPTH, HINT, pack_number, unpack_number

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rocksdict import RdictIter, WriteBatch

    from rdfaspider.frontier.orders.order import Order
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Database, Family
    from rdfaspider.frontier.tables.trie import Record


# How the value of a URL that was never tried begins, by depth.
_NEW = [bytes((depth, 0, 0, 0, 0)) for depth in range(256)]

# The most hops a value can hold: greater bytes are characters.
_MOST_HOPS = 31

# Bytes of a key.
_HOST = 4
_NUMBER = 5

# The rank, the number and the value of a waiting URL; what an order picks has no rank.
Found = tuple[bytes, int, bytes]
Picked = tuple[int, bytes]


class Entry(NamedTuple):
    """The fields of a value; `rest` is the key without its host."""

    depth: int
    attempts: int
    hint: int
    hops: int
    rest: bytes


def entry_of(value: bytes) -> Entry:
    depth, attempts, hops = value[0], value[1], value[5]
    hint = int.from_bytes(value[2:5], "big")
    if hops <= _MOST_HOPS:
        return Entry(depth, attempts, hint, hops, value[6:])
    return Entry(depth, attempts, hint, 0, value[5:])


def highest_byte_of_hint(value: bytes) -> int:
    return value[2]


class WaitingUrls:
    """Adds and removes waiting URLs."""

    def __init__(self, database: Database, order: Order) -> None:
        self._family = database.waiting
        self._order = order

    def add(self, batch: WriteBatch, host: Host, key: bytes, record: Record) -> None:
        """Make one URL wait, as its record says."""
        (rank,) = self._order.arrived(host, [key], [record.depth | record.hint << HINT])
        place = self._write(batch, host, key, record, rank)
        host.low = min(host.low, place)
        host.waiting += 1

    def write(self, batch: WriteBatch, host: Host, key: bytes, record: Record) -> None:
        """Write a waiting URL once more."""
        rank = self._order.rank(key, record.depth, record.hint)
        self._write(batch, host, key, record, rank)

    def _write(
        self, batch: WriteBatch, host: Host, key: bytes, record: Record, rank: bytes
    ) -> bytes:
        """Write a waiting URL; return its place."""
        place = rank + pack_number(record.number)
        head = bytes((record.depth, record.attempts)) + record.hint.to_bytes(3, "big")
        hops = bytes((record.hops,)) if record.hops else b""
        value = head + hops + key[len(host.key) :]
        batch.put(host.prefix + place, value, self._family.handle)
        return place

    def add_all(
        self,
        batch: WriteBatch,
        host: Host,
        keys: list[bytes],
        findings: dict[bytes, int],
        first: int,
    ) -> None:
        """Make new URLs of a host wait, with numbers from `first` on."""
        put, handle, prefix = batch.put, self._family.handle, host.prefix
        start, low, number = len(host.key), host.low, first
        found = [findings[key] for key in keys]
        ranks = self._order.arrived(host, keys, found)
        for key, each, rank in zip(keys, found, ranks, strict=True):
            place = rank + number.to_bytes(_NUMBER, "big")
            number += 1
            hint = each >> HINT
            head = _NEW[each & DEPTH]
            if hint:
                head = head[:2] + hint.to_bytes(3, "big")
            put(prefix + place, head + key[start:], handle)
            if place < low:
                low = place
        host.low = low
        host.waiting += len(keys)

    def remove(
        self, batch: WriteBatch, host: Host, key: bytes, depth: int, hint: int, number: int
    ) -> None:
        place = self._order.rank(key, depth, hint) + pack_number(number)
        batch.delete(host.prefix + place, self._family.handle)
        host.waiting -= 1


class WaitingCursor:
    """Reads the waiting URLs of hosts in order of rank, with one cursor.

    An order that has read ahead needs none, so the cursor is made on first use.
    """

    def __init__(self, family: Family) -> None:
        self._family = family
        self._made: RdictIter | None = None

    @property
    def _cursor(self) -> RdictIter:
        if self._made is None:
            self._made = self._family.cursor()
        return self._made

    def of(self, host: Host, rank: bytes = b"") -> Iterator[Found]:
        """Yield those not in flight, from the first with this rank or a later one.

        The next call invalidates it: there is one cursor.
        """
        self._seek(host, rank)
        return self._walk(host, self._cursor.next)

    def first_of(self, host: Host, rank: bytes, count: int) -> list[Picked]:
        """Return the first of those not in flight whose rank begins with this, up to `count`.

        No rank may be shorter: it would be compared with the number behind it.
        """
        if count < 1:
            return []
        self._seek(host, rank)
        cursor, prefix, flying = self._cursor, host.prefix + rank, host.in_flight
        found: list[Picked] = []
        while cursor.valid():
            key = cursor.key()
            if not key.startswith(prefix):
                return found
            number = unpack_number(key[-_NUMBER:])
            if number not in flying:
                found.append((number, cursor.value()))
                if len(found) == count:
                    return found
            cursor.next()
        cursor.status()  # raises what ended it too soon, if a file is damaged
        return found

    def _seek(self, host: Host, rank: bytes) -> None:
        """Go to the first with this rank or a later one."""
        cursor, start = self._cursor, max(rank, host.low)
        cursor.seek(host.prefix + start)
        if start == host.low and cursor.valid() and (key := cursor.key()).startswith(host.prefix):
            host.low = key[_HOST:]

    def before(self, host: Host, rank: bytes) -> Iterator[Found]:
        """Yield the same backwards, from the last with a rank before this one."""
        self._cursor.seek_for_prev(host.prefix + rank)
        return self._walk(host, self._cursor.prev)

    def _walk(self, host: Host, step: Callable[[], None]) -> Iterator[Found]:
        cursor, prefix, flying = self._cursor, host.prefix, host.in_flight
        while cursor.valid():
            key = cursor.key()
            if not key.startswith(prefix):
                return
            number = unpack_number(key[-_NUMBER:])
            if number not in flying:
                yield key[_HOST:-_NUMBER], number, cursor.value()
            step()
        cursor.status()  # raises what ended it too soon, if a file is damaged
