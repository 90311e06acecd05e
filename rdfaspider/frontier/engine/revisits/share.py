"""How many revisits may be made while new pages wait.

The two compare by the same number: a new page brings what an old one brings after infinite time, and a
revisit is due when it brings the price. The policy makes a share of the fetches of that (`Walk.share`), and
each new page that is handed out earns some revisits. Where nothing else is ready, revisits come without
limit.

The weight of new pages is their mean triples times quality; it survives a restart, what was earned does not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rocksdict import WriteBatch

    from rdfaspider.frontier.engine.counters import Counters
    from rdfaspider.frontier.engine.revisits.walk import Walk
    from rdfaspider.frontier.schedule.queue import Queue
    from rdfaspider.frontier.tables.database import Family
    from rdfaspider.frontier.tables.links.inbox import Inbox

# Takes that revisits may make up for while new pages wait, and the most that they owe: most of those that
# were made because nothing else was ready are no debt.
_CREDIT = 10.0
_DEBT = 1_000.0
# How much a new first visit counts for the weight of new pages, after this many.
_NEWEST = 0.01
_MANY = 100

_WEIGHT = b"weight of new pages"


class Share:
    """Counts what revisits have earned. `weights` has those of the last first visits, for `weight_of_new`."""

    def __init__(self, meta: Family, queue: Queue, inbox: Inbox, counters: Counters) -> None:
        self._meta, self._queue = meta, queue
        self._inbox, self._counters = inbox, counters
        # How many revisits may be made while new pages wait, and up to which new page this was counted.
        self._credit, self._counted = 0.0, queue.popped
        self._earned = 0.0  # revisits for a new page
        # The weight of new pages, in the mean, and of how many.
        weight = meta.get(_WEIGHT)
        self._weight, self._weighed = float(weight or b"1"), _MANY if weight else 0
        self.weights: list[float] = []

    @property
    def has_new(self) -> bool:
        """Return whether new pages wait."""
        return self._inbox.size > 0 or any(self._counters.unfinished)

    def left(self) -> float:
        """Return how many revisits may follow the new pages that were handed out."""
        new, self._counted = self._queue.popped - self._counted, self._queue.popped
        self._credit = min(self._credit + new * self._earned, _CREDIT)
        return self._credit

    def spend(self) -> None:
        """Count a revisit."""
        self._credit = max(self.left() - 1.0, -_DEBT)

    def compare(self, walk: Walk) -> None:
        """Compare revisits with new pages: how many may follow one of these."""
        self.left()  # what was earned so far counts at the old rate
        share = walk.share
        self._earned = share / max(1.0 - share, 0.01)

    @property
    def weight_of_new(self) -> float:
        """Return the weight of new pages in the mean, to which the last ones are added now."""
        mean, count = self._weight, self._weighed
        for weight in self.weights:
            count += 1
            mean += (weight - mean) * (_NEWEST if count > _MANY else 1.0 / count)
        self.weights.clear()
        self._weight, self._weighed = mean, count
        return mean

    def save(self, batch: WriteBatch) -> None:
        batch.put(_WEIGHT, repr(self.weight_of_new).encode(), self._meta.handle)
