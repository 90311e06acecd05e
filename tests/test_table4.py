"""Table 4 of the RDFa Web Spider: what is downloaded, what is not, and how fast."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import pytest

from rdfaspider import settings

if TYPE_CHECKING:
    from tests.conftest import Crawler

SMALL = b"<!DOCTYPE html><title>small</title>".ljust(2_000)
LARGE = b"<!DOCTYPE html><title>large</title><p>" + b"text " * 2_000_000

# path: (seconds before the answer, content type, body)
ANSWERS = {
    "/delay-30": (30.0, "text/html", SMALL),
    "/delay-29": (28.5, "text/html", SMALL),
    "/large": (0.0, "text/html", LARGE),
    "/pdf": (0.0, "application/pdf", b"%PDF-1.7" + bytes(1_000_000)),
    "/image": (0.0, "image/png", b"\x89PNG" + bytes(1_000_000)),
    "/small": (0.0, "text/html", SMALL),
}


async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    request = await reader.readuntil(b"\r\n\r\n")
    path = request.split()[1].decode()
    delay, content_type, body = ANSWERS.get(path, (0.0, "text/plain", b""))
    await asyncio.sleep(delay)
    head = f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\nContent-Length: {len(body)}\r\n"
    writer.write(head.encode() + b"Connection: close\r\n\r\n" + body)
    try:
        await writer.drain()
        writer.close()
        await writer.wait_closed()
    except ConnectionError:
        pass  # the client hung up, which is what some rows of the table are about


@contextmanager
def server() -> Iterator[str]:
    """Serve the table's pages from a thread while the block runs."""
    loop = asyncio.new_event_loop()
    serving = loop.run_until_complete(asyncio.start_server(answer, "127.0.0.1", 0))
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{serving.sockets[0].getsockname()[1]}"
    finally:
        serving.close()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        for task in asyncio.all_tasks(loop):
            task.cancel()
        loop.run_until_complete(asyncio.sleep(0))
        loop.close()


@pytest.fixture
def origin() -> Iterator[str]:
    with server() as url:
        yield url


def test_the_six_pages_of_the_table(crawl: Crawler, origin: str) -> None:
    assert settings.DOWNLOAD_TIMEOUT == 30
    seeds = ",".join(origin + path for path in ANSWERS)
    found = crawl(seeds)
    assert {url.removeprefix(origin): fate for url, fate in found.fates.items()} == {
        "/delay-30": "failed/DownloadTimeoutError",
        "/delay-29": "done/page",
        "/large": "done/page",
        "/pdf": "done/type",
        "/image": "done/type",
        "/small": "done/page",
    }


def test_what_is_not_a_page_is_not_downloaded(crawl: Crawler, origin: str) -> None:
    found = crawl(f"{origin}/pdf,{origin}/image", STATS_DUMP=True)
    received = int(found.output.split("'downloader/response_bytes': ")[1].split(",")[0])
    assert received < 500_000, "of two megabytes"
