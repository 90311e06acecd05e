"""The way of a page through Scrapy's engine, in one task.

Scrapy's engine has a task download a page and another one scrape it, and joins them by a dozen callbacks of
Deferreds. Ours awaits one thing after the other. What is logged and signalled, and when the engine may end,
is as Scrapy has it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from scrapy import Request, signals
from scrapy.http import Response
from scrapy.utils.log import logformatter_adapter
from twisted.python.failure import Failure

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine

    from scrapy.core.engine import ExecutionEngine

    Download = Coroutine[Any, Any, Response | Request]
    Scrape = Callable[[Response | Failure, Request], Awaitable[None]]

# By this name people find the lines of the engine, or silence them.
logger = logging.getLogger("scrapy.core.engine")


class Visits:
    """Takes requests from the scheduler, and follows each to its end.

    The downloader must have `fetching`, which counts a request as being fetched at once, and returns a
    coroutine that fetches it.
    """

    def __init__(self, engine: ExecutionEngine, scrape: Scrape) -> None:
        self._engine = engine
        self._scrape = scrape
        self._loop = asyncio.get_running_loop()
        self._tasks: set[asyncio.Task[None]] = set()  # the loop itself keeps no task alive

    def start_next(self) -> bool:
        """Start the next request of the scheduler; return False if it has none."""
        slot = self._slot
        request = slot.scheduler.next_request()
        if request is None:
            self._engine.signals.send_catch_log(signals.scheduler_empty)
            return False
        slot.add_request(request)
        download: Download = self._engine.downloader.fetching(request)  # type: ignore[attr-defined]
        task = self._loop.create_task(self._visit(request, download))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return True

    @property
    def _slot(self) -> Any:
        return self._engine._slot

    async def _visit(self, request: Request, download: Download) -> None:
        slot = self._slot
        try:
            await self._hand_over(await self._result(request, download), request)
        except Exception:
            self._log(logging.INFO, "Error while handling downloader output")
        finally:
            slot.remove_request(request)
            slot.nextcall.schedule()

    async def _result(self, request: Request, download: Download) -> Response | Request | Failure:
        try:
            return await self._download(request, download)
        except Exception:
            return Failure()  # type: ignore[no-untyped-call]

    async def _download(self, request: Request, download: Download) -> Response | Request:
        engine = self._engine
        assert engine.spider is not None
        try:
            result = await download
            if isinstance(result, Response):
                if result.request is None:
                    result.request = request
                words = engine.logformatter.crawled(result.request, result, engine.spider)
                if words is not None:
                    logger.log(*logformatter_adapter(words), extra={"spider": engine.spider})
                engine.signals.send_catch_log(
                    signal=signals.response_received,
                    response=result,
                    request=result.request,
                    spider=engine.spider,
                )
            elif not isinstance(result, Request):
                raise TypeError(
                    f"Incorrect type: expected Response or Request, got {type(result)}: {result!r}"
                )
            return result
        finally:
            self._slot.nextcall.schedule()

    async def _hand_over(self, result: Response | Request | Failure, request: Request) -> None:
        engine = self._engine
        if isinstance(result, Request):  # a middleware wants another one instead
            engine.crawl(result)
            return
        try:
            await self._scrape(result, request)
        except Exception:
            self._log(logging.ERROR, "Error while enqueuing scrape")

    def _log(self, level: int, words: str) -> None:
        logger.log(level, words, exc_info=True, extra={"spider": self._engine.spider})
