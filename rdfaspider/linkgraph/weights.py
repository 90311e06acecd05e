"""The weight of the links to a page, as a byte on a logarithmic scale. It needs nothing but Python.

A link passes on the rank of its page, divided by the number of the page's links (PageRank). The weight of a
link is that share, and a link of average weight has 1; so where nothing is known of pages, weights count
links. Weights of links to a page add up. `base` is what each page has without any link, in the same unit.

A byte has six steps for a doubling, from 2 ** -12 to 2 ** 30. A sum between two steps becomes one of them by
chance, so that the mean is right (Morris's counter): a URL with a million links is rewritten some hundred
times, and most links change nothing on disk.
"""

from __future__ import annotations

from math import floor, log2
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

DAMPING = 0.85
# What a page has without links until PageRank tells: pages have some ten links that lead somewhere new.
FIRST_BASE = 8.0

STEPS = 6
ONE = 72  # the byte of the weight 1
LEAST = 2.0**-12
_WEIGHTS: list[float] = [2.0 ** ((byte - ONE) / STEPS) for byte in range(257)]


def weight_of(byte: int) -> float:
    return _WEIGHTS[byte]


def byte_of(weight: float) -> int:
    """Return the step nearest to a weight."""
    return min(max(round(_place(weight)), 0), 255)


def doublings_of(byte: int) -> float:
    """Return the logarithm of a weight."""
    return (byte - ONE) / STEPS


def share_of(byte: int, links: int, base: float) -> int:
    """Return the weight, as a byte, of each link on a page, whose own links weigh `byte`."""
    return byte_of(DAMPING * (base + _WEIGHTS[byte]) / max(links, 1))


class Sums:
    """Adds weights. Invariant: at most 32,896 sums are remembered, one for each pair of bytes."""

    def __init__(self, chance: Random) -> None:
        self._random = chance.random
        self._known: dict[int, tuple[int, float]] = {}

    def add(self, one: int, other: int) -> int:
        """Return the sum of two weights, rounded by chance."""
        pair = one << 8 | other if one > other else other << 8 | one
        found = self._known.get(pair)
        if found is None:
            found = self._known[pair] = _sum(one, other)
        below, chance = found
        return below + 1 if self._random() < chance else below


def _sum(one: int, other: int) -> tuple[int, float]:
    """Return the step below a sum, and the probability of the next one."""
    total = _WEIGHTS[one] + _WEIGHTS[other]
    # The larger one is a step itself: no rounding may come out below it.
    below = max(floor(_place(total)), one, other)
    if below >= 255:
        return 255, 0.0
    return below, (total - _WEIGHTS[below]) / (_WEIGHTS[below + 1] - _WEIGHTS[below])


def _place(weight: float) -> float:
    return STEPS * log2(max(weight, LEAST)) + ONE
