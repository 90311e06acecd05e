"""WIRE's manager (row W1): cycles of K URLs, chosen by profit.

A cycle begins with a walk through all kept pages. Those that were visited too recently are left out. What a
visit to one of the others brings is

    profit = quality - quality · freshness          freshness = e^(-rate · age)

We hold no copy of a new page, so its profit is its full quality (figure 3 of the paper). The K URLs of the
highest profit are the cycle: kept pages among them become due, and turns are shared in proportion with the
new pages. If there are too few of these, kept pages take their places. The order of the crawl decides which
new pages come first: under `profit` those of the highest quality. The cycle ends when all of it was handed
out, or all its kept pages and there is no new one left; after ten minutes also if only all its kept pages
were, because some new pages may have to be tried again much later; and after a day in any case. Within a
budget of visits, the next one does not begin before its time.

Quality is the number of triples times PageRank within bounds, as in the default policy; a new page is
expected to have the triples of new pages in the mean. A page outside of the cycle is not due before the
longest interval.

In memory are the profits and numbers of the K best, and the profits of the K best new pages. What survives a
kill: chosen pages are due on disk, and the next start begins a cycle.
"""

from __future__ import annotations

from heapq import heappush, heapreplace
from typing import TYPE_CHECKING

from rdfaspider.frontier.engine.revisits.walk import AHEAD, Walk
from rdfaspider.frontier.tables.trie import unpack
from rdfaspider.urls.keys import host_of

if TYPE_CHECKING:
    from rocksdict import WriteBatch

    from rdfaspider.frontier.engine.revisits.revisits import Revisits
    from rdfaspider.frontier.tables.database import Database
    from rdfaspider.frontier.tables.trie import Record

# Pages that become due in a step.
_CHOSEN = 64
# Seconds that a cycle takes at least, those in which the rest of its new pages must come, and those after
# which it ends although some of its kept pages were not handed out: their hosts may be away.
_SHORTEST, _PATIENCE, _LATEST = 1.0, 600.0, 86_400.0


class Manager(Walk):
    """Chooses what is in a cycle; the schedule does the rest, as WIRE's harvester does."""

    def __init__(self, database: Database, revisits: Revisits) -> None:
        super().__init__(database, revisits)
        self._best: list[tuple[float, int]] = []  # a heap, the worst first, of kept pages
        self._best_new: list[float] = []  # the same of new pages
        self._new_pages = 0
        self._chosen: list[int] = []  # those that are not due yet
        self._kept_pages = self._left_over = 0
        # Of this cycle: all URLs, and the kept pages among them; and what was handed out before its walk.
        self._size = self._revisited = 0
        self._handed_out = self._recalls = 0

    # --- the walk ---

    def look_at(self, batch: WriteBatch, key: bytes, record: Record, now: float) -> None:
        past, planner = record.past, self._revisits.planner
        assert past is not None
        self._kept_pages += 1
        if past.due <= now:  # of the cycle before, or tried again
            self._left_over += not self._is_in_flight(key, record.number)
            return
        if past.last > now + AHEAD and not self._revisits.is_at_hand(record.number):
            host = self._find(host_of(key))
            self._hosts[host.key] = host
            better = planner.plan(key, past._replace(last=int(now)))
            self._revisits.move(batch, host, key, record, better)
            return
        if self.has_own_time(record, past, now) or now - past.last < planner.rules.shortest:
            return
        quality = self._revisits.quality(record.number)
        found = quality * planner.profit(key, past, now), record.number
        is_full = len(self._best) >= planner.rules.cycle
        if is_full and found <= self._best[0]:
            return
        # Those whose servers do not want to be asked yet would take the places of others.
        if now < past.last + self._revisits.soonest(record.number):
            return
        (heapreplace if is_full else heappush)(self._best, found)

    def look_at_new(self, number: int) -> None:
        self._new_pages += 1
        profit = self._revisits.weight_of_new * self._revisits.quality(number)
        if len(self._best_new) < self._revisits.planner.rules.cycle:
            heappush(self._best_new, profit)
        elif profit > self._best_new[0]:
            heapreplace(self._best_new, profit)

    def arrive(self, batch: WriteBatch, now: float) -> None:
        revisits = self._revisits
        room = max(revisits.planner.rules.cycle - self._left_over, 0)
        best, new = sorted(self._best, reverse=True)[:room], revisits.new_pages
        # Those that came after the walk had passed them count as the mean.
        others = min(max(new - self._new_pages, 0), room)
        profits = [(profit, True) for profit in self._best_new + [revisits.weight_of_new] * others]
        profits += [(profit, False) for profit, _ in best]
        profits.sort(reverse=True)
        count = max(sum(not is_new for _, is_new in profits[:room]), room - new)
        # In the order of numbers, which is nearly that of the disk.
        self._chosen = sorted((number for _, number in best[:count]), reverse=True)
        self._revisited = len(self._chosen) + self._left_over
        self._size = min(revisits.planner.rules.cycle, self._revisited + new)
        self._best.clear()
        self._best_new.clear()
        self._new_pages = 0
        self._left_over = 0
        revisits.compare()

    def _is_in_flight(self, key: bytes, number: int) -> bool:
        """Tell whether a page was handed out already, and so will not be in this cycle."""
        is_at_hand = self._revisits.is_at_hand(number)
        return is_at_hand and number in self._find(host_of(key)).in_flight

    # --- the cycle ---

    def step(self, now: float) -> None:
        if self._chosen:
            self._make_due(now)
        elif self._key or self._end <= now or now < self.began:
            if not self._key:
                self._kept_pages = 0
                self._handed_out = self._revisits.handed_out
                self._recalls = self._revisits.recalls
            super().step(now)
        self.next = self._when(now)

    def _make_due(self, now: float) -> None:
        """Make some of the chosen pages due."""
        trie, batch = self._revisits.urls.trie, self._database.batch()
        some = [self._chosen.pop() for _ in range(min(_CHOSEN, len(self._chosen)))]
        keys = trie.keys(some)
        for key, data in zip(keys, trie.records(keys), strict=True):
            record = None if data is None else unpack(data)
            is_free = record is not None and not self._revisits.is_at_hand(record.number)
            if record is None or record.past is None or not is_free:
                self._revisited -= 1
                self._size -= 1
                continue
            host = self._find(host_of(key))
            self._hosts[host.key] = host
            self._revisits.move(batch, host, key, record, record.past.due_by(now))
        self._write(batch)

    def _when(self, now: float) -> float:
        """Return when to go on: at once in the middle of a walk, else when the next cycle may begin."""
        if self._key or self._chosen or not self._looked_at:
            return now
        budget = self._revisits.planner.rules.mean / max(self._kept_pages, 1)
        return self.began + max(self._revisited * budget, _SHORTEST)

    @property
    def _end(self) -> float:
        """Return when the cycle ends, as far as is known."""
        revisits = self._revisits
        are_visited = revisits.recalls - self._recalls >= self._revisited
        # Links that were taken for new pages may have been known.
        if revisits.handed_out - self._handed_out >= self._size or (
            are_visited and not revisits.has_new
        ):
            return self.next
        return max(self.next, self.began + (_PATIENCE if are_visited else _LATEST))

    @property
    def alarm(self) -> float | None:
        if not self._revisits.urls.counters.kept:
            return super().alarm
        return self.next if self._key or self._chosen else self._end

    @property
    def share(self) -> float:
        return self._revisited / max(self._size, 1)
