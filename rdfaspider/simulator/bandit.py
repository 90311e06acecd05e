"""Anthelion's way, as a baseline for orders: a bandit chooses the host, a classifier its URL.

A ready host is drawn by Beta(rich + 1, poor + 1) of its pages, once for what is known of it. Its URLs are
ranked by naive Bayes over the words of their paths, their host and whether the page that linked to them was
rich, hashed. All of it is in memory.

Invariant. A host with waiting URLs is in exactly one place: ready, asleep, or being fetched from.
"""

from __future__ import annotations

import heapq
from math import log
from random import Random
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from rdfaspider.frontier import Taken
from rdfaspider.urls.keys import host_of, to_key

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfaspider.frontier import State

_SLOTS = 10_000


class WaitingUrl(NamedTuple):
    """A waiting URL with the slots of its words; the smallest is next."""

    rank: float
    number: int
    url: str
    depth: int
    slots: list[int]


class BanditHost:
    """A host: its waiting URLs as a heap, its poor and its rich pages."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.waiting: list[WaitingUrl] = []
        self.pages = [0, 0]
        self.stamp, self.is_ready = 0, True


class BanditFrontier:
    """As much of a Frontier as a simulation needs: put, take, wait, finish. Each host rests `delay`."""

    def __init__(self, seed: int = 0, delay: float = 1.0) -> None:
        self._chance = Random(seed)
        self._delay = delay
        self._words = ([1] * _SLOTS, [1] * _SLOTS)  # poor, rich
        self._seen: set[str] = set()
        self._hosts: dict[bytes, BanditHost] = {}
        self._by_number: list[BanditHost] = []
        self._ready: list[tuple[float, int, int]] = []
        self._asleep: list[tuple[float, int]] = []
        self._flying: dict[int, WaitingUrl] = {}
        self._stamps = 0

    def put(self, urls: Sequence[str], depth: int = 0) -> None:
        for url in urls:
            self._add(url, depth, b"parent 0")

    def take(self, now: float) -> Taken | None:
        self._wake(now)
        while self._ready:
            _, stamp, number = heapq.heappop(self._ready)
            host = self._by_number[number]
            if host.stamp == stamp:
                entry = heapq.heappop(host.waiting)
                host.is_ready, host.stamp = False, 0
                self._flying[entry.number] = entry
                return Taken(entry.url, entry.depth, 0, entry.number, host.number)
        return None

    def wait(self, now: float) -> float | None:
        """Return the seconds until a host wakes up, None if none is asleep."""
        return max(self._asleep[0][0] - now, 0.0) if self._asleep else None

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
        self._by_number[taken.host].pages[is_rich] += 1
        for slot in self._flying.pop(taken.number).slots:
            self._words[is_rich][slot] += 1
        heapq.heappush(self._asleep, (now + self._delay, taken.host))
        for link in links:
            self._add(link, taken.depth + 1, b"parent 2" if is_rich else b"parent 1")

    def _add(self, url: str, depth: int, parent: bytes) -> None:
        if url in self._seen:
            return
        self._seen.add(url)
        key = to_key(url)
        host = self._host(host_of(key))
        words = [*key.replace(b"?", b"/").split(b"/"), parent]
        slots = [crc32(word) % _SLOTS for word in words if word]
        poor, rich = self._words
        rank = -sum(log(rich[slot] / poor[slot]) for slot in slots)
        entry = WaitingUrl(rank, len(self._seen), url, depth, slots)
        heapq.heappush(host.waiting, entry)
        if host.is_ready and host.waiting[0] is entry:
            self._make_ready(host)

    def _host(self, key: bytes) -> BanditHost:
        host = self._hosts.get(key)
        if host is None:
            host = self._hosts[key] = BanditHost(len(self._by_number))
            self._by_number.append(host)
        return host

    def _wake(self, now: float) -> None:
        while self._asleep and self._asleep[0][0] <= now:
            host = self._by_number[heapq.heappop(self._asleep)[1]]
            host.is_ready = True
            if host.waiting:
                self._make_ready(host)

    def _make_ready(self, host: BanditHost) -> None:
        self._stamps += 1
        host.stamp = self._stamps
        poor, rich = host.pages
        urgency = -self._chance.betavariate(rich + 1, poor + 1)
        heapq.heappush(self._ready, (urgency, host.stamp, host.number))
