"""The index of an archive: where the captures of a URL are, while the crawl goes on and after it.

Layout: each writer appends lines to a journal of its own; when that is long, they become a sorted segment
(`segments.py`). The journal's name says from which offset of which file on its captures are. A look-up
searches the segments by halves and reads the journals.
Invariant: a capture is in the index when its record is in a file that is whole. What survives a kill: all
lines that were written; those of the last records may be missing, and are made from the records when the
file is mended.
"""

from __future__ import annotations

import os
from contextlib import suppress
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from rdfaspider.archive.index.captures import REVISIT, Capture, seconds_at
from rdfaspider.archive.index.keys import key_of
from rdfaspider.archive.index.segments import find, merge, write_segment

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Callable, Iterable, Iterator

# How far a status is a sign that a page is gone, and what makes it certain.
_GONE = 2
_MISSES = {"410": 2, "301": 2, "308": 2, "404": 1, "302": 1, "303": 1, "307": 1}
# Captures of a journal: a look-up reads it in some milliseconds.
_LONG = 20_000


def index_of(archive: Path) -> Path:
    return archive / "index"


class Journal:
    """The newest captures of one WARC file."""

    def __init__(self, archive: Path, warc: str, offset: int = 0) -> None:
        self.directory = index_of(archive)
        self.directory.mkdir(exist_ok=True)
        self.warc = warc
        self._lines: list[bytes] = []
        self._open(offset)

    def _open(self, offset: int) -> None:
        self._path = self.directory / f"{self.warc}.{offset:012}.open"
        self._file = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)

    def add(self, captures: Iterable[Capture], end: int) -> None:
        """Note captures; the file ends at `end` with them."""
        lines = [capture.line() for capture in captures]
        data = memoryview(b"".join(lines))
        while data:
            data = data[os.write(self._file, data) :]
        self._lines += lines
        if len(self._lines) >= _LONG:
            self._sort()
            self._open(end)
            merge(self.directory)

    def _sort(self) -> None:
        if self._lines:
            write_segment(self.directory, 0, sorted(self._lines))
        self.release()
        self._path.unlink()
        self._lines = []

    def close(self) -> None:
        """Sort what there is into a segment."""
        self._sort()
        merge(self.directory)

    def release(self) -> None:
        """Let go of the file as it is, if that was not done."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1


def resume(archive: Path, warc: str) -> tuple[list[Capture], int]:
    """Return the captures in the journals that a dead writer left of a file, and where others may begin."""
    captures: list[Capture] = []
    end = 0
    for path in _journals(index_of(archive), warc):
        end = max(end, int(path.name.split(".")[-2]))
        captures += _whole_lines(path)
    for capture in captures:
        end = max(end, capture.offset + capture.length)
    return captures, end


def forget(archive: Path, warc: str) -> None:
    """Remove the journals of a file whose captures are in segments."""
    for path in _journals(index_of(archive), warc):
        path.unlink(missing_ok=True)


def add_segment(archive: Path, captures: Iterable[Capture]) -> None:
    """Put captures into the index at once."""
    directory = index_of(archive)
    directory.mkdir(exist_ok=True)
    if lines := sorted({capture.line() for capture in captures}):
        write_segment(directory, 0, lines)
    merge(directory)


def look_up(archive: Path, url: str, date: str = "") -> list[Capture]:
    """Return the captures of a URL, the eldest first; with a date, the one nearest to it."""
    prefix = f"{key_of(url)} ".encode("utf-8", "backslashreplace")
    captures = list(captures_in(archive, prefix))
    exact = [capture for capture in captures if capture.url == url]
    captures = exact or captures
    if date and captures:
        wanted = seconds_at(date)
        return [min(captures, key=lambda capture: abs(seconds_at(capture.date) - wanted))]
    return captures


def gone(archive: Path, is_date: Callable[[str], bool], is_page: Callable[[str], bool]) -> set[str]:
    """Return the URLs that had a page, and whose last captures say that it is there no more: 410, 301 or 308,
    an answer of another media type, or twice 404 or another redirect.

    `is_date` says which captures count, and `is_page` which media types are those of pages.
    """
    found: set[str] = set()
    for _, group in groupby(captures_in(archive), lambda capture: key_of(capture.url)):
        misses: dict[str, int] = {}  # since the last page, of URLs that had one
        for url, date, mime, status, *_ in group:
            if not is_date(date):
                continue
            if status[:1] == "2" or status == "304":
                if mime == REVISIT or is_page(mime):
                    misses[url] = 0
                elif url in misses:
                    misses[url] = _GONE
            elif url in misses and status in _MISSES:
                misses[url] += _MISSES[status]
        found.update(url for url, count in misses.items() if count >= _GONE)
    return found


def captures_in(
    archive: Path, prefix: bytes = b"", counts: Counter[str] | None = None
) -> Iterator[Capture]:
    """Yield all captures whose lines begin so, in order; lines that are none are counted as "unreadable".

    The journals are read first: what moves from there to a segment meanwhile is found twice, and counts once.
    """
    for line in _lines_in(index_of(archive), prefix):
        try:
            yield Capture.of_line(line)
        except ValueError:
            if counts is not None:
                counts["unreadable"] += 1


def _lines_in(directory: Path, prefix: bytes) -> Iterator[bytes]:
    recent: set[bytes] = set()
    for path in _journals(directory):
        with suppress(FileNotFoundError):
            recent.update(line for line in _lines(path) if line.startswith(prefix))
    waiting = sorted(recent, reverse=True)
    for line in find(directory, prefix):
        while waiting and waiting[-1] < line:
            yield waiting.pop()
        if waiting and waiting[-1] == line:
            waiting.pop()
        yield line
    yield from reversed(waiting)


def _journals(directory: Path, warc: str = "") -> list[Path]:
    return sorted(directory.glob(f"{warc or '*'}.{'[0-9]' * 12}.open"))


def _lines(path: Path) -> list[bytes]:
    lines = path.read_bytes().splitlines(keepends=True)
    return lines[:-1] if lines and not lines[-1].endswith(b"\n") else lines


def _whole_lines(path: Path) -> Iterator[Capture]:
    for line in _lines(path):
        with suppress(ValueError):
            yield Capture.of_line(line)
