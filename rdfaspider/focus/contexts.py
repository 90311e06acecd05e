"""The contexts of links, and how much better the pages behind them are than their prefixes suggest.

Layout. A context is a number of 16 bits, small enough to wait with its URL: two bits for the kind of link
(within a section, to another one of the host, to another host), two for its page (unknown, without gain,
with some, with more than usual), twelve for a hash of its words. Each context keeps what was found behind
such links and what was expected; the quotient is its lift. A context with few pages leans on all links of
its kind and page.

Invariant. There are at most 65,536 contexts, and a lift is between 1/16 and 16.
"""

from __future__ import annotations

import re
import struct
from math import log2
from zlib import crc32

SAME_SECTION, SAME_HOST, OTHER_HOST = range(3)
UNKNOWN, POOR, RICH, VERY_RICH = range(4)

_WORDS = (1 << 12) - 1
# Expected finds after which a context weighs as much as its kind.
_STRENGTH = 2.0
_SMALLEST = 1 / 16
_LARGEST = 16.0
_DIGITS = re.compile(r"[0-9]+")
_CELL = struct.Struct(">Hff")
# Texts with fewer words count: the next page of a list is the same link whatever its number; longer texts
# are titles.
_FEW_WORDS = 3
_NOTHING = (0.0, 0.0)


def context_of(
    source: bytes, target: bytes, page: int = UNKNOWN, relation: str = "", text: str = ""
) -> int:
    """Return the context of a link between sections, `org,example)/a/`, on a page of some richness.

    Its words are its relation and, within a section, its text if it is short; to anywhere else, the
    segment's name, because /recipes/ means the same on many hosts.
    """
    if source == target:
        kind = SAME_SECTION
    else:
        same = source[: source.find(b")")] == target[: target.find(b")")]
        kind = SAME_HOST if same else OTHER_HOST
    if kind == SAME_SECTION:
        words = text if text.count(" ") < _FEW_WORDS else ""
    else:
        words = target[target.find(b"/") :].decode("ascii", "replace")
    named = f"{relation.lower()} | {_DIGITS.sub('0', words.lower())}"
    return kind << 14 | page << 12 | crc32(named.encode()) & _WORDS


def richness(gain: float, usual: float) -> int:
    """Return the class of a page by its gain, compared with the usual gain of rich pages."""
    if gain <= 0:
        return POOR
    return VERY_RICH if gain > 2 * usual else RICH


class Contexts:
    """What was found behind links and what was expected, by context."""

    def __init__(self) -> None:
        self._cells: dict[int, list[float]] = {}  # found, expected
        self._kinds = [[0.0, 0.0] for _ in range(16)]
        self._promises: dict[int, int] = {}  # of the contexts asked for since something was learnt

    def learn(self, context: int, found: float, expected: float) -> None:
        """Add what was behind a link of this context."""
        self._promises.clear()
        for sums in (self._kinds[context >> 12], self._cells.setdefault(context, [0.0, 0.0])):
            sums[0] += found
            sums[1] += expected

    def lift(self, context: int) -> float:
        """Return by how much such links are better than their prefixes."""
        found, expected = self._kinds[context >> 12]
        general = (_STRENGTH + found) / (_STRENGTH + expected)
        found, expected = self._cells.get(context, _NOTHING)
        lift = (_STRENGTH * general + found) / (_STRENGTH + expected)
        return min(max(lift, _SMALLEST), _LARGEST)

    def promise(self, context: int) -> int:
        """Return the lift as a byte, the greater the better; 128 is average."""
        promise = self._promises.get(context)
        if promise is None:
            promise = self._promises[context] = promise_of(self.lift(context))
        return promise

    def pack(self) -> bytes:
        return b"".join([_CELL.pack(context, *sums) for context, sums in self._cells.items()])

    def unpack(self, data: bytes) -> None:
        """Add what was packed; ValueError if it is damaged."""
        if len(data) % _CELL.size:
            raise ValueError("The contexts of a harvest are damaged.")
        for cell, found, expected in _CELL.iter_unpack(data):
            self.learn(cell, found, expected)


def promise_of(lift: float) -> int:
    """Return a lift as a byte: 32 steps for a doubling."""
    return min(max(round(128 + 32 * log2(lift)), 0), 255)


def lift_of(promise: int) -> float:
    """Return the lift that a byte stands for."""
    return _LIFTS[promise]


_LIFTS = [float(2 ** ((promise - 128) / 32)) for promise in range(256)]
