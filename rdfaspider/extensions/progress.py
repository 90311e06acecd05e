"""Shows how the crawl goes: a line on the terminal, or one in the log now and then, and a summary."""

from __future__ import annotations

import shlex
import sys
from logging import getLogger
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Self, TextIO

from scrapy import signals
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.log import get_scrapy_root_handler

if TYPE_CHECKING:
    from logging import LogRecord

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

logger = getLogger(__name__)

# A terminal's line is renewed this often, in seconds.
_TICK = 0.5
_CLEAR = "\r\x1b[K"


class Progress:
    """Reports the counters of the crawl while it runs and when it ends."""

    def __init__(
        self, stats: StatsCollector, jobdir: str, interval: float, terminal: TextIO | None
    ) -> None:
        self.stats = stats
        self.jobdir = jobdir
        self.interval = interval
        self.terminal = terminal

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        terminal = sys.stderr if settings.getbool("LOG_ENABLED") and sys.stderr.isatty() else None
        jobdir = settings["JOBDIR"] or ""
        progress = cls(crawler.stats, jobdir, settings.getfloat("PROGRESS_INTERVAL"), terminal)
        crawler.signals.connect(progress.spider_opened, signals.spider_opened)
        crawler.signals.connect(progress.spider_closed, signals.spider_closed)
        return progress

    def spider_opened(self) -> None:
        self._started = self._last_time = monotonic()
        self._last_pages = 0
        self._task = create_looping_call(self._tick)
        if self.terminal and (handler := get_scrapy_root_handler()):
            # The line gives way to each message of the log and comes back at the next tick.
            handler.addFilter(self._clear)
        if interval := _TICK if self.terminal else self.interval:
            self._task.start(interval, now=False)

    def spider_closed(self, spider: Spider, reason: str) -> None:
        if self._task.running:
            self._task.stop()
        if self.terminal and (handler := get_scrapy_root_handler()):
            self._clear()
            handler.removeFilter(self._clear)
        logger.info("%s", "\n".join(self._summary(spider, reason)))

    def _tick(self) -> None:
        line = self._line()
        if self.terminal:
            self.terminal.write(_CLEAR + line)
            self.terminal.flush()
        else:
            logger.info("%s", line)

    def _clear(self, record: LogRecord | None = None) -> bool:
        assert self.terminal
        self.terminal.write(_CLEAR)
        self.terminal.flush()
        return True

    def _line(self) -> str:
        now, pages = monotonic(), self._stat("frontier/done/page")
        rate = (pages - self._last_pages) / max(now - self._last_time, 1e-9)
        self._last_time, self._last_pages = now, pages
        return (
            f"{pages:,} pages  {rate:,.1f}/s  {self._stat('store/quads'):,} triples"
            f"  {self._stat('frontier/waiting'):,} waiting  {self._stat('frontier/failed'):,} errors"
            f"  {_duration(now - self._started)}"
        )

    def _summary(self, spider: Spider, reason: str) -> list[str]:
        elapsed = monotonic() - self._started
        rate = self._stat("frontier/done/page") / max(elapsed, 1e-9)
        waiting = self._stat("frontier/waiting") + self._stat("frontier/in_flight")
        lines = [
            f"Crawl {reason} after {_duration(elapsed)}, {rate:,.1f} pages/s.",
            f"  {self._stat('frontier/seen'):,} URLs = {self._stat('frontier/done'):,} done"
            f" + {self._stat('frontier/failed'):,} failed + {self._stat('frontier/denied'):,} denied"
            f" + {waiting:,} waiting",
            *self._labels("done"),
            *self._labels("failed"),
            *self._labels("denied"),
            f"  {self._stat('store/quads'):,} triples from {self._stat('store/graphs'):,} pages"
            " stored in this run",
        ]
        if self.jobdir:
            lines += self._next_steps(spider, waiting)
        return lines

    def _labels(self, state: str) -> list[str]:
        """Break down by reason what ended in a state in this run, most frequent first."""
        prefix = f"frontier/{state}/"
        counts = [
            (value, name[len(prefix) :])
            for name, value in self.stats.get_stats().items()
            if name.startswith(prefix)
        ]
        text = ", ".join(f"{count:,} {reason}" for count, reason in sorted(counts, reverse=True))
        return [f"    {state} in this run: {text}"] if counts else []

    def _next_steps(self, spider: Spider, waiting: int) -> list[str]:
        option = "" if self.jobdir == "crawl" else f" -s JOBDIR={shlex.quote(self.jobdir)}"
        lines = [
            f"  Data in {Path(self.jobdir).resolve()}",
            f"  Query it: scrapy sparql{option} 'SELECT ?type (COUNT(*) AS ?n)"
            " { ?s a ?type } GROUP BY ?type ORDER BY DESC(?n)'",
        ]
        if waiting:
            lines.append(f"  Resume it by the same command: {_command(spider)}")
        return lines

    def _stat(self, name: str) -> int:
        value: int = self.stats.get_value(name, 0)
        return value


def _command(spider: Spider) -> str:
    """Return the command that was typed, as far as the process knows it."""
    program = Path(sys.argv[0]).name
    return (
        shlex.join([program, *sys.argv[1:]])
        if program == "scrapy"
        else f"scrapy crawl {spider.name} …"
    )


def _duration(seconds: float) -> str:
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
