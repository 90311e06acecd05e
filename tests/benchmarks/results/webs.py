"""Small webs of any hosts for the tables, served as a proxy from a thread, that count what they are asked."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

_HEAD = (
    "HTTP/1.1 {} X\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n"
)


class Served:
    """Answers each request after some seconds with a page of a table, or with 404.

    `asked` counts the requests for pages, `missed` those in vain, `most` those that waited at once.
    """

    def __init__(self, pages: Mapping[str, str], seconds: float) -> None:
        self.pages = pages
        self.seconds = seconds
        self.asked = self.missed = self.most = 0
        self._open = 0
        self.url = ""

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open += 1
        self.most = max(self.most, self._open)
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            url = head.split(b" ", 2)[1].decode()
            await asyncio.sleep(self.seconds)
            body = self.pages.get(url)
            if not url.endswith("/robots.txt"):
                self.asked += 1
                self.missed += body is None
            text = (body or "").encode()
            writer.write(_HEAD.format(404 if body is None else 200, len(text)).encode() + text)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError):  # the crawl has closed the connection
            pass
        finally:
            self._open -= 1
            writer.close()


@contextmanager
def served(pages: Mapping[str, str], seconds: float = 0.0) -> Iterator[Served]:
    """Serve pages by their URLs while the block runs; the value has the URL of the proxy."""
    web, loop, ready = Served(pages, seconds), asyncio.new_event_loop(), threading.Event()

    async def serve() -> None:
        server = await asyncio.start_server(web.answer, "127.0.0.1", 0, backlog=4096)
        web.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        ready.set()

    def run() -> None:
        loop.run_until_complete(serve())
        loop.run_forever()

    thread = threading.Thread(target=run)
    thread.start()
    ready.wait()
    try:
        yield web
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
