"""How many pages may be visited again by now, so that prices that are still wrong do not exceed the budget.

A price follows the budget in some periods. Until then it may ask for several times as many visits: at the
first ones nobody knows how fast the pages change. So visits are counted too. One for each page is added in
the mean time between visits, and a tenth more: where the price is nearly right, it alone decides. What was
not used is saved, up to one for each page.

In memory only: a crawl that goes on begins as if all had been saved, because pages may have become due while
it stood still.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdfaspider.focus.visits.planner import RevisitRules
    from rdfaspider.frontier.engine.counters import Counters

# What is added, as a multiple of the budget. Exactly the budget would make pages wait again and again while a
# price follows, and cost a hundredth of the freshness.
_MORE = 1.1
# Visits that are saved in the smallest crawl, so that a page of which a change was told need not wait.
_LEAST = 20.0
# Seconds that make up for rounding.
_LATER = 0.001


class Budget:
    """The visits that are left. There is no limit without a budget, where the time between visits is fixed,
    in WIRE's cycles, which are within it, and in a run that ends, which visits each page once."""

    def __init__(self, rules: RevisitRules, counters: Counters) -> None:
        self._counters = counters
        is_limited = not (rules.every or rules.policy == "wire" or rules.until)
        self._mean = rules.mean / _MORE if is_limited else 0.0  # between two visits of a page
        self._left = inf
        self._counted = inf  # up to this time

    def left(self, now: float) -> float:
        """Return how many visits may be made, after adding what time has brought."""
        if self._mean:
            pages = self._counters.kept
            more = max(now - self._counted, 0.0) * pages / self._mean
            self._left, self._counted = min(self._left + more, pages + _LEAST), now
        return self._left

    def spend(self, visits: int) -> None:
        """Count visits; less than none if some are not made after all."""
        self._left -= visits

    @property
    def next_time(self) -> float:
        """Return when a visit will be left, as far as is known, or a little later."""
        if self._left >= 1.0:
            return -inf
        seconds = (1.0 - self._left) * self._mean / max(self._counters.kept, 1)
        return self._counted + seconds + _LATER
