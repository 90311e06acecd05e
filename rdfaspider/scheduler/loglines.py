"""What a worker logs, kept until it is told to the service that has the log of all."""

from __future__ import annotations

import logging
from collections import deque

# Lines that are kept, and told at a time: the rest is a number.
_MOST = 500
_AT_ONCE = 100

Line = tuple[float, str, str]


class LogLines(logging.Handler):
    """A handler of the log; lines may come from any thread."""

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
        """Return the next lines to tell."""
        lines = [self._lines.popleft() for _ in range(min(_AT_ONCE, len(self._lines)))]
        if self._dropped and not self._lines and lines:
            words = f"{self._dropped:,} more lines came too fast to be told."
            lines.append((lines[-1][0], "WARNING", words))
            self._dropped = 0
        return lines
