"""What a worker of a shared crawl reports to the service: its counters and its log."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

# The most lines kept, and sent at a time; further ones are only counted.
_MOST = 500
_AT_ONCE = 100

# What a frontier counts.
COUNTS = ("seen", "waiting", "in_flight", "done", "failed", "denied", "copies", "kept", "pages")
# Counters of the crawl as a whole, and those that cannot be added up.
_OWN = frozenset(
    [f"frontier/{name}" for name in COUNTS]
    + [f"store/{name}" for name in ("batches", "sent", "aside", "rebuilt", "latency")]
    + [f"store/{name}" for name in ("graphs", "quads", "unchanged", "held")]
    + ["loop/longest", "elapsed_time_seconds", "frontier/unsafe"]
)
_OWN_FAMILIES = (
    "frontier/rejected/",
    "frontier/topic/",
    "store/backlog",
    "store/failed/",
    "memusage/",
    "log_count/",
)

Line = tuple[float, str, str]


class Growth:
    """Measures how much the counters of a worker have grown since the last call."""

    def __init__(self, stats: Mapping[str, Any]) -> None:
        self._stats = stats
        self._sent: dict[str, int] = {}

    def take(self) -> dict[str, int]:
        grown = {}
        for name, value in self._stats.items():
            if type(value) is int and value != self._sent.get(name, 0) and _is_shared(name):
                grown[name] = value - self._sent.get(name, 0)
                self._sent[name] = value
        return grown


def _is_shared(name: str) -> bool:
    return name not in _OWN and not name.startswith(_OWN_FAMILIES)


class LogLines(logging.Handler):
    """A log handler; lines may come from any thread."""

    def __init__(self, level: str) -> None:
        super().__init__(level)
        self._lines: deque[Line] = deque()
        self._dropped = 0

    def emit(self, record: logging.LogRecord) -> None:
        if len(self._lines) >= _MOST:
            self._dropped += 1
            return
        self._lines.append((record.created, record.levelname, self.format(record)))

    def take(self) -> list[Line]:
        """Return the next lines to send."""
        lines = [self._lines.popleft() for _ in range(min(_AT_ONCE, len(self._lines)))]
        if self._dropped and not self._lines and lines:
            words = f"{self._dropped:,} more lines came too fast to be sent."
            lines.append((lines[-1][0], "WARNING", words))
            self._dropped = 0
        return lines
