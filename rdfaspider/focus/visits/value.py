"""What a visit to a known page is worth, and when the next one is due.

A page changes at a rate (changes a second, a Poisson process). A visit after `age` seconds brings

    value = weight / rate · (1 - (1 + x) · e^-x)      x = rate · age

which is the Lagrange condition of the freshest store within a budget (Cho and Garcia-Molina 2003): visit a
page when its value reaches the price, which is one for all pages. A page that changes faster than
weight / price has no value that reaches it: each visit would soon be out of date.

A page also leads to new pages, of some weight a second, which the store lacks until a visit finds them. That
adds weight · age² / 2 to its value, without a limit.

The rate is estimated from visits: X changes, corrected for those that a visit cannot tell apart, within T
seconds, and PRIOR changes at the rate that pages of its kind have (rates.py).
"""

from __future__ import annotations

from functools import cache
from math import exp, expm1, inf, log1p, sqrt

# Changes at the rate of its kind that a page is born with.
PRIOR = 0.3
# The same for new pages that a page leads to: a few pages lead to most of them.
PRIOR_OF_NEW = 0.1
# What a visit leaves of X and T: rates change, and old visits say less than new ones.
MEMORY = 0.95
# The largest correction: a page that had changed at each of a few visits says no more.
_MOST_CHANGES = 20.0

# x by the root of -log(1 - share), in steps of 1 / _STEPS up to _WIDEST.
_STEPS = 64
_WIDEST = 8


def _solve(height: float) -> float:
    """Return the x > 0 for which x - log(1 + x) is a height, by Newton's method."""
    x = height + sqrt(2 * height)
    for _ in range(60):
        x -= (x - log1p(x) - height) * (1 + x) / x
    return x


@cache
def _table() -> list[float]:
    """Return x for each step; made when first asked for, since most crawls never are."""
    return [0.0] + [_solve((step / _STEPS) ** 2) for step in range(1, _STEPS * _WIDEST + 2)]


def value(weight: float, rate: float, age: float) -> float:
    """Return what a visit brings: triples that were stale, times the seconds until they are again."""
    x = rate * age
    if x < 1e-4:  # where the difference below is nothing but rounding
        return weight * x * age / 2
    return weight / rate * (-expm1(-x) - x * exp(-x))


def value_of_new(weight: float, rate: float) -> float:
    """Return what a first visit brings: the value of an old page after infinite time."""
    return weight / rate


def profit(quality: float, rate: float, age: float) -> float:
    """Return what WIRE expects of a visit: quality times the probability that the copy is stale."""
    return quality * -expm1(-rate * age)


def quality(rank: float | None, most: float) -> float:
    """Return the factor that PageRank puts on the weight of a page: the rank, which is 1 in the mean, between
    1 / most and most; 1 for a page without a rank."""
    return 1.0 if rank is None else min(max(rank, 1.0 / most), most)


def interval(weight: float, rate: float, price: float, of_new: float = 0.0) -> float:
    """Return the seconds after which the value of a page reaches a price, infinity if it never does.

    `of_new` is the weight of the new pages that it leads to, a second. The sum of both values is solved as
    for small ages, where both grow with the square.
    """
    seconds = _interval(weight, rate, price)
    return seconds if not of_new else (seconds**-2 + of_new / (2 * price)) ** -0.5


def _interval(weight: float, rate: float, price: float) -> float:
    share = price * rate / weight
    if share >= 1.0:
        return inf
    place = sqrt(-log1p(-share)) * _STEPS
    step = int(place)
    if step >= _STEPS * _WIDEST:
        return _solve((place / _STEPS) ** 2) / rate
    low, high = _table()[step : step + 2]
    return (low + (high - low) * (place - step)) / rate


def rate_of(changes: float, seconds: float, prior: float, strength: float = PRIOR) -> float:
    """Return the rate of a page with X changes in T seconds, whose kind has a prior rate."""
    return (strength + changes) / (strength / prior + seconds)


def corrected(x: float) -> float:
    """Return how many changes to expect where there was at least one, and `x` in the mean."""
    if x < 1e-6:
        return 1.0
    return min(x / -expm1(-x), _MOST_CHANGES)
