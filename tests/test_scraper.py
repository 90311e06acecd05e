"""The shorter way of a page through spider and pipelines does what Scrapy's own does."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import scrapy
from pydispatch import dispatcher  # type: ignore[import-untyped]
from scrapy import Request, Spider, signals
from scrapy.core import engine as scrapys_engine
from scrapy.core import scraper as scrapys
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem
from scrapy.http import Response
from scrapy.signalmanager import SignalManager
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.test import get_crawler
from twisted.internet.defer import succeed
from twisted.python.failure import Failure

from rdfaspider.compat import digest_of
from rdfaspider.scraper import _COMPARED as COMPARED
from rdfaspider.scraper import _REPLACED as REPLACED
from rdfaspider.scraper import FastPath, PageSignals, Visits

if scrapy.version_info < (2, 15):
    pytest.skip("a crawl on this Scrapy goes Scrapy's way", allow_module_level=True)

URL = "http://a.test/"


def test_the_installed_scrapy_is_one_that_these_tests_have_compared_it_with() -> None:
    minor = ".".join(scrapy.__version__.split(".")[:2])
    assert COMPARED.get(minor) == digest_of(REPLACED), (
        "Code that the fast path stands for has changed. See whether rdfaspider/scraper.py still does the"
        f' same; if the other tests here pass, add "{minor}": "{digest_of(REPLACED)}".'
    )


class Pipeline:
    """Drops one item, fails with another, and adds to the rest."""

    async def process_item(self, item: Any) -> Any:
        await asyncio.sleep(0)
        if item["name"] == "drop":
            raise DropItem("unwanted")
        if item["name"] == "fail":
            raise KeyError("broken")
        return item | {"seen": True}


class Example(Spider):
    name = "example"

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield {"name": "one", **kwargs}
        yield {"name": "drop"}
        yield {"name": "fail"}
        yield {"name": "two"}
        yield None  # nothing may follow it before Scrapy 2.19

    def broken(self, response: Response) -> Iterator[Any]:
        yield {"name": "before"}
        raise ZeroDivisionError

    def refuse(self, response: Response) -> Iterator[Any]:
        raise ZeroDivisionError

    def listed(self, response: Response) -> list[Any]:
        return [{"name": "one"}]

    async def later(self, response: Response) -> AsyncIterator[Any]:
        await asyncio.sleep(0)
        yield {"name": "one"}

    async def awaited(self, response: Response) -> list[Any]:
        await asyncio.sleep(0)
        return [{"name": "one"}]

    def asks(self, response: Response) -> Iterator[Any]:
        yield Request(f"{URL}next")

    def failed(self, failure: Failure) -> Iterator[Any]:
        yield {"name": "failure"}


class Heard:
    """Notes the signals of a crawl, in their order."""

    def __init__(self, crawler: Crawler) -> None:
        self.told: list[Any] = []
        crawler.signals.connect(self.scraped, signals.item_scraped)
        crawler.signals.connect(self.scraped_later, signals.item_scraped)
        crawler.signals.connect(self.raises, signals.item_scraped)
        crawler.signals.connect(self.dropped, signals.item_dropped)
        crawler.signals.connect(self.error, signals.item_error)
        crawler.signals.connect(self.spider_error, signals.spider_error)

    def scraped(self, item: Any) -> None:
        self.told.append(("scraped", item))

    async def scraped_later(self, item: Any, response: Any) -> None:
        await asyncio.sleep(0)
        self.told.append(("later", item["name"]))

    def raises(self, item: Any) -> None:
        raise ValueError("a receiver that is broken")

    def dropped(self, item: Any, exception: Any) -> None:
        self.told.append(("dropped", item["name"], str(exception)))

    def error(self, item: Any, failure: Failure) -> None:
        self.told.append(("error", item["name"], type(failure.value).__name__))

    def spider_error(self, failure: Failure, response: Any) -> None:
        self.told.append(("spider", type(failure.value).__name__))


def crawler_with(**settings: Any) -> Crawler:
    given = {
        "SPIDER_MIDDLEWARES_BASE": {},
        "ITEM_PIPELINES": {Pipeline: 1},
        "CONCURRENT_ITEMS": 1,
        "WARN_ON_GENERATOR_RETURN_VALUE": False,
    }
    crawler = get_crawler(Example, given | settings)
    crawler.spider = crawler._create_spider()
    return crawler


def scrape(callback: str, *, is_ours: bool) -> tuple[list[Any], list[str]]:
    """Return the signals that a page has caused, and the URLs of requests."""
    asked: list[str] = []

    async def run() -> list[Any]:
        crawler = crawler_with()
        crawler.engine = SimpleNamespace(crawl=lambda request: asked.append(request.url))  # type: ignore[assignment]
        heard = Heard(crawler)
        scraper = scrapys.Scraper(crawler)
        await scraper.open_spider_async()
        assert scraper.slot is not None
        request = Request(
            URL,
            callback=getattr(crawler.spider, callback),
            errback=crawler.spider.failed,  # type: ignore[union-attr]
            meta={"number": 1},
        )
        response = Response(URL, request=request)
        if is_ours:
            scraper.signals = PageSignals(scraper.signals.sender)
            crawler.engine.scraper = scraper
            visits = Visits(crawler.engine)
            done: Any = asyncio.ensure_future(visits.scrape(response, request))
            await asyncio.sleep(0)
        else:
            done = maybe_deferred_to_future(scraper.enqueue_scrape(response, request))
        if callback == "parse":  # which takes a while
            assert not scraper.slot.is_idle()
            assert scraper.slot.active_size == scrapys.Slot.MIN_RESPONSE_SIZE
        await done
        assert scraper.slot.is_idle()
        assert scraper.slot.active_size == 0
        await asyncio.wait_for(scraper.close_spider_async(), 60)
        return heard.told

    return asyncio.run(run()), asked


@pytest.mark.parametrize(
    "callback", ["parse", "broken", "refuse", "listed", "later", "awaited", "asks"]
)
def test_it_does_what_scrapy_does(callback: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    theirs = scrape(callback, is_ours=False)
    said = lines_of(caplog)
    caplog.clear()
    told, asked = scrape(callback, is_ours=True)
    # Scrapy runs ahead: it may meet an error before the items that came before it are through.
    assert (sorted(told, key=repr), asked) == (sorted(theirs[0], key=repr), theirs[1])
    assert told or asked
    assert lines_of(caplog) == said


def lines_of(caplog: pytest.LogCaptureFixture) -> list[tuple[Any, ...]]:
    """Return what is in the log, without addresses in memory."""
    return sorted(
        (
            record.name,
            record.levelname,
            record.getMessage().partition(" at 0x")[0],
            repr(record.exc_info and record.exc_info[1]),
            type(getattr(record, "spider", None)).__name__,
        )
        for record in caplog.records
    )


async def answers_of(manager: SignalManager) -> list[tuple[Any, str]]:
    """Return what the receivers of a signal answer, as they come, go and are lost."""
    hears, lost = Hears(), Hears()
    answers: list[tuple[Any, Any]] = []
    for name in ("some", "everything", "later", "deferred", "broken", "breaks_later", "lacks"):
        manager.connect(getattr(hears, name), "signal")
    manager.connect(hears.everything, dispatcher.Any)
    manager.connect(lost.some, "signal")
    del lost
    for _ in range(2):
        answers += await manager.send_catch_log_async("signal", item=1, spider=None)
        manager.disconnect(hears.some, "signal")
    manager.disconnect_all("signal")
    return [(receiver.__name__, repr(answer)) for receiver, answer in answers]


class Hears:
    """Receivers of every kind that Scrapy knows."""

    def some(self, item: Any, sender: Any, extra: Any = 2) -> Any:
        return item, type(sender), extra

    def everything(self, **named: Any) -> list[str]:
        return sorted(named)

    async def later(self, item: Any) -> Any:
        await asyncio.sleep(0)
        return item

    def deferred(self, item: Any) -> Any:
        return succeed(item)

    def broken(self, item: Any) -> None:
        raise ValueError(item)

    async def breaks_later(self, item: Any) -> None:
        await asyncio.sleep(0)
        raise KeyError(item)

    def lacks(self, other: Any) -> None:
        raise AssertionError("the signal has no such argument")


@pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")
def test_receivers_hear_and_answer_as_they_do_with_scrapy(caplog: pytest.LogCaptureFixture) -> None:
    theirs = asyncio.run(answers_of(SignalManager(object())))
    said = lines_of(caplog)
    caplog.clear()
    assert asyncio.run(answers_of(PageSignals(object()))) == theirs
    assert lines_of(caplog) == said
    assert len(theirs) > 12
    assert len(said) > 4


class Middleware:
    """Looks on."""

    def process_spider_input(self, response: Response) -> None:
        pass


@pytest.mark.parametrize(
    ("settings", "is_fast", "reasons"),
    [
        ({}, True, ()),
        ({"SPIDER_MIDDLEWARES": {Middleware: 1}}, False, ("tests.test_scraper.Middleware",)),
        ({"CONCURRENT_ITEMS": 2}, False, ("CONCURRENT_ITEMS",)),
        ({"WARN_ON_GENERATOR_RETURN_VALUE": True}, False, ()),
    ],
    ids=["ours", "a middleware", "items side by side", "generators are checked"],
)
@pytest.mark.parametrize("is_known", [True, False])
def test_a_crawl_that_needs_scrapys_way_keeps_it(
    settings: dict[str, Any],
    is_fast: bool,
    reasons: tuple[str, ...],
    is_known: bool,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    if not is_known:
        monkeypatch.setitem(REPLACED, "scrapy.core.engine", "ExecutionEngine._gone")
    caplog.set_level(logging.INFO, "rdfaspider")

    async def run() -> None:
        crawler = crawler_with(**settings)
        crawler.engine = engine = SimpleNamespace(  # type: ignore[assignment]
            scraper=scrapys.Scraper(crawler), downloader=SimpleNamespace(fetching=None)
        )
        FastPath.from_crawler(crawler)
        await crawler.signals.send_catch_log_async(signals.spider_opened, spider=crawler.spider)
        assert not hasattr(engine, "_start_scheduled_request")  # the extension is gone

        extension = FastPath.from_crawler(crawler)
        await crawler.signals.send_catch_log_async(signals.spider_opened, spider=crawler.spider)
        assert hasattr(engine, "_start_scheduled_request") == (is_fast and is_known)
        assert (type(engine.scraper.signals) is PageSignals) == (is_fast and is_known)
        del extension

    asyncio.run(run())
    assert [record.getMessage() for record in caplog.records if record.name.startswith("rdf")] == (
        [
            f"Because of {name} the crawl goes Scrapy's own way, which takes more CPU."
            for name in reasons
        ]
        if is_known
        else [
            f"Scrapy {scrapy.__version__} differs from the versions that the fast path was compared with:"
            " the crawl runs Scrapy's own way, which takes more CPU."
        ]
    )


class Engine:
    """As much of Scrapy's engine as a request passes, with a downloader that gives one result."""

    _start_scheduled_request = scrapys_engine.ExecutionEngine._start_scheduled_request
    _download = scrapys_engine.ExecutionEngine._download
    _handle_downloader_output = scrapys_engine.ExecutionEngine._handle_downloader_output
    # It has a name since 2.18.
    _remove_request = getattr(scrapys_engine.ExecutionEngine, "_remove_request", None)
    _downloader_fetch_needs_spider = False

    def __init__(self, result: Any, scraping: Exception | None) -> None:
        self.told: list[Any] = []
        self._result, self._scraping = result, scraping
        self.requests = [Request(URL, meta={"number": 1})]
        crawler = crawler_with(LOG_LEVEL="DEBUG")
        self.spider, self.logformatter = crawler.spider, crawler.logformatter
        self.signals = SignalManager(self)
        self.signals.connect(self.received, signals.response_received)
        self.signals.connect(self.empty, signals.scheduler_empty)
        self.downloader = self.scraper = self
        schedule = SimpleNamespace(schedule=lambda: self.told.append("next"))
        scheduler = SimpleNamespace(
            next_request=lambda: (self.requests and self.requests.pop()) or None
        )
        self._slot = scrapys_engine._Slot(True, schedule, scheduler)  # type: ignore[arg-type]

    def received(self, response: Any, request: Any) -> None:
        self.told.append(("received", response.url, request.url))

    def empty(self) -> None:
        self.told.append("empty")

    def crawl(self, request: Request) -> None:
        self.told.append(("crawl", request.url))

    async def fetching(self, request: Request) -> Any:
        self.told.append(("fetch", [each.url for each in self._slot.inprogress]))
        await asyncio.sleep(0)
        if isinstance(self._result, Exception):
            raise self._result
        return self._result

    def fetch(self, request: Request) -> Any:
        return deferred_from_coro(self.fetching(request))

    async def _scrape(self, result: Any, request: Request) -> None:
        what = result.value if isinstance(result, Failure) else result
        self.told.append(("scrape", type(what).__name__, request.url))
        await asyncio.sleep(0)
        if self._scraping:
            raise self._scraping

    def enqueue_scrape(self, result: Any, request: Request) -> Any:
        return deferred_from_coro(self._scrape(result, request))


@pytest.mark.parametrize(
    ("result", "scraping"),
    [
        (Response(URL), None),
        (Response(URL), ZeroDivisionError()),
        (Request(f"{URL}other"), None),
        (OSError("no answer"), None),
        (DropItem("an error that is no failure of the net"), None),
        ("neither", None),
    ],
    ids=["page", "broken spider", "another request", "failure", "refusal", "nonsense"],
)
def test_a_request_is_followed_as_scrapys_engine_does(
    result: Any, scraping: Exception | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)

    def follow(is_ours: bool) -> tuple[list[Any], list[str]]:
        caplog.clear()

        async def run() -> list[Any]:
            engine: Any = Engine(result, scraping)
            start = engine._start_scheduled_request
            if is_ours:
                visits = Visits(engine)
                visits.scrape = engine._scrape  # type: ignore[method-assign]
                start = visits.start_next
            assert start()
            assert engine._slot.inprogress, "from the first moment on"
            assert not start()
            closing = asyncio.ensure_future(engine._slot.close())
            engine._slot.nextcall.cancel = lambda: None
            await asyncio.wait_for(closing, 60)
            await asyncio.sleep(0.01)
            return list(engine.told)

        return asyncio.run(run()), [record.getMessage() for record in caplog.records]

    ours, scrapys_own = follow(is_ours=True), follow(is_ours=False)
    assert ours == scrapys_own
    assert len(ours[0]) > 3
