"""The weight of the links to a page, as a byte on a logarithmic scale. It needs nothing but Python.

A link passes on the rank of its page, divided by the number of the page's links (PageRank). The weight of a
link is that share, and a link of average weight has 1; so where nothing is known of pages, weights count
links. Weights of links to a page add up.

A byte has six steps for a doubling, from 2 ** -12 to 2 ** 30. A sum between two steps becomes one of them by
chance, so that the mean is right (Morris's counter): a URL with a million links is rewritten some twenty
times, and most links change nothing on disk.
"""

from __future__ import annotations

from math import floor, log2
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

DAMPING = 0.85

STEPS = 6
ONE = 72  # the byte of the weight 1
LEAST = 2.0**-12
# A sum that is hardly greater than one of its parts becomes this many steps greater, or none: each change is
# written to disk.
_RISE = 6
_WEIGHTS: list[float] = [2.0 ** ((byte - ONE) / STEPS) for byte in range(257)]


def weight_of(byte: int) -> float:
    return _WEIGHTS[byte]


def byte_of(weight: float) -> int:
    """Return the step nearest to a weight."""
    return min(max(round(_place(weight)), 0), 255)


def doublings_of(byte: int) -> float:
    """Return the logarithm of a weight."""
    return (byte - ONE) / STEPS


class Sums:
    """Adds weights. Invariant: at most 32,896 sums are remembered, one for each pair of bytes."""

    def __init__(self, chance: Random) -> None:
        self._random = chance.random
        self._known: dict[int, tuple[int, int, float]] = {}

    def add(self, one: int, other: int) -> int:
        """Return the sum of two weights, rounded by chance."""
        pair = one << 8 | other if one > other else other << 8 | one
        found = self._known.get(pair)
        if found is None:
            found = self._known[pair] = _sum(pair >> 8, pair & 255)
        below, above, chance = found
        return above if self._random() < chance else below


def _sum(more: int, less: int) -> tuple[int, int, float]:
    """Return the steps below and above a sum, and the probability of the upper one."""
    total = _WEIGHTS[more] + _WEIGHTS[less]
    below, above = more, min(more + _RISE, 255)
    if total >= _WEIGHTS[above]:
        below = min(max(floor(_place(total)), above), 255)
        above = min(below + 1, 255)
    if above == below:
        return below, above, 0.0
    return below, above, (total - _WEIGHTS[below]) / (_WEIGHTS[above] - _WEIGHTS[below])


def _place(weight: float) -> float:
    return STEPS * log2(max(weight, LEAST)) + ONE
