"""How fast pages change, by section, host and crawl: what a page is believed to do before it has a past.

The new pages that pages lead to are counted in the same way, in a table of their own.

Layout. Each host and each section, which is a first folder, has two numbers: the changes of its pages, and
the seconds in which they were seen. A section believes its host until it has changes of its own: the host's
rate counts as STRENGTH changes of the section, and the crawl's rate as STRENGTH changes of the host.

Invariant. There are never more than `most` prefixes: beyond that, the half that was seen for the shortest
time is dropped, and a dropped prefix counts like its parent. All numbers are finite.
"""

from __future__ import annotations

import struct
import zlib
from itertools import chain

STRENGTH = 3.0
# The rate of a page before anything is known: a change in 30 days.
FIRST_RATE = 1 / (30 * 86_400)
# New pages a second that a page leads to before anything is known: one in 300 days.
FIRST_RATE_OF_NEW = FIRST_RATE / 10

_UNKNOWN = b""
_MAGIC = b"rates1"
# bytes of the prefixes, number of prefixes, the root
_HEAD = struct.Struct(">IIdd")


def _kinds(key: bytes) -> tuple[bytes, ...]:
    """Return the host of a key, and its section if it has one."""
    start = key.index(b"/") + 1
    end = key.find(b"/", start) + 1 or key.find(b"?", start) + 1
    return (key[:start], key[:end]) if end else (key[:start],)


class Rates:
    def __init__(self, most: int = 100_000, first: float = FIRST_RATE) -> None:
        self._most = most
        self._first = first
        self._table: dict[bytes, list[float]] = {}
        self._root = [0.0, 0.0]
        # The rate of a page of which nothing is known.
        self.of_crawl = first
        # The section that was asked for last, and its rate.
        self._section, self._rate = _UNKNOWN, first

    def __len__(self) -> int:
        return len(self._table)

    def learn(self, key: bytes, changes: float, seconds: float) -> None:
        """Learn that the page of a key had so many changes in some seconds."""
        table = self._table
        for prefix in _kinds(key):
            counts = table.get(prefix)
            if counts is None:
                table[prefix] = [changes, seconds]
            else:
                counts[0] += changes
                counts[1] += seconds
        self._root[0] += changes
        self._root[1] += seconds
        self._follow_root()
        if len(table) > self._most:
            self._forget()

    def rate(self, key: bytes) -> float:
        """Return the rate of the pages around a key; keys of one section are mostly asked for together."""
        if not self._table:
            return self.of_crawl
        start = key.index(b"/") + 1
        end = key.find(b"/", start) + 1 or key.find(b"?", start) + 1
        section = key[: end or start]
        if section != self._section:
            rate, find = self.of_crawl, self._table.get
            if (counts := find(key[:start])) is not None:
                rate = (STRENGTH + counts[0]) / (STRENGTH / rate + counts[1])
            if end and (counts := find(section)) is not None:
                rate = (STRENGTH + counts[0]) / (STRENGTH / rate + counts[1])
            self._section, self._rate = section, rate
        return self._rate

    def _follow_root(self) -> None:
        changes, seconds = self._root
        self.of_crawl = (1.0 + changes) / (1.0 / self._first + seconds)
        self._section = _UNKNOWN

    def _forget(self) -> None:
        """Drop the half with the shortest time, the oldest first, and halve the rest."""
        table = self._table
        for prefix in sorted(table, key=lambda prefix: table[prefix][1])[: self._most // 2]:
            del table[prefix]
        for counts in table.values():
            counts[:] = [number / 2 for number in counts]

    # --- across a restart ---

    def dump(self) -> bytes:
        names, counts = b"\n".join(self._table), [*chain.from_iterable(self._table.values())]
        head = _HEAD.pack(len(names), len(self._table), *self._root)
        return _MAGIC + zlib.compress(head + names + struct.pack(f">{len(counts)}f", *counts), 1)

    @classmethod
    def load(cls, data: bytes, most: int = 100_000, first: float = FIRST_RATE) -> Rates:
        """Return what was dumped; ValueError if it is damaged."""
        rates = cls(most, first)
        try:
            rates._read(data)
        except (zlib.error, struct.error) as error:
            raise ValueError(f"The stored rates of change are damaged: {error}.") from error
        while len(rates._table) > most:
            rates._forget()
        return rates

    def _read(self, data: bytes) -> None:
        if not data.startswith(_MAGIC):
            raise ValueError("These are not stored rates of change.")
        body = zlib.decompress(data[len(_MAGIC) :])
        length, count, *self._root = _HEAD.unpack_from(body)
        self._follow_root()
        start = _HEAD.size + length
        names = body[_HEAD.size : start].split(b"\n") if count else []
        numbers = struct.iter_unpack(">ff", body[start : start + 8 * count])
        self._table = {name: [*each] for name, each in zip(names, numbers, strict=True)}
