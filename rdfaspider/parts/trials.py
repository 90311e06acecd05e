"""The commands of Scrapy that try a page: shell, fetch, view, parse and check. Nothing of it is kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


def is_trial(crawler: Crawler) -> bool:
    """Tell whether a command makes the requests, not the spider. The shell has no crawl at all."""
    return not crawler.crawling or crawler.spidercls.start.__module__.startswith("scrapy.commands.")
