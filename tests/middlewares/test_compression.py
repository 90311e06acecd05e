from __future__ import annotations

import asyncio
import gc
import gzip
import threading
import tracemalloc
from collections.abc import Awaitable
from contextlib import suppress
from typing import Any

import brotli  # type: ignore[import-untyped]
import pytest
from backports import zstd
from scrapy import Request
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.exceptions import IgnoreRequest
from scrapy.http import HtmlResponse, Response
from scrapy.utils.defer import ensure_awaitable
from scrapy.utils.test import get_crawler

from rdfaspider.middlewares.compression import CompressionMiddleware

MEGABYTE = 1 << 20
MOST_READ = 3 * MEGABYTE
LARGEST = 8 * MEGABYTE
HTML = b"<!DOCTYPE html><title>A page</title>"


@pytest.fixture
def threads(monkeypatch: pytest.MonkeyPatch) -> list[threading.Thread]:
    """Return the threads that unpack, in the order in which they do."""
    used: list[threading.Thread] = []
    unpack = HttpCompressionMiddleware._handle_encoding

    def note(self: Any, *arguments: Any) -> Any:
        used.append(threading.current_thread())
        return unpack(self, *arguments)

    monkeypatch.setattr(HttpCompressionMiddleware, "_handle_encoding", note)
    return used


def unpack(body: bytes, encoding: str = "gzip", **meta: object) -> Response:
    settings = {"EXTRACT_MAX_BYTES": MOST_READ, "DOWNLOAD_MAXSIZE": LARGEST}
    middleware = CompressionMiddleware.from_crawler(get_crawler(settings_dict=settings))
    headers = {"Content-Encoding": encoding, "Content-Type": "text/html"}
    request = Request("http://example.org/", meta=meta)
    response = Response("http://example.org/", body=body, headers=headers, request=request)

    async def process() -> Any:
        return await ensure_awaitable(middleware.process_response(request, response))

    try:
        found = asyncio.run(process())
    finally:
        middleware._close()
    assert isinstance(found, Response)
    return found


def test_small_bodies_are_unpacked_at_once(threads: list[threading.Thread]) -> None:
    found = unpack(gzip.compress(HTML))
    assert isinstance(found, HtmlResponse)
    assert found.body == HTML
    assert "Content-Encoding" not in found.headers
    assert threads == [threading.main_thread()]


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("br", lambda body: brotli.compress(body, quality=1))],
)
def test_large_ones_are_unpacked_in_a_thread(
    threads: list[threading.Thread], encoding: str, pack: Any
) -> None:
    body = HTML + bytes(2 * MEGABYTE)
    found = unpack(pack(body), encoding, depth=0)
    assert isinstance(found, HtmlResponse)
    assert found.body == body
    assert "Content-Encoding" not in found.headers
    assert threads[-1] is not threading.main_thread()


def test_of_a_page_no_more_is_handed_on_than_is_read() -> None:
    body = gzip.compress(bytes(2 * MOST_READ))
    assert len(unpack(body, depth=1).body) == MOST_READ + 1
    assert len(unpack(body).body) == 2 * MOST_READ, "robots.txt for example"
    assert len(unpack(body, depth=0, sitemap=[]).body) == 2 * MOST_READ


def test_a_download_that_was_cut_short_is_unpacked_as_far_as_it_goes() -> None:
    body = gzip.compress(bytes(range(256)) * 20_000, compresslevel=1)
    assert len(unpack(body[: len(body) // 2], depth=0).body) > MEGABYTE


def test_what_unpacks_to_too_much_is_ignored() -> None:
    with pytest.raises(IgnoreRequest):
        unpack(gzip.compress(bytes(2 * LARGEST)), depth=0)


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("br", brotli.compress), ("zstd", zstd.compress)],
)
def test_what_unpacks_to_too_much_is_gone_at_once(encoding: str, pack: Any) -> None:
    """Nobody has to look for garbage to get the memory back, which a crawl does seldom."""
    body = pack(bytes(2 * LARGEST))
    with suppress(IgnoreRequest):
        unpack(body, encoding, depth=0)  # for what is kept of the first
    gc.collect()
    gc.disable()
    tracemalloc.start()
    try:
        with suppress(IgnoreRequest):
            unpack(body, encoding, depth=0)
        assert tracemalloc.get_traced_memory()[0] < MEGABYTE
    finally:
        tracemalloc.stop()
        gc.enable()


@pytest.mark.parametrize("size", [100, MEGABYTE])
def test_what_cannot_be_unpacked_fails(size: int) -> None:
    with pytest.raises(OSError):
        unpack(b"no archive" * size)


def test_an_unknown_encoding_stays() -> None:
    assert unpack(HTML, "rot13").headers["Content-Encoding"] == b"rot13"
    large = HTML + bytes(MEGABYTE)
    assert unpack(large, "rot13").body == large


def test_the_body_at_hand_is_nobody_elses() -> None:
    """Two large bodies at the same time, and small ones in between."""
    middleware = CompressionMiddleware.from_crawler(
        get_crawler(settings_dict={"EXTRACT_MAX_BYTES": MOST_READ, "DOWNLOAD_MAXSIZE": LARGEST})
    )
    bodies = [bytes([n]) * (MEGABYTE if n % 2 else 100) for n in range(1, 21)]

    async def process() -> list[Any]:
        waits: list[Awaitable[Any]] = []
        for body in bodies:
            response = Response(
                "http://example.org/",
                body=gzip.compress(body),
                headers={"Content-Encoding": "gzip"},
            )
            request = Request("http://example.org/")
            waits.append(ensure_awaitable(middleware.process_response(request, response)))
        return await asyncio.gather(*waits)

    found = asyncio.run(process())
    middleware._close()
    assert [response.body for response in found] == bodies
