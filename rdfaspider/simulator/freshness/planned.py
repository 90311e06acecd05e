"""The frontier's own way: its planner, its prices and its due times, in virtual time.

The same code plans here and in the frontier (focus/visits/), with the same bytes for each page, and the same
rule for what is moved when all pages are priced again. Only the index is in memory, and a pass is made at
once. Within a step, pages are visited in the order in which they are due, as far as the budget goes and, if
hosts have limits, as far as these.
"""

from __future__ import annotations

import heapq
import random
from collections import defaultdict
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
        self._mean = mean
        # The new pages that each page links, the next one last.
        self._new = defaultdict[int, list[int]](list)
        self._is_known = (pages.births <= 0.0).tolist()
        for number in np.argsort(-pages.births).tolist():
            if not self._is_known[number]:
                self._new[int(pages.finders[number])].append(number)
        self._known = sum(self._is_known)
        self._weight = float(pages.weights[self._is_known].sum())
        # In the second half: seconds of new pages until they were found, and the freshness of the others.
        self._unknown, self.of_known = 0.0, 0.0
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
            if self._is_known[number]:
                self._later.append((past.due, number))
            else:
                self._changes[number] = 0.0
        heapq.heapify(self._later)
        self._credit = 0.0
        self._price_of_crawl = CrawlPrice()
        self.visits = self._visits = 0
        self.offered = 0.0

    def run(self, days: float, step: float, parts: int) -> list[float]:
        """Return the freshness of each part of the run."""
        fresh, end, period = [0.0] * parts, days * DAY, self._planner.rules.period
        now, priced, weights, births = 0.0, period, self._pages.weights, self._pages.births
        while now < end:
            part = min(int(now / end * parts), parts - 1)
            now += step
            seen = np.clip(np.minimum(self._changes, now) - (now - step), 0.0, step)
            fresh[part] += float((weights * seen).sum() / weights[births <= now].sum())
            if now > end / 2:
                self.of_known += float((weights * seen).sum()) / self._weight / (end / 2)
            self._visit_due(now, step)
            if now > end / 2:
                self._unknown += ((births <= now).sum() - self._known) * step
            if now >= priced:
                priced += period
                self._price(now, period)
        return [each / (end / parts) for each in fresh]

    def delay(self, days: float) -> float:
        """Return how many days a new page was there before it was found, in the second half of a run."""
        new = int((self._pages.births > days * DAY / 2).sum())
        return self._unknown / DAY / max(new, 1)

    def _until_change(self, rate: float) -> float:
        return self._random.expovariate(rate) if rate else inf

    def _visit_due(self, now: float, step: float) -> None:
        """Visit what is due, within the budget of a step and the limits of hosts."""
        more = self._known * step / self._mean
        self._credit, self.offered = min(self._credit, more) + more, self.offered + more
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
        links = self._new[number]
        while links and self._pages.births[links[-1]] <= now:
            self._find(links.pop(), number, now)

    def _find(self, new: int, number: int, now: float) -> None:
        """Visit a new page, which counts for the page that links it."""
        planner, factor = self._planner, self._factors[self._hosts[number]]
        self._is_known[new] = True
        self._known += 1
        self._weight += self._weights[new]
        self._changes[new] = now + self._until_change(self._rates[new])
        key, weight = self._pages.keys[new], self._weights[new]
        self._plan(new, planner.plan(key, planner.begin(now, weight), factor))
        if planner.weight_of_new:
            key = self._pages.keys[number]
            past = planner.find(key, self._pasts[number], new, weight)
            self._plan(number, planner.plan(key, past, factor))

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
            if not self._is_known[number]:
                continue
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
        self._price_of_crawl.end_pass(total, visits, period, self._known / self._mean)
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
        by_new = of_new * planner.weight_of_new / (2 * prices)
        with np.errstate(divide="ignore"):
            after = (after**-2 + by_new) ** -0.5
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
    counts_new: bool = True,
    cap: float = inf,
    price: float = 0.0,
    step: float = 0.05 * DAY,
    seed: int = 3,
    parts: int = 40,
) -> Run:
    """Run the frontier's policy on a population, with known rates or estimated ones.

    New pages that a page leads to count for its next visit, unless triples alone are to count.
    """
    rules = RevisitRules(mean=mean)
    planner = Planner(rules, price=price)
    if known:
        planner = KnownRates(rules, price=price)
        planner.told = dict(zip(pages.keys, np.maximum(pages.rates, 1e-15).tolist(), strict=True))
    planner.weight_of_new = float(pages.weights.mean()) if counts_new else 0.0
    cap = cap if cap < inf else 1e9
    run = Planned(pages, mean, planner, cap, seed)
    curve = run.run(days, step, parts)
    return Run(
        sum(curve[parts // 2 :]) / (parts - parts // 2),
        run.visits / run.offered,
        [((part + 1) * days / parts, each) for part, each in enumerate(curve)],
        run.of_known,
        run.delay(days),
    )
