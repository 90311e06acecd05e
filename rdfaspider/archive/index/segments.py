"""Sorted files of captures: written whole, searched by halves, merged when there are many.

    index/0-NAME.cdxj        as many captures as one writer has gathered
    index/1-NAME.cdxj        eight of level 0 in one, and so on

Invariant: a file that has its name is whole and sorted. What survives a kill: everything; a merge
that was cut short may leave lines in two files, and whoever reads them drops the second.
"""

from __future__ import annotations

import fcntl
import heapq
import os
from contextlib import ExitStack, contextmanager
from itertools import groupby
from typing import TYPE_CHECKING
from uuid import uuid4

from rdfaspider.archive.locks import create_locked, remove_left

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import BinaryIO

# Segments of one level that are merged into one of the next: a look-up reads at most seven of each.
_MANY = 8


def segments(directory: Path) -> list[Path]:
    """Return the segments that there are."""
    return sorted(directory.glob("[0-9]*-*.cdxj"))


def write_segment(directory: Path, level: int, lines: Iterable[bytes]) -> None:
    """Write sorted lines as one segment."""
    name = f"{level}-{uuid4().hex}.cdxj"
    new = directory / f"{name}.new"
    with os.fdopen(create_locked(new), "wb") as file:
        file.writelines(lines)
        file.flush()
        os.fsync(file.fileno())
        new.replace(directory / name)


def merge(directory: Path) -> None:
    """Merge segments until there are few of each level, unless another process is doing it."""
    with (directory / "merge.lock").open("ab") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return
        for path in directory.glob("*.cdxj.new"):
            remove_left(path)
        while crowd := _crowd(directory):
            level, files = crowd
            write_segment(directory, level + 1, _merged(files))
            for path in files:
                path.unlink()


def _crowd(directory: Path) -> tuple[int, list[Path]] | None:
    def level_of(path: Path) -> int:
        return int(path.name.partition("-")[0])

    for level, group in groupby(sorted(segments(directory), key=level_of), level_of):
        files = list(group)
        if len(files) >= _MANY:
            return level, files
    return None


def _merged(files: list[Path]) -> Iterator[bytes]:
    with ExitStack() as stack:
        opened = [stack.enter_context(path.open("rb")) for path in files]
        yield from (line for line, _ in groupby(heapq.merge(*opened)))


def find(directory: Path, prefix: bytes) -> Iterator[bytes]:
    """Yield the lines of all segments that begin so, in order, each once."""
    with _opened(directory) as files:
        found = [_beginning(file, prefix) for file in files]
        yield from (line for line, _ in groupby(heapq.merge(*found)))


@contextmanager
def _opened(directory: Path) -> Iterator[Sequence[BinaryIO]]:
    """Open all segments as they are at one moment: what is merged meanwhile is in one that is new."""
    while True:
        with ExitStack() as stack:
            paths = segments(directory)
            try:
                files = [stack.enter_context(path.open("rb")) for path in paths]
            except FileNotFoundError:
                continue
            if segments(directory) == paths:
                yield files
                return


def _beginning(file: BinaryIO, prefix: bytes) -> Iterator[bytes]:
    low, high = 0, os.fstat(file.fileno()).st_size
    # The first line at or after `low` is the first that may begin so; that after `high` is beyond.
    while low < high:
        middle = (low + high) // 2
        _seek_line(file, middle)
        line = file.readline()
        if line and line < prefix:
            low = middle + 1
        else:
            high = middle
    _seek_line(file, low)
    for line in file:
        if not line.startswith(prefix):
            return
        yield line


def _seek_line(file: BinaryIO, position: int) -> None:
    """Go to the first line that begins at a position or after it."""
    if position:
        file.seek(position - 1)
        file.readline()
    else:
        file.seek(0)
