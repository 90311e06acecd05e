"""Crawls in directories: which there are, and how each is shown as it begins and ends."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from rdfaspider.console.crawls.disk import Disk
from rdfaspider.console.crawls.outside import ServedCrawl, StoredCrawl
from rdfaspider.frontier import is_shared
from rdfaspider.settings.places import frontier_url

if TYPE_CHECKING:
    from collections.abc import Iterator

    from scrapy.settings import BaseSettings

# How deep crawls are looked for in a directory, and among how many folders.
_DEEP, _FOLDERS = 8, 10_000


class DirectoryCrawl:
    """A crawl in a directory, shown by its service while it has one, else by what is on disk."""

    def __init__(self, settings: BaseSettings) -> None:
        self._settings = settings
        self._disk = Disk(settings)
        self._socket = f"{frontier_url(settings)}.sock"
        self._stored = StoredCrawl(settings, self._disk)
        self._served: ServedCrawl | None = None
        self.name, self.directory = self._stored.name, self._stored.directory

    async def current(self) -> StoredCrawl | ServedCrawl:
        """Return what shows the crawl now. A kill leaves the socket, but not the lock of the frontier."""
        runs = await self._disk.look_whether_it_runs()
        if not (runs and Path(self._socket).is_socket()):
            self._served = None
            return self._stored
        if self._served is None:
            self._served = ServedCrawl(self._settings, f"unix:{self._socket}", self._disk)
        return self._served


def crawls_in(settings: BaseSettings, directories: list[Path]) -> dict[str, DirectoryCrawl]:
    """Return the crawls in and below directories, by name: where each is below its directory or, where two
    have that in common, its path."""
    found: dict[Path, tuple[str, Path, BaseSettings]] = {}
    for directory in directories:
        for path, own in _below(settings, directory):
            short = (
                directory.resolve().name if path == directory else str(path.relative_to(directory))
            )
            found.setdefault(path.resolve(), (short, path, own))
    shared = Counter(short for short, _, _ in found.values())
    paths = Counter(str(path) for _, path, _ in found.values())
    crawls = {}
    for whole, (short, path, own) in found.items():
        name = short if shared[short] == 1 else str(path if paths[str(path)] == 1 else whole)
        crawls[name if name not in crawls else str(whole)] = DirectoryCrawl(own)
    return crawls


def _below(settings: BaseSettings, top: Path) -> Iterator[tuple[Path, BaseSettings]]:
    """Yield the directories of crawls from one on, each with its settings. What is in that of a crawl is not
    looked at, nor are links followed."""
    for looked, (name, folders, _) in enumerate(os.walk(top), start=1):
        own = settings.copy()
        own.set("JOBDIR", name, "cmdline")
        if Path(frontier_url(own)).is_dir():
            yield Path(name), own
            folders.clear()
        elif looked >= _FOLDERS or len(Path(name).relative_to(top).parts) >= _DEEP:
            folders.clear()
        folders.sort()


def crawl_of(settings: BaseSettings) -> DirectoryCrawl | ServedCrawl:
    """Return the crawl that settings name: by its service if there is one, else by its directory."""
    url = frontier_url(settings)
    return ServedCrawl(settings, url) if is_shared(url) else DirectoryCrawl(settings)
