"""The shorter way of a page through spider and pipelines does what Scrapy's own does."""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncIterator, Callable, Iterator
from hashlib import sha256
from types import SimpleNamespace
from typing import Any

import pytest
from pydispatch import dispatcher, robustapply  # type: ignore[import-untyped]
from scrapy import Request, Spider, signals
from scrapy.core import engine as scrapys_engine
from scrapy.core import scraper as scrapys
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.core.spidermw import SpiderMiddlewareManager
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, StopDownload
from scrapy.http import Response
from scrapy.middleware import MiddlewareManager
from scrapy.pipelines import ItemPipelineManager
from scrapy.signalmanager import SignalManager
from scrapy.utils import asyncio as scrapys_asyncio
from scrapy.utils import signal as scrapys_signal
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.test import get_crawler
from twisted.python.failure import Failure

from rdfaspider.scraper import Scraper, ShortWay
from rdfaspider.scraper.chains import Middlewares, shortened
from rdfaspider.scraper.sending import Signals
from rdfaspider.scraper.visits import Visits

URL = "http://a.test/"

# What `rdfaspider/scraper/` was written after, as Scrapy 2.19 has it. If one has changed, compare the two,
# see that ours still does the same, and pin the new digest.
PINNED = {
    scrapys_engine._Slot: "46bba31332822794",
    scrapys_engine.ExecutionEngine._start_scheduled_requests: "667c213bbbeaf197",
    scrapys_engine.ExecutionEngine._start_scheduled_request: "92e88b0d07c0249c",
    scrapys_engine.ExecutionEngine._remove_request: "82e86f8751677b88",
    scrapys_engine.ExecutionEngine._download: "c058b362cce44dab",
    scrapys_engine.ExecutionEngine._handle_downloader_output: "5457d73c802cf4e7",
    scrapys.Slot: "42cec85cae3e9d74",
    scrapys.Scraper.enqueue_scrape: "13797600d476b240",
    scrapys.Scraper._scrape_next: "054e33b47d7b6f5b",
    scrapys.Scraper._wait_for_processing: "8e937afcd76d255c",
    scrapys.Scraper._scrape: "72f0901d7c0dbe07",
    scrapys.Scraper._check_if_closing: "9fa8043bc26ddd44",
    scrapys.Scraper.call_spider_async: "eed6f753b240d1a9",
    scrapys.Scraper.handle_spider_output_async: "194d54885f022012",
    scrapys.Scraper._process_spidermw_output_async: "94488bf929eb2348",
    scrapys.Scraper.start_itemproc_async: "7c63d9dcc74a8f5a",
    SpiderMiddlewareManager.scrape_response_async: "aef51d7ee01ec592",
    scrapys_asyncio._parallel_asyncio: "d05a3a6213124208",
    scrapys_signal._send_catch_log_asyncio: "f43b04889cb91ae6",
    scrapys_signal.send_catch_log: "fba12693d4849c95",
    SignalManager.send_catch_log: "81ac78d853fee63e",
    dispatcher.getAllReceivers: "af8989f20a3f2051",
    dispatcher.liveReceivers: "034d63be325953b2",
    robustapply.robustApply: "76007a4efa4063ff",
    robustapply.function: "53e742aae922b68b",
    DownloaderMiddlewareManager.download_async: "00e854e1a38ecea2",
    DownloaderMiddlewareManager._handle_mw_method: "0efff254fbd873ba",
    DownloaderMiddlewareManager._process_request: "f2b83efff7fcb8f5",
    DownloaderMiddlewareManager._process_response: "d94bf8a9c51976b3",
    MiddlewareManager._process_chain: "c4e98e82d6130ac2",
    ItemPipelineManager.process_item_async: "5f8e18db4edff24c",
}


def digest_of(part: Any) -> str:
    return sha256(inspect.getsource(part).encode()).hexdigest()[:16]


@pytest.mark.parametrize("part", PINNED, ids=lambda part: part.__qualname__)
def test_the_parts_of_scrapy_that_ours_replaces_are_as_they_were(part: Any) -> None:
    assert digest_of(part) == PINNED[part], (
        f"{part.__module__}.{part.__qualname__} has changed: see whether rdfaspider/scraper/ still does"
        f" the same, then pin {digest_of(part)}."
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
        yield None
        yield {"name": "fail"}
        yield {"name": "two"}

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


def scrape(
    way: Callable[[scrapys.Scraper], scrapys.Scraper],
    callback: str,
    *,
    is_page: bool = True,
    fails: bool = False,
) -> tuple[list[Any], list[str]]:
    """Return the signals that a page has caused, and the URLs of requests."""
    asked: list[str] = []

    async def run() -> list[Any]:
        crawler = crawler_with()
        crawler.engine = SimpleNamespace(crawl=lambda request: asked.append(request.url))  # type: ignore[assignment]
        heard = Heard(crawler)
        scraper = way(scrapys.Scraper(crawler))
        await scraper.open_spider_async()
        request = Request(
            URL,
            callback=getattr(crawler.spider, callback),
            errback=crawler.spider.failed,  # type: ignore[union-attr]
            meta={"number": 1} if is_page else {},
        )
        failure = Failure(OSError())  # type: ignore[no-untyped-call]
        result = failure if fails else Response(URL, request=request)
        done = scraper.enqueue_scrape(result, request)
        assert scraper.slot is not None
        assert scraper.slot.active_size == scrapys.Slot.MIN_RESPONSE_SIZE
        closing = asyncio.ensure_future(scraper.close_spider_async())
        await maybe_deferred_to_future(done)
        assert scraper.slot.is_idle()
        assert scraper.slot.active_size == 0
        await asyncio.wait_for(closing, 60)  # it waits for the page, and for nothing else
        return heard.told

    return asyncio.run(run()), asked


def scrapys_way(scraper: scrapys.Scraper) -> scrapys.Scraper:
    return scraper


@pytest.mark.parametrize(
    "callback", ["parse", "broken", "refuse", "listed", "later", "awaited", "asks"]
)
def test_it_does_what_scrapy_does(callback: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    theirs = scrape(scrapys_way, callback)
    said = sorted(record.getMessage().partition(" at 0x")[0] for record in caplog.records)
    caplog.clear()
    told, asked = scrape(Scraper.instead_of, callback)
    # Scrapy runs ahead: it may meet an error before the items that came before it are through.
    assert (sorted(told, key=repr), asked) == (sorted(theirs[0], key=repr), theirs[1])
    assert told or asked
    ours = sorted(record.getMessage().partition(" at 0x")[0] for record in caplog.records)
    assert ours == said


def test_an_error_of_a_receiver_is_logged_and_keeps_no_other_from_hearing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told, _ = scrape(Scraper.instead_of, "listed")
    assert told == [("scraped", {"name": "one", "seen": True}), ("later", "one")]
    (record,) = [each for each in caplog.records if "signal handler" in each.getMessage()]
    assert record.exc_info and record.exc_info[0] is ValueError


@pytest.mark.parametrize(("is_page", "fails"), [(True, True), (False, False), (False, True)])
def test_all_else_goes_scrapys_way(
    is_page: bool, fails: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(Scraper, "_scrape_page")
    told, _ = scrape(Scraper.instead_of, "listed", is_page=is_page, fails=fails)
    assert ("later", "failure" if fails else "one") in told


class Middleware:
    """Looks on."""

    def process_spider_input(self, response: Response) -> None:
        pass


@pytest.mark.parametrize(
    ("settings", "kind"),
    [
        ({}, Scraper),
        ({"SPIDER_MIDDLEWARES": {Middleware: 1}}, scrapys.Scraper),
        ({"CONCURRENT_ITEMS": 2}, scrapys.Scraper),
        ({"WARN_ON_GENERATOR_RETURN_VALUE": True}, scrapys.Scraper),
    ],
    ids=["ours", "a middleware", "items side by side", "generators are checked"],
)
def test_a_crawl_that_needs_scrapys_scraper_keeps_it(
    settings: dict[str, Any], kind: type[scrapys.Scraper]
) -> None:
    async def run() -> None:
        crawler = crawler_with(**settings)
        crawler.engine = SimpleNamespace(  # type: ignore[assignment]
            scraper=scrapys.Scraper(crawler),
            downloader=SimpleNamespace(
                middleware=DownloaderMiddlewareManager(Passes({}), crawler=crawler)
            ),
        )
        ShortWay.from_crawler(crawler)
        await crawler.signals.send_catch_log_async(signals.spider_opened, spider=crawler.spider)
        assert type(crawler.engine.scraper) is scrapys.Scraper  # the extension is gone

        extension = ShortWay.from_crawler(crawler)
        await crawler.signals.send_catch_log_async(signals.spider_opened, spider=crawler.spider)
        assert type(crawler.engine.scraper) is kind
        assert type(crawler.engine.downloader.middleware) is Middlewares
        assert type(crawler.signals) is type(crawler.engine.signals) is Signals
        del extension

    asyncio.run(run())


class Hears:
    """Receivers of every kind that the dispatcher knows."""

    def __init__(self) -> None:
        self.told: list[Any] = []

    def some(self, item: Any) -> str:
        self.told.append(("some", item))
        return "some"

    def everything(self, **named: Any) -> None:
        self.told.append(("everything", sorted(named)))

    def nothing(self) -> None:
        self.told.append("nothing")

    def whose(self, signal: Any, sender: Any, extra: Any = 1) -> None:
        self.told.append(("whose", signal, type(sender), extra))

    def broken(self, item: Any) -> None:
        raise ValueError(item)

    def stops(self, item: Any) -> None:
        raise StopDownload(fail=False)

    def lacks(self, other: Any) -> None:
        raise AssertionError("nobody gives it")

    def __call__(self, item: Any) -> None:
        self.told.append(("called", item))


def answers_of(manager: type[SignalManager]) -> tuple[list[Any], list[Any]]:
    """Return what receivers were told, and what they answered, as they come, go and are lost."""
    sender, hears, lost = object(), Hears(), Hears()
    signals = manager(sender)
    answers: list[Any] = []

    def send(**named: Any) -> None:
        for receiver, answer in signals.send_catch_log("signal", item=1, **named):
            value = answer.value if isinstance(answer, Failure) else answer
            answers.append((getattr(receiver, "__name__", "object"), repr(value)))

    send()
    for name in ("some", "everything", "nothing", "whose", "broken", "stops", "lacks"):
        signals.connect(getattr(hears, name), "signal")
    signals.connect(hears, "signal")
    signals.connect(lost.nothing, "signal")
    send(spider=None)
    send(spider=None)
    signals.disconnect(hears.some, "signal")
    told = lost.told
    del lost
    send()
    signals.connect(hears.some, dispatcher.Any)
    send(dont_log=ValueError)
    send()
    signals.disconnect_all("signal")
    signals.disconnect(hears.some, dispatcher.Any)
    send()
    return hears.told + told, answers


def test_signals_reach_whom_scrapys_would_reach(caplog: pytest.LogCaptureFixture) -> None:
    theirs = answers_of(SignalManager)
    said = [record.getMessage().partition(" of <")[0] for record in caplog.records]
    caplog.clear()
    assert answers_of(Signals) == theirs
    assert [record.getMessage().partition(" of <")[0] for record in caplog.records] == said
    assert len(theirs[1]) > 30


class Passes:
    """Middlewares that answer in every way that they may, or may not."""

    def __init__(self, answers: dict[str, Any]) -> None:
        self.answers = answers

    def process_request(self, request: Request) -> Any:
        return self._answer("request", None)

    def process_response(self, request: Request, response: Response) -> Any:
        return self._answer("response", response)

    def _answer(self, when: str, given: Any) -> Any:
        answer = self.answers.get(when, given)
        if isinstance(answer, Exception):
            raise answer
        return answer() if callable(answer) else answer


async def later(value: Any) -> Any:
    await asyncio.sleep(0)
    return value


ANSWER, OTHER, AGAIN = Response(URL), Response(f"{URL}other"), Request(f"{URL}again")
PASSED: list[dict[str, Any]] = [
    {},
    {"request": lambda: later(None)},
    {"request": OTHER},
    {"request": lambda: later(AGAIN)},
    {"request": 5},
    {"request": KeyError("request")},
    {"response": lambda: later(ANSWER)},
    {"response": OTHER},
    {"response": AGAIN},
    {"response": None},
    {"response": lambda: later(7)},
    {"response": KeyError("response")},
]


@pytest.mark.parametrize("answers", PASSED, ids=[str(number) for number in range(len(PASSED))])
def test_a_request_passes_the_middlewares_as_it_would_scrapys(answers: dict[str, Any]) -> None:
    async def run(*, ours: bool) -> Any:
        manager = DownloaderMiddlewareManager(
            Passes({}), Passes(answers), Passes({}), crawler=crawler_with()
        )
        if ours:
            manager = shortened(manager)
            assert type(manager) is Middlewares
        try:
            return await manager.download_async(lambda request: later(ANSWER), Request(URL))
        except Exception as error:
            return repr(error)

    assert asyncio.run(run(ours=True)) == asyncio.run(run(ours=False))


class WithSpider:
    """Takes a spider, as in older versions of Scrapy."""

    def process_request(self, request: Request, spider: Spider) -> None:
        pass

    def process_item(self, item: Any, spider: Spider) -> Any:
        return item


@pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")
def test_chains_that_need_scrapys_keep_it() -> None:
    middlewares = DownloaderMiddlewareManager(WithSpider(), crawler=crawler_with())
    assert shortened(middlewares) is middlewares
    pipelines = ItemPipelineManager(WithSpider(), crawler=crawler_with())
    assert shortened(pipelines) is pipelines


class Engine:
    """As much of Scrapy's engine as a request passes, with a downloader that gives one result."""

    _start_scheduled_request = scrapys_engine.ExecutionEngine._start_scheduled_request
    _download = scrapys_engine.ExecutionEngine._download
    _handle_downloader_output = scrapys_engine.ExecutionEngine._handle_downloader_output
    _remove_request = scrapys_engine.ExecutionEngine._remove_request
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

    async def scrape(self, result: Any, request: Request) -> None:
        what = result.value if isinstance(result, Failure) else result
        self.told.append(("scrape", type(what).__name__, request.url))
        await asyncio.sleep(0)
        if self._scraping:
            raise self._scraping

    def enqueue_scrape(self, result: Any, request: Request) -> Any:
        return deferred_from_coro(self.scrape(result, request))


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
                start = Visits(engine, engine.scrape).start_next
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
