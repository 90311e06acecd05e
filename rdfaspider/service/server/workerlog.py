"""The log of all workers: a file beside the frontier, PATH.log, of bounded size.

Layout: one line each, with time, level, worker and text. When the file is too large it becomes PATH.log.1,
replacing the previous one. What the system has not yet written is lost with the machine.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL")

_LARGEST = 4 << 20
_LONGEST = 2_000  # characters of a line

# Time, level and text.
Line = tuple[float, str, str]


class WorkerLog:
    def __init__(self, frontier: str) -> None:
        self._path = Path(f"{frontier}.log")
        self._older = Path(f"{frontier}.log.1")

    def write(self, worker: str, lines: Iterable[Line]) -> None:
        """Write the lines that a worker has logged; OSError if that fails."""
        with self._path.open("a", encoding="utf-8", errors="replace") as file:
            for time, level, text in lines:
                moment = datetime.fromtimestamp(time, UTC).strftime("%Y-%m-%d %H:%M:%S")
                words = " / ".join(text.splitlines())[:_LONGEST]
                file.write(f"{moment} {level} [{worker}] {words}\n")
            size = file.tell()
        if size > _LARGEST:
            self._path.replace(self._older)

    def last(self, most: int, level: str) -> list[str]:
        """Return the last lines of a level or above, the oldest first."""
        wanted = LEVELS[LEVELS.index(level) :]
        found = [line for line in self._lines() if _level_of(line) in wanted]
        return found[-most:]

    def _lines(self) -> Iterable[str]:
        return chain.from_iterable(
            path.read_text(encoding="utf-8", errors="replace").splitlines()
            for path in (self._older, self._path)
            if path.exists()
        )


def _level_of(line: str) -> str:
    return line.split(" ", 3)[2] if line.count(" ") >= 3 else ""
