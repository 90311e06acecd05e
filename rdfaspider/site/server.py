"""The generated web over sockets: HTTP/1.1 as a plain origin and as an HTTP proxy.

The server keeps nothing between requests: what it answers follows from URL and time. A target in
absolute form (`GET http://w7.site.test/ HTTP/1.1`) is a request to a proxy; any other is for the
authority in the Host header.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import TextIO

from rdfaspider.site.answers import Conditions, SiteAnswer, answer
from rdfaspider.site.web import Web, loopback

# The longest request head that is read; browsers and crawlers stay far below.
MAX_HEAD = 16 * 1024
# A trickling body comes in this many pieces.
PIECES = 10

_REQUEST = re.compile(rb"([A-Z]+) ([!-~]+) HTTP/1\.([01])")
_HEADER = re.compile(rb"(?mi)^(host|connection|if-none-match|if-modified-since):[ \t]*([^\r\n]*)")
_BODY = re.compile(rb"(?mi)^(?:transfer-encoding:|content-length:[ \t]*[1-9])")
_REASONS = {status.value: status.phrase for status in HTTPStatus}


class Line:
    """The line that all connections share: what is sent leaves one after the other, at a limited rate."""

    def __init__(self, bandwidth: float) -> None:
        self._seconds = 1 / bandwidth if bandwidth else 0.0  # a byte
        self._free = 0.0

    def wait(self, size: int, now: float) -> float:
        """Return the seconds until this many bytes have left, after those before them."""
        self._free = max(self._free, now) + size * self._seconds
        return self._free - now


class ClientConnection(asyncio.Protocol):
    """One client. Requests are answered one after another, in order, also when pipelined.

    Invariant: while `_busy`, an answer is on its way and nothing more is read from the buffer.
    """

    def __init__(
        self,
        web: Web,
        clock: Callable[[], float],
        log: TextIO | None,
        open_: set[ClientConnection],
        line: Line,
    ) -> None:
        self._web = web
        self._clock = clock
        self._log = log
        self._open = open_
        self._line = line
        self._buffer = bytearray()
        self._busy = False
        self._full = False
        self._ended = False
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._loop = asyncio.get_running_loop()
        self._open.add(self)

    def connection_lost(self, error: Exception | None) -> None:
        self._open.discard(self)
        if self._timer:
            self._timer.cancel()

    def pause_writing(self) -> None:
        self._full = True

    def resume_writing(self) -> None:
        self._full = False
        self._next()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > MAX_HEAD:
            self._transport.pause_reading()
        self._next()

    def eof_received(self) -> bool:
        """Keep our half open until everything asked for is answered."""
        self._ended = True
        self._next()
        return True

    def close(self) -> None:
        self._transport.abort()

    def _next(self) -> None:
        """Answer the requests in the buffer until one takes time or is not there in full."""
        while not (self._busy or self._full or self._transport.is_closing()):
            end = self._buffer.find(b"\r\n\r\n", 0, MAX_HEAD)
            if end < 0:
                if len(self._buffer) >= MAX_HEAD:
                    self._refuse(431)
                elif self._ended:
                    self._transport.close()
                return
            head = bytes(self._buffer[: end + 2])
            del self._buffer[: end + 4]
            if len(self._buffer) <= MAX_HEAD:
                self._transport.resume_reading()
            self._handle(head)

    def _handle(self, head: bytes) -> None:
        line, _, rest = head.partition(b"\r\n")
        request = _REQUEST.fullmatch(line)
        if not request or _BODY.search(rest):
            return self._refuse(400)
        method, target, version = request.groups()
        if method not in (b"GET", b"HEAD"):
            return self._refuse(501 if method == b"CONNECT" else 405)
        headers = {name.lower(): value.strip() for name, value in _HEADER.findall(rest)}
        url = _url(target, headers.get(b"host", b"localhost"))
        conditions = Conditions(
            headers.get(b"if-none-match", b"").decode("latin-1"),
            headers.get(b"if-modified-since", b"").decode("latin-1"),
        )
        reply = answer(self._web, url, self._clock(), conditions)
        self._note(method.decode(), url, reply.status)
        stay = headers.get(b"connection", b"" if version == b"1" else b"close").lower() != b"close"
        self._busy = True
        if reply.delay:
            self._later(reply.delay, self._send, reply, method == b"HEAD", stay)
        else:
            self._send(reply, method == b"HEAD", stay)

    def _later(self, seconds: float, function: Callable[..., None], *arguments: object) -> None:
        self._timer = self._loop.call_later(seconds, function, *arguments)

    def _note(self, method: str, url: str, status: int) -> None:
        if self._log:
            address = self._transport.get_extra_info("sockname")[0]
            self._log.write(f"{time.time():.6f} {address} {method} {url} {status}\n")

    def _refuse(self, status: int) -> None:
        """Answer a bad request and close, since the rest of the stream is unclear."""
        allow = (("Allow", "GET, HEAD"),) if status == 405 else ()
        self._send(
            SiteAnswer(status, f"{_REASONS[status]}\n".encode(), headers=allow), False, False
        )

    def _send(self, reply: SiteAnswer, head_only: bool, stay: bool) -> None:
        head = _head(reply, stay)
        body = b"" if head_only else reply.body
        if wait := self._line.wait(len(head) + len(body), self._loop.time()):
            self._busy = True
            self._later(wait, self._write, reply, head, body, stay)
        else:
            self._write(reply, head, body, stay)

    def _write(self, reply: SiteAnswer, head: bytes, body: bytes, stay: bool) -> None:
        if reply.cut and body:
            self._transport.write(head + body[: len(body) // 2])
            self._transport.close()
        elif reply.trickle and body:
            self._transport.write(head)
            self._trickle(body, 0, reply.trickle, stay)
        else:
            self._transport.write(head + body)
            self._finish(stay)

    def _trickle(self, body: bytes, start: int, seconds: float, stay: bool) -> None:
        end = start + len(body) // PIECES + 1
        self._transport.write(body[start:end])
        if end < len(body):
            self._later(seconds / PIECES, self._trickle, body, end, seconds, stay)
        else:
            self._finish(stay)

    def _finish(self, stay: bool) -> None:
        late = self._timer is not None
        self._busy, self._timer = False, None
        if not stay:
            self._transport.close()
        elif late:
            self._next()


def _url(target: bytes, host: bytes) -> str:
    """Return the URL a request is for, in the form that the web knows it by."""
    url = (target if target.startswith(b"http://") else b"http://" + host + target).decode(
        "latin-1"
    )
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("/")
    return f"{scheme}://{authority.lower().removesuffix(':80')}{slash or '/'}{path}"


def _head(reply: SiteAnswer, stay: bool) -> bytes:
    more = "".join(f"{name}: {value}\r\n" for name, value in reply.headers)
    # A 304 describes the page that the client has; its length is not known here.
    length = f"Content-Length: {len(reply.body)}\r\n" if reply.status != 304 else ""
    return (
        f"HTTP/1.1 {reply.status} {_REASONS[reply.status]}\r\n"
        f"Content-Type: {reply.content_type}\r\n{length}{more}"
        f"Connection: {'keep-alive' if stay else 'close'}\r\n\r\n"
    ).encode("latin-1")


@asynccontextmanager
async def serve(
    web: Web,
    host: str = "127.0.0.1",
    port: int = 0,
    *,
    start: float = 0.0,
    log: TextIO | None = None,
) -> AsyncIterator[str]:
    """Serve a web while the block runs; its value is the server's URL, without a slash.

    Port 0 takes a free one. With several `addresses` the server listens on all of them. `start` is
    the web's time when the server begins, unless the web says when itself began. OSError if an address is
    taken.
    """
    loop = asyncio.get_running_loop()
    speed = web.parameters.speed
    if web.parameters.began:
        start = (time.time() - web.parameters.began) * speed
    began = loop.time() - start / speed
    connections: set[ClientConnection] = set()
    line = Line(web.parameters.bandwidth)

    def connect() -> ClientConnection:
        return ClientConnection(web, lambda: (loop.time() - began) * speed, log, connections, line)

    servers = [await loop.create_server(connect, host, port, backlog=1024)]
    port = servers[0].sockets[0].getsockname()[1]
    try:
        for address in map(loopback, range(1, web.parameters.addresses)):
            servers += [await loop.create_server(connect, address, port, backlog=1024)]
        yield f"http://{f'[{host}]' if ':' in host else host}:{port}"
    finally:
        for server in servers:
            server.close()
        while connections:  # each is notified in a later turn of the loop
            for connection in list(connections):
                connection.close()
            await asyncio.sleep(0)
        for server in servers:
            await server.wait_closed()
