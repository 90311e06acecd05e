"""Copies of the embedded store, which can be queried while the crawl writes.

Oxigraph lets one process write to a directory, and nobody else read it; and a query cannot be stopped. So a
copy is made, of links to the files of the store, and another process reads that (process.py).

Layout: JOBDIR/console-store/1, 2, …, each a whole store. A copy is made when a query comes and the latest is
old; it is removed when a newer one is there and its last query has ended. What a kill leaves is removed at
the next start.
"""

from __future__ import annotations

import asyncio
import shutil
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

from rdfaspider.stores import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

    from rdfaspider.stores import Sink

NAME = "console-store"
# Seconds for which a copy is used: each one makes the store write its memory to a file.
_FRESH = 10.0


@dataclass(eq=False)
class Snapshot:
    """A copy: where it is, when it was made, and how many queries use it."""

    path: Path
    made: float
    users: int = 0

    @property
    def age(self) -> float:
        return monotonic() - self.made


class Snapshots:
    """Copies of the store behind a sink."""

    def __init__(self, sink: Sink, directory: Path) -> None:
        self._sink = sink
        self._directory = directory
        self._number = 0
        self._lock = asyncio.Lock()
        self._is_closed = False
        self.latest: Snapshot | None = None
        shutil.rmtree(directory, ignore_errors=True)

    @asynccontextmanager
    async def fresh(self) -> AsyncIterator[Snapshot]:
        """Lend a copy that is not old; StoreUnavailable if none can be made."""
        async with self._lock:
            if self.latest is None or self.latest.age > _FRESH:
                before, self.latest = self.latest, await asyncio.to_thread(self._make)
                self._remove_unused(before)
            snapshot = self.latest
            snapshot.users += 1
        try:
            yield snapshot
        finally:
            snapshot.users -= 1
            self._remove_unused(snapshot)

    def close(self) -> None:
        """Remove all copies; their readers keep what they have opened."""
        self._is_closed = True
        shutil.rmtree(self._directory, ignore_errors=True)

    def _make(self) -> Snapshot:
        if self._is_closed:
            raise StoreUnavailable("The crawl is ending: scrapy sparql queries its store.")
        self._number += 1
        path = self._directory / str(self._number)
        self._directory.mkdir(parents=True, exist_ok=True)
        made = monotonic()
        try:
            is_copied = self._sink.copy_store(path)
        except (AttributeError, RuntimeError):  # it was closed meanwhile
            is_copied = False
        if not is_copied:
            raise StoreUnavailable("The store of this crawl cannot be copied.")
        return Snapshot(path, made)

    def _remove_unused(self, snapshot: Snapshot | None) -> None:
        if snapshot is not None and snapshot is not self.latest and not snapshot.users:
            shutil.rmtree(snapshot.path, ignore_errors=True)
