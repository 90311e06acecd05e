"""Keeps Python's search for garbage short.

What was made before the crawl began, modules and classes mostly, stays to its end; to look through it again
and again would hold up the crawl for tens of milliseconds. And a page makes thousands of objects of which
hardly any is part of a cycle, so it is enough to look now and then. Together that is a tenth of the time.
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Self

from scrapy import signals

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

# New objects, less those that are gone, after which the young ones are looked through: those of some pages.
_YOUNG = 20_000


class Garbage:
    """Puts aside what is there when the spider opens, and lets more pile up before it is looked through."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        garbage = cls()
        crawler.signals.connect(garbage.spider_opened, signals.spider_opened)
        return garbage

    def spider_opened(self) -> None:
        gc.collect()
        gc.freeze()
        gc.set_threshold(_YOUNG, *gc.get_threshold()[1:])
