"""Tunes Python's garbage collector when a crawl begins (heap.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy import signals

from rdfaspider.heap import tune

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class Garbage:
    """Freezes the objects that exist when the spider opens, and collects the others less often."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        garbage = cls()
        crawler.signals.connect(garbage.spider_opened, signals.spider_opened)
        return garbage

    def spider_opened(self) -> None:
        tune()
