"""The pages of highest profit first: WIRE's manager (seed 004, section 2.1; row W1).

The profit of a page is what its copy would be worth afterwards less what it is worth now: its quality
times the probability that the copy is stale, and for a new page its whole quality.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from rdfaspider.frontier.orders.order import Order

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable

    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Database

# In-links are counted in powers of two; so many are enough.
_MOST = 24


def profit(quality: float, freshness: float | None) -> float:
    """Return what is gained by fetching a page; None says that there is no copy of it yet."""
    return quality * (1.0 - (freshness or 0.0))


def best(pages: Iterable[tuple[Hashable, float, float | None]], count: int) -> list[Hashable]:
    """Return the names of those of (name, quality, freshness) whose profit is highest."""
    ranked = sorted(pages, key=lambda page: -profit(page[1], page[2]))
    return [name for name, _, _ in ranked[:count]]


def quality(depth: int, doublings: int) -> float:
    """Estimate the quality of a page, between 0 and 1, by its depth and its in-links, 2 ** doublings.

    Quality falls with the distance from the seeds and grows with the logarithm of the in-links, as does
    PageRank on the whole; a page with a thousand in-links is worth as much as one two links nearer.
    """
    return (2.0 + doublings / 5) / (3.0 + depth + doublings / 5)


class Profit(Order):
    """The page of highest quality first, among those that wait.

    The hint is the in-links found so far as a power of two (Morris's counter: each further link raises it
    with probability 2 ** -hint, so that most links change nothing on disk).

    Invariant: the rank is the quality, turned round, so that the best is first.
    """

    reads_hints = True

    def __init__(self, database: Database) -> None:
        self._chance = random.Random(0)
        self._known: dict[tuple[int, int], bytes] = {}

    def hint(self, context: int) -> int:
        return 0

    def combine(self, old: int, new: int) -> int:
        if old < _MOST and self._chance.random() < 2.0**-old:
            return old + 1
        return old

    def rank(self, key: bytes, depth: int, hint: int) -> bytes:
        found = self._known.get((depth, hint))
        if found is None:
            found = bytes((255 - int(255 * quality(depth, hint)),))
            self._known[depth, hint] = found
        return found

    def urgency(self, host: Host) -> float:
        if host.queue:
            taken = host.queue[-1][1]
            return -quality(taken.depth, taken.hint)
        return (host.low[0] if host.low else 0) / 255 - 1.0
