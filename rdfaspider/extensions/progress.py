"""Shows the progress of the crawl: one line on the terminal, or a line in the log now and then."""

from __future__ import annotations

import sys
from collections import deque
from functools import partial
from logging import getLogger
from time import monotonic
from typing import TYPE_CHECKING, Self, TextIO

from scrapy import signals
from scrapy.utils.log import get_scrapy_root_handler

from rdfaspider.compat import create_looping_call
from rdfaspider.curves import short
from rdfaspider.extensions.history.extension import History
from rdfaspider.terminal import CLEAR_LINE, duration, true_columns

if TYPE_CHECKING:
    from collections.abc import Callable
    from logging import LogRecord

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

logger = getLogger(__name__)

# Seconds between two updates of the line on a terminal.
_TICK = 0.5
# The rate is that of the last seconds; the counters themselves change once a second.
_WINDOW = 5.0


class Progress:
    """Reports the counters of the crawl while it runs."""

    def __init__(
        self,
        stats: StatsCollector,
        interval: float,
        terminal: TextIO | None,
        remaining: Callable[[], float | None] = lambda: None,
    ) -> None:
        self.stats = stats
        self._stat = partial(self.stats.get_value, default=0)
        self._remaining = remaining
        self.interval = interval
        self.terminal = terminal
        # The time, the pages and the bytes.
        self._samples: deque[tuple[float, int, int]] = deque()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        terminal = sys.stderr if settings.getbool("LOG_ENABLED") and sys.stderr.isatty() else None

        def remaining() -> float | None:
            history = crawler.get_extension(History)
            found = None if history is None else history.forecast
            return None if found is None else found.seconds

        interval = settings.getfloat("PROGRESS_INTERVAL")
        progress = cls(crawler.stats, interval, terminal, remaining)
        crawler.signals.connect(progress.spider_opened, signals.spider_opened)
        crawler.signals.connect(progress.spider_closed, signals.spider_closed)
        return progress

    def spider_opened(self) -> None:
        self._started = monotonic()
        self._samples.append((self._started, 0, 0))
        self._task = create_looping_call(self._tick)
        if self.terminal and (handler := get_scrapy_root_handler()):
            # The line gives way to each message of the log and comes back at the next tick.
            handler.addFilter(self._clear)
        if interval := _TICK if self.terminal else self.interval:
            self._task.start(interval, now=False)

    def spider_closed(self) -> None:
        if self._task.running:
            self._task.stop()
        if self.terminal and (handler := get_scrapy_root_handler()):
            self._clear()
            handler.removeFilter(self._clear)

    def _tick(self) -> None:
        fields = self._fields(monotonic())
        if self.terminal:
            # A line that fills the terminal would wrap on some.
            width = true_columns(self.terminal) - 1
            self.terminal.write(CLEAR_LINE + fitted(fields, width))
            self.terminal.flush()
        else:
            logger.info("%s", "  ".join(fields))

    def _clear(self, record: LogRecord | None = None) -> bool:
        assert self.terminal
        self.terminal.write(CLEAR_LINE)
        self.terminal.flush()
        return True

    def _fields(self, now: float) -> list[str]:
        """Return the parts of the line, the most important first."""
        pages = self._stat("frontier/done/page")
        pace, bandwidth = self._rates(now, pages, self._stat("fetch/bytes"))
        left = self._remaining()
        return [
            f"{pages:,} pages",
            f"{pace:,.1f}/s",
            f"{self._stat('store/quads'):,} triples",
            f"{self._stat('frontier/waiting'):,} waiting",
            f"{self._stat('frontier/in_flight'):,} in flight",
            f"{self._stat('frontier/failed'):,} errors",
            f"{short(bandwidth)}B/s",
            duration(now - self._started),
            *([] if left is None else [f"ends in {duration(left)}"]),
        ]

    def _rates(self, now: float, pages: int, size: int) -> tuple[float, float]:
        """Return the pages and the bytes per second of the last seconds."""
        samples = self._samples
        window = max(_WINDOW, 0.0 if self.terminal else self.interval)
        while len(samples) > 1 and now - samples[1][0] >= window:
            samples.popleft()
        then, pages_before, size_before = samples[0]
        samples.append((now, pages, size))
        seconds = max(now - then, 1e-9)
        return (pages - pages_before) / seconds, (size - size_before) / seconds


def fitted(fields: list[str], width: int) -> str:
    """Join the fields that fit into a line, the first ones first."""
    line = fields[0][:width]
    for field in fields[1:]:
        if len(line) + 2 + len(field) <= width:
            line += f"  {field}"
    return line
