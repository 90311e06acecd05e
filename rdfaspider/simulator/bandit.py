"""Anthelion's way, as a baseline for orders: a bandit chooses the host, a classifier its URL.

A ready host is drawn by Beta(rich + 1, poor + 1) of its pages, once for what is known of it. Its URLs are
ranked by naive Bayes over the words of their paths, their host and whether the page that linked to them was
rich, hashed. All of it is in memory.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from math import log
from random import Random
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from rdfaspider.frontier import Taken
from rdfaspider.simulator.inmemory import MemoryFrontier
from rdfaspider.urls.keys import to_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfaspider.frontier import State
    from rdfaspider.simulator.inmemory import MemoryHost

_SLOTS = 10_000


class WaitingUrl(NamedTuple):
    """A waiting URL with the slots of its words; the smallest is next."""

    rank: float
    number: int
    url: str
    depth: int
    slots: list[int]


class BanditFrontier(MemoryFrontier):
    """Draws the next of the ready hosts. An entry of a host is valid if its stamp is the last."""

    def __init__(self, seed: int = 0, delay: float = 1.0) -> None:
        super().__init__(delay)
        self._chance = Random(seed)
        self._words = ([1] * _SLOTS, [1] * _SLOTS)  # poor, rich
        self._pages = defaultdict[int, list[int]](lambda: [0, 0])  # of each host: poor, rich
        self._parent = b"parent 0"  # of the links that come next
        self._seen: set[str] = set()
        self._ready: list[tuple[float, int, int]] = []
        self._flying: dict[int, WaitingUrl] = {}
        self._stamps = 0
        self._stamp_of: dict[int, int] = {}

    def take(self, now: float) -> Taken | None:
        self._wake(now)
        while self._ready:
            _, stamp, number = heapq.heappop(self._ready)
            if self._stamp_of[number] == stamp:
                host = self._by_number[number]
                entry = heapq.heappop(host.waiting)
                host.is_ready, self._stamp_of[number] = False, 0
                self._flying[entry.number] = entry
                return Taken(entry.url, entry.depth, 0, entry.number, number)
        return None

    def finish(
        self,
        taken: Taken,
        state: State,
        now: float,
        links: Sequence[str] = (),
        *,
        gain: float = 0.0,
    ) -> None:
        is_rich = gain > 0
        self._pages[taken.host][is_rich] += 1
        for slot in self._flying.pop(taken.number).slots:
            self._words[is_rich][slot] += 1
        self._parent = b"parent 2" if is_rich else b"parent 1"
        super().finish(taken, state, now, links)

    def _add(self, url: str, depth: int) -> None:
        if url in self._seen:
            return
        self._seen.add(url)
        words = [*to_key(url).replace(b"?", b"/").split(b"/"), self._parent]
        slots = [crc32(word) % _SLOTS for word in words if word]
        poor, rich = self._words
        rank = -sum(log(rich[slot] / poor[slot]) for slot in slots)
        entry, host = WaitingUrl(rank, len(self._seen), url, depth, slots), self._host(url)
        heapq.heappush(host.waiting, entry)
        if host.is_ready and host.waiting[0] is entry:
            self._make_ready(host)

    def _make_ready(self, host: MemoryHost) -> None:
        if host.waiting:
            self._stamps += 1
            self._stamp_of[host.number] = self._stamps
            poor, rich = self._pages[host.number]
            urgency = -self._chance.betavariate(rich + 1, poor + 1)
            heapq.heappush(self._ready, (urgency, self._stamps, host.number))
