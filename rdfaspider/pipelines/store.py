"""Puts the quads of a page into the store."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rdfaspider.stores import open_store

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

    from rdfaspider.items import Page
    from rdfaspider.stores import Store


def store_url(settings: BaseSettings) -> str:
    """Return the URL of the crawl's store; {jobdir} in it is the crawl's directory."""
    url: str = settings["STORE_URL"]
    return url.replace("{jobdir}", str(settings["JOBDIR"] or "."))


class StorePipeline:
    """Replaces the page's graph by what was found this time.

    The store is opened when the pipeline is built, before anything is fetched: one that cannot be
    opened stops the crawl at once.
    """

    def __init__(self, store: Store, stats: StatsCollector) -> None:
        self.store = store
        self.stats = stats

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(open_store(store_url(crawler.settings)), crawler.stats)

    def process_item(self, page: Page) -> Page:
        if page.is_read:
            self.store.replace(page.url, page.quads)
            if page.quads:
                self.stats.inc_value("store/graphs")
                self.stats.inc_value("store/quads", len(page.quads))
        return page

    def close_spider(self) -> None:
        self.store.close()
