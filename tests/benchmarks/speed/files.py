"""A server of the HTML files of a folder, each at any number of URLs: `/17/NAME.html`.

    python -m tests.benchmarks.speed.files DIRECTORY

prints its URL as the first line and ends with its input. Other URLs are not found.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path


class Connection(asyncio.Protocol):
    def __init__(self, pages: dict[bytes, bytes]) -> None:
        self.pages = pages
        self.head = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        self.head += data
        while b"\r\n\r\n" in self.head:
            request, _, self.head = self.head.partition(b"\r\n\r\n")
            path = request.split(b" ", 2)[1]
            body = self.pages.get(path.rpartition(b"/")[2], b"")
            status = b"200 OK" if body else b"404 Not Found"
            length = b"Content-Length: %d\r\n" % len(body)
            kind = b"Content-Type: text/html; charset=utf-8\r\n"
            self.transport.write(b"HTTP/1.1 " + status + b"\r\n" + kind + length + b"\r\n" + body)


async def serve(directory: Path) -> None:
    pages = {path.name.encode(): path.read_bytes() for path in directory.glob("*.html")}
    loop, ended = asyncio.get_running_loop(), asyncio.Event()
    loop.add_reader(sys.stdin, ended.set)
    server = await loop.create_server(lambda: Connection(pages), "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await ended.wait()


if __name__ == "__main__":
    asyncio.run(serve(Path(sys.argv[1])))
