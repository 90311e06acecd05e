from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request
from scrapy.http import Response
from scrapy.settings import Settings, default_settings
from scrapy.utils.test import get_crawler

from rdfaspider import settings as defaults
from rdfaspider.downloader import Abandoned, Downloader
from rdfaspider.extract import Options
from rdfaspider.extract.pool import Pool
from rdfaspider.pipelines.extract import ExtractPipeline
from rdfaspider.scheduler.options import politeness_of
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running

if TYPE_CHECKING:
    from tests.conftest import Crawler

LISTENER = """
from scrapy import signals

NAMES = ("request_reached_downloader", "response_downloaded", "request_left_downloader")


class Listener:
    def __init__(self):
        self.heard = dict.fromkeys(NAMES, 0)

    @classmethod
    def from_crawler(cls, crawler):
        listener = cls()
        for name in NAMES:
            crawler.signals.connect(getattr(listener, name), getattr(signals, name))
        crawler.signals.connect(listener.closed, signals.spider_closed)
        return listener

    def request_reached_downloader(self, request, spider):
        self.heard["request_reached_downloader"] += 1

    def response_downloaded(self, response, request, spider):
        self.heard["response_downloaded"] += 1

    def request_left_downloader(self, request, spider):
        self.heard["request_left_downloader"] += 1

    def closed(self):
        open("heard.txt", "w").write(" ".join(str(self.heard[name]) for name in NAMES))
"""


def test_extensions_hear_of_downloads_as_ever(crawl: Crawler, tmp_path: Path) -> None:
    (tmp_path / "listener.py").write_text(LISTENER)
    with running(Parameters(levels=1, pages=5, dropped=0.3)) as origin:
        found = crawl(f"{origin}/", EXTENSIONS='{"listener.Listener": 1}')
    reached, downloaded, left = map(int, (tmp_path / "heard.txt").read_text().split())
    failed = sum(fate.startswith("failed/") for fate in found.fates.values())
    assert failed
    assert reached == left == len(found.fates) + 1, "robots.txt too"
    assert downloaded == reached - failed


def test_scrapys_delay_is_kept_if_it_is_the_longer_one() -> None:
    settings = Settings()
    settings.setmodule(defaults, "project")
    assert politeness_of(settings).delay == settings.getfloat("POLITENESS_DELAY") > 0
    settings.set("DOWNLOAD_DELAY", 7.5, "cmdline")
    assert politeness_of(settings).delay == 7.5
    settings.set("POLITENESS_DELAY", 9, "cmdline")
    assert politeness_of(settings).delay == 9


def test_fewer_are_fetched_while_those_who_read_pages_are_behind() -> None:
    none = dict.fromkeys(default_settings.DOWNLOAD_HANDLERS_BASE)
    crawler = get_crawler(settings_dict={"CONCURRENT_REQUESTS": 64, "DOWNLOAD_HANDLERS": none})

    async def run() -> None:
        downloader = Downloader(crawler)
        crawler.engine = SimpleNamespace(downloader=downloader)  # type: ignore[assignment]
        pool = Pool(1, Options())
        pipeline = ExtractPipeline(crawler.stats, Options(), pool)
        pipeline.crawler = crawler
        await pipeline.open_spider()
        try:
            assert downloader.pace.allowed() == downloader.total_concurrency
            pool._size = 10 << 20
            await asyncio.sleep(0)
            assert downloader.pace.allowed() < downloader.total_concurrency
        finally:
            await pool.close()

    asyncio.run(run())


@pytest.mark.parametrize("tells", [True, False])
def test_the_host_is_looked_at_unless_a_handler_is_guarded(
    tells: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or if Scrapy does not tell which handler it takes."""
    guarded, other = SimpleNamespace(is_guarded=True), SimpleNamespace()
    handlers: dict[str, Any] = {"http": guarded, "https": other, "data": other}
    looked_at = []

    async def look(request: Request) -> None:
        looked_at.append(request.url)

    async def ask(request: Request) -> Response:
        return Response(request.url, body=b"hello")

    downloader: Any = Downloader.__new__(Downloader)
    downloader.crawler = get_crawler()
    downloader.handlers = SimpleNamespace(_get_handler=handlers.get) if tells else object()
    downloader._ask, downloader._check_host = ask, look
    urls = ["http://a.test/", "https://a.test/", "data:,x", "s3://a/b"]
    for url in urls:
        asyncio.run(downloader._hand_over(Request(url)))
    assert looked_at == (["https://a.test/"] if tells else urls)
    assert downloader.crawler.stats.get_value("fetch/bytes") == 5 * len(urls)


@pytest.mark.parametrize("has_failed", [False, True])
def test_a_download_that_is_given_up_says_so_and_one_that_has_failed_says_why(
    has_failed: bool,
) -> None:
    async def download(request: Request) -> Any:
        if has_failed:
            raise OSError
        await asyncio.sleep(10)

    async def main() -> None:
        downloader: Any = Downloader.__new__(Downloader)
        downloader.signals = SimpleNamespace(sender=downloader)
        downloader._hand_over, downloader._tasks = download, set()
        downloader._is_abandoning = False
        task = asyncio.ensure_future(downloader._download_now(Request("http://a.test/")))
        await asyncio.sleep(0)
        downloader.abandon()
        with pytest.raises(OSError if has_failed else Abandoned):
            await task

    asyncio.run(main())
