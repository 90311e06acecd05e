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
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.crawler import Crawler
from scrapy.exceptions import DropItem, StopDownload
from scrapy.http import Response
from scrapy.pipelines import ItemPipelineManager
from scrapy.signalmanager import SignalManager
from scrapy.utils.defer import deferred_from_coro, maybe_deferred_to_future
from scrapy.utils.test import get_crawler
from twisted.python.failure import Failure

from rdfaspider.compat import digest_of
from rdfaspider.scraper import _COMPARED as COMPARED
from rdfaspider.scraper import _REPLACED as REPLACED
from rdfaspider.scraper import FastPath, PageSignals, Signals, Visits, shorten

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
            shorten(scraper.itemproc)
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
    said = sorted(record.getMessage().partition(" at 0x")[0] for record in caplog.records)
    caplog.clear()
    told, asked = scrape(callback, is_ours=True)
    # Scrapy runs ahead: it may meet an error before the items that came before it are through.
    assert (sorted(told, key=repr), asked) == (sorted(theirs[0], key=repr), theirs[1])
    assert told or asked
    ours = sorted(record.getMessage().partition(" at 0x")[0] for record in caplog.records)
    assert ours == said


def test_an_error_of_a_receiver_is_logged_and_keeps_no_other_from_hearing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    told, _ = scrape("listed", is_ours=True)
    assert told == [("scraped", {"name": "one", "seen": True}), ("later", "one")]
    (record,) = [each for each in caplog.records if "signal handler" in each.getMessage()]
    assert record.exc_info and record.exc_info[0] is ValueError


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
            scraper=scrapys.Scraper(crawler),
            downloader=SimpleNamespace(
                middleware=DownloaderMiddlewareManager(Passes({}), crawler=crawler), fetching=None
            ),
        )
        FastPath.from_crawler(crawler)
        await crawler.signals.send_catch_log_async(signals.spider_opened, spider=crawler.spider)
        assert not hasattr(engine, "_start_scheduled_request")  # the extension is gone

        extension = FastPath.from_crawler(crawler)
        await crawler.signals.send_catch_log_async(signals.spider_opened, spider=crawler.spider)
        assert hasattr(engine, "_start_scheduled_request") == (is_fast and is_known)
        assert (type(engine.scraper.signals) is PageSignals) == (is_fast and is_known)
        assert (type(crawler.signals) is Signals) == is_known
        del extension

    asyncio.run(run())
    assert [record.getMessage() for record in caplog.records if record.name.startswith("rdf")] == (
        [
            f"Because of {name} the crawl goes Scrapy's own way in part, which takes more CPU."
            for name in reasons
        ]
        if is_known
        else [
            f"Scrapy {scrapy.__version__} differs from the versions that the fast path was compared with:"
            " the crawl runs Scrapy's own way, which takes about a third more CPU."
        ]
    )


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
            shorten(manager)
            assert len(manager.methods["process_request"]) == 1
        try:
            return await manager.download_async(lambda request: later(ANSWER), Request(URL))
        except Exception as error:
            return str(error)

    assert asyncio.run(run(ours=True)) == asyncio.run(run(ours=False))


class WithSpider:
    """Takes a spider, as in older versions of Scrapy."""

    def process_request(self, request: Request, spider: Spider) -> None:
        pass

    def process_item(self, item: Any, spider: Spider) -> Any:
        return item


@pytest.mark.filterwarnings("ignore::scrapy.exceptions.ScrapyDeprecationWarning")
def test_chains_that_need_scrapys_keep_it() -> None:
    chain = WithSpider()
    for manager in (
        DownloaderMiddlewareManager(chain, crawler=crawler_with()),
        ItemPipelineManager(chain, crawler=crawler_with()),
    ):
        methods = {name: list(each) for name, each in manager.methods.items()}
        shorten(manager)
        assert methods == {name: list(each) for name, each in manager.methods.items()}


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
