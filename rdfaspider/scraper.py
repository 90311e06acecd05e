"""A shorter way for the pages of a crawl through Scrapy's engine and scraper.

Scrapy downloads a page in one task and scrapes it in others, joined by a dozen callbacks, and in one more for
each receiver of its item's signal. Here one task follows a page to its end.

Failed downloads, requests of the spider's own, and crawls with spider middlewares or CONCURRENT_ITEMS go
Scrapy's way. So does all of a crawl if the installed code of what is in `_REPLACED` is not that of a version
that the tests have compared this with.
"""

from __future__ import annotations

import asyncio
import logging
from inspect import isawaitable
from types import GeneratorType
from typing import TYPE_CHECKING, Any, Self

import scrapy
from pydispatch.dispatcher import getAllReceivers, liveReceivers  # type: ignore[import-untyped]
from pydispatch.robustapply import robustApply  # type: ignore[import-untyped]
from scrapy import Request, signals
from scrapy.core.scraper import Scraper
from scrapy.http import Response
from scrapy.signalmanager import SignalManager
from scrapy.utils.defer import ensure_awaitable, maybe_deferred_to_future
from scrapy.utils.log import logformatter_adapter
from scrapy.utils.python import global_object_name
from scrapy.utils.spider import iterate_spider_output
from twisted.python.failure import Failure

from rdfaspider.compat import digest_of

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from scrapy.core.engine import ExecutionEngine
    from scrapy.crawler import Crawler

logger = logging.getLogger(__name__)
# By these names people find Scrapy's lines, or silence them.
engine_logger = logging.getLogger("scrapy.core.engine")
signal_logger = logging.getLogger("scrapy.utils.signal")

# The functions that this was written after, by module.
_REPLACED = {
    "scrapy.core.engine": "_Slot.add_request _Slot.remove_request _Slot._maybe_fire_closing"
    " ExecutionEngine._start_scheduled_requests ExecutionEngine._start_scheduled_request"
    " ExecutionEngine._download ExecutionEngine._handle_downloader_output",
    "scrapy.core.scraper": "Slot.add_response_request Slot.next_response_request_deferred"
    " Slot.finish_response Slot.is_idle Slot.needs_backout Scraper.enqueue_scrape Scraper._scrape_next"
    " Scraper._scrape Scraper._wait_for_processing Scraper.call_spider_async"
    " Scraper.handle_spider_output_async Scraper._process_spidermw_output_async",
    "scrapy.core.spidermw": "SpiderMiddlewareManager.scrape_response_async",
    "scrapy.utils.asyncio": "_parallel_asyncio",
    "scrapy.utils.signal": "_send_catch_log_asyncio",
}
# Their digest in each version of Scrapy that the tests have compared this with.
_COMPARED = {
    "2.15": "5dc48c6919197d30",
    "2.16": "9369caa9e5a93f39",
    "2.17": "b5d1ba7177c1380e",
    "2.18": "4af949c54361d83e",
    "2.19": "763080bfb0906927",
}


class FastPath:
    """Gives a crawl the shorter way before its first request if it can take it."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        path = cls(crawler)
        crawler.signals.connect(path.spider_opened, signals.spider_opened)
        return path

    def spider_opened(self) -> None:
        if digest_of(_REPLACED) not in _COMPARED.values():
            logger.info(
                "Scrapy %s differs from the versions that the fast path was compared with: the crawl runs"
                " Scrapy's own way, which takes more CPU.",
                scrapy.__version__,
            )
            return
        engine, settings = self.crawler.engine, self.crawler.settings
        scraper = engine.scraper
        names = [global_object_name(type(each)) for each in scraper.spidermw.middlewares]
        slower = [name for name in names if not name.startswith(("scrapy.", "rdfaspider."))]
        if scraper.concurrent_items != 1:
            slower.append("CONCURRENT_ITEMS")
        if slower:
            logger.info(
                "Because of %s the crawl goes Scrapy's own way, which takes more CPU.",
                ", ".join(slower),
            )
        elif (
            type(scraper) is Scraper
            and not names
            and not settings.getbool("WARN_ON_GENERATOR_RETURN_VALUE")
            and hasattr(engine.downloader, "fetching")  # else it is not ours
        ):
            scraper.signals = PageSignals(self.crawler.signals.sender)
            engine._start_scheduled_request = Visits(engine).start_next  # type: ignore[method-assign]


class Visits:
    """Takes requests from the scheduler, and follows each to its end in one task.

    What is logged and signalled, and when the engine may end, is as Scrapy has it. The downloader must have
    `fetching`, which counts a request as being fetched at once, and returns a coroutine that fetches it.
    """

    def __init__(self, engine: ExecutionEngine) -> None:
        self._engine = engine
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()  # the loop itself keeps no task alive

    def start_next(self) -> bool:
        """Start the next request of the scheduler; return False if it has none."""
        slot: Any = self._engine._slot
        request = slot.scheduler.next_request()
        if request is None:
            self._engine.signals.send_catch_log(signals.scheduler_empty)
            return False
        slot.add_request(request)
        download = self._engine.downloader.fetching(request)  # type: ignore[attr-defined]
        task = self._loop.create_task(self._visit(slot, request, download))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    async def _visit(self, slot: Any, request: Request, download: Awaitable[Any]) -> None:
        engine = self._engine
        try:
            try:
                result = self._received(await download, request)
            except Exception:
                result = Failure()  # type: ignore[no-untyped-call]
            finally:
                slot.nextcall.schedule()
            if isinstance(result, Request):  # a middleware wants another one instead
                engine.crawl(result)
            elif isinstance(result, Response) and "number" in request.meta:
                await self.scrape(result, request)
            else:
                await maybe_deferred_to_future(engine.scraper.enqueue_scrape(result, request))
        except Exception:
            spider = {"spider": engine.spider}
            engine_logger.error("Error while enqueuing scrape", exc_info=True, extra=spider)
        finally:
            slot.remove_request(request)
            slot.nextcall.schedule()

    def _received(self, result: Any, request: Request) -> Any:
        """Return what was downloaded, after a line in the log and a signal if it is an answer."""
        engine = self._engine
        if isinstance(result, Request):
            return result
        if not isinstance(result, Response):
            wanted = "Incorrect type: expected Response or Request"
            raise TypeError(f"{wanted}, got {type(result)}: {result!r}")
        assert engine.spider is not None
        asked = result.request = result.request or request
        words = engine.logformatter.crawled(asked, result, engine.spider)
        if words is not None:
            engine_logger.log(*logformatter_adapter(words), extra={"spider": engine.spider})
        what = {"response": result, "request": asked, "spider": engine.spider}
        engine.signals.send_catch_log(signals.response_received, **what)
        return result

    async def scrape(self, response: Response, request: Request) -> None:
        """Pass a page of the frontier to the spider, and what it makes of it to the pipelines."""
        scraper = self._engine.scraper
        slot = scraper.slot
        assert slot is not None and request.callback is not None
        size = max(len(response.body), slot.MIN_RESPONSE_SIZE)
        slot.active.add(request)
        slot.active_size += size
        try:
            output = request.callback(response, **request.cb_kwargs)
            if isinstance(output, GeneratorType):
                for each in output:
                    if isinstance(each, Request):
                        self._engine.crawl(each)
                    elif each is not None:
                        await scraper.start_itemproc_async(each, response=response)
            else:
                given = await ensure_awaitable(iterate_spider_output(output))
                await scraper.handle_spider_output_async(given, request, response)
        except Exception:
            scraper.handle_spider_error(Failure(), request, response)  # type: ignore[no-untyped-call]
        finally:
            slot.active.remove(request)
            slot.active_size -= size


class PageSignals(SignalManager):
    """Calls one receiver after the other, in the task of the page."""

    async def send_catch_log_async(self, signal: Any, **named: Any) -> list[tuple[Any, Any]]:
        answers: list[tuple[Any, Any]] = []
        for receiver in liveReceivers(getAllReceivers(self.sender, signal)):
            try:
                answer = robustApply(receiver, signal=signal, sender=self.sender, **named)
                if isawaitable(answer):
                    answer = await ensure_awaitable(answer, _warn=global_object_name(receiver))
            except Exception as error:
                signal_logger.error(
                    "Error caught on signal handler: %(receiver)s",
                    {"receiver": receiver},
                    exc_info=True,
                    extra={"spider": named.get("spider")},
                )
                answer = error
            answers.append((receiver, answer))
        return answers
