"""What a crawl on this machine has on disk, whether it runs or not."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import monotonic, time
from typing import TYPE_CHECKING, Any

from rdfaspider import rocksdb
from rdfaspider.console.crawls.kept import Endings, kept_log, kept_problems, read_endings
from rdfaspider.console.crawls.refreshed import Refreshed
from rdfaspider.console.hosts.frontiers import StoredSource
from rdfaspider.extensions.history import samples
from rdfaspider.scheduler.options import politeness_of
from rdfaspider.settings.places import frontier_url, jobdir_of, store_url
from rdfaspider.stores.kinds import held_in

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

    from rdfaspider.console.crawls.course import Course
    from rdfaspider.extensions.history.samples import Sample
    from rdfaspider.frontier import Counts

# Seconds for which it is believed that a crawl runs, or does not.
_BELIEVED = 2.0


class Disk:
    """The directory of a crawl: its frontier, its history, its log."""

    def __init__(self, settings: BaseSettings) -> None:
        self._jobdir = jobdir_of(settings).resolve()
        self._path = frontier_url(settings)
        self._log_file = str(settings["LOG_FILE"] or "")
        self.frontier = StoredSource(self._path, politeness_of(settings).delay)
        self.history = self._jobdir / samples.NAME
        self._endings = Refreshed(self._read_endings)
        self._problems: tuple[object, tuple[int | None, int | None]] = (None, (None, None))
        self._asked = -_BELIEVED
        self._settings = settings
        self._held: int | None = None  # triples, while the crawl does not run
        self.runs = False

    async def look_whether_it_runs(self) -> bool:
        """Tell whether a process has the frontier open: it holds its lock until it ends, however it does."""
        if monotonic() - self._asked >= _BELIEVED:
            self.runs = await asyncio.to_thread(self._is_in_use)
            if not self.runs:
                url, outbox = store_url(self._settings), self._jobdir / "outbox"
                self._held = await asyncio.to_thread(held_in, url, outbox)
            self._asked = monotonic()
        return self.runs

    def _is_in_use(self) -> bool:
        path = Path(self._path)
        return not rocksdb.is_sealed(path) and rocksdb.is_in_use(path)

    def sample(self, course: Course, counts: Counts | None) -> Sample | None:
        """Return the latest counters, and add them to the course; None if the crawl has kept none. The time
        of a crawl that runs has gone on since."""
        found = samples.read_end(self.history)
        if found and counts and not self.runs:
            found[-1] = samples.completed(found[-1], counts, self._held)
        course.add(found)
        if not found:
            return None
        last = found[-1]
        return (
            last._replace(seconds=last.seconds + max(0.0, time() - last.time))
            if self.runs
            else last
        )

    async def endings(self, counts: Counts) -> Endings | None:
        """Return how URLs have ended, None if nobody has looked yet."""
        return await self._endings.get(counts)

    async def _read_endings(self) -> tuple[Endings, float]:
        scan = self.frontier.outcomes()
        return await read_endings(scan), scan.spent

    async def log(self, level: str) -> list[dict[str, Any]]:
        return await asyncio.to_thread(kept_log, self._path, self._log_file, level)

    async def problems(self) -> tuple[int | None, int | None]:
        """Return how many errors and warnings are in the log, None if nobody can tell."""
        try:
            about = Path(self._log_file).stat()
        except OSError:
            return None, None
        now = about.st_size, about.st_mtime_ns
        if now != self._problems[0]:
            self._problems = now, await asyncio.to_thread(kept_problems, self._log_file)
        return self._problems[1]

    @property
    def has_log(self) -> bool:
        """Return whether there is a log to be shown."""
        return any(Path(name).is_file() for name in (self._log_file, f"{self._path}.log") if name)
