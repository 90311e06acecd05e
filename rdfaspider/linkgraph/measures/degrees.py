"""How many links pages have: distributions, the power law that fits, and how many links are answered.

The exponent of a power law is the one of greatest likelihood for whole numbers, from that degree on where
the law fits best by the Kolmogorov-Smirnov distance (Clauset, Shalizi and Newman, 2009).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rdfaspider.linkgraph.files.rows import Rows
from rdfaspider.linkgraph.files.varints import Array

if TYPE_CHECKING:
    from collections.abc import Callable

# Degrees tried as the beginning of the law, and values that must be left above it.
_MOST_STARTS = 100
_LEAST_VALUES = 50
_EXPONENTS = (1.01, 6.0)


class PowerLaw(NamedTuple):
    """Degrees of `start` and more are as frequent as their power of -`exponent`.

    `pages` have such a degree. `distance` is the greatest difference between the two cumulated
    distributions.
    """

    exponent: float
    start: int
    pages: int
    distance: float


def distribution(degrees: Array) -> tuple[Array, Array]:
    """Return the degrees that occur, and how many pages have each."""
    counts = np.bincount(degrees) if len(degrees) else np.zeros(0, np.int64)
    values = np.flatnonzero(counts)
    return values, counts[values]


def power_law(values: Array, counts: Array) -> PowerLaw | None:
    """Return the power law that fits a distribution best, None if it has too few values or no exponent."""
    positive = values > 0
    values, counts = values[positive].astype(np.float64), counts[positive].astype(np.float64)
    above = np.cumsum(counts[::-1])[::-1]
    starts = np.flatnonzero(above >= _LEAST_VALUES)[:_MOST_STARTS]
    fits = [_fit(values[place:], counts[place:]) for place in starts if len(values) - place > 1]
    lowest, highest = _EXPONENTS
    found = [fit for fit in fits if lowest + 0.01 < fit.exponent < highest - 0.01]  # else at an end
    return min(found, key=lambda fit: fit.distance, default=None)


def _fit(values: Array, counts: Array) -> PowerLaw:
    start, total = float(values[0]), float(counts.sum())
    logarithms = float((counts * np.log(values)).sum()) / total
    exponent = _greatest(lambda s: -math.log(zeta(s, start)) - s * logarithms)
    # The share of values up to each, as counted and by the law.
    counted = np.cumsum(counts) / total
    by_law = 1.0 - _zetas(exponent, values + 1.0) / zeta(exponent, start)
    return PowerLaw(exponent, int(start), int(total), float(np.abs(by_law - counted).max()))


def _greatest(function: Callable[[float], float]) -> float:
    """Return where a function with one maximum has it, by the golden section."""
    low, high = _EXPONENTS
    ratio = (math.sqrt(5.0) - 1.0) / 2.0
    while high - low > 1e-6:
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        if function(left) < function(right):
            low = left
        else:
            high = right
    return (low + high) / 2.0


def zeta(s: float, start: float) -> float:
    """Return Hurwitz's zeta function: the sum of n to the power of -s from n = `start` on (s > 1)."""
    return float(_zetas(s, np.array([start]))[0])


def _zetas(s: float, starts: Array) -> Array:
    ends = starts + 10.0
    total: Array = sum((starts + step) ** -s for step in range(1, 10)) + starts**-s
    # What is left, by Euler and Maclaurin.
    total += ends ** (1.0 - s) / (s - 1.0) + ends**-s / 2.0
    term = s * ends ** (-s - 1.0)
    total += term / 12.0
    term = term * (s + 1.0) * (s + 2.0) / ends**2
    total -= term / 720.0
    term = term * (s + 3.0) * (s + 4.0) / ends**2
    total += term / 30240.0
    return total


def reciprocity(outward: Rows, inward: Rows) -> float:
    """Return the share of links to other pages that these answer with a link."""
    answered = links = 0
    for first, end, targets in outward:
        own = np.arange(first, end, dtype=np.uint64) * np.uint64(outward.nodes)
        there = np.repeat(own, outward.degrees[first:end]) + targets
        back = np.repeat(own, inward.degrees[first:end]) + inward.between(first, end)
        selves = np.arange(first, end, dtype=np.uint64) * np.uint64(outward.nodes + 1)
        loops = int(np.isin(selves, there, kind="sort").sum())
        links += len(there) - loops
        if len(back):
            place = np.searchsorted(back, there)
            place[place == len(back)] = 0
            answered += int((back[place] == there).sum()) - loops
    return answered / links if links else 0.0
