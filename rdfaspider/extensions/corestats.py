"""Scrapy's CoreStats in plain numbers, with only what users call items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.extensions.corestats import CoreStats as ScrapyCoreStats

from rdfaspider.compat import create_looping_call
from rdfaspider.items import is_item

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.statscollectors import StatsCollector


class CoreStats(ScrapyCoreStats):
    """Counts responses, and items without the Pages of redirects, failures and refusals.

    The numbers are handed over once a second and at the end: a stat costs as much as fifty of them.
    """

    def __init__(self, stats: StatsCollector) -> None:
        super().__init__(stats)
        self._items = 0
        self._responses = 0
        self._reporting = create_looping_call(self._report)

    def spider_opened(self, spider: Spider) -> None:
        super().spider_opened(spider)
        self._reporting.start(1.0, now=False)

    def spider_closed(self, spider: Spider, reason: str) -> None:
        if self._reporting.running:
            self._reporting.stop()
        self._report()
        super().spider_closed(spider, reason)

    def item_scraped(self, item: Any, spider: Spider) -> None:
        if is_item(item):
            self._items += 1

    def response_received(self, spider: Spider) -> None:
        self._responses += 1

    def _report(self) -> None:
        for name, count in (
            ("item_scraped_count", self._items),
            ("response_received_count", self._responses),
        ):
            if count:  # as in Scrapy
                self.stats.set_value(name, count)
