"""Reads seeds that are pushed to Redis while the crawl runs (SEEDS_URL, or the settings of scrapy-redis).

The crawl does not end before all waiting seeds are read, and with FRONTIER_WAIT it does not end at all. While
Redis is down the crawl goes on, and tries again.
"""

from __future__ import annotations

import asyncio
from logging import getLogger
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.exceptions import DontCloseSpider, NotConfigured

from rdfaspider.compat import scheduler_of
from rdfaspider.settings.places import has_pushed_seeds, open_seeds
from rdfaspider.urls.seedfile import BadSeeds

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Spider
    from scrapy.crawler import Crawler

    from rdfaspider.seedlist import SeedList

logger = getLogger(__name__)

# Seconds before the next try when there was nothing, and when Redis was down.
_PAUSE, _AWAY = 1.0, 5.0


class PushedSeeds:
    """Reads seeds in batches, and acknowledges them when the frontier has them."""

    def __init__(self, crawler: Crawler, seeds: SeedList, *, waits: bool) -> None:
        self.crawler = crawler
        self._seeds = seeds
        self._waits = waits
        self._is_drained = False
        self._task: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        if not has_pushed_seeds(settings):
            raise NotConfigured
        # All workers of a crawl read under one name: if one is killed, the others read its seeds.
        seeds = open_seeds(settings, "reader", crawler.spidercls.name)
        extension = cls(crawler, seeds, waits=settings.getbool("FRONTIER_WAIT"))
        connect = crawler.signals.connect
        connect(extension.spider_opened, signals.spider_opened)
        connect(extension.spider_idle, signals.spider_idle)
        connect(extension.spider_closed, signals.spider_closed)
        return extension

    def spider_opened(self, spider: Spider) -> None:
        self._task = asyncio.get_running_loop().create_task(self._read(spider))

    def spider_idle(self) -> None:
        scheduler = scheduler_of(self.crawler)
        if (self._waits or not self._is_drained) and not scheduler.is_told_to_stop:
            raise DontCloseSpider

    async def spider_closed(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.wait([self._task])
        self._seeds.close()

    async def _read(self, spider: Any) -> None:
        from rdfaspider.seedlist import SeedsUnavailable

        safe: list[bytes] = []
        while True:
            try:
                items = await asyncio.to_thread(self._seeds.read, safe)
            except SeedsUnavailable as error:
                logger.warning("%s The next try is in %.0f seconds.", error, _AWAY)
                # There may be more, but the crawl cannot wait for ever.
                self._is_drained = not self._waits
                await asyncio.sleep(_AWAY)
                continue
            safe = items
            self._is_drained = not items
            if items:
                if not await self._take_in(spider, items):
                    self._is_drained = True  # the crawl ends, and the next one reads them again
                    return
                self.crawler.stats.inc_value("seeds/pushed", len(items))
            else:
                await asyncio.sleep(_PAUSE)

    async def _take_in(self, spider: Any, items: Iterable[bytes]) -> bool:
        """Put seeds into the frontier; tell whether it has them."""
        from rdfaspider.seedlist import read_seed

        bad = BadSeeds(logger.warning)
        by_depth: dict[int, list[str]] = {}
        for item in items:
            try:
                url, depth = read_seed(item)
            except (ValueError, RecursionError) as error:
                bad(self._seeds.key, item.decode(errors="replace"), error)
                continue
            if spider.welcome(url):
                by_depth.setdefault(depth, []).append(url)
        scheduler = scheduler_of(self.crawler)
        for depth, urls in by_depth.items():
            if not await scheduler.add_pushed(urls, depth):
                return False
        return True
