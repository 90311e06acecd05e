"""A faster way for the pages of a crawl through Scrapy's engine, middlewares, scraper and signals.

Scrapy downloads a page in one task and scrapes it in others, joined by a dozen callbacks. It awaits all that
middlewares and pipelines return, and looks up who hears a signal five times a page. Here one task follows a
page to its end, only awaitables are awaited, and receivers are remembered.

Failed downloads, requests of the spider's own, crawls with spider middlewares or CONCURRENT_ITEMS, and chains
with a part that takes a spider go Scrapy's way. So does all of a crawl if the installed code of what is in
`_REPLACED` is not that of a version that the tests have compared this with.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections import deque
from inspect import isawaitable
from types import CoroutineType, FunctionType, GeneratorType, MethodType
from typing import TYPE_CHECKING, Any, Self

import scrapy
from pydispatch.dispatcher import (  # type: ignore[import-untyped]
    WEAKREF_TYPES,
    connections,
    getAllReceivers,
)
from pydispatch.dispatcher import Any as Anybody
from pydispatch.robustapply import robustApply  # type: ignore[import-untyped]
from scrapy import Request, signals
from scrapy.core.scraper import Scraper
from scrapy.exceptions import StopDownload
from scrapy.http import Response
from scrapy.signalmanager import SignalManager
from scrapy.utils.defer import ensure_awaitable, maybe_deferred_to_future
from scrapy.utils.log import logformatter_adapter
from scrapy.utils.python import global_object_name
from scrapy.utils.spider import iterate_spider_output
from twisted.internet.defer import Deferred
from twisted.python.failure import Failure

from rdfaspider.compat import digest_of

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from scrapy.core.engine import ExecutionEngine
    from scrapy.crawler import Crawler
    from scrapy.middleware import MiddlewareManager

    # Those who want the signal, and any signal, of the crawl; and those who want them of anybody.
    Connected = tuple[list[Any] | None, ...]

logger = logging.getLogger(__name__)
# By this name people find the lines of the engine, or silence them.
engine_logger = logging.getLogger("scrapy.core.engine")

# What this was written after, by module.
_REPLACED = {
    "scrapy.core.engine": "_Slot ExecutionEngine._start_scheduled_requests"
    " ExecutionEngine._start_scheduled_request ExecutionEngine._download"
    " ExecutionEngine._handle_downloader_output",
    "scrapy.core.scraper": "Slot Scraper.enqueue_scrape Scraper._scrape_next Scraper._scrape"
    " Scraper._wait_for_processing Scraper.call_spider_async Scraper.handle_spider_output_async"
    " Scraper._process_spidermw_output_async Scraper.start_itemproc_async",
    "scrapy.core.spidermw": "SpiderMiddlewareManager.scrape_response_async",
    "scrapy.core.downloader.middleware": "DownloaderMiddlewareManager",
    "scrapy.middleware": "MiddlewareManager._process_chain",
    "scrapy.pipelines": "ItemPipelineManager.process_item_async",
    "scrapy.signalmanager": "SignalManager.send_catch_log",
    "scrapy.utils.asyncio": "_parallel_asyncio",
    "scrapy.utils.signal": "_send_catch_log_asyncio send_catch_log",
    "pydispatch.dispatcher": "getAllReceivers liveReceivers",
    "pydispatch.robustapply": "function robustApply",
}
# The digest of these in each version of Scrapy that the tests have compared this with.
_COMPARED = {
    "2.15": "9362cafc9b11c0f5",
    "2.16": "92e22dddd08323e3",
    "2.17": "87e23c59c0f55ed5",
    "2.18": "3b626c1ad3f25008",
    "2.19": "120cca51f7e075a4",
}

_NOBODY: dict[Any, Any] = {}


class FastPath:
    """Gives a crawl the faster way before its first request, as far as it can take it."""

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
                " Scrapy's own way, which takes about a third more CPU.",
                scrapy.__version__,
            )
            return
        engine, settings = self.crawler.engine, self.crawler.settings
        downloader, scraper = engine.downloader, engine.scraper
        # Receivers are kept by the dispatcher, so those that are connected already stay connected.
        sender = self.crawler.signals.sender
        self.crawler.signals = engine.signals = downloader.signals = Signals(sender)
        own = [*map(_name, scraper.spidermw.middlewares)]
        slower = [name for name in own if not name.startswith(("scrapy.", "rdfaspider."))]
        slower += shorten(downloader.middleware)
        if scraper.concurrent_items != 1:
            slower.append("CONCURRENT_ITEMS")
        if (
            type(scraper) is Scraper
            and not scraper.spidermw.middlewares
            and scraper.concurrent_items == 1
            and not settings.getbool("WARN_ON_GENERATOR_RETURN_VALUE")
            and hasattr(downloader, "fetching")  # else it is not ours
        ):
            scraper.signals = PageSignals(sender)
            slower += shorten(scraper.itemproc)
            engine._start_scheduled_request = Visits(engine).start_next  # type: ignore[method-assign]
        if slower:
            logger.info(
                "Because of %s the crawl goes Scrapy's own way in part, which takes more CPU.",
                ", ".join(dict.fromkeys(slower)),
            )


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


def shorten(manager: MiddlewareManager) -> list[str]:
    """Make one method of each chain of a manager, unless a part of it still takes a spider.

    Return the names of these parts.
    """
    slower: list[str] = []
    for name, make in _CHAINS.items():
        methods: list[Any] = [each for each in manager.methods.get(name, ()) if each is not None]
        if with_spider := [*filter(_needs_spider, methods)]:
            slower += (_name(getattr(each, "__self__", each)) for each in with_spider)
        elif methods:
            manager.methods[name] = deque((make(methods),))
    return slower


def _name(part: object) -> str:
    return global_object_name(type(part))


def _needs_spider(method: Any) -> bool:
    spider = inspect.signature(method).parameters.get("spider")
    return spider is not None and spider.default is spider.empty


def _requests(methods: list[Any]) -> Any:
    async def process_request(request: Request) -> Any:
        for method in methods:
            answer = method(request=request)
            if answer is not None and (answer := await _awaited(answer, method)) is not None:
                return _checked(answer, method, "None, Response or Request", type(answer).__name__)
        return None

    return process_request


def _responses(methods: list[Any]) -> Any:
    async def process_response(request: Request, response: Any) -> Any:
        for method in methods:
            answer = method(request=request, response=response)
            if answer is not response:
                answer = await _awaited(answer, method)
                response = _checked(answer, method, "Response or Request", type(answer))
                if isinstance(response, Request):
                    break
        return response

    return process_response


def _items(methods: list[Any]) -> Any:
    async def process_item(item: Any) -> Any:
        for method in methods:
            answer = method(item)
            if answer is not item:
                item = await _awaited(answer, method)
        return item

    return process_item


_CHAINS = {
    "process_request": _requests,
    "process_response": _responses,
    "process_item": _items,
}


async def _awaited(answer: Any, method: Any) -> Any:
    if type(answer) is CoroutineType:
        return await answer
    return await ensure_awaitable(answer, _warn=global_object_name(method))


def _checked(answer: Any, method: Any, wanted: str, got: object) -> Any:
    if not isinstance(answer, (Response, Request)):
        raise TypeError(f"Middleware {method.__qualname__} must return {wanted}, got {got}")
    return answer


class Signals(SignalManager):
    """Sends signals as Scrapy does.

    Layout: for each signal the receivers as the dispatcher has them, and each with the names that it takes.
    Invariant: they are used only if the dispatcher has the same receivers now.
    """

    def __init__(self, sender: Any) -> None:
        super().__init__(sender)
        self._known: dict[Any, tuple[Connected, list[tuple[Any, tuple[str, ...] | None]]]] = {}

    def send_catch_log(self, signal: Any, **named: Any) -> list[tuple[Any, Any]]:
        if "sender" in named or "dont_log" in named:
            return super().send_catch_log(signal, **named)
        answers: list[tuple[Any, Any]] = []
        for receiver, names in self._hearing(signal):
            answer: Any
            try:
                answer = self._call(receiver, names, signal, named)
                if isinstance(answer, Deferred):
                    _log("Cannot return deferreds from signal handler", receiver, named)
            except Exception as error:
                answer = Failure()  # type: ignore[no-untyped-call]
                if not isinstance(error, StopDownload):
                    _log("Error caught on signal handler", receiver, named, exc_info=True)
            answers.append((receiver, answer))
        return answers

    def _hearing(self, signal: Any) -> list[tuple[Any, tuple[str, ...] | None]]:
        """Return the receivers of a signal with the names that each takes; None if all."""
        ours = connections.get(id(self.sender), _NOBODY)
        all_ = connections.get(id(Anybody), _NOBODY)
        there = ours.get(signal), ours.get(Anybody), all_.get(signal), all_.get(Anybody)
        known = self._known.get(signal)
        if known is None or known[0] != there:
            each = getAllReceivers(self.sender, signal)
            copies = tuple(each and [*each] for each in there)
            known = self._known[signal] = copies, [(one, _names(_alive(one))) for one in each]
        return [(alive, names) for one, names in known[1] if (alive := _alive(one)) is not None]

    def _call(
        self, receiver: Any, names: tuple[str, ...] | None, signal: Any, named: dict[str, Any]
    ) -> Any:
        given = named | {"signal": signal, "sender": self.sender}
        if names is None:
            return robustApply(receiver, **given)
        return receiver(**{name: given[name] for name in names if name in given})


class PageSignals(Signals):
    """Sends a signal to one receiver after the other, and starts no task for those that are no coroutines."""

    async def send_catch_log_async(self, signal: Any, **named: Any) -> list[tuple[Any, Any]]:
        answers: list[tuple[Any, Any]] = []
        for receiver, names in self._hearing(signal):
            try:
                answer = self._call(receiver, names, signal, named)
                if answer is not None and (isinstance(answer, Deferred) or isawaitable(answer)):
                    answer = await ensure_awaitable(answer)
            except Exception as error:
                _log("Error caught on signal handler", receiver, named, exc_info=True)
                answer = error
            answers.append((receiver, answer))
        return answers


def _log(words: str, receiver: Any, named: dict[str, Any], *, exc_info: bool = False) -> None:
    spider = {"spider": named.get("spider")}
    logger.error(f"{words}: %(receiver)s", {"receiver": receiver}, exc_info=exc_info, extra=spider)


def _alive(receiver: Any) -> Any:
    """Return a receiver that may be a weak reference, None if it is gone."""
    return receiver() if isinstance(receiver, WEAKREF_TYPES) else receiver


def _names(receiver: Any) -> tuple[str, ...] | None:
    """Return the names of the arguments of a function or method; None if it takes any, or is neither."""
    function = receiver.__func__ if type(receiver) is MethodType else receiver
    if type(function) is not FunctionType or function.__code__.co_flags & inspect.CO_VARKEYWORDS:
        return None
    code = function.__code__
    return code.co_varnames[function is not receiver : code.co_argcount]
