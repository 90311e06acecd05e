"""Scrapy's engine and scraper, with a shorter way for the pages of a crawl.

Scrapy passes an answer through spider middlewares, a queue and a pool of tasks to the callback and the item
pipelines, and starts a task for each receiver of `item_scraped`. A crawl of ours has no spider middleware,
its callback yields one Page, and the receivers only count. So one task does it all.

What is not like that goes Scrapy's way: a failed download, a request of the spider's own, a crawl with spider
middlewares or CONCURRENT_ITEMS, a callback that is no plain generator. Errors and signals are Scrapy's in any
case. Scrapy has no setting for its scraper, so an extension puts ours in its place. The methods of Scrapy
that ours was written after are pinned in `tests/test_scraper.py`.

chains     shorter ways through downloader middlewares and item pipelines
sending    signals that remember who hears them
visits     one task for a page, from the scheduler to its end
"""

from __future__ import annotations

from types import GeneratorType
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.core.scraper import Scraper as ScrapyScraper
from scrapy.http import Response
from scrapy.utils.defer import (
    deferred_from_coro,
    ensure_awaitable,
    maybe_deferred_to_future,
)
from scrapy.utils.spider import iterate_spider_output
from twisted.python.failure import Failure

from rdfaspider.scraper.chains import shortened
from rdfaspider.scraper.sending import PageSignals, Signals
from rdfaspider.scraper.visits import Visits

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scrapy import Request
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred


class Scraper(ScrapyScraper):
    """Calls the spider and the pipelines for a page of the frontier in one task."""

    @classmethod
    def instead_of(cls, scraper: ScrapyScraper) -> Self:
        """Return a scraper with all that another one has; that one must not be used any more."""
        new = cls.__new__(cls)
        vars(new).update(vars(scraper))
        new.signals = PageSignals(scraper.signals.sender)
        new.itemproc = shortened(scraper.itemproc)
        return new

    def enqueue_scrape(self, result: Response | Failure, request: Request) -> Deferred[None]:
        if "number" not in request.meta or not isinstance(result, Response):
            return super().enqueue_scrape(result, request)
        return deferred_from_coro(self._scraping(result, request))

    async def scrape(self, result: Response | Failure, request: Request) -> None:
        """Scrape a page, or do with a failure or a request of the spider's own what Scrapy does."""
        if "number" in request.meta and isinstance(result, Response):
            await self._scraping(result, request)
        else:
            await maybe_deferred_to_future(super().enqueue_scrape(result, request))

    def _scraping(self, response: Response, request: Request) -> Coroutine[Any, Any, None]:
        """Count a page as being scraped from now on; return a coroutine that scrapes it."""
        assert self.slot is not None
        self.slot.add_response_request(response, request)
        self.slot.next_response_request_deferred()
        return self._scrape_page(response, request)

    async def _scrape_page(self, response: Response, request: Request) -> None:
        assert self.slot is not None
        try:
            output = request.callback(response, **request.cb_kwargs)  # type: ignore[misc]
            if isinstance(output, GeneratorType):
                for each in output:
                    await self._process_spidermw_output_async(each, response)
            else:
                given = await ensure_awaitable(iterate_spider_output(output))
                await self.handle_spider_output_async(given, request, response)
        except Exception:
            self.handle_spider_error(Failure(), request, response)  # type: ignore[no-untyped-call]
        finally:
            self.slot.finish_response(response, request)
            self._check_if_closing()


class ShortWay:
    """Gives a crawl our signals, chains and scraper before its first request.

    Where something in the crawl needs Scrapy's scraper or chains, these stay.
    """

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        way = cls(crawler)
        crawler.signals.connect(way.spider_opened, signals.spider_opened)
        return way

    def spider_opened(self) -> None:
        engine, settings = self.crawler.engine, self.crawler.settings
        downloader = engine.downloader
        # Receivers are kept by the dispatcher, so those that are connected already stay connected.
        sender = self.crawler.signals.sender
        self.crawler.signals = engine.signals = downloader.signals = Signals(sender)
        downloader.middleware = shortened(downloader.middleware)
        scraper = engine.scraper
        if (
            type(scraper) is ScrapyScraper
            and not scraper.spidermw.middlewares
            and scraper.concurrent_items == 1
            and not settings.getbool("WARN_ON_GENERATOR_RETURN_VALUE")
        ):
            engine.scraper = ours = Scraper.instead_of(scraper)
            if hasattr(downloader, "fetching"):  # else it is not ours
                engine._start_scheduled_request = Visits(engine, ours.scrape).start_next  # type: ignore[method-assign]
