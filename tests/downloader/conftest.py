"""The download handler without a crawl: behind the guard, in one loop with a server that says anything."""

from __future__ import annotations

import asyncio
import re
import socket
import ssl
import struct
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any, cast

import pycurl  # type: ignore[import-untyped]
import pytest
import uvloop
from scrapy import Request
from scrapy.http import Response
from scrapy.utils.test import get_crawler

from rdfaspider.downloader import handler
from rdfaspider.downloader import request as requests
from rdfaspider.downloader.request import Wanted
from rdfaspider.resolver.cache import Cache
from rdfaspider.resolver.directory import Directory
from rdfaspider.resolver.guard import Guard
from rdfaspider.resolver.resolver import Resolver
from tests.resolver.test_fetch import self_signed

# The loop of a crawl.
run = uvloop.run
# How the addresses of names are found: each name has its answers in turn, the last one for ever.
Names = dict[str, list[list[str]]]
Talk = Callable[["Client"], Awaitable[None]]
Fetch = Callable[..., Awaitable[Response]]


@dataclass
class Client:
    """A connection of the handler, as the server sees it."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    requests: list[bytes] = field(default_factory=list)

    async def read_request(self) -> bytes:
        """Return a request, and its body if it has a length; b"" if the handler hung up."""
        try:
            head = await self.reader.readuntil(b"\r\n\r\n")
        except (asyncio.IncompleteReadError, OSError):
            return b""
        length = re.search(rb"\r\nContent-Length: (\d+)", head)
        body = await self.reader.readexactly(int(length[1])) if length else b""
        self.requests.append(head + body)
        return head + body

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def flood(self, piece: bytes) -> None:
        """Send without end, as fast as it is taken."""
        while True:
            await self.send(piece * (1 + 65_536 // len(piece)))

    async def drip(self, piece: bytes, pause: float = 0.02) -> None:
        """Send a byte at a time, for ever."""
        while True:
            await self.send(piece)
            await asyncio.sleep(pause)

    def reset(self) -> None:
        linger = struct.pack("ii", 1, 0)
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.writer.transport.abort()

    async def until_closed(self) -> bool:
        """Return whether the handler has hung up within a moment."""
        for _ in range(200):
            reader = self.reader
            if reader.at_eof() or reader.exception() or self.writer.is_closing():
                return True
            await asyncio.sleep(0.01)
        return False


@dataclass
class Server:
    """A server that answers as `talk` says, and remembers its clients."""

    origin: str
    clients: list[Client] = field(default_factory=list)

    @property
    def requests(self) -> list[bytes]:
        return [request for client in self.clients for request in client.requests]


@asynccontextmanager
async def serving(
    talk: Talk, host: str = "127.0.0.1", port: int = 0, **options: Any
) -> AsyncIterator[Server]:
    async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        client = Client(reader, writer)
        server.clients.append(client)
        with suppress(OSError, asyncio.CancelledError):
            await talk(client)
        writer.close()

    listener = await asyncio.start_server(accept, host, port, **options)
    port = listener.sockets[0].getsockname()[1]
    scheme = "https" if "ssl" in options else "http"
    server = Server(f"{scheme}://{host}:{port}")
    try:
        yield server
    finally:
        listener.close()
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()


def lead_to(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have libcurl connect to a server whatever the URL of a request."""

    def wanted(request: Request) -> Wanted:
        asked = requests.wanted(request)
        here = f"::127.0.0.1:{server.origin.rpartition(':')[2]}"
        asked.options.append((pycurl.CONNECT_TO, [here.encode()]))
        return asked

    monkeypatch.setattr("rdfaspider.downloader.transfer.wanted", wanted)


Open = Callable[..., Any]


@asynccontextmanager
async def opened(
    monkeypatch: pytest.MonkeyPatch,
    kind: type[Any] = handler.GuardedHttpDownloadHandler,
    *,
    names: Names | None = None,
    allow: tuple[str, ...] = ("127.0.0.1",),
    **settings: Any,
) -> AsyncIterator[Fetch]:
    """Open a download handler behind a guard; the value fetches, and has the `handler` and its `crawler`."""

    def look_up(name: str) -> list[str]:
        answers = (names or {}).get(name)
        if not answers:
            raise OSError(name)
        return answers.pop(0) if len(answers) > 1 else answers[0]

    directory = Directory(
        Guard(allow),
        Cache(100, hit_seconds=0, miss_seconds=0),
        threads=4,
        look_up=look_up,
        clock=monotonic,
        call_from_thread=asyncio.get_running_loop().call_soon_threadsafe,
    )
    resolver = Resolver(None, directory)
    monkeypatch.setattr(handler, "installed_resolver", lambda: resolver)
    crawler = get_crawler(settings_dict={"EXTRACT_MAX_BYTES": 5_000_000, **settings})
    crawler.engine = cast("Any", SimpleNamespace(downloader=None))
    downloads = kind(crawler)

    async def fetch(url: str, seconds: float = 60.0, **arguments: Any) -> Response:
        meta = {"verbatim_url": True, "download_timeout": seconds, **arguments.pop("meta", {})}
        request = Request(url, meta=meta, **arguments)
        response: Response = await downloads.download_request(request)
        return response.replace(request=request)

    fetch.crawler = crawler  # type: ignore[attr-defined]
    fetch.handler = downloads  # type: ignore[attr-defined]
    try:
        yield fetch
    finally:
        await downloads.close()


@pytest.fixture
def fetching(monkeypatch: pytest.MonkeyPatch) -> Open:
    """Return what opens the download handler: `async with fetching() as fetch`."""
    return partial(opened, monkeypatch)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return self_signed(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def tls(certificate: Path) -> ssl.SSLContext:
    """Return a server's context with a certificate that nobody vouches for."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    return context
