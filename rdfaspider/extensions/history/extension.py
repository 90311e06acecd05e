"""Writes the counters of the crawl to its history every few seconds."""

from __future__ import annotations

import os
from functools import partial
from itertools import islice
from logging import getLogger
from pathlib import Path
from time import monotonic, time
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured

from rdfaspider import clock
from rdfaspider.compat import create_looping_call, scheduler_of
from rdfaspider.extensions.history.forecast import Forecast, Limit, forecast
from rdfaspider.extensions.history.samples import NAME, Sample, Samples

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

logger = getLogger(__name__)

# The most samples of a run that a forecast is made of, and the most hosts that are looked at for it.
_MAX_SAMPLES, _MAX_HOSTS = 400, 10_000
_TIMEOUT = "CLOSESPIDER_TIMEOUT"
# Labels of done URLs that CLOSESPIDER_PAGECOUNT does not count.
_NO_PAGES = ("redirect", "sitemap", "feed")


class History:
    """Adds a sample of the counters to the crawl's history at its start, at its end and in between."""

    def __init__(
        self,
        stats: StatsCollector,
        path: Path,
        interval: float,
        limits: Mapping[str, float] | None = None,
        crawler: Crawler | None = None,
    ) -> None:
        self.stats = stats
        self._stat = partial(self.stats.get_value, default=0)
        self.path = path
        self.interval = interval
        self._limits = limits or {}
        self._crawler = crawler
        self._run: list[Sample] = []
        self._forecast: Forecast | None = None
        self._foretold_at = 0.0
        self._before = Sample(0.0, 0, 0.0)
        self._started = monotonic()
        self._is_failing = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        interval = crawler.settings.getfloat("HISTORY_INTERVAL")
        jobdir = crawler.settings["JOBDIR"]
        if interval <= 0 or not jobdir:
            raise NotConfigured
        names = ("CLOSESPIDER_PAGECOUNT", "CLOSESPIDER_ITEMCOUNT", _TIMEOUT)
        limits = {name: crawler.settings.getfloat(name) for name in names}
        history = cls(crawler.stats, Path(jobdir) / NAME, interval, limits, crawler)
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
            self._forecast = None
            self._write()

    def _tick(self) -> None:
        self._foretell()
        if self._samples.is_due(self._seconds):
            self._write()

    def _foretell(self) -> None:
        self._run.append(self.sample())
        if len(self._run) > _MAX_SAMPLES:
            del self._run[1::2]
        self._foretold_at = self._seconds
        self._forecast = forecast(self._run, self._slowest(), self._limits_left())

    @property
    def forecast(self) -> Forecast | None:
        """Return when the crawl ends, from now on; None if it is too early to say."""
        found = self._forecast
        if found is None or found.seconds is None:
            return found
        return found._replace(seconds=max(0.0, found.seconds + self._foretold_at - self._seconds))

    def _limits_left(self) -> list[Limit]:
        """Return what is left until a setting stops the crawl."""
        before = self._before.seen - self._before.waiting
        ended = self._stat("frontier/seen") - self._stat("frontier/waiting") - before
        counts = {
            "CLOSESPIDER_PAGECOUNT": self._answers(),
            "CLOSESPIDER_ITEMCOUNT": self._stat("item_scraped_count"),
        }
        found = [
            Limit(name, self._limits[name] - count, count / max(ended, 1))
            for name, count in counts.items()
        ]
        found.append(Limit(_TIMEOUT, self._limits[_TIMEOUT] - (monotonic() - self._started)))
        return [limit for limit in found if self._limits[limit.name]]

    def _answers(self) -> int:
        """Return the number of pages of this run, as CLOSESPIDER_PAGECOUNT counts them."""
        count = 0
        for name, number in self.stats.get_stats().items():
            family, _, label = name.rpartition("/")
            is_done = family == "frontier/done" and label not in _NO_PAGES
            if is_done or (family == "frontier/failed" and label.isdecimal()):
                count += number
        return count

    def _slowest(self) -> tuple[str, float]:
        """Return the host whose waiting URLs take longest with its delay, and how long."""
        scheduler: Any = self._crawler and scheduler_of(self._crawler)
        frontier = getattr(scheduler, "frontier", None)
        if frontier is None or frontier.is_shared:
            return "", 0.0
        hosts = islice(frontier.hosts(clock.now()), _MAX_HOSTS)
        waits = ((host.waiting * host.delay, host.name) for host in hosts)
        seconds, name = max(waits, default=(0.0, ""))
        return name, seconds

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
        before, found = self._before, self.forecast
        seconds = None if found is None else found.seconds
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
            end=0 if seconds is None else round(self._seconds + seconds),
            end_pages=0 if found is None else found.pages,
        )


def _resident() -> int:
    """Return the memory of this process in megabytes, 0 where the system does not tell."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    except (OSError, ValueError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20
