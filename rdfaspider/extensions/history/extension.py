"""Writes the counters of the crawl to its history every few seconds."""

from __future__ import annotations

import os
from logging import getLogger
from pathlib import Path
from time import monotonic, time
from typing import TYPE_CHECKING, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.asyncio import create_looping_call

from rdfaspider.extensions.history.samples import NAME, Sample, Samples

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

logger = getLogger(__name__)


class History:
    """Adds a sample of the counters to the crawl's history at its start, at its end and in between."""

    def __init__(self, stats: StatsCollector, path: Path, interval: float) -> None:
        self.stats = stats
        self.path = path
        self.interval = interval
        self._before = Sample(0.0, 0, 0.0)
        self._started = monotonic()
        self._is_failing = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        interval = crawler.settings.getfloat("HISTORY_INTERVAL")
        jobdir = crawler.settings["JOBDIR"]
        if interval <= 0 or not jobdir:
            raise NotConfigured
        history = cls(crawler.stats, Path(jobdir) / NAME, interval)
        crawler.signals.connect(history.spider_opened, signals.spider_opened)
        crawler.signals.connect(history.spider_closed, signals.spider_closed)
        return history

    def spider_opened(self) -> None:
        self._started = monotonic()
        self._task = create_looping_call(self._tick)
        try:
            # Not earlier: now the frontier is open, so no other process crawls in this directory.
            self._samples = Samples(self.path, self.interval)
        except OSError as error:
            self._complain(error)
            return
        self._before = self._samples.last
        self._write()
        self._task.start(self.interval, now=False)

    def spider_closed(self) -> None:
        if self._task.running:
            self._task.stop()
            self._write()

    def _tick(self) -> None:
        if self._samples.is_due(self._seconds):
            self._write()

    def _write(self) -> None:
        try:
            self._samples.append(self.sample())
        except OSError as error:
            self._complain(error)

    def _complain(self, error: OSError) -> None:
        if not self._is_failing:
            logger.warning("The crawl's history cannot be written, and has a gap: %s", error)
        self._is_failing = True

    @property
    def _seconds(self) -> float:
        return self._before.seconds + monotonic() - self._started

    def sample(self) -> Sample:
        """Return the counters now; time and bytes are added to those of the last sample."""
        before = self._before
        return Sample(
            time=round(time(), 1),
            run=before.run + 1,
            seconds=round(self._seconds, 2),
            pages=self._stat("frontier/pages"),
            seen=self._stat("frontier/seen"),
            waiting=self._stat("frontier/waiting"),
            failed=self._stat("frontier/failed"),
            received=before.received + self._stat("fetch/bytes"),
            quads=self._stat("store/held"),
            memory=_resident(),
        )

    def _stat(self, name: str) -> int:
        value: int = self.stats.get_value(name, 0)
        return value


def _resident() -> int:
    """Return the memory of this process in megabytes, 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20
