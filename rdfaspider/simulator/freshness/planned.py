"""The frontier's own way: its planner, its prices and its due times, in virtual time.

The same code plans here and in the frontier (focus/visits/), with the same bytes for each page, and the same
rule for what is moved when all pages are priced again. Only the index is in memory, and a pass is made at
once. Within a step, pages are visited in the order in which they are due, as far as the budget goes and, if
hosts have limits, as far as these.
"""

from __future__ import annotations

import heapq
import random
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from rdfaspider.focus.visits.planner import DAY, Past, Planner, RevisitRules
from rdfaspider.focus.visits.prices import CrawlPrice, Tally, follow_host
from rdfaspider.focus.visits.scale import (
    CHANGES,
    SECONDS,
    WEIGHT,
    decode_interval,
    encode_coarsely,
)
from rdfaspider.focus.visits.value import PRIOR, PRIOR_OF_NEW
from rdfaspider.frontier.engine.revisits.repricing import is_other
from rdfaspider.simulator.freshness.pages import Run, solve

if TYPE_CHECKING:
    from rdfaspider.focus.visits.rates import Rates
    from rdfaspider.simulator.freshness.pages import Floats, Ints, Pages

Bools = np.ndarray[tuple[int], np.dtype[np.bool_]]

_CHANGES, _SECONDS, _WEIGHTS = (np.array(each.numbers) for each in (CHANGES, SECONDS, WEIGHT))


class KnownRates(Planner):
    """A planner that is told the rates."""

    told: dict[bytes, float]

    def rate(self, key: bytes, past: Past) -> float:
        return self.told[key]


class Planned:
    """A run. `cap` limits the visits of each host, as a multiple of its share of the budget."""

    def __init__(self, pages: Pages, mean: float, planner: Planner, cap: float, seed: int) -> None:
        self._pages, self._planner = pages, planner
        self._random = random.Random(seed)
        self._budget = len(pages) / mean
        counts = np.bincount(pages.hosts)
        self._limits = [cap * count / mean for count in counts.tolist()]
        self._factors = [1.0] * len(counts)
        self._left = [1.0] * len(counts)
        # Queues of pages that are due, by host, and of all that are not; an entry with another time than the
        # page's is stale.
        self._due: list[list[tuple[int, int]]] = [[] for _ in counts]
        self._later: list[tuple[int, int]] = []
        self._hosts = pages.hosts.tolist()
        names = [key.rsplit(b"/", 1)[0] for key in pages.keys]
        _, self._firsts, self._sections = np.unique(names, return_index=True, return_inverse=True)
        self._rates, self._weights = pages.rates.tolist(), pages.weights.tolist()
        self._pasts: list[Past] = []
        # When each page will first change after its last visit.
        self._changes = np.array([self._until_change(rate) for rate in self._rates])
        for number in range(len(pages)):
            last = -int(self._random.random() * mean)
            weight = WEIGHT.encode(self._weights[number])
            past = Past(0, 0, 0, weight, 0, encode_coarsely(max(last + mean, 1.0)))
            self._pasts.append(past)
            self._later.append((past.due, number))
        heapq.heapify(self._later)
        self._credit = 0.0
        self._price_of_crawl = CrawlPrice()
        self.visits = self._visits = 0

    def run(self, days: float, step: float, parts: int) -> list[float]:
        """Return the freshness of each part of the run."""
        fresh, end, period = [0.0] * parts, days * DAY, self._planner.rules.period
        now, priced, weights = 0.0, period, self._pages.weights
        while now < end:
            part = min(int(now / end * parts), parts - 1)
            now += step
            seen = np.clip(np.minimum(self._changes, now) - (now - step), 0.0, step)
            fresh[part] += float((weights * seen).sum())
            self._visit_due(now, step)
            if now >= priced:
                priced += period
                self._price(now, period)
        return [each / float(weights.sum()) / (end / parts) for each in fresh]

    def _until_change(self, rate: float) -> float:
        return self._random.expovariate(rate) if rate else inf

    def _visit_due(self, now: float, step: float) -> None:
        """Visit what is due, within the budget of a step and the limits of hosts."""
        self._credit = min(self._credit, self._budget * step) + self._budget * step
        while self._later and self._later[0][0] <= now:
            due, number = heapq.heappop(self._later)
            if self._pasts[number].due == due:
                heapq.heappush(self._due[self._hosts[number]], (due, number))
        heads = []
        for host, queue in enumerate(self._due):
            more = self._limits[host] * step
            self._left[host] = min(self._left[host] + more, self._limits[host] * DAY + 1.0)
            if queue:
                heads.append((queue[0][0], host))
        heapq.heapify(heads)
        while heads and self._credit >= 1.0:
            _, host = heapq.heappop(heads)
            if self._left[host] < 1.0:
                continue
            queue = self._due[host]
            due, number = heapq.heappop(queue)
            if self._pasts[number].due == due:
                self._left[host] -= 1.0
                self._credit -= 1.0
                self._visit(number, now)
            if queue:
                heapq.heappush(heads, (queue[0][0], host))

    def _visit(self, number: int, now: float) -> None:
        changed = bool(self._changes[number] <= now)
        self._changes[number] = now + self._until_change(self._rates[number])
        self.visits += 1
        key, planner = self._pages.keys[number], self._planner
        past = planner.visit(key, self._pasts[number], now, changed, self._weights[number])
        self._plan(number, planner.plan(key, past, self._factors[self._hosts[number]]))

    def _plan(self, number: int, past: Past) -> None:
        self._pasts[number] = past
        heapq.heappush(self._later, (past.due, number))

    def _price(self, now: float, period: float) -> None:
        """Price all pages again, host by host."""
        moved = self._may_move(now).tolist()
        total, of_host, host = Tally(), Tally(), 0
        for number, key in enumerate(self._pages.keys):
            if self._hosts[number] != host:
                self._leave(host, of_host, total, period)
                of_host, host = Tally(), self._hosts[number]
            past = self._pasts[number]
            if moved[number]:
                better = self._planner.plan(key, past, self._factors[host])
                if is_other(past, better, now):
                    self._plan(number, better)
                    past = better
            of_host.count(decode_interval(past.interval), is_late=past.due <= now)
        self._leave(host, of_host, total, period)
        visits, self._visits = self.visits - self._visits, self.visits
        self._price_of_crawl.price = self._planner.price
        self._price_of_crawl.end_pass(total, visits, period, self._budget)
        self._planner.price = self._price_of_crawl.price

    def _may_move(self, now: float) -> Bools:
        """Return which pages may get another time: the planner's arithmetic on all pages at once.

        It saves most of the time of a pass. Those that it names are planned by the planner itself.
        """
        planner, rules = self._planner, self._planner.rules
        last, changes, seconds, weights, found, codes = np.array(self._pasts).T
        if isinstance(planner, KnownRates):
            rates = np.maximum(self._pages.rates, 1e-15)
        else:
            rates = self._rates_of(planner.rates, changes, seconds, PRIOR)
        of_new = self._rates_of(planner.rates_of_new, found, seconds, PRIOR_OF_NEW)
        prices = planner.price * np.array(self._factors)[self._pages.hosts]
        share = prices * rates / np.maximum(_WEIGHTS[weights], 1.0)
        after = np.full(len(last), np.inf)
        after[share < 1] = solve(share[share < 1]) / rates[share < 1]
        after = (after**-2 + of_new * planner.weight_of_new / (2 * prices)) ** -0.5
        after = np.clip(after, rules.shortest, rules.longest)
        before = (codes & 2047) << (codes >> 11)
        # Coarse codes are up to 3 % longer, and the solution is another than the planner's by less.
        return np.asarray((after < 0.96 * before) | (after * 1.035 > 1.04 * before))

    def _rates_of(self, rates: Rates, counts: Ints, seconds: Ints, strength: float) -> Floats:
        prior = np.array([rates.rate(self._pages.keys[first]) for first in self._firsts])
        return np.asarray(
            (strength + _CHANGES[counts]) / (strength / prior[self._sections] + _SECONDS[seconds])
        )

    def _leave(self, host: int, tally: Tally, total: Tally, period: float) -> None:
        total.add(tally, self._limits[host], self._factors[host])
        limit = self._limits[host]
        self._factors[host] = follow_host(self._factors[host], tally, limit, period)


def planned(
    pages: Pages,
    mean: float,
    days: float,
    *,
    known: bool = False,
    cap: float = inf,
    price: float = 0.0,
    step: float = 0.05 * DAY,
    seed: int = 3,
    parts: int = 40,
) -> Run:
    """Run the frontier's policy on a population, with known rates or estimated ones."""
    rules = RevisitRules(mean=mean)
    planner = Planner(rules, price=price)
    if known:
        planner = KnownRates(rules, price=price)
        planner.told = dict(zip(pages.keys, np.maximum(pages.rates, 1e-15).tolist(), strict=True))
    cap = cap if cap < inf else 1e9
    run = Planned(pages, mean, planner, cap, seed)
    curve = run.run(days, step, parts)
    return Run(
        sum(curve[parts // 2 :]) / (parts - parts // 2),
        run.visits / (len(pages) * days * DAY / mean),
        [((part + 1) * days / parts, each) for part, each in enumerate(curve)],
    )
