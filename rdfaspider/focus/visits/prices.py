"""Prices that keep visits within what can be fetched.

All pages are priced again in a period, host by host. That pass counts what the prices ask for, in visits a
second, and the pages that are overdue. A host at the limit of its politeness has a factor of its own, above
1, so that it visits what brings most within its limit; the price of the crawl is for the others.
"""

from __future__ import annotations

from dataclasses import dataclass

# How a price follows: by this power of what is asked for over what can be fetched. Visits fall with about the
# root of a price, and a lower price makes many pages due at once, so larger steps overshoot.
_GAIN = 0.3
# The most that what is asked for may differ in a step, either way.
_STEP = 10.0
# Periods in which a backlog is to be worked off.
_PATIENCE = 10.0


@dataclass(slots=True)
class Tally:
    """What a pass has counted: pages, the visits a second they ask for, and those overdue."""

    pages: int = 0
    demand: float = 0.0
    backlog: int = 0

    def count(self, interval: int, *, is_late: bool) -> None:
        self.pages += 1
        self.demand += 1.0 / interval
        self.backlog += is_late

    def add(self, host: Tally, capacity: float, factor: float) -> None:
        """Add a host: what is beyond its limit loads the host and nobody else."""
        self.pages += host.pages
        self.demand += min(host.demand, capacity)
        if factor <= 1.0:
            self.backlog += host.backlog


def follow(price: float, tally: Tally, capacity: float, period: float) -> float:
    """Return the price at which visits are what a capacity allows, once a backlog is worked off."""
    target = max(capacity - tally.backlog / (_PATIENCE * period), capacity / 4)
    ratio = min(max(tally.demand / target, 1 / _STEP), _STEP)
    return price * float(ratio**_GAIN)
