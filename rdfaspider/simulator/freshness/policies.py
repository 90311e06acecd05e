"""Policies that need no index: in each step of time, the pages that come first by a score are visited.

Each policy has a share of the budget in each step. Adaptive schedules (Nutch, StormCrawler) give each page an
interval, and the pages that are overdue for longest come first.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from rdfaspider.focus.visits.planner import DAY
from rdfaspider.focus.visits.rates import FIRST_RATE, STRENGTH
from rdfaspider.focus.visits.value import PRIOR
from rdfaspider.simulator.freshness.pages import Floats, Ints, Pages, Run

HOUR = 3_600.0


class Policy:
    """Scores pages; the highest come first. This one visits all pages alike."""

    def __init__(self, pages: Pages, mean: float) -> None:
        self.pages = pages
        self.mean = mean

    def score(self, age: Floats) -> Floats:
        """Return the score of each page, given the seconds since its last visit; below 0 it is not due."""
        return age

    def visited(self, chosen: Ints, ages: Floats, changed: Floats) -> None:
        """Learn what the visits to some pages have found."""


class Estimated(Policy):
    """Learns rates as the frontier does, with exact numbers, shrunk to section, host and crawl."""

    def __init__(self, pages: Pages, mean: float) -> None:
        super().__init__(pages, mean)
        names = [key.rsplit(b"/", 1)[0] for key in pages.keys]
        _, self._sections = np.unique(names, return_inverse=True)
        self._changes, self._seconds = np.zeros(len(pages)), np.zeros(len(pages))
        self.rates = np.full(len(pages), FIRST_RATE)
        self._host_of = np.zeros(self._sections.max() + 1, dtype=np.int64)
        self._host_of[self._sections] = pages.hosts

    def visited(self, chosen: Ints, ages: Floats, changed: Floats) -> None:
        x = np.maximum(self.rates[chosen] * ages, 1e-9)
        self._changes[chosen] += changed * np.minimum(x / -np.expm1(-x), 20.0)
        self._seconds[chosen] += ages
        changes, seconds = self._changes.sum(), self._seconds.sum()
        rate = (1 + changes) / (1 / FIRST_RATE + seconds)
        hosts, sections = self.pages.hosts, self._sections
        of_host = _shrink(
            rate, np.bincount(hosts, self._changes), np.bincount(hosts, self._seconds)
        )
        sums = np.bincount(sections, self._changes), np.bincount(sections, self._seconds)
        prior = _shrink(of_host[self._host_of], *sums)[sections]
        self.rates = (PRIOR + self._changes) / (PRIOR / prior + self._seconds)


def _shrink(rate: Floats | float, changes: Floats, seconds: Floats) -> Floats:
    return np.asarray((STRENGTH + changes) / (STRENGTH / rate + seconds))


class Known(Policy):
    """Knows the rates."""

    @property
    def rates(self) -> Floats:
        return self.pages.rates


class Proportional(Known):
    """Visits pages as often as they change."""

    def score(self, age: Floats) -> Floats:
        return self.rates * age


def _stale(weights: Floats, rates: Floats, age: Floats) -> Floats:
    return np.asarray(weights * -np.expm1(-rates * age))


def _value(weights: Floats, rates: Floats, age: Floats) -> Floats:
    x = rates * age
    with np.errstate(divide="ignore", invalid="ignore"):
        value = weights / rates * (-np.expm1(-x) - x * np.exp(-x))
    return np.asarray(np.where(x > 1e-5, value, weights * x * age / 2))


class WireKnown(Known):
    """WIRE's profit: quality times the probability that the copy is stale."""

    def score(self, age: Floats) -> Floats:
        return _stale(self.pages.weights, self.rates, age)


class WireEstimated(Estimated):
    def score(self, age: Floats) -> Floats:
        return _stale(self.pages.weights, self.rates, age)


class GreedyKnown(Known):
    """What brings most comes first: no price, but every page is looked at in each step."""

    def score(self, age: Floats) -> Floats:
        return _value(self.pages.weights, self.rates, age)


class GreedyEstimated(Estimated):
    def score(self, age: Floats) -> Floats:
        return _value(self.pages.weights, self.rates, age)


class Adaptive(Policy):
    """Intervals that shrink by a factor with each change and grow by another without."""

    shrink, grow, least, most = 0.8, 1.4, 60.0, 365 * DAY

    def __init__(self, pages: Pages, mean: float) -> None:
        super().__init__(pages, mean)
        self._intervals = np.full(len(pages), min(mean, self.most))

    def score(self, age: Floats) -> Floats:
        return np.asarray(age - self._intervals)

    def visited(self, chosen: Ints, ages: Floats, changed: Floats) -> None:
        factor = np.where(changed > 0, self.shrink, self.grow)
        self._intervals[chosen] = np.clip(self._intervals[chosen] * factor, self.least, self.most)


class Nutch(Adaptive):
    """AdaptiveFetchSchedule: 20 % shorter or longer, from a minute to a year."""

    shrink, grow = 0.8, 1.2


class StormCrawler(Adaptive):
    """AdaptiveScheduler: 50 % shorter or longer, from an hour to 14 days."""

    shrink, grow, least, most = 0.5, 1.5, HOUR, 14 * DAY


POLICIES: dict[str, Callable[[Pages, float], Policy]] = {
    "uniform": Policy,
    "proportional, known": Proportional,
    "WIRE, known": WireKnown,
    "WIRE, estimated": WireEstimated,
    "Nutch adaptive": Nutch,
    "StormCrawler adaptive": StormCrawler,
    "greedy, known": GreedyKnown,
    "greedy, estimated": GreedyEstimated,
}


def simulate(
    policy: Policy, days: float, *, step: float = 0.25 * DAY, seed: int = 2, parts: int = 40
) -> Run:
    """Run a policy; pages that are due and do not fit a step wait for the next.

    A page that links new ones has changed, and first visits do not count for the budget.
    """
    pages, rng = policy.pages, np.random.default_rng(seed)
    steps = round(days * DAY / step)
    last = -rng.random(len(pages)) * policy.mean
    # The time of the first change since the last visit.
    change = last + _until_change(pages.rates, rng)
    fresh, visits, budget, offered = np.zeros(parts), 0, 0.0, 0.0
    unknown, of_known = 0.0, 0.0
    is_known = pages.births <= 0.0
    for number in range(steps):
        now = (number + 1) * step
        more = is_known.sum() * step / policy.mean
        budget, offered = min(budget, more) + more, offered + more
        seen = np.clip(np.minimum(change, now) - (now - step), 0.0, step) * is_known
        is_there = pages.births <= now
        total = pages.weights[is_there].sum()
        fresh[number * parts // steps] += (pages.weights * seen).sum() / total / step
        is_new = is_there & ~is_known
        if number >= steps // 2:
            unknown += is_new.sum() * step
            of_known += (pages.weights * seen).sum() / pages.weights[is_known].sum() / step
        age = now - last
        score = np.where(is_known, policy.score(age), -np.inf)
        count = min(int(budget), int((score >= 0).sum()))
        if not count:
            continue
        chosen = np.argpartition(-score, count - 1)[:count]
        has_links = np.zeros(len(pages) + 1, dtype=bool)
        has_links[pages.finders[is_new]] = True
        has_changed = (change[chosen] <= now) | has_links[chosen]
        policy.visited(chosen, age[chosen], has_changed.astype(float))
        is_chosen = np.zeros(len(pages) + 1, dtype=bool)
        is_chosen[chosen] = True
        found = np.flatnonzero(is_new & is_chosen[pages.finders])
        is_known[found] = True
        chosen = np.concatenate([chosen, found])
        last[chosen] = now
        change[chosen] = now + _until_change(pages.rates[chosen], rng)
        budget -= count
        visits += count
    curve = fresh * parts / steps
    return Run(
        float(curve[parts // 2 :].mean()),
        visits / offered,
        [((part + 1) * days / parts, float(each)) for part, each in enumerate(curve)],
        float(of_known / (steps - steps // 2)),
        unknown / DAY / max((pages.births >= steps // 2 * step).sum(), 1),
    )


def _until_change(rates: Floats, rng: np.random.Generator) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(rng.exponential(1.0, len(rates)) / rates)
