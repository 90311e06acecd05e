"""A population of pages that change, and the freshest store that a budget allows.

The population of research on change: 18 % of the pages never change and 2 % do so hourly. The rates of the
others are log-normal by host (sigma 1.0) and section (0.8), exponential within a section, with a median of
32 days. Weights are log-normal (sigma 1).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from rdfaspider.focus.visits.planner import DAY

Floats = np.ndarray[Any, Any]
Ints = np.ndarray[Any, Any]

_NEVER, _HOURLY, _MEDIAN = 0.18, 0.02, 32 * DAY
_SECTIONS, _PAGES = 6.65, 15.0  # of a host, and of a section
_WEIGHT = 20.0  # triples, the median


@dataclass(slots=True)
class Pages:
    """Rates (changes a second, 0 for never), weights and hosts of pages; keys as the frontier has them.

    `births` has the second of a run from which on a page is there, 0 for those that are there before, and
    `finders` the page that links it, -1 for these.
    """

    rates: Floats
    weights: Floats
    hosts: Ints
    keys: list[bytes]
    births: Floats
    finders: Ints

    def __len__(self) -> int:
        return len(self.keys)


@dataclass(slots=True)
class Run:
    """What a policy did: freshness by weight in the second half, and visits as a share of the budget.

    `curve` has the freshness of each part of the run, with its time in days. `of_known` is that of the pages
    that were found, and `delay` how many days a new page is there before it is found, in the second half.
    """

    freshness: float
    used: float
    curve: list[tuple[float, float]]
    of_known: float = 1.0
    delay: float = 0.0


@dataclass(slots=True)
class Optimum:
    """The best with known rates: its freshness, and the interval of each page."""

    freshness: float
    intervals: Floats


def generate(hosts: int = 600, seed: int = 1) -> Pages:
    """Return a population: some hundred pages a host."""
    rng = np.random.default_rng(seed)
    rates, numbers, keys = [], [], []
    for host in range(hosts):
        of_host = rng.normal(0.0, 1.0)
        for section in range(rng.geometric(1 / _SECTIONS)):
            count = rng.geometric(1 / _PAGES)
            level = np.exp(of_host + rng.normal(0.0, 0.8))
            rates.append(level * rng.exponential(1.0, count))
            numbers += [host] * count
            keys += [b"test,h%d)/s%d/%d" % (host, section, page) for page in range(count)]
    rate = np.concatenate(rates)
    rate *= 1 / _MEDIAN / np.median(rate)
    luck = rng.random(len(rate))
    rate[luck < _NEVER] = 0.0
    rate[luck >= 1 - _HOURLY] = 1 / 3_600
    weights = _WEIGHT * np.exp(rng.normal(0.0, 1.0, len(rate)))
    count = len(rate)
    return Pages(rate, weights, np.array(numbers), keys, np.zeros(count), np.full(count, -1))


def solve(share: Floats) -> Floats:
    """Return the x for which 1 - (1 + x) e^-x is a share below 1."""
    height = -np.log1p(-share)
    x = height + np.sqrt(2 * height)
    for _ in range(30):
        x = np.where(x > 0, x - (x - np.log1p(x) - height) * (1 + x) / np.maximum(x, 1e-12), 0.0)
    return np.asarray(x)


def freshness_at(pages: Pages, intervals: Floats) -> float:
    """Return the share of triples that are fresh if each page is visited at its intervals."""
    with np.errstate(invalid="ignore"):
        x = pages.rates * intervals
        fresh = np.where(x > 1e-9, -np.expm1(-x) / np.maximum(x, 1e-9), 1.0)
    fresh = np.where(pages.rates == 0.0, 1.0, np.where(np.isinf(intervals), 0.0, fresh))
    return float((pages.weights * fresh).sum() / pages.weights.sum())


def optimum(pages: Pages, mean: float, *, by_host: bool = False) -> Optimum:
    """Return the best for a visit of each page every `mean` seconds, on average over all pages or, as where
    every host is at its limit, over those of each host."""
    groups = pages.hosts if by_host else np.zeros(len(pages), dtype=np.int64)
    budgets = np.bincount(groups) / mean
    low, high = np.full(len(budgets), 1e-6), np.full(len(budgets), 1e18)
    intervals, moves = np.full(len(pages), np.inf), pages.rates > 0
    for _ in range(100):
        prices = np.sqrt(low * high)
        share = prices[groups] * pages.rates / pages.weights
        worth = moves & (share < 1.0)
        intervals[:] = np.inf
        intervals[worth] = solve(share[worth]) / pages.rates[worth]
        is_low = np.bincount(groups, 1 / intervals) > budgets
        low, high = np.where(is_low, prices, low), np.where(is_low, high, prices)
    return Optimum(freshness_at(pages, intervals), intervals)
