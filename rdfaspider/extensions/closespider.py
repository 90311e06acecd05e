"""Scrapy's CLOSESPIDER_ limits, counted as users count: pages, not robots.txt and redirects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.extensions.closespider import CloseSpider as ScrapyCloseSpider
from scrapy.utils.asyncio import call_later

from rdfaspider.items import is_item
from rdfaspider.signals import time_is_over

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response


# Seconds that pages in flight have when the time is over.
_GRACE = 2.0


class CloseSpider(ScrapyCloseSpider):
    """Counts pages that were read as items, and gives up slow ones when the time is over.

    The scheduler takes care of CLOSESPIDER_PAGECOUNT: it hands out no more URLs than that allows, so the
    limit is met exactly. When CLOSESPIDER_TIMEOUT is over, pages in flight have a few seconds left; then they
    are given up and wait for the next run.
    """

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self.close_on["pagecount"] = 0

    def page_count(self, response: Response, request: Request, spider: Spider) -> None:
        if "number" in request.meta:  # robots.txt has none
            super().page_count(response, request, spider)

    def item_scraped(self, item: Any, spider: Spider) -> None:
        if is_item(item):
            super().item_scraped(item, spider)

    def item_scraped_no_item(self, item: Any, spider: Spider) -> None:
        if is_item(item):
            super().item_scraped_no_item(item, spider)

    def _close_spider(self, reason: str) -> None:
        super()._close_spider(reason)
        if reason == "closespider_timeout":
            call_later(_GRACE, self._give_up)

    def _give_up(self) -> None:
        # Another downloader may not have it.
        abandon = getattr(self.crawler.engine.downloader, "abandon", None)
        if abandon is not None:
            abandon()
        self.crawler.signals.send_catch_log(time_is_over)
