"""What differs between versions of Scrapy, and what a crawl does without its private parts."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import scrapy
from scrapy import Request, signals
from scrapy.core.downloader.middleware import DownloaderMiddlewareManager
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.exceptions import NotSupported, UsageError
from scrapy.http import Response
from scrapy.http.request import NO_CALLBACK
from scrapy.settings import default_settings
from scrapy.utils.misc import load_object
from scrapy.utils.reactor import install_reactor
from scrapy.utils.test import get_crawler

from rdfaspider import compat
from rdfaspider.downloader import Downloader
from rdfaspider.middlewares.compression import CompressionMiddleware

if scrapy.version_info < (2, 15):  # a crawler asks which reactor is installed
    install_reactor("twisted.internet.asyncioreactor.AsyncioSelectorReactor")

RETRIED: tuple[type[Exception], ...] = tuple(
    load_object(each) if isinstance(each, str) else each  # type: ignore[misc]
    for each in default_settings.RETRY_EXCEPTIONS
)


@pytest.mark.parametrize("name", [name for name in compat.__all__ if name.endswith("Error")])
def test_failures_are_retried_unless_we_gave_up_ourselves(name: str) -> None:
    error = getattr(compat, name)("the reason")
    assert str(error) == "the reason"
    assert isinstance(error, RETRIED) == (name != "DownloadCancelledError")


@pytest.mark.parametrize("kind", [compat.VerbatimRequest, compat._VerbatimRequest])
def test_a_url_in_normal_form_is_sent_as_it_is(kind: type[Request]) -> None:
    url = "http://a.test/|'[]^?q={}"
    request = kind(url, meta={"verbatim_url": True})
    assert request.url == request.replace(priority=1).url == url
    assert kind(url).url == Request(url).url != url


def engine_of(**slot: Any) -> Any:
    return SimpleNamespace(engine=SimpleNamespace(_slot=SimpleNamespace(**slot)))


def test_the_engine_is_asked_by_its_private_parts() -> None:
    woken: list[bool] = []
    call = SimpleNamespace(schedule=lambda: woken.append(True))
    crawler = engine_of(nextcall=call, closing=None, inprogress={1}, scheduler="ours")
    compat.wake(crawler)
    assert woken
    assert len(compat.under_way(crawler)) == 1
    assert not compat.is_closing(crawler)
    assert compat.is_closing(engine_of(closing=object()))
    assert compat.is_closing(SimpleNamespace(engine=SimpleNamespace(_slot=None)))  # type: ignore[arg-type]
    assert compat.scheduler_of(crawler) == "ours"
    crawler.engine.scheduler = "public"
    assert compat.scheduler_of(crawler) == "public"


@pytest.mark.parametrize(
    ("crawler", "without"),
    [
        (SimpleNamespace(engine=SimpleNamespace()), "no _slot, so hosts that are ready wait"),
        (engine_of(), "no nextcall, so hosts that are ready wait"),
    ],
    ids=["slot", "call"],
)
def test_an_engine_that_cannot_be_woken_is_named_once(
    crawler: Any, without: str, caplog: pytest.LogCaptureFixture
) -> None:
    compat._miss.cache_clear()
    compat.wake(crawler)
    compat.wake(crawler)
    assert not compat.is_closing(crawler)
    said = [record.getMessage() for record in caplog.records]
    assert len([words for words in said if without in words]) == 1
    with pytest.raises(UsageError, match="leave the frontier out of ADDON_PARTS"):
        compat.under_way(crawler)


def test_bodies_are_unpacked_by_a_scrapy_that_does_it_in_another_way(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    compat._miss.cache_clear()
    monkeypatch.delattr(HttpCompressionMiddleware, "_handle_encoding")
    CompressionMiddleware(crawler=get_crawler())
    assert "no _handle_encoding, so large bodies are unpacked" in caplog.text


def test_a_downloader_that_lacks_what_is_needed_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delattr(DownloaderMiddlewareManager, "download_async")
    none = dict.fromkeys(default_settings.DOWNLOAD_HANDLERS_BASE)
    with pytest.raises(UsageError, match=r"download_async.*: set DOWNLOADER=scrapy"):
        Downloader(get_crawler(settings_dict={"DOWNLOAD_HANDLERS": none}))


def test_requests_that_cannot_wait_in_scrapys_queues_fail(
    caplog: pytest.LogCaptureFixture,
) -> None:
    compat._miss.cache_clear()
    queued = compat.private(object(), "_enqueue_request")
    assert queued is None
    assert "no _enqueue_request, so requests of a spider's own fail" in caplog.text
    downloader: Any = SimpleNamespace(_pass_on=lambda download, request: download(request))
    with pytest.raises(NotSupported):
        Downloader._fetch(downloader, Request("http://a.test/")).send(None)


@pytest.mark.parametrize("has_signal", [True, False])
def test_robots_txt_is_heard_of(has_signal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if has_signal and not hasattr(signals, "robots_parsed"):
        pytest.skip("this Scrapy has no such signal")
    if not has_signal:
        monkeypatch.delattr(signals, "robots_parsed", raising=False)
    crawler, heard = get_crawler(), []

    def receiver(robotparser: Any, request: Request) -> None:
        heard.append((robotparser.allowed(f"{request.url}/../x", "any"), request.url))

    compat.hear_robots(crawler, receiver)
    request = Request("http://a.test/robots.txt", callback=NO_CALLBACK)
    response = Response(request.url, body=b"User-agent: *\nDisallow: /")
    kind = load_object(crawler.settings["ROBOTSTXT_PARSER"])
    parsed = kind.from_crawler(crawler, response.body)
    send = crawler.signals.send_catch_log
    send(signals.response_received, response=response, request=request, spider=None)
    send(signals.response_received, response=response, request=Request(request.url), spider=None)
    if has_signal:
        send(signals.robots_parsed, robotparser=parsed, request=request)
    assert heard == [(False, request.url)]


def test_code_that_is_gone_has_no_digest() -> None:
    known = {"scrapy.core.scraper": "Slot Scraper.enqueue_scrape"}
    assert compat.digest_of(known) == compat.digest_of(dict(known)) != ""
    assert compat.digest_of({"scrapy.core.scraper": "Slot"}) != compat.digest_of(known)
    for module, names in (("scrapy.gone", "Slot"), ("scrapy.core.scraper", "Slot Gone")):
        assert compat.digest_of({module: names}) == ""
