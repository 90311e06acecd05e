"""A frontier in memory, for trying out orders: hosts with clocks, and groups of URLs to choose from.

Layout. A host has groups of waiting URLs, each a heap by the rank that its order gives. A host that may
be fetched from is in the heap of ready hosts, with the urgency that its order computed when it became
ready. That is computed again only when a better URL comes in, so that a random order draws once for what it
knows. The other hosts are in a heap by their time.

Invariant. A host with waiting URLs is in exactly one place: ready, asleep, or being fetched from.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, NamedTuple, Protocol

from rdfaspider.frontier import Taken
from rdfaspider.urls.keys import host_of, to_key

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rdfaspider.frontier import State


class WaitingUrl(NamedTuple):
    """A waiting URL; the smallest is next."""

    rank: float
    number: int
    url: str
    key: bytes
    depth: int
    context: int


class MemoryHost:
    """A host: its groups of waiting URLs by name, and when it may be asked again."""

    __slots__ = ("clock", "groups", "is_ready", "key", "number", "stamp")

    def __init__(self, number: int, key: bytes) -> None:
        self.number, self.key = number, key
        self.groups: dict[bytes, list[WaitingUrl]] = {}
        self.clock, self.stamp, self.is_ready = 0.0, 0, True


class Chooser(Protocol):
    """An order over groups, as the frontier in memory asks it."""

    def group(self, key: bytes) -> bytes:
        """Return the group of its host that a URL belongs to."""

    def context(self, source: bytes, gain: float, target: bytes) -> int:
        """Return the context of a link from a page that had some gain; keys, b"" for none."""

    def rank(self, key: bytes, depth: int, context: int) -> float:
        """Return the place of a URL in its group: small is first."""

    def choose(self, host: MemoryHost) -> tuple[float, bytes]:
        """Return the urgency of a ready host, small is first, and which of its groups is meant."""

    def learn(self, host: MemoryHost, entry: WaitingUrl, gain: float) -> None:
        """Learn what a page was worth."""


class MemoryFrontier:
    """As much of a Frontier as a simulation needs: put, take, wait, finish. Each host rests `delay`."""

    def __init__(self, chooser: Chooser, delay: float = 1.0) -> None:
        self._chooser = chooser
        self._delay = delay
        self._seen: set[str] = set()
        self._hosts: dict[bytes, MemoryHost] = {}
        self._by_number: list[MemoryHost] = []
        self._ready: list[tuple[float, int, int, bytes]] = []
        self._asleep: list[tuple[float, int]] = []
        self._flying: dict[int, WaitingUrl] = {}
        self._stamps = 0

    @property
    def hosts(self) -> int:
        return len(self._hosts)

    @property
    def seen(self) -> int:
        return len(self._seen)

    def put(self, urls: Iterable[str], depth: int = 0) -> None:
        for url in urls:
            self._add(url, depth, b"", 0.0)

    def take(self, now: float) -> Taken | None:
        self._wake(now)
        while self._ready:
            _, stamp, number, group = heapq.heappop(self._ready)
            host = self._by_number[number]
            if host.stamp == stamp:
                return self._take_from(host, group)
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
        depth_step: int = 1,
        gain: float = 0.0,
    ) -> None:
        entry = self._flying.pop(taken.number)
        host = self._by_number[taken.host]
        self._chooser.learn(host, entry, gain)
        host.clock = now + self._delay
        heapq.heappush(self._asleep, (host.clock, host.number))
        for link in links:
            self._add(link, taken.depth + depth_step, entry.key, gain)

    def _add(self, url: str, depth: int, source: bytes, gain: float) -> None:
        if url in self._seen:
            return
        self._seen.add(url)
        key = to_key(url)
        host = self._host(host_of(key))
        context = self._chooser.context(source, gain, key)
        rank = self._chooser.rank(key, depth, context)
        group = host.groups.setdefault(self._chooser.group(key), [])
        entry = WaitingUrl(rank, len(self._seen), url, key, depth, context)
        heapq.heappush(group, entry)
        if host.is_ready and group[0] is entry:
            self._make_ready(host)

    def _host(self, key: bytes) -> MemoryHost:
        host = self._hosts.get(key)
        if host is None:
            host = self._hosts[key] = MemoryHost(len(self._by_number), key)
            self._by_number.append(host)
        return host

    def _take_from(self, host: MemoryHost, group: bytes) -> Taken:
        entry = heapq.heappop(host.groups[group])
        if not host.groups[group]:
            del host.groups[group]
        host.is_ready, host.stamp = False, 0
        self._flying[entry.number] = entry
        return Taken(entry.url, entry.depth, 0, entry.number, host.number)

    def _wake(self, now: float) -> None:
        while self._asleep and self._asleep[0][0] <= now:
            host = self._by_number[heapq.heappop(self._asleep)[1]]
            host.is_ready = True
            if host.groups:
                self._make_ready(host)

    def _make_ready(self, host: MemoryHost) -> None:
        self._stamps += 1
        host.stamp = self._stamps
        urgency, group = self._chooser.choose(host)
        heapq.heappush(self._ready, (urgency, host.stamp, host.number, group))
