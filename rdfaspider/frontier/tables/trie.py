"""The URL trie: every URL that was ever taken in, by its key, with its record.

Layout. The keys (urls/keys.py) are sorted in RocksDB, whose blocks store only the end in which a key
differs from the one before. So URLs share their prefixes as in a trie, and a host, a site or a folder is a
prefix. Each URL has a number for life, in order of arrival, and within one arrival in order of keys. The
keys of 64 consecutive numbers are stored together: they lead from a number to its URL.

Invariant. A key is in `urls` if and only if its number's place in `numbers` holds it. Both are written in
one batch, so this survives a kill.
"""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.focus.visits.planner import PAST_FORMAT, Past
from rdfaspider.urls.keys import CUTS, to_key, to_url

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from rocksdict import WriteBatch

    from rdfaspider.focus.visits.planner import Fields
    from rdfaspider.frontier.tables.database import Database

# States of a URL, as stored. A URL in flight is stored as waiting, so a crash puts it back. A postponed URL
# counts as waiting too. A kept page is stored as kept while it is in flight again.
WAITING = 0
DONE = 1
FAILED = 2
DENIED = 3
POSTPONED = 4
KEPT = 5

# A finding says how a URL was found, in one number, because there is one for each link: the smallest depth in
# the low byte, the hint of the order above it. Loops over links use these constants, which cost no call.
DEPTH = 255
HINT = 8
NO_DEPTH = 256  # greater than any depth

_BLOCK = 64
_NUMBER = 5  # bytes: a million million URLs
_LAST = b"\xff"

# The state takes three bits of its byte; the others count the redirects that led to the URL.
_STATE = 7
_HOPS = 3

# What a kept page has before its hint: state and hops, depth, attempts, the number in two parts, the past.
_KEPT = struct.Struct(f">BBBBI{PAST_FORMAT}")
_LOW = 0xFFFFFFFF

# How the record of a new URL begins, by depth.
_NEW = [bytes((WAITING, depth, 0)) for depth in range(256)]


def parts(found: int) -> tuple[int, int]:
    """Return the depth and the hint of a finding."""
    return found & DEPTH, found >> HINT


class Record(NamedTuple):
    """What the trie stores of a URL."""

    state: int
    depth: int
    attempts: int
    number: int
    hint: int = 0  # the order's business (orders/order.py)
    hops: int = 0
    past: Past | None = None  # the visits of a kept page


def pack(record: Record) -> bytes:
    state, depth, attempts, number, hint, hops, past = record
    first = state | hops << _HOPS
    if past is not None:
        head = _KEPT.pack(first, depth, attempts, number >> 32, number & _LOW, *past)
    else:
        head = bytes((first, depth, attempts)) + number.to_bytes(_NUMBER, "big")
    return head + pack_hint(hint) if hint else head


def unpack(data: bytes) -> Record:
    state = data[0] & _STATE
    if state == KEPT:
        first, depth, attempts, high, low, *past = _KEPT.unpack_from(data)
        number = high << 32 | low
        return Record(KEPT, depth, attempts, number, hint_of(data), first >> _HOPS, Past(*past))
    return Record(state, data[1], data[2], number_of(data), hint_of(data), data[0] >> _HOPS)


def state_of(data: bytes) -> int:
    """Return the state in a packed record."""
    return data[0] & _STATE


def number_of(data: bytes) -> int:
    """Return the number in a packed record."""
    return int.from_bytes(data[3:8], "big")


def numbers_of(keys: Iterable[bytes], records: Iterable[bytes | None]) -> dict[bytes, int]:
    """Return the numbers of the keys that have packed records."""
    number = int.from_bytes
    return {
        key: number(data[3:8], "big")
        for key, data in zip(keys, records, strict=True)
        if data is not None
    }


def depth_of(data: bytes) -> int:
    """Return the depth in a packed record."""
    return data[1]


def hint_of(data: bytes) -> int:
    """Return the hint in a packed record."""
    return int.from_bytes(data[_KEPT.size if data[0] & _STATE == KEPT else 8 :], "big")


def pack_hint(hint: int) -> bytes:
    """Pack a hint for a record: most URLs have none, which takes no bytes."""
    return hint.to_bytes(3, "big") if hint else b""


def pack_number(number: int) -> bytes:
    return number.to_bytes(_NUMBER, "big")


def unpack_number(data: bytes) -> int:
    return int.from_bytes(data, "big")


class Trie:
    """Reads and adds URLs. Keys and prefixes are bytes as made by `to_key`."""

    def __init__(self, database: Database) -> None:
        self._urls = database.urls
        self._numbers = database.numbers

    # --- one URL ---

    def __contains__(self, url: str) -> bool:
        return self._urls.get(to_key(url)) is not None

    def record(self, url: str) -> Record | None:
        data = self._urls.get(to_key(url))
        return None if data is None else unpack(data)

    def url(self, number: int) -> str:
        """Return the URL with a number; IndexError if no URL has it."""
        return to_url(self.keys([number])[0])

    # --- many at once ---

    def records(self, keys: list[bytes]) -> list[bytes | None]:
        """Return the packed record of each key, None for an unknown one."""
        return self._urls.get_all(keys)

    def keys(self, numbers: Iterable[int]) -> list[bytes]:
        """Return the key of each number."""
        first = 0
        block: list[bytes] = []
        cursor = self._numbers.cursor()
        keys = []
        for number in numbers:
            if not 0 <= number - first < len(block):
                cursor.seek_for_prev(pack_number(number))
                if not cursor.valid():
                    cursor.status()
                    raise IndexError(f"no URL has the number {number}")
                first, block = unpack_number(cursor.key()), cursor.value().split(b"\n")
                if number - first >= len(block):
                    raise IndexError(f"no URL has the number {number}")
            keys.append(block[number - first])
        return keys

    def add(
        self, batch: WriteBatch, keys: Sequence[bytes], findings: Iterable[int], first: int
    ) -> None:
        """Add new keys to a batch, as waiting, with the numbers from `first` on."""
        put, urls = batch.put, self._urls.handle
        for number, (key, found) in enumerate(zip(keys, findings, strict=True), start=first):
            value = _NEW[found & DEPTH] + number.to_bytes(_NUMBER, "big")
            put(key, value + pack_hint(found >> HINT) if found > DEPTH else value, urls)
        for start in range(0, len(keys), _BLOCK):
            block = b"\n".join(keys[start : start + _BLOCK])
            put(pack_number(first + start), block, self._numbers.handle)

    def update(self, batch: WriteBatch, key: bytes, record: Record) -> None:
        batch.put(key, pack(record), self._urls.handle)

    def keep(
        self,
        batch: WriteBatch,
        key: bytes,
        depth: int,
        attempts: int,
        number: int,
        hint: int,
        hops: int,
        past: Fields,
    ) -> None:
        """Write a kept page: the same as `update`, but each visit ends here, and to make a record costs more
        than to pack it."""
        first, high, low = KEPT | hops << _HOPS, number >> 32, number & _LOW
        last, changes, seconds, weight, found, interval = past
        value = _KEPT.pack(
            first, depth, attempts, high, low, last, changes, seconds, weight, found, interval
        )
        batch.put(key, value + pack_hint(hint) if hint else value, self._urls.handle)

    def subtree(self, prefix: bytes = b"") -> Iterator[tuple[bytes, Record]]:
        """Yield the keys that begin with a prefix, in order, with their records."""
        cursor = self._urls.cursor()
        cursor.seek(prefix)
        while cursor.valid():
            key = cursor.key()
            if not key.startswith(prefix):
                return
            yield key, unpack(cursor.value())
            cursor.next()
        cursor.status()  # raises what ended it too soon, if a file is damaged


def past(prefix: bytes) -> bytes:
    """Return where the keys after a prefix and all that it contains begin.

    A prefix that ends in a cut contains all keys that begin with it; any other is itself a key, and `/ab`
    is no child of `/a`.
    """
    return prefix + (_LAST if prefix[-1] in CUTS else b"\0")


def is_below(key: bytes, prefix: bytes) -> bool:
    """Return whether a key continues another one at a cut: /a/b is below /a and /a/, /ab is not."""
    return (
        len(key) > len(prefix)
        and key.startswith(prefix)
        and (prefix[-1] in CUTS or key[len(prefix)] in CUTS)
    )


def cut(key: bytes, start: int) -> bytes:
    """Return the key up to and including the first cut at or after `start`, or all of it."""
    for place in range(start, len(key)):
        if key[place] in CUTS:
            return key[: place + 1]
    return key
