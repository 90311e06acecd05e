"""One request and its answer, as libcurl tells of them."""

from __future__ import annotations

import asyncio
import re
import socket
from ipaddress import ip_address
from logging import getLogger
from time import time
from typing import TYPE_CHECKING, Any, NamedTuple

import pycurl  # type: ignore[import-untyped]
from scrapy import signals
from scrapy.exceptions import StopDownload
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes
from twisted.python.failure import Failure

from rdfaspider.archive.exchange import Exchange
from rdfaspider.compat import (
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
)
from rdfaspider.downloader.failures import (
    ConnectTimeoutError,
    FirstByteTimeoutError,
    failure_of,
)
from rdfaspider.downloader.request import wanted
from rdfaspider.fetchmeta import is_for_page
from rdfaspider.signals import is_heard
from rdfaspider.urls import without_userinfo

if TYPE_CHECKING:
    from scrapy import Request

    from rdfaspider.archive.exchange import Truncation
    from rdfaspider.downloader.handler import GuardedHttpDownloadHandler
    from rdfaspider.downloader.memory import DownloadMemory
    from rdfaspider.resolver import Resolver
    from rdfaspider.resolver.addresses import Address

logger = getLogger(__name__)

# A body of more bytes than this counts as large: all large ones share a memory budget.
_LARGE = 64 * 1024
_NO_LIMIT = 1 << 62

_BLANK = (b"\r\n", b"\n")
_STATUS = re.compile(rb"HTTP/([0-9.]+) +([0-9]{3})[0-9]*(?: +([^\r\n]*))?")


class Enough(Exception):
    """No more of an answer is wanted than has come."""


class Head(NamedTuple):
    """The first line and the headers of an answer, in their order and as they came."""

    version: str
    status: int
    reason: bytes
    headers: list[tuple[bytes, bytes]]


class Transfer:
    """A request, and as much of its answer as has come.

    libcurl calls from inside of its own functions, where most of them may not be called again; what is raised
    there is kept, and ends the transfer.
    Invariant: a socket is opened to addresses that the guard admitted for this request, and to no other.
    """

    def __init__(self, handler: GuardedHttpDownloadHandler, request: Request) -> None:
        meta = request.meta
        self.wanted = wanted(request)
        self.head: Head | None = None
        self.is_sent = False
        self._handler = handler
        self._request = request
        self._seconds: float = meta.get("download_timeout", handler.whole_seconds)
        self._most = handler.largest_page if is_for_page(meta) else _NO_LIMIT
        self._admitted: set[Address] = set()
        self._address: Address | None = None  # of who was asked
        self._lines: list[bytes] = []
        self._headers = Headers()
        self._body = bytearray()
        self._size = 0
        self._truncated: Truncation = ""
        self._error: Exception | None = None
        self._stop: StopDownload | None = None
        self._began = time()
        self._loop = asyncio.get_running_loop()
        self._alarm: asyncio.TimerHandle | None = None
        self._holding: asyncio.Task[None] | None = None

    async def look_up(self, resolver: Resolver) -> None:
        """Find the addresses of the servers that the guard admits.

        It admits all addresses of a proxy: the user's environment or code has chosen it, and no page.
        """
        entries = []
        seconds = min(self._handler.connect_seconds, self._seconds)
        try:
            for host, port, name, is_proxy in self.wanted.servers:
                found = await resolver.resolve(host, port, seconds, is_trusted=is_proxy)
                # libcurl begins with IPv6. Where that is not the first, it leads nowhere.
                used = [each for each in found if each.version <= found[0].version]
                self._admitted.update(used)
                # The plus lets the entry expire in libcurl's cache.
                entries.append(f"+{name}:{port}:{','.join(map(str, used))}".encode())
        except TimeoutError:
            raise self._late() from None
        self.wanted.options.append((pycurl.RESOLVE, entries))

    async def carry_out(self, curl: pycurl.Curl, multi: pycurl.AsyncCurlMulti) -> None:
        """Send the request and wait for its answer; raise what prevents that."""
        self._curl = curl
        for option, value in self.wanted.options:
            curl.setopt(option, value)
        curl.setopt(pycurl.URL, self.wanted.url.encode())
        largest = self._request.meta.get("download_maxsize", self._handler.largest)
        if self._request.method == "HEAD":
            largest = 0  # what is announced does not come
        curl.setopt(pycurl.MAXFILESIZE_LARGE, largest)
        curl.setopt(pycurl.TIMEOUT_MS, max(1, int((self._seconds - time() + self._began) * 1000)))
        # The addresses hold until the end: libcurl must not look up any itself.
        curl.setopt(pycurl.DNS_CACHE_TIMEOUT, int(self._seconds) + 1)
        curl.setopt(pycurl.HEADERFUNCTION, self._take_line)
        curl.setopt(pycurl.WRITEFUNCTION, self._take)
        curl.setopt(pycurl.PREREQFUNCTION, self._send)
        curl.setopt(pycurl.OPENSOCKETFUNCTION, self._open)
        code, words = pycurl.E_OK, ""
        try:
            self._done = multi.add_handle(curl)
            await self._done
        except pycurl.error as error:
            code, words = error.args
        except (asyncio.CancelledError, RuntimeError):
            if not multi.closed:
                raise
            raise DownloadFailedError("the downloader is closed") from None
        finally:
            if self._alarm is not None:
                self._alarm.cancel()
            if self._holding is not None:
                self._holding.cancel()
        if self._error is None and code == pycurl.E_OPERATION_TIMEDOUT:
            self._error = self._late()
        elif self._error is None and (code or self.head is None):
            self._error = failure_of(self, curl, code, words)
        fails = self._request.meta.get("download_fail_on_dataloss", self._handler.fails_on_loss)
        if isinstance(self._error, ResponseDataLossError) and not fails:
            self._truncated = "disconnect"
        elif self._error is not None and not isinstance(self._error, Enough):
            raise self._error

    def response(self) -> Response:
        """Return the answer for Scrapy, and note the exchange for the archive."""
        head, request = self.head, self._request
        assert head is not None
        body = bytes(self._body)
        if 0 < request.meta.get("download_warnsize", self._handler.large) < len(body):
            logger.warning("%s has %d bytes, which is large.", request, len(body))
        kind = responsetypes.from_args(headers=self._headers, url=request.url, body=body)
        response = kind(
            request.url,
            head.status,
            body=body,
            ip_address=self._address,
            protocol=f"HTTP/{head.version}",
        )
        # Given as an argument they would be copied, and each normalised once more.
        response.headers = self._headers
        if self._truncated == "disconnect":
            response.flags.append("dataloss")
        if self._stop is not None:
            response.flags.append("download_stopped")
        if self._handler.archives:
            request.meta["exchange"] = self._exchange(head, body)
        if self._stop is not None and self._stop.fail:
            self._stop.response = response
            raise self._stop
        return response

    def _exchange(self, head: Head, body: bytes) -> Exchange:
        """Return what went over the line, for the archive, without passwords: of the URL, or in a form."""
        return Exchange(
            url=without_userinfo(self._request.url),
            method=self._request.method,
            asked=tuple(self.wanted.headers),
            sent=b"",
            version=head.version,
            status=head.status,
            reason=head.reason,
            headers=tuple(head.headers),
            body=body,
            address="" if self._request.meta.get("proxy") else str(self._address),
            began=self._began,
            seconds=time() - self._began,
            truncated=self._truncated,
        )

    # --- for libcurl ---

    def _open(self, purpose: int, address: Any) -> Any:
        family, kind, protocol, place = address
        self.is_sent = False  # if it was, over a kept connection that has ended
        try:
            if ip_address(place[0]) not in self._admitted:
                raise DownloadFailedError(f"{place[0]} is no address of {self.wanted.url}.")
            opened = socket.socket(family, kind, protocol)
            self._loop.call_soon(opened.close)  # pycurl takes a copy
            return opened
        except OSError as error:
            self._error = DownloadConnectionRefusedError(str(error))
            self._error.__cause__ = error
        except DownloadFailedError as error:
            self._error = error
        return pycurl.SOCKET_BAD

    def _send(self, address: str, own_address: str, port: int, own_port: int) -> int:
        """Note that the request is sent over a connection."""
        self._error = None  # of an address that was tried before
        self.is_sent = True
        self._address = ip_address(address)
        if self._alarm is None:
            late = FirstByteTimeoutError(f"No answer of {self.wanted.url} in time.")
            self._alarm = self._loop.call_later(self._handler.head_seconds, self._fail, late)
        return int(pycurl.PREREQFUNC_OK)

    def _take_line(self, line: bytes) -> int | None:
        """Take a line of a head; which lines are one, libcurl decides."""
        if self.head is not None:  # a trailer
            return None
        if line not in _BLANK:
            self._lines.append(line)
            return None
        try:
            head = _head_of(self._lines)
            self._lines.clear()
            if head.status >= 200 or head.status == 101:
                self._take_head(head)
            return None
        except Exception as error:
            self._error = error
            return 0

    def _take(self, data: bytes) -> int | None:
        try:
            return self._take_piece(data)
        except Exception as error:
            self._error = error
            return 0

    # --- what these raise ends the transfer ---

    def _take_head(self, head: Head) -> None:
        self.head = head
        if self._alarm is not None:
            self._alarm.cancel()
        self._request.meta["download_latency"] = time() - self._began
        for name, value in head.headers:
            dict.setdefault(self._headers, name.title(), []).append(value)
        lengths = dict.get(self._headers, b"Content-Length", ())
        length = int(lengths[-1][:18]) if lengths and lengths[-1].isdigit() else None
        self._tell(signals.headers_received, headers=self._headers, body_length=length)
        # What follows 101 is another protocol.
        if head.status == 101 or (head.status >= 300 and not self._handler.reads_all):
            raise Enough

    def _take_piece(self, piece: bytes) -> int | None:
        """Keep a piece of the body; or have libcurl pause until there is memory for it."""
        size, memory = self._size + len(piece), self._handler.memory
        is_last = size >= self._most
        if is_last:
            piece = piece[: self._most - self._size]
        elif size > _LARGE and memory is not None and not memory.admits(self._request, size):
            self._holding = asyncio.ensure_future(self._hold(memory, size))
            return int(pycurl.WRITEFUNC_PAUSE)
        self._body += piece
        self._size += len(piece)
        self._tell(signals.bytes_received, data=piece)
        if is_last:
            self._truncated = "length"
            raise Enough
        return None

    def _tell(self, signal: object, **what: Any) -> None:
        """Send a signal; raise Enough if who hears it stops the download."""
        crawler = self._handler.crawler
        if not is_heard(crawler.signals.sender, signal):
            return
        for _, result in crawler.signals.send_catch_log(
            signal=signal, request=self._request, spider=crawler.spider, **what
        ):
            if isinstance(result, Failure) and isinstance(result.value, StopDownload):
                self._stop, self._truncated = result.value, "unspecified"
                raise Enough

    # --- for the loop ---

    async def _hold(self, memory: DownloadMemory, size: int) -> None:
        try:
            await memory.hold(self._request, size)
            self._curl.pause(pycurl.PAUSE_CONT)
        except Exception as error:
            self._fail(error)

    def _fail(self, error: Exception) -> None:
        """End the transfer from outside of libcurl."""
        if not self._done.done():
            self._done.set_exception(error)

    def _late(self) -> DownloadTimeoutError:
        is_whole = self.is_sent or self._seconds <= self._handler.connect_seconds
        late = DownloadTimeoutError if is_whole else ConnectTimeoutError
        return late(f"No answer of {self.wanted.url} in time.")


def _head_of(lines: list[bytes]) -> Head:
    """Return the head of an answer whose lines libcurl has accepted."""
    first, *rest = lines or (b"",)
    parts = _STATUS.match(first)
    if parts is None:  # of two numbers or a tab, libcurl makes something
        raise DownloadFailedError("it does not answer in HTTP")
    version, status, reason = parts.groups(b"")
    headers = []
    for line in rest:
        name, _, value = line.partition(b":")
        headers.append((name.rstrip(b" \t"), value.strip(b" \t\r\n")))
    return Head(version.decode(), int(status), reason, headers)
