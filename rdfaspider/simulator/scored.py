"""Baselines for orders: a frontier in memory that fetches the URL of the highest score first.

The scores are those that Cho, Garcia-Molina and Page (1998) compare, and one that nobody can have: the rank
of a page in the whole web.

Layout. Each host has a heap of its waiting URLs, and the best of each ready host are in one heap. A URL whose
score has risen is pushed once more: an entry is valid while its URL waits and its score is the last.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING
from zlib import crc32

from rdfaspider.frontier import Taken
from rdfaspider.simulator.inmemory import MemoryFrontier

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rdfaspider.simulator.inmemory import MemoryHost

# Negative score, number, URL.
_Entry = tuple[float, int, str]


def by_chance(url: str, links: int) -> float:
    return crc32(url.encode())


def by_links(url: str, links: int) -> float:
    return links


def by_rank(ranks: Mapping[str, float]) -> Callable[[str, int], float]:
    """Return the score of those who know the ranks of all pages."""
    return lambda url, links: ranks.get(url, 0.0)


class ScoredFrontier(MemoryFrontier):
    """Takes the URL of the highest score."""

    def __init__(self, score: Callable[[str, int], float], delay: float = 1.0) -> None:
        super().__init__(delay)
        self._score = score
        self._links: dict[str, int] = {}
        self._scores: dict[str, float] = {}  # of waiting URLs, negative
        self._depths: dict[str, int] = {}
        self._ready: list[_Entry] = []
        self._count = 0

    def take(self, now: float) -> Taken | None:
        self._wake(now)
        while self._ready:
            score, number, url = heapq.heappop(self._ready)
            host = self._host(url)
            if host.is_ready and self._scores.get(url) == score:
                host.is_ready = False
                del self._scores[url]
                return Taken(url, self._depths.pop(url), 0, number, host.number)
        return None

    def _add(self, url: str, depth: int) -> None:
        is_new = url not in self._links
        self._links[url] = links = self._links.get(url, 0) + 1
        if is_new:
            self._depths[url] = depth
        elif url not in self._scores:
            return
        score = -self._score(url, links)
        if self._scores.get(url) == score:
            return
        self._scores[url] = score
        self._count += 1
        entry = (score, self._count, url)
        host = self._host(url)
        heapq.heappush(host.waiting, entry)
        if host.is_ready:
            heapq.heappush(self._ready, entry)

    def _make_ready(self, host: MemoryHost) -> None:
        waiting = host.waiting
        while waiting and self._scores.get(waiting[0][2]) != waiting[0][0]:
            heapq.heappop(waiting)
        if waiting:
            heapq.heappush(self._ready, waiting[0])
