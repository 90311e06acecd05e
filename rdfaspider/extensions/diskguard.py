"""Stops the crawl before the disk is full, while everything can still be written."""

from __future__ import annotations

import logging
import shutil
from typing import TYPE_CHECKING, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured
from scrapy.utils.defer import deferred_from_coro

from rdfaspider.compat import create_looping_call, refuse

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)

# Seconds between two checks; a crawl writes some megabytes in between.
_INTERVAL = 5.0


class DiskGuard:
    """Checks the free space on the crawl's disk every few seconds."""

    def __init__(self, crawler: Crawler, directory: str, least: int) -> None:
        self.crawler = crawler
        self.directory = directory
        self.least = least

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        least = crawler.settings.getint("FRONTIER_MIN_FREE_MB")
        if not least or not crawler.settings["JOBDIR"]:
            raise NotConfigured
        guard = cls(crawler, crawler.settings["JOBDIR"], least)
        crawler.signals.connect(guard.spider_opened, signals.spider_opened)
        crawler.signals.connect(guard.spider_closed, signals.spider_closed)
        return guard

    def spider_opened(self) -> None:
        self._task = create_looping_call(self._look)
        if self._is_full():
            refuse(self.crawler, "disk_full")
        else:
            self._task.start(_INTERVAL, now=False)

    def spider_closed(self) -> None:
        if self._task.running:
            self._task.stop()

    def _look(self) -> None:
        if self._is_full():
            self._task.stop()
            deferred_from_coro(self.crawler.engine.close_spider_async(reason="disk_full"))

    def _is_full(self) -> bool:
        free = shutil.disk_usage(self.directory).free >> 20
        if free >= self.least:
            return False
        logger.error(
            "Only %d MB are free on the disk of %s, less than FRONTIER_MIN_FREE_MB=%d: the crawl"
            " stops. Make room and run the same command to resume.",
            free,
            self.directory,
            self.least,
        )
        return True
