"""Captures whose pages may not be done: those that a writer kept shortly before it was killed.

    index/NAME.warc.gz.doubt     their lines, written when the file was mended

Such a page is fetched again, maybe after more kills or a pause, and maybe by another worker; so they are
remembered for a day. If its answer is the same, its record is there already.
"""

from __future__ import annotations

from calendar import timegm
from contextlib import suppress
from time import strptime, time
from typing import TYPE_CHECKING

from rdfaspider.archive.captures import Capture
from rdfaspider.archive.index import index_of

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
    since = max(map(_seconds, captures)) - _BEFORE
    lines = [capture.line() for capture in captures if _seconds(capture) >= since]
    directory = index_of(archive)
    new = directory / f"{warc}.doubt.new"
    new.write_bytes(b"".join(lines))
    new.replace(directory / f"{warc}.doubt")


def in_doubt(archive: Path) -> dict[str, str]:
    """Return the digests of all captures in doubt by their URLs, and forget those that are old."""
    found: dict[str, str] = {}
    for path in sorted(index_of(archive).glob("*.doubt")):
        if path.stat().st_mtime < time() - _REMEMBERED:
            path.unlink()
            continue
        for line in path.read_bytes().splitlines():
            with suppress(ValueError):
                capture = Capture.of_line(line)
                found[capture.url] = capture.digest
    return found


def _seconds(capture: Capture) -> int:
    return timegm(strptime(capture.date, "%Y%m%d%H%M%S"))
