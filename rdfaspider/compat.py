"""What differs between the versions of Scrapy that the crawler runs on, and its engine's private parts.

up to 2.13  Deferreds for coroutines: only the add-on's extraction and robots run on it
up to 2.14  no exceptions for downloads that fail: those of Twisted are raised
up to 2.16  `verbatim_url` in the meta of a request is not known
up to 2.17  no signal tells that a robots.txt was parsed; a crawl cannot be refused by CloseSpider
up to 2.18  the engine does not give its scheduler; slots have `randomize_delay` for `jitter`

The engine has no public way to say that it is closing, to be woken, or to tell which requests are under way.
Its private parts are looked for when they are used; a crawl does without one that is gone, and says so once.
"""

from __future__ import annotations

import asyncio
import logging
from functools import cache
from hashlib import sha256
from importlib import import_module
from inspect import getsource
from operator import attrgetter
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import scrapy
from scrapy import Request, signals
from scrapy.exceptions import CloseSpider, UsageError
from scrapy.http.request import NO_CALLBACK
from scrapy.settings import default_settings
from scrapy.utils.defer import maybe_deferred_to_future
from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Collection, Mapping

    from scrapy.crawler import Crawler
    from scrapy.http import Response

try:
    from scrapy.exceptions import (
        CannotResolveHostError,
        DownloadCancelledError,
        DownloadConnectionRefusedError,
        DownloadFailedError,
        DownloadTimeoutError,
        ResponseDataLossError,
    )
except ImportError:
    from twisted.internet import defer, error
    from twisted.web.client import ResponseFailed

    # They derive from what Scrapy's own handlers raise, so that its middlewares and other people's code treat
    # them alike, for example retry them.
    class _Failure(Exception):
        """An exception that takes any arguments and says them, as Scrapy's do."""

        __init__ = Exception.__init__
        __str__ = Exception.__str__

    class CannotResolveHostError(_Failure, error.DNSLookupError):  # type: ignore[no-redef]
        pass

    class DownloadCancelledError(_Failure, defer.CancelledError):  # type: ignore[no-redef]
        pass

    class DownloadConnectionRefusedError(  # type: ignore[no-redef]
        _Failure, error.ConnectionRefusedError
    ):
        pass

    class DownloadFailedError(_Failure, ResponseFailed):  # type: ignore[no-redef]
        reasons = ()

    class DownloadTimeoutError(_Failure, error.TimeoutError):  # type: ignore[no-redef]
        pass

    class ResponseDataLossError(_Failure, ResponseFailed):  # type: ignore[no-redef]
        reasons = ()


try:
    from scrapy.utils.asyncio import create_looping_call
except ImportError:
    from twisted.internet.task import (  # type: ignore[assignment]
        LoopingCall as create_looping_call,
    )

logger = logging.getLogger(__name__)

# For a slot of the downloader: its delays do not vary.
STEADY: dict[str, Any] = (
    {"jitter": 0.0}
    if hasattr(default_settings, "DOWNLOAD_DELAY_JITTER")
    else {"randomize_delay": False}
)


def _keeps_urls() -> bool:
    """Return whether Scrapy leaves the URL of a request alone if asked to."""
    url = "http://a.test/|"
    return Request(url, meta={"verbatim_url": True}).url == url


class _VerbatimRequest(Request):
    def __init__(self, url: str, *args: Any, **named: Any) -> None:
        super().__init__(url, *args, **named)
        self._given = url if self.meta.get("verbatim_url") else None

    @property
    def url(self) -> str:
        return super().url if self._given is None else self._given


# A request whose URL stays as it is if `verbatim_url` in its meta says so.
VerbatimRequest: type[Request] = Request if _keeps_urls() else _VerbatimRequest


def hear_robots(crawler: Crawler, receiver: Callable[..., None]) -> None:
    """Call a receiver with each robots.txt of Scrapy's middleware, as `robotparser`, and its `request`."""
    if hasattr(signals, "robots_parsed"):
        crawler.signals.connect(receiver, signals.robots_parsed)
        return

    def received(response: Response, request: Request) -> None:
        if request.callback is NO_CALLBACK and urlsplit(request.url).path == "/robots.txt":
            kind = load_object(crawler.settings["ROBOTSTXT_PARSER"])
            receiver(kind.from_crawler(crawler, response.body), request)

    crawler.signals.connect(received, signals.response_received, weak=False)


def download(crawler: Crawler, request: Request) -> Awaitable[Response]:
    """Return the answer to a request that passes the downloader middlewares alone."""
    engine: Any = crawler.engine
    if hasattr(engine, "download_async"):
        return engine.download_async(request)  # type: ignore[no-any-return]
    return maybe_deferred_to_future(engine.download(request))


def close_spider(crawler: Crawler, reason: str) -> Awaitable[None]:
    """End a crawl; what is returned ends with it."""
    engine: Any = crawler.engine
    if hasattr(engine, "close_spider_async"):
        return engine.close_spider_async(reason=reason)  # type: ignore[no-any-return]
    return maybe_deferred_to_future(engine.close_spider(crawler.spider, reason))


def refuse(crawler: Crawler, reason: str) -> None:
    """End a crawl before its first request; this is called while the spider is opened.

    Before Scrapy 2.18 a CloseSpider would only be logged then: the crawl ends when it has begun.
    """
    if scrapy.version_info >= (2, 18):
        raise CloseSpider(reason)
    crawler.engine.pause()
    task = asyncio.ensure_future(_close_soon(crawler, reason))
    _ENDING.add(task)
    task.add_done_callback(_ENDING.discard)


_ENDING: set[asyncio.Task[None]] = set()  # the loop itself keeps no task alive


async def _close_soon(crawler: Crawler, reason: str) -> None:
    while not crawler.engine.running:
        await asyncio.sleep(0.01)
    await close_spider(crawler, reason)


# What a crawl does without a private part of Scrapy.
_WITHOUT = {
    "_slot": "hosts that are ready wait for its next look, every five seconds",
    "nextcall": "hosts that are ready wait for its next look, every five seconds",
    "closing": "the end of a crawl waits for a store that is full and for pages in flight",
    "_get_handler": "the host of each page is looked at twice",
    "_enqueue_request": "requests of a spider's own fail",
    "_handle_encoding": "large bodies are unpacked while nothing else goes on",
}


def private(owner: Any, name: str, without: Any = None) -> Any:
    """Return a private part of Scrapy; if it is gone, `without` after a line in the log."""
    try:
        return getattr(owner, name)
    except AttributeError:
        _miss(name)
        return without


@cache
def _miss(name: str) -> None:
    logger.warning("Scrapy %s has no %s, so %s.", scrapy.__version__, name, _WITHOUT[name])


def scheduler_of(crawler: Crawler) -> Any:
    """Return the scheduler of a crawl that has begun, else None."""
    engine: Any = crawler.engine
    if engine is None or hasattr(engine, "scheduler"):
        return engine and engine.scheduler
    return getattr(private(engine, "_slot"), "scheduler", None)


def is_closing(crawler: Crawler) -> bool:
    """Return whether the crawl ends or has ended; False if its engine does not tell."""
    slot = crawler.engine and private(crawler.engine, "_slot", _Blank)
    return slot is None or private(slot, "closing") is not None


def wake(crawler: Crawler) -> None:
    """Have the engine ask for the next request now."""
    slot = crawler.engine and private(crawler.engine, "_slot")
    if slot is not None and (call := private(slot, "nextcall")) is not None:
        call.schedule()


class _Blank:
    closing = None


def under_way(crawler: Crawler) -> Collection[Request]:
    """Return the requests that the engine has begun with and not ended.

    Raise UsageError if it does not tell.
    """
    try:
        slot = crawler.engine._slot if crawler.engine else None
        return () if slot is None else slot.inprogress
    except AttributeError as error:
        raise UsageError(
            f"Scrapy {scrapy.__version__} does not tell which requests are under way:"
            " leave the frontier out of ADDON_PARTS."
        ) from error


def digest_of(parts: Mapping[str, str]) -> str:
    """Return a digest of functions, named by module, as installed; "" if one is gone or has no source."""
    texts = sha256()
    try:
        for module, names in parts.items():
            for name in names.split():
                texts.update(getsource(attrgetter(name)(import_module(module))).encode())
    except (ImportError, AttributeError, OSError):
        return ""
    return texts.hexdigest()[:16]


__all__ = [
    "STEADY",
    "CannotResolveHostError",
    "DownloadCancelledError",
    "DownloadConnectionRefusedError",
    "DownloadFailedError",
    "DownloadTimeoutError",
    "ResponseDataLossError",
    "VerbatimRequest",
    "close_spider",
    "create_looping_call",
    "digest_of",
    "download",
    "hear_robots",
    "is_closing",
    "private",
    "refuse",
    "scheduler_of",
    "under_way",
    "wake",
]
