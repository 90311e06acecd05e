"""CPU time of a page with each download handler: the handler alone, and a whole crawl.

    pytest tests/benchmarks/test_handlers.py -s

Both are measured in turn in one run, and the least of some rounds counts. The ratio of the handlers alone is
asserted; that of whole crawls is only printed, since on a shared machine it is less than the noise.
"""

from __future__ import annotations

import asyncio
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from time import process_time
from typing import Any

import pytest
import uvloop
from scrapy import Request, signals

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from tests.conftest import HANDLERS, by_handler
from tests.downloader.conftest import opened

PROJECT = Path(__file__).parent.parent.parent
ROUNDS = 3
PAGES = 3_000
AT_ONCE = 16
# About what a crawl sends.
HEADERS = {
    "User-Agent": "rdfaspider (+https://example.org/bot)",
    "Accept": "text/html,application/xhtml+xml,text/turtle;q=0.9,*/*;q=0.5",
    "Accept-Language": "en,*;q=0.5",
    "Accept-Encoding": "gzip, deflate, br, zstd",
}

# Answers everything at once, with ten headers and a page of some kilobytes.
SERVER = r"""
import asyncio, uvloop
body = b"<!DOCTYPE html><title>x</title>" + b"<p>hello</p>" * 300
names = b"Server Date Last-Modified ETag Vary Cache-Control X-Frame-Options Connection"
head = b"HTTP/1.1 200 OK\r\n" + b"".join(name + b": some-value\r\n" for name in names.split())
head += b"Content-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n" % len(body)
class Server(asyncio.Protocol):
    def connection_made(self, transport):
        self.transport = transport
    def data_received(self, data):
        self.transport.write(head + body)
async def main():
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()
uvloop.run(main())
"""


@pytest.fixture
def origin() -> Iterator[str]:
    """Serve from another process."""
    with subprocess.Popen([sys.executable, "-c", SERVER], stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        try:
            yield f"http://127.0.0.1:{int(server.stdout.readline())}"
        finally:
            server.kill()


async def seconds_a_page(monkeypatch: pytest.MonkeyPatch, handler: str, origin: str) -> float:
    async with opened(monkeypatch, handler, CONCURRENT_REQUESTS_PER_DOMAIN=64) as fetch:
        downloads: Any = fetch.handler  # type: ignore[attr-defined]
        crawler: Any = fetch.crawler  # type: ignore[attr-defined]

        def heard(headers: object, request: object) -> None:
            """Listen as the middleware for types of content does."""

        crawler.signals.connect(heard, signals.headers_received)
        meta = {"verbatim_url": True, "download_timeout": 30.0}
        urls = iter(range(PAGES + 20 * AT_ONCE))

        async def work(count: int) -> None:
            for number in urls:
                request = Request(f"{origin}/{number}", headers=HEADERS, meta=dict(meta))
                await downloads.download_request(request)
                if not (count := count - 1):
                    return

        await asyncio.gather(*(work(20) for _ in range(AT_ONCE)))
        began = process_time()
        await asyncio.gather(*(work(PAGES) for _ in range(AT_ONCE)))
        return (process_time() - began) / PAGES


def test_a_page_by_the_handler_alone(monkeypatch: pytest.MonkeyPatch, origin: str) -> None:
    seconds = dict.fromkeys(HANDLERS, 1e9)
    for _ in range(ROUNDS):
        for handler in HANDLERS:
            taken = uvloop.run(seconds_a_page(monkeypatch, handler, origin))
            seconds[handler] = min(seconds[handler], taken)
    print()
    for handler, least in seconds.items():
        print(f"  {handler}: {least * 1e6:.0f} µs of CPU a page, its Request and Response included")
    assert seconds["http1"] < 0.75 * seconds["aiohttp"]


SITE = Parameters(seed=1, levels=2, pages=30)


def test_a_page_of_a_crawl(tmp_path: Path) -> None:
    """Crawl the generated site with each handler; the CPU of all processes of the crawl."""
    pages = 1 + SITE.pages + SITE.pages**2
    seconds = dict.fromkeys(HANDLERS, 1e9)
    with running(SITE) as url:
        for number in range(ROUNDS):
            for handler in HANDLERS:
                directory = tmp_path / f"{handler}-{number}"
                directory.mkdir()
                settings = {
                    "POLITENESS_OFF_FOR_OWN_SERVERS": 1,
                    "EXTRACT_PROCESSES": 0,
                    "STATS_DUMP": 1,
                    **by_handler(handler),
                }
                options = [word for k, v in settings.items() for word in ("-s", f"{k}={v}")]
                began = children_seconds()
                done = subprocess.run(
                    [
                        sys.executable,
                        "-m",
                        "rdfaspider",
                        "crawl",
                        "rdfa",
                        "-a",
                        f"seeds={url}",
                        *options,
                    ],
                    cwd=directory,
                    env={**os.environ, "PYTHONPATH": str(PROJECT)},
                    check=True,
                    capture_output=True,
                    text=True,
                )
                # With robots.txt.
                assert f"'downloader/response_count': {pages + 1}," in done.stderr
                seconds[handler] = min(seconds[handler], children_seconds() - began)
    print()
    for handler, least in seconds.items():
        print(
            f"  {handler}: {least / pages * 1e3:.2f} ms of CPU a page, of about {pages} and a start"
        )


def children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
