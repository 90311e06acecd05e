"""Scrapy's downloader without its slots.

Scrapy sorts requests by host once more, lets them queue, and makes a task for each to come out again. What is
fetched when, and how much of it at a time, is decided by the frontier here, so a request goes straight
to the handler. DOWNLOAD_SLOTS has no effect.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from pydispatch import dispatcher  # type: ignore[import-untyped]
from scrapy import signals
from scrapy.core.downloader import Downloader as ScrapyDownloader
from scrapy.exceptions import IgnoreRequest
from scrapy.utils.defer import deferred_from_coro

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.defer import Deferred


class Abandoned(IgnoreRequest):
    """Says that a download was given up because the crawl is at its end, not for any fault of its own."""


class Downloader(ScrapyDownloader):
    """Downloads what it is given, at once."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_abandoning = False

    def abandon(self) -> None:
        """Give up all downloads, as they raise Abandoned, and those that come."""
        self._is_abandoning = True
        for task in self._tasks:
            task.cancel()

    def fetch(  # type: ignore[override]  # without the argument that Scrapy has given up
        self, request: Request
    ) -> Deferred[Response | Request]:
        self.active.add(request)
        fetched = deferred_from_coro(self.middleware.download_async(self._download_now, request))
        # Only when the engine gets it: in between, it would seem that nothing is going on.
        return fetched.addBoth(self._fetched, request)

    def _fetched(self, result: Any, request: Request) -> Any:
        self.active.remove(request)
        return result

    async def _download_now(self, request: Request) -> Response:
        if self._is_abandoning:
            raise Abandoned
        self._tell(signals.request_reached_downloader, request=request)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            response = await self.handlers.download_request_async(request)
            self._tell(signals.response_downloaded, request=request, response=response)
            return response
        except asyncio.CancelledError:
            if self._is_abandoning:
                raise Abandoned from None
            raise
        except Exception:
            # Failures that come at once must not keep the loop from everything else.
            await asyncio.sleep(0)
            raise
        finally:
            self._tasks.discard(task)
            self._tell(signals.request_left_downloader, request=request)

    def _tell(self, signal: object, **what: Any) -> None:
        """Send one of Scrapy's signals, if anybody listens: mostly nobody does."""
        if any(dispatcher.getReceivers(self.signals.sender, signal)) or any(
            dispatcher.getReceivers(dispatcher.Any, signal)
        ):
            self.signals.send_catch_log(signal=signal, spider=self.crawler.spider, **what)
