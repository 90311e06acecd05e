"""The latest pages of a crawl, and some URLs for each outcome.

Only a bounded number is kept, in memory: the frontier has all URLs, but not in the order in which they ended.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

# Pages shown, and URLs kept for each outcome; most crawls have some ten outcomes.
_PAGES, _URLS, _OUTCOMES = 50, 100, 200
_LONGEST = 2_000  # characters of a URL


class Latest(NamedTuple):
    """What became of a URL: `triples` is -1 if unknown."""

    time: float
    url: str
    outcome: str
    reason: str
    status: int
    triples: int
    title: str


class LatestUrls:
    def __init__(self) -> None:
        self.pages: deque[Latest] = deque(maxlen=_PAGES)
        self._by_outcome: dict[tuple[str, str], deque[Latest]] = {}

    def add(self, latest: Latest) -> None:
        if len(latest.url) > _LONGEST:
            latest = latest._replace(url=latest.url[:_LONGEST] + "…")
        self.pages.append(latest)
        key = latest.outcome, latest.reason
        if key not in self._by_outcome:
            if len(self._by_outcome) >= _OUTCOMES:
                return
            self._by_outcome[key] = deque(maxlen=_URLS)
        self._by_outcome[key].append(latest)

    def of(self, outcome: str, reason: str) -> list[Latest]:
        """Return the latest URLs with an outcome, the newest first."""
        return list(reversed(self._by_outcome.get((outcome, reason), ())))
