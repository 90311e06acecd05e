"""Who holds which URL, and until when.

In memory only: after a crash nothing is in flight. Invariant: `_held` has one entry for each URL in
flight, with the latest Taken for it; an older one has no say any more.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdfaspider.frontier import Taken


class Leases:
    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._held: dict[int, Taken] = {}
        self._ends: list[tuple[float, int, Taken]] = []
        self._granted = 0

    def __len__(self) -> int:
        return len(self._held)

    def grant(self, taken: Taken, now: float) -> None:
        self._granted += 1
        self._held[taken.number] = taken
        heapq.heappush(self._ends, (now + self._seconds, self._granted, taken))

    def holds(self, taken: Taken) -> bool:
        """Tell whether a URL is in flight by this very grant."""
        return self._held.get(taken.number) is taken

    def has(self, number: int) -> bool:
        """Tell whether a URL is in flight."""
        return number in self._held

    def end(self, taken: Taken) -> None:
        del self._held[taken.number]

    @property
    def first(self) -> float | None:
        """Return when the first lease ends, None if there is none."""
        while self._ends and not self.holds(self._ends[0][2]):
            heapq.heappop(self._ends)
        return self._ends[0][0] if self._ends else None

    def expired(self, now: float) -> Taken | None:
        """Return a URL whose lease has run out, None if there is none."""
        first = self.first
        return self._ends[0][2] if first is not None and first <= now else None
