"""Readers of a frontier on disk, kept open for as long as its files stay the same.

To open a frontier takes long where its crawl was killed or still runs: RocksDB reads the whole log of the
last writes. So a reader is lent to everybody who asks, and replaced when the files have changed. While a
crawl writes they always have; then the more it costs to open one, the longer the last one is used.
"""

from __future__ import annotations

import os
import re
import threading
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, thread_time
from typing import TYPE_CHECKING

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.tables.database import explain
from rdfaspider.frontier.views.reader import FrontierReader

if TYPE_CHECKING:
    from collections.abc import Iterator

# Seconds for which a reader is used, whatever is written: at least, and for each second that it took to open.
_FRESH, _PATIENCE = 1.0, 20.0
# Every write changes one of these.
_WRITTEN = re.compile(r"CURRENT|MANIFEST-\d+|\d+\.log")

Files = frozenset[tuple[str, int, int]]


@dataclass(eq=False)
class _Opened:
    """A reader, the files that it has seen, when it was opened, what that cost, and how many use it."""

    reader: FrontierReader
    files: Files
    made: float
    cost: float
    users: int = 0


class Readers:
    """Lends a reader of the frontier at a path; any number of threads may have it at the same time."""

    def __init__(self, path: str, delay: float) -> None:
        self._path = path
        self._delay = delay
        self._lock = threading.Lock()
        self._latest: _Opened | None = None

    @contextmanager
    def lend(self) -> Iterator[FrontierReader]:
        """Lend a reader; FrontierUnavailable if the frontier cannot be read."""
        with self._lock:
            opened = self._current()
            opened.users += 1
        try:
            yield opened.reader
        except Exception as error:
            if type(error) is not Exception:  # rocksdict raises nothing more special
                raise
            raise FrontierUnavailable(explain(Path(self._path), error)) from error
        finally:
            with self._lock:
                opened.users -= 1
                self._close_unused(opened)

    def _current(self) -> _Opened:
        files, latest = _files(self._path), self._latest
        if latest is not None:
            age = monotonic() - latest.made
            if files == latest.files or age < max(_FRESH, _PATIENCE * latest.cost):
                return latest
        begin = thread_time()
        reader = FrontierReader(self._path, delay=self._delay)
        reader.counts()  # looks through the inbox, once for all
        self._latest = _Opened(reader, files, monotonic(), thread_time() - begin)
        if latest is not None:
            self._close_unused(latest)
        return self._latest

    def _close_unused(self, opened: _Opened) -> None:
        if not opened.users and opened is not self._latest:
            opened.reader.close()


def _files(path: str) -> Files:
    """Return the files of a frontier that change with it; none if it is not there."""
    found = []
    try:
        with os.scandir(path) as entries:
            for entry in entries:
                if _WRITTEN.fullmatch(entry.name):
                    about = entry.stat()
                    found.append((entry.name, about.st_size, about.st_mtime_ns))
    except OSError:  # it is gone, or a file of it is
        return frozenset()
    return frozenset(found)
