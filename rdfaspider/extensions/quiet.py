"""Keeps lines about each page out of the log."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Self

from scrapy.logformatter import LogFormatter

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class QuietLogFormatter(LogFormatter):
    """Scrapy's formatter, without a line for each response and item unless LOG_LEVEL asks for them.

    Scrapy formats these lines in any case and drops them later, which took a twentieth of the time. There
    is no traceback either for each page that a full disk or a failed store stops: the scheduler says so in
    one sentence.
    """

    def __init__(self, *, is_quiet: bool) -> None:
        self._is_quiet = is_quiet

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        level = logging.getLevelName(str(crawler.settings["LOG_LEVEL"]).upper())
        return cls(is_quiet=not isinstance(level, int) or level > logging.DEBUG)

    def crawled(self, *arguments: Any, **options: Any) -> Any:
        return None if self._is_quiet else super().crawled(*arguments, **options)

    def scraped(self, *arguments: Any, **options: Any) -> Any:
        return None if self._is_quiet else super().scraped(*arguments, **options)

    def item_error(self, item: Any, exception: BaseException, *others: Any) -> Any:
        line = super().item_error(item, exception, *others)
        return line | {"level": logging.DEBUG} if isinstance(exception, OSError) else line
