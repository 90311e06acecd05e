"""As much of a Frontier as a simulation needs, in memory: hosts that rest between two fetches.

Invariant. A host with waiting URLs is in exactly one place: ready, asleep, or being fetched from.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfaspider.frontier import State, Taken


class MemoryHost:
    """A host: its waiting URLs as a heap, the next one first."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.waiting: list[Any] = []
        self.is_ready = True


class MemoryFrontier:
    """Hosts that rest `delay` seconds. Subclasses choose among the ready ones, and order their URLs."""

    def __init__(self, delay: float = 1.0) -> None:
        self._delay = delay
        self._hosts: dict[str, MemoryHost] = {}
        self._by_number: list[MemoryHost] = []
        self._asleep: list[tuple[float, int]] = []

    def put(self, urls: Sequence[str], depth: int = 0) -> None:
        for url in urls:
            self._add(url, depth)

    def take(self, now: float) -> Taken | None:
        """Return the next URL, None if no host is ready."""
        raise NotImplementedError

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
        heapq.heappush(self._asleep, (now + self._delay, taken.host))
        self.put(links, taken.depth + 1)

    def _add(self, url: str, depth: int) -> None:
        raise NotImplementedError

    def _make_ready(self, host: MemoryHost) -> None:
        """Let a host that does not rest take part, if it has anything waiting."""
        raise NotImplementedError

    def _host(self, url: str) -> MemoryHost:
        name = url.split("/", 3)[2]
        host = self._hosts.get(name)
        if host is None:
            host = self._hosts[name] = MemoryHost(len(self._by_number))
            self._by_number.append(host)
        return host

    def _wake(self, now: float) -> None:
        while self._asleep and self._asleep[0][0] <= now:
            host = self._by_number[heapq.heappop(self._asleep)[1]]
            host.is_ready = True
            self._make_ready(host)
