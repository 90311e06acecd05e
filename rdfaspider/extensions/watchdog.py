"""Notices when the event loop is blocked, and where.

All fetching and scheduling happens in one thread. A long computation or a slow disk blocks all hosts at once,
and nothing else would tell.
"""

from __future__ import annotations

import sys
import threading
from collections import Counter
from logging import getLogger
from time import monotonic
from traceback import format_stack
from typing import TYPE_CHECKING, Self

from scrapy import signals

from rdfaspider.compat import create_looping_call

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

logger = getLogger(__name__)

# Seconds between two beats of the loop, and how late one may be.
_BEAT = 0.25
STALL = 0.25
# Seconds of a stall that is worth a warning (a busy machine has shorter ones), and between two warnings.
_LONG = 1.0
_WARNINGS = 60.0
# Frames of the stack that are shown, the innermost ones.
_FRAMES = 12


class Watchdog:
    """Counts the stalls of the loop. A thread looks at its stack during a stall, now and again.

    The stack that it saw most often is shown: a stall is seldom the fault of the line where it begins.
    The loop itself changes stats and writes lines, when it goes on. A stall in code that holds Python's lock
    is counted, but its stack is not seen.
    """

    def __init__(self, stats: StatsCollector) -> None:
        self.stats = stats
        self._stalls = 0
        self._longest = 0.0
        self._warned = -_WARNINGS
        self._stacks: Counter[str] = Counter()
        self._ended = threading.Event()
        self._task = create_looping_call(self._beat)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        watchdog = cls(crawler.stats)
        crawler.signals.connect(watchdog.spider_opened, signals.spider_opened)
        crawler.signals.connect(watchdog.spider_closed, signals.spider_closed)
        return watchdog

    def spider_opened(self) -> None:
        self._last = monotonic()
        loop = threading.get_ident()
        threading.Thread(target=self._watch, args=(loop,), name="watchdog", daemon=True).start()
        self._task.start(_BEAT, now=False)

    def spider_closed(self) -> None:
        if self._task.running:
            self._task.stop()
        self._ended.set()

    def _beat(self) -> None:
        now = monotonic()
        late = now - self._last - _BEAT
        self._last = now
        if late > STALL:
            self._note(late, now)

    def _note(self, seconds: float, now: float) -> None:
        self._stalls += 1
        self._longest = max(self._longest, seconds)
        self.stats.set_value("loop/stalls", self._stalls)
        self.stats.set_value("loop/longest", round(self._longest, 3))
        stacks, self._stacks = self._stacks, Counter()
        if seconds >= _LONG and now - self._warned >= _WARNINGS:
            self._warned = now
            logger.warning(
                "The crawl stood still for %.1f seconds, all hosts at once. Stalls of more than %g so far:"
                " %d. LOG_LEVEL=DEBUG shows where.",
                seconds,
                STALL,
                self._stalls,
            )
        if stacks:
            [(stack, _)] = stacks.most_common(1)
            logger.debug("The loop stood still for %.2f seconds in\n%s", seconds, stack)

    def _watch(self, loop: int) -> None:
        """Look at the stack of the loop's thread while it stands still."""
        while not self._ended.wait(STALL):
            if monotonic() - self._last > _BEAT + STALL:
                frames = format_stack(sys._current_frames().get(loop), _FRAMES)
                self._stacks["".join(frames)] += 1
