"""CPU time of a page with our download handler and with Scrapy's over aiohttp, which has no guard.

    pytest tests/benchmarks/test_handlers.py -s

They are measured in turn in one run, and the least of some rounds counts.
"""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Iterator
from time import process_time
from typing import Any

import pytest
import uvloop
from scrapy import Request, signals
from scrapy.core.downloader.handlers._aiohttp import AiohttpDownloadHandler

from rdfaspider.downloader.handler import GuardedHttpDownloadHandler
from tests.downloader.conftest import opened

HANDLERS: dict[str, type[Any]] = {
    "ours": GuardedHttpDownloadHandler,
    "Scrapy's": AiohttpDownloadHandler,
}
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


async def seconds_a_page(monkeypatch: pytest.MonkeyPatch, kind: type[Any], origin: str) -> float:
    async with opened(monkeypatch, kind, CONCURRENT_REQUESTS_PER_DOMAIN=64) as fetch:
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


def test_a_page_by_each_handler(monkeypatch: pytest.MonkeyPatch, origin: str) -> None:
    seconds = dict.fromkeys(HANDLERS, 1e9)
    for _ in range(ROUNDS):
        for name, kind in HANDLERS.items():
            taken = uvloop.run(seconds_a_page(monkeypatch, kind, origin))
            seconds[name] = min(seconds[name], taken)
    print()
    for name, least in seconds.items():
        print(f"  {name}: {least * 1e6:.0f} µs of CPU a page, its Request and Response included")
    assert seconds["ours"] < 0.75 * seconds["Scrapy's"]
