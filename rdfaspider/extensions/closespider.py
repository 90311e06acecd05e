"""Scrapy's CLOSESPIDER_ limits, counted as users count: pages, not robots.txt and redirects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.extensions.closespider import CloseSpider as ScrapyCloseSpider

from rdfaspider.items import Page

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.http import Response


class CloseSpider(ScrapyCloseSpider):
    """Counts answers to URLs of the frontier as pages, and pages that were read as items.

    The scheduler hands out no more URLs than CLOSESPIDER_PAGECOUNT leaves room for, so that the limit is
    met exactly.
    """

    def page_count(self, response: Response, request: Request, spider: Spider) -> None:
        if is_page(request.meta, response.status):
            super().page_count(response, request, spider)

    def item_scraped(self, item: Any, spider: Spider) -> None:
        if not isinstance(item, Page) or item.is_read:
            super().item_scraped(item, spider)

    def item_scraped_no_item(self, item: Any, spider: Spider) -> None:
        if not isinstance(item, Page) or item.is_read:
            super().item_scraped_no_item(item, spider)


def is_page(meta: dict[str, Any], status: int) -> bool:
    """Tell whether an answer counts as a page: whatever it says, unless it points elsewhere."""
    return "number" in meta and "sitemap" not in meta and not 300 <= status < 400
