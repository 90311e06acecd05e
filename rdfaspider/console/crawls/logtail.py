"""The end of the log, by level, for the console."""

from __future__ import annotations

import logging
from collections import deque
from typing import NamedTuple

# Lines kept of each level: a flood of one does not push out the others.
_LINES = 200
_LONGEST = 4_000  # characters of a line
LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")


def levels_from(level: str) -> tuple[str, ...]:
    """Return a level and those above; ValueError if there is no such."""
    if level not in LEVELS:
        raise ValueError(f"There is no level {level[:20]}: choose one of {', '.join(LEVELS)}.")
    return LEVELS[LEVELS.index(level) :]


class Line(NamedTuple):
    time: float
    level: str
    text: str


class LogTail(logging.Handler):
    """A log handler; lines may come from any thread."""

    def __init__(self, level: str) -> None:
        super().__init__(level)
        self._lines: dict[str, deque[Line]] = {name: deque(maxlen=_LINES) for name in LEVELS}

    def emit(self, record: logging.LogRecord) -> None:
        lines = self._lines.get(record.levelname)
        if lines is not None:
            text = self.format(record)
            lines.append(Line(record.created, record.levelname, text[:_LONGEST]))

    def last(self, level: str, most: int = _LINES) -> list[Line]:
        """Return the last lines of a level or above, the newest first; ValueError if there is no such."""
        found = [line for name in levels_from(level) for line in list(self._lines[name])]
        found.sort(key=lambda line: line.time, reverse=True)
        return found[:most]
