"""Scrapy's CLOSESPIDER_ limits, counted as users count: pages, not robots.txt and redirects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.extensions.closespider import CloseSpider as ScrapyCloseSpider

from rdfaspider.items import is_item

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class CloseSpider(ScrapyCloseSpider):
    """Counts pages that were read as items.

    The scheduler enforces CLOSESPIDER_PAGECOUNT: it hands out no more URLs than that allows, so the limit
    is met exactly.
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
