"""Scrapy's downloader, without its queues for the pages of the frontier.

Scrapy sorts requests by host once more, lets them queue, and makes a task for each to come out again. When
a page of the frontier is fetched, and how many at a time, is decided there, so it goes straight to the
handler, as does what middlewares ask for in its turn (robots.txt). Requests of the spider's own, to log in
for example, have no turn: they wait in Scrapy's queues, with the frontier's delay.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from functools import cache, cached_property
from typing import TYPE_CHECKING, Any

from pydispatch import dispatcher  # type: ignore[import-untyped]
from scrapy import signals
from scrapy.core.downloader import Downloader as ScrapyDownloader
from scrapy.downloadermiddlewares.stats import get_status_size
from scrapy.exceptions import DownloadCancelledError, IgnoreRequest
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.asyncio import create_looping_call
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.python import global_object_name
from twisted.python.failure import Failure

from rdfaspider import clock

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector
    from twisted.internet.defer import Deferred

# Octets of a request line, the host's and the empty one, without method, path and host.
_REQUEST_LINES = len("  HTTP/1.1\r\nHost: \r\n\r\n")


@cache
def _status_size(status: int) -> int:
    """Return the octets of a status line and the empty line, as Scrapy has it."""
    return get_status_size(status) + 2


class Abandoned(IgnoreRequest):
    """Says that a download was given up because the crawl is at its end, not for any fault of its own."""

    postpones = True


class Downloader(ScrapyDownloader):
    """Downloads pages of the frontier at once, and counts what Scrapy's DownloaderStats counts."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        if not settings.getbool("POLITENESS_OFF_FOR_OWN_SERVERS"):
            self._delay = max(self._delay, settings.getfloat("POLITENESS_DELAY"))
            self.domain_concurrency = settings.getint("POLITENESS_AT_ONCE")
        self._traffic = Traffic()
        self._reporting: Any = None
        self._counts = settings.getbool("DOWNLOADER_STATS")
        self._tasks: set[asyncio.Task[Any]] = set()
        self._is_abandoning = False
        # Requests that hold a slot but are not of the frontier.
        self._others = 0

    @cached_property
    def _lanes(self) -> Any:
        """Where the scheduler keeps count of the pages of the frontier; None if it does not."""
        return getattr(self.crawler.engine.scheduler, "lanes", None)

    def needs_backout(self) -> bool:
        """Tell whether all slots are held."""
        if self._lanes is None:
            return super().needs_backout()
        return bool(self._others + self._lanes.young(clock.now()) >= self._lanes.slots)

    def abandon(self) -> None:
        """Give up all downloads, as they raise Abandoned, and those that come."""
        self._is_abandoning = True
        for task in self._tasks:
            task.cancel()

    def fetch(  # type: ignore[override]  # without the argument that Scrapy has given up
        self, request: Request
    ) -> Deferred[Response | Request]:
        self.active.add(request)
        self._others += _holds_slot(request)
        is_due = "host" in request.meta or request.callback is NO_CALLBACK
        download = self._download_now if is_due else self._download_in_queue
        fetched = deferred_from_coro(self.middleware.download_async(download, request))
        # Only when the engine gets it: in between, it would seem that nothing is going on.
        return fetched.addBoth(self._fetched, request)

    def _fetched(self, result: Any, request: Request) -> Any:
        self.active.remove(request)
        self._others -= _holds_slot(request)
        if "host" in request.meta and self._lanes is not None:
            number = request.meta["number"]
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
            response = await self._count(self.handlers.download_request_async, request)
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

    async def _download_in_queue(self, request: Request) -> Response:
        return await self._count(self._enqueue_request, request)

    async def _count(
        self, download: Callable[[Request], Coroutine[Any, Any, Response]], request: Request
    ) -> Response:
        if not self._counts:
            return await download(request)
        if self._reporting is None:
            self._reporting = create_looping_call(self._report)
            self._reporting.start(1.0, now=False)
        self._traffic.asked(request)
        try:
            response = await download(request)
        except Exception as error:
            self._traffic.failed(error)
            raise
        self._traffic.answered(response)
        return response

    def _tell(self, signal: object, **what: Any) -> None:
        """Send one of Scrapy's signals, if anybody listens: mostly nobody does."""
        if any(dispatcher.getReceivers(self.signals.sender, signal)) or any(
            dispatcher.getReceivers(dispatcher.Any, signal)
        ):
            self.signals.send_catch_log(signal=signal, spider=self.crawler.spider, **what)

    def _report(self) -> None:
        self._traffic.report(self.crawler.stats)

    def close(self) -> None:
        if self._reporting is not None:
            self._reporting.stop()
            self._reporting = None
            self._report()
        super().close()


def _holds_slot(request: Request) -> bool:
    """Tell whether a request holds a slot that the scheduler knows nothing of; robots.txt is asked for
    while the page that needs it holds one."""
    return "host" not in request.meta and "robots" not in request.meta


def _has_answered(result: Any) -> bool | None:
    """Tell whether a host has answered; None if the result does not say."""
    if not isinstance(result, Failure):
        return isinstance(result, Response) or None
    if isinstance(result.value, IgnoreRequest):
        return None
    return isinstance(result.value, DownloadCancelledError)  # at more length than we wanted to hear


class Traffic:
    """What was sent and received.

    Scrapy's middleware changes six stats for each page, which takes ten times as long as these plain numbers,
    handed over once a second. Sizes are computed as Scrapy does, bodies as they come over the line.
    """

    def __init__(self) -> None:
        self._methods: Counter[str] = Counter()
        self._statuses: Counter[int] = Counter()
        self._errors: Counter[type] = Counter()
        self._sent = 0
        self._received = 0

    def asked(self, request: Request) -> None:
        method, url = request.method, request.url
        self._methods[method] += 1
        # All of a URL but its scheme is sent: the host in its header, the rest in the first line.
        scheme = 8 if url.startswith("https") else 7
        self._sent += len(method) + len(url) - scheme + _REQUEST_LINES + len(request.body)
        for name, values in dict.items(request.headers):
            for value in values:
                self._sent += len(name) + len(value) + 4

    def answered(self, response: Response) -> None:
        status, headers = response.status, response.headers
        self._statuses[status] += 1
        size = len(response.body) + 2 * len(headers) + _status_size(status)
        for name, values in dict.items(headers):
            for value in values:
                size += len(name) + len(value) + 2
        self._received += size

    def failed(self, error: Exception) -> None:
        self._errors[type(error)] += 1

    def report(self, stats: StatsCollector) -> None:
        put = stats.set_value
        put("downloader/request_count", self._methods.total())
        put("downloader/request_bytes", self._sent)
        for method, count in self._methods.items():
            put(f"downloader/request_method_count/{method}", count)
        put("downloader/response_count", self._statuses.total())
        put("downloader/response_bytes", self._received)
        for status, count in self._statuses.items():
            put(f"downloader/response_status_count/{status}", count)
        if self._errors:
            put("downloader/exception_count", self._errors.total())
        for kind, count in self._errors.items():
            put(f"downloader/exception_type_count/{global_object_name(kind)}", count)
