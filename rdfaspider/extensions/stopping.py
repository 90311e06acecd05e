"""Ends a crawl within seconds once it is told to stop, and says what it still waits for."""

from __future__ import annotations

from logging import getLogger
from time import monotonic
from typing import TYPE_CHECKING, Self

from scrapy import signals

from rdfaspider.compat import create_looping_call, is_closing
from rdfaspider.signals import time_is_over
from rdfaspider.terminal import plural

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = getLogger(__name__)

# Time that pages in flight have once the crawl is told to stop.
GRACE_S = 2.0
_CHECK_INTERVAL_S = 0.25
_FIRST_MESSAGE_S, _MESSAGE_INTERVAL_S = 1.0, 5.0


class Stopping:
    """Gives up pages in flight after a grace period; the next run fetches them.

    Scrapy sends no signal when it begins to close a spider, so this extension looks.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._began = 0.0
        self._has_given_up = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        stopping = cls(crawler)
        crawler.signals.connect(stopping.spider_opened, signals.spider_opened)
        crawler.signals.connect(stopping.spider_closed, signals.spider_closed)
        return stopping

    def spider_opened(self) -> None:
        self._task = create_looping_call(self._check)
        self._task.start(_CHECK_INTERVAL_S, now=False)

    def spider_closed(self) -> None:
        if self._task.running:
            self._task.stop()

    def _check(self) -> None:
        if not is_closing(self.crawler):
            return
        now = monotonic()
        if not self._began:
            self._began, self._next_message = now, now + _FIRST_MESSAGE_S
        if now >= self._next_message:
            self._next_message = now + _MESSAGE_INTERVAL_S
            logger.info("Stopping: waiting for %s.", self._awaited())
        if now - self._began >= GRACE_S and not self._has_given_up:
            self._has_given_up = True
            self._give_up()

    def _awaited(self) -> str:
        count = self.crawler.stats.get_value
        if pages := count("frontier/in_flight", 0):
            return (
                f"{plural(pages, 'page')} in flight; the next run fetches what is not done"
                f" after {GRACE_S:g} seconds"
            )
        if triples := count("store/backlog/quads", 0):
            return f"the store to take {plural(triples, 'triple')}"
        return "the store and the frontier to close"

    def _give_up(self) -> None:
        # Another downloader may not have it.
        abandon = getattr(self.crawler.engine.downloader, "abandon", None)
        if abandon is not None:
            abandon()
        self.crawler.signals.send_catch_log(time_is_over)
