"""Captures whose pages may not be done: those that a writer kept shortly before it was killed.

    index/NAME.warc.gz.doubt     their lines, written when the file was mended

Such a page is fetched again, maybe after more kills or a pause, and maybe by another worker; so they are
remembered for a day. If its answer is the same, its record is there already.
"""

from __future__ import annotations

from contextlib import suppress
from time import time
from typing import TYPE_CHECKING

from rdfaspider.archive.index.captures import Capture, seconds_at
from rdfaspider.archive.index.index import index_of

if TYPE_CHECKING:
    from pathlib import Path

# Seconds before the end of a file in which a page may have its record and not be done.
_BEFORE = 600
# Seconds for which that is remembered.
_REMEMBERED = 86_400


def note(archive: Path, warc: str, captures: list[Capture]) -> None:
    """Remember the last captures of a file that was mended."""
    if not captures:
        return
    since = max(seconds_at(capture.date) for capture in captures) - _BEFORE
    lines = [capture.line() for capture in captures if seconds_at(capture.date) >= since]
    directory = index_of(archive)
    new = directory / f"{warc}.doubt.new"
    new.write_bytes(b"".join(lines))
    new.replace(directory / f"{warc}.doubt")


def in_doubt(archive: Path) -> dict[str, Capture]:
    """Return all captures in doubt by their URLs, and forget those that are old."""
    found: dict[str, Capture] = {}
    for path in sorted(index_of(archive).glob("*.doubt")):
        if path.stat().st_mtime < time() - _REMEMBERED:
            path.unlink()
            continue
        for line in path.read_bytes().splitlines():
            with suppress(ValueError):
                capture = Capture.of_line(line)
                found[capture.url] = capture
    return found
