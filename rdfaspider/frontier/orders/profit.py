"""The new pages of highest profit first: WIRE's manager (section 2.1; row W1).

The profit of a page is what its copy would be worth afterwards less what it is worth now. Of a new page
there is no copy, so its profit is its whole quality. Pages that have a copy are the business of
engine/revisits/manager.py.
"""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from rdfaspider.frontier.orders.order import Order
from rdfaspider.linkgraph.weights import ONE, Sums

if TYPE_CHECKING:
    from rdfaspider.frontier.schedule.hosts import Host
    from rdfaspider.frontier.tables.database import Database

# The mark of a hint that has a weight, which may be 0.
_WEIGHED = 1 << 23
_ONE_LINK = _WEIGHED | ONE
# A weight is corrected if it is wrong by more than this many steps: moving a URL takes two writes.
_NEAR = 3


class Profit(Order):
    """The waiting page of the highest quality first; of equal ones the one nearer to the seeds.

    Quality is PageRank, which is computed now and then for all known pages (engine/steering.py). In between
    each link adds as much as an average one. To add the share of its page instead ("partial PageRank") finds
    good pages later: Baeza-Yates, Castillo, Marin and Rodriguez (Crawling a Country, WWW 2005), and so does
    the simulator.

    The hint is the weight of the links found so far (linkgraph/weights.py). Invariant: the rank is the
    inverted weight and the depth, so that the best is first.
    """

    reads_hints = True
    reads_ranks = True

    def __init__(self, database: Database) -> None:
        self._sums = Sums(random.Random(0))

    def hint(self, context: int) -> int:
        return _ONE_LINK

    def combine(self, old: int, new: int) -> int:
        return _WEIGHED | self._sums.add(_weight(old), _weight(new))

    def ranked(self, hint: int, weight: int) -> int:
        return hint if abs(_weight(hint) - weight) <= _NEAR else _WEIGHED | weight

    def rank(self, key: bytes, depth: int, hint: int) -> bytes:
        return standing(depth, hint).to_bytes(2, "big")

    def urgency(self, host: Host) -> int:
        if host.queue:
            taken = host.queue[-1][1]
            return standing(taken.depth, taken.hint)
        return int.from_bytes(host.low[:2], "big")


def standing(depth: int, hint: int) -> int:
    """Return where a page stands among others: the smallest is the best."""
    return (255 - _weight(hint)) << 8 | depth


def _weight(hint: int) -> int:
    return hint & 255 if hint & _WEIGHED else ONE
