"""Prices that keep visits within what can be fetched.

All pages are priced again in a period, host by host. That pass counts what the prices ask for, in visits a
second, and the pages that are overdue. A host at the limit of its politeness has a factor of its own, above
1, so that it visits what brings most within its limit. The price of the crawl is for the other hosts: it
compares what they ask for with the part of the budget that hosts at their limits do not use.
"""

from __future__ import annotations

from dataclasses import dataclass

# How a price follows: by this power of what is asked for over what can be fetched. Visits fall with about the
# root of a price, and a lower price makes many pages due at once, so larger steps overshoot.
_GAIN = 0.3
# The most that what is asked for may differ in a step, either way.
_STEP = 1_000.0
# Periods in which a backlog is to be worked off: few of them would have prices follow chance.
_PATIENCE = 30.0
# What the factor of a host asks for, as a multiple of what can be fetched: a visit is never early and often a
# little late, so that fewer are made than were planned.
_MORE = 1.05
# The share of the visits of hosts at their limits that counts as if the price could move it: otherwise the
# few hosts that are not at theirs would swing the price.
_CALM = 0.1
# The share of planned visits that may be overdue; without a budget, how much more is asked for while fewer
# are.
_OVERDUE, _GROWTH = 0.1, 1.5
# How much the last pass counts for how many of the planned visits are made.
_NEWEST = 0.1


@dataclass(slots=True)
class Tally:
    """What a pass has counted: pages, the visits a second they ask for, and those overdue; `held` is the part
    of the visits that hosts at their limits have, `capacity` what all hosts allow."""

    pages: int = 0
    demand: float = 0.0
    backlog: int = 0
    held: float = 0.0
    capacity: float = 0.0

    def count(self, interval: int, *, is_late: bool) -> None:
        self.pages += 1
        self.demand += 1.0 / interval
        self.backlog += is_late

    def add(self, host: Tally, capacity: float, factor: float) -> None:
        """Add a host: what is beyond its limit loads the host and nobody else."""
        self.pages += host.pages
        visits = min(host.demand, capacity)
        self.demand += visits
        self.capacity += capacity
        if factor > 1.0 or host.demand >= capacity:
            self.held += visits
        if factor <= 1.0:
            self.backlog += host.backlog

    def within(self, capacity: float, period: float) -> float:
        """Return what a capacity leaves for planned visits, once a backlog is worked off."""
        return max(capacity - self.backlog / (_PATIENCE * period), capacity / 4)


def _follow(price: float, asked: float, target: float) -> float:
    """Return a price at which what is asked for comes nearer to a target."""
    ratio = min(max(asked / target, 1 / _STEP), _STEP)
    return price * float(ratio**_GAIN)


def follow_host(factor: float, tally: Tally, capacity: float, period: float) -> float:
    """Return the factor of a host's price, at least 1, at which its visits are within its capacity."""
    return max(1.0, _follow(factor, tally.demand, tally.within(_MORE * capacity, period)))


class CrawlPrice:
    """The price of a crawl, 0 until there is one."""

    def __init__(self, price: float = 0.0) -> None:
        self.price = price
        self._made = 1.0  # visits made of those planned

    def end_pass(self, total: Tally, visits: int, elapsed: float, budget: float) -> None:
        """Follow what a pass has counted, and the visits that were made in the time that it took.

        Without a budget, the price falls until visits are overdue.
        """
        if not (total.pages and total.demand and self.price and elapsed > 0):
            return
        is_late = total.backlog > _OVERDUE * total.demand * elapsed
        made = 1.0 if is_late else min(max(visits / elapsed / total.demand, 0.8), 1.0)
        self._made += _NEWEST * (made - self._made)
        if budget:
            capacity = budget / self._made
        elif is_late:
            capacity = max(visits, 1) / elapsed
        else:
            capacity = total.demand * _GROWTH
        # More than all hosts allow would never be reached: the price would fall for ever.
        if total.capacity:
            capacity = min(capacity, total.capacity)
        target, held = total.within(capacity, elapsed), (1.0 - _CALM) * total.held
        left = max(target - held, _CALM * target)
        self.price = _follow(self.price, total.demand - held, left)
