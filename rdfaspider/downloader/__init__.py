"""Fetching: Scrapy's downloader without its queues, and a download handler behind the address guard.

Scrapy sorts requests by host once more, lets them queue, and makes a task for each to come out again. The
frontier has already decided when a page is fetched, and how many at a time. So its pages go straight to the
handler, as does what middlewares ask for in their turn (robots.txt). Requests of the spider itself, to log in
for example, have no turn: they wait in Scrapy's queues, with the frontier's delay.

handler      the download handler of Scrapy
transfer     one request and its answer: from addresses of our resolver alone, sizes and memory limited
options      what libcurl is told for all requests
request      what it is told of one
failures     what libcurl says of a download that fails, in the exceptions of Scrapy
memory       bounds the memory of large downloads
pace         fewer fetches at a time while the crawl cannot keep up
"""

from __future__ import annotations

import asyncio
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import scrapy
from scrapy import signals
from scrapy.core.downloader import Downloader as ScrapyDownloader
from scrapy.exceptions import IgnoreRequest, NotSupported, UsageError
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.defer import deferred_from_coro
from twisted.python.failure import Failure

from rdfaspider import clock
from rdfaspider.compat import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadTimeoutError,
    private,
    scheduler_of,
)
from rdfaspider.downloader.failures import ConnectTimeoutError
from rdfaspider.downloader.memory import Crowded, DownloadMemory
from rdfaspider.downloader.pace import Pace
from rdfaspider.fetchmeta import meta_of
from rdfaspider.resolver import installed_resolver
from rdfaspider.signals import is_heard
from rdfaspider.urls.hosts import host_and_port
from rdfaspider.urls.own import OwnServers

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from scrapy import Request
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred

    _Result = TypeVar("_Result")


class Abandoned(IgnoreRequest):
    """A download was given up because the crawl ends, not because it failed."""

    postpones = True


class Downloader(ScrapyDownloader):
    """Downloads pages of the frontier at once."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        try:
            self._pass_on = self.middleware.download_async
            self._ask = self.handlers.download_request_async
        except AttributeError as error:
            raise UsageError(
                f"Scrapy {scrapy.__version__} lacks what the downloader needs ({error}):"
                " set DOWNLOADER=scrapy.core.downloader.Downloader."
            ) from error
        # Scrapy's queues go through it too.
        self.handlers.download_request_async = self._hand_over  # type: ignore[method-assign]
        settings = crawler.settings
        self.domain_concurrency = settings.getint("POLITENESS_AT_ONCE")
        if settings.getbool("POLITENESS_OFF_FOR_OWN_SERVERS"):
            own = OwnServers(settings.getlist("RESOLVER_ALLOW")).slots
            self.per_slot_settings = {**own, **self.per_slot_settings}
        self._connect_seconds = settings.getfloat("FETCH_CONNECT_TIMEOUT", 10.0)
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_abandoning = False
        # Requests that hold a slot but do not come from the frontier.
        self._others = 0
        self.pace = Pace(self.total_concurrency)
        self.memory = DownloadMemory(
            int(settings.getfloat("FETCH_MEMORY_MB") * (1 << 20)), self._unread
        )

    def _unread(self) -> int:
        """Return the bytes of pages that wait to be parsed."""
        slot = self.crawler.engine.scraper.slot
        return slot.active_size if slot is not None else 0

    @cached_property
    def _lanes(self) -> Any:
        """Return where the scheduler counts the pages of the frontier; None if it does not."""
        return getattr(scheduler_of(self.crawler), "lanes", None)

    def needs_backout(self) -> bool:
        """Tell whether all slots are held, or as many as the crawl keeps up with."""
        if self._lanes is None:
            return super().needs_backout()
        self.pace.most = self._lanes.slots
        return bool(self._others + self._lanes.young(clock.now()) >= self.pace.allowed())

    def abandon(self) -> None:
        """Give up all downloads, also later ones; each raises Abandoned."""
        self._is_abandoning = True
        for task in self._tasks:
            task.cancel()

    def fetch(  # type: ignore[override]  # without an argument that Scrapy has deprecated
        self, request: Request
    ) -> Deferred[Response | Request]:
        self._begin(request)
        fetched: Deferred[Response | Request] = deferred_from_coro(self._fetch(request))
        # Only when the engine gets the result; before, the crawl would seem idle.
        return fetched.addBoth(self._end, request)

    def fetching(self, request: Request) -> Coroutine[Any, Any, Response | Request]:
        """Count a request as being fetched from now on; return a coroutine that fetches it."""
        self._begin(request)
        return self._fetching(request)

    async def _fetching(self, request: Request) -> Response | Request:
        try:
            result = await self._fetch(request)
        except BaseException as error:
            self._end(error, request)
            raise
        return self._end(result, request)

    def _begin(self, request: Request) -> None:
        self.active.add(request)
        self._others += _holds_slot(request)

    def _fetch(self, request: Request) -> Coroutine[Any, Any, Response | Request]:
        is_due = "host" in request.meta or request.callback is NO_CALLBACK
        if is_due:
            return self._pass_on(self._download_now, request)
        return self._pass_on(private(self, "_enqueue_request", _cannot_wait), request)

    def _end(self, result: _Result, request: Request) -> _Result:
        """Count a request no longer, whose result may be a failure."""
        self.active.remove(request)
        self._others -= _holds_slot(request)
        self.memory.release(request)
        if "host" in request.meta and self._lanes is not None:
            number = meta_of(request)["number"]
            self._lanes.end(number, clock.now(), answered=_has_answered(result))
        return result

    async def _download_now(self, request: Request) -> Response:
        if self._is_abandoning:
            raise Abandoned
        self._tell(signals.request_reached_downloader, request=request)
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            response = await self._hand_over(request)
            self._tell(signals.response_downloaded, request=request, response=response)
            return response
        except asyncio.CancelledError:
            if self._is_abandoning:
                raise Abandoned from None
            raise
        except (DownloadTimeoutError, Crowded):
            if not self.memory.has_waited(request):
                raise
            self.crawler.stats.inc_value("fetch/crowded")  # not its server was slow
            raise Crowded(request.url) from None
        finally:
            self._tasks.discard(task)
            self._tell(signals.request_left_downloader, request=request)

    async def _hand_over(self, request: Request) -> Response:
        """Have Scrapy's choice of a handler download, which may have no guard of its own."""
        scheme = request.url.partition(":")[0]
        find = private(self.handlers, "_get_handler")
        handler = find and find(scheme)
        is_harmless = find and (handler is None or scheme == "data")
        if not getattr(handler, "is_guarded", is_harmless):
            await self._check_host(request)
            if "robots" in request.meta or "sitemap" in request.meta:
                request.meta.pop("playwright", None)  # a browser would make HTML of them
            elif request.meta.get("playwright"):
                for name in ("If-None-Match", "If-Modified-Since"):
                    request.headers.pop(name, None)  # a browser has no page to show for a 304
        response = await self._ask(request)
        self.crawler.stats.inc_value("fetch/bytes", len(response.body))
        return response

    async def _check_host(self, request: Request) -> None:
        """Raise ForbiddenAddressError if the guard refuses the host of a URL.

        Where a handler that bypasses the guard goes from there, nobody knows but itself.
        """
        resolver, target = installed_resolver(), host_and_port(request.url)
        resolver.check_target(*target)
        try:
            await resolver.resolve(*target, self._connect_seconds)
        except TimeoutError:
            raise ConnectTimeoutError(f"No address for {request.url} in time.") from None
        except CannotResolveHostError:
            pass  # the handler, or its proxy, may know more names

    def _tell(self, signal: object, **what: Any) -> None:
        """Send one of Scrapy's signals if anybody listens; mostly nobody does."""
        if is_heard(self.signals.sender, signal):
            self.signals.send_catch_log(signal=signal, spider=self.crawler.spider, **what)


def _holds_slot(request: Request) -> bool:
    """Tell whether a request holds a slot that the scheduler does not count; a request for robots.txt
    uses that of its page."""
    return "host" not in request.meta and "robots" not in request.meta


async def _cannot_wait(request: Request) -> Response:
    raise NotSupported(f"{request} cannot wait for its turn")


def _has_answered(result: Any) -> bool | None:
    """Tell whether a host has answered; None if the result does not say."""
    if isinstance(result, Failure):
        result = result.value
    if isinstance(result, IgnoreRequest) or not isinstance(result, Response | Exception):
        return None
    # It may have answered with more than we wanted.
    return isinstance(result, Response | DownloadCancelledError)
