"""One request and its answer, as libcurl tells of them."""

from __future__ import annotations

import asyncio
import re
import socket
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NamedTuple

import pycurl  # type: ignore[import-untyped]

from rdfaspider.compat import (
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
)
from rdfaspider.downloader.failures import (
    ConnectTimeoutError,
    FirstByteTimeoutError,
    failure_of,
)

if TYPE_CHECKING:
    from rdfaspider.downloader.request import Wanted
    from rdfaspider.resolver import Resolver
    from rdfaspider.resolver.addresses import Address


_BLANK = (b"\r\n", b"\n")
_STATUS = re.compile(rb"HTTP/([0-9.]+) +([0-9]{3})[0-9]*(?: +([^\r\n]*))?")


class Enough(Exception):
    """No more of a body is wanted than has come."""


class Head(NamedTuple):
    """The first line and the headers of an answer, in their order and as they came."""

    version: str
    status: int
    reason: bytes
    headers: list[tuple[bytes, bytes]]


class Timeouts(NamedTuple):
    """Seconds for a connection with TLS, from then on until the head is there, and for everything."""

    connect: float
    head: float
    whole: float


class Transfer:
    """A request, and as much of its answer as has come.

    libcurl calls from inside of its own functions, where most of them may not be called again; what is raised
    there is kept, and ends the transfer.
    Invariant: a socket is opened to addresses that the guard admitted for this request, and to no other.
    """

    def __init__(self, wanted: Wanted, timeouts: Timeouts) -> None:
        self.wanted = wanted
        self.head: Head | None = None
        self.address: Address | None = None  # of who was asked
        self.body: list[bytes] = []
        self.size = 0
        self.sent_at = 0.0  # a time of the loop
        # For each server its entry in libcurl's cache, which a plus lets expire, and its addresses by text.
        self._found: list[tuple[str, dict[str, Address]]] = []
        self._timeouts = timeouts
        self._lines: list[bytes] = []
        self._error: Exception | None = None
        self._curl: pycurl.Curl = None
        self._loop = asyncio.get_running_loop()
        self._began = self._loop.time()
        self._alarm: asyncio.TimerHandle | None = None
        self._done: asyncio.Future[None] = self._loop.create_future()

    async def look_up(self, resolver: Resolver) -> None:
        """Find the addresses of the servers that the guard admits.

        It admits all addresses of a proxy: the user's environment or code has chosen it, and no page.
        """
        timeouts = self._timeouts
        seconds = min(timeouts.connect, timeouts.whole)
        try:
            for host, port, name, is_proxy in self.wanted.servers:
                found = await resolver.resolve(host, port, seconds, is_trusted=is_proxy)
                self._found.append(_entry(name, port, tuple(found)))
        except TimeoutError:
            is_late = timeouts.whole < timeouts.connect
            late = DownloadTimeoutError if is_late else ConnectTimeoutError
            raise late(f"No address for {self.wanted.url} in time.") from None

    # --- for who subclasses it; what they raise ends the transfer ---

    def head_came(self) -> None:
        """Look at the head."""

    def piece_came(self, piece: bytes) -> int | None:
        """Keep a piece of the body; or return pycurl.WRITEFUNC_PAUSE, to have it again after `go_on`."""
        self.body.append(piece)
        self.size += len(piece)
        return None

    def go_on(self) -> None:
        """Have a transfer that pauses go on."""
        if not self._done.done():
            self._curl.pause(pycurl.PAUSE_CONT)

    # --- for the client ---

    def prepare(self, curl: pycurl.Curl) -> None:
        """Tell libcurl all of the request."""
        self._curl = curl
        setopt = curl.setopt
        setopt(pycurl.URL, self.wanted.url.encode())
        setopt(pycurl.HTTPHEADER, self.wanted.lines)
        setopt(pycurl.RESOLVE, [entry for entry, _ in self._found])
        setopt(pycurl.HEADERFUNCTION, self._take_line)
        setopt(pycurl.WRITEFUNCTION, self._take)
        setopt(pycurl.PREREQFUNCTION, self._send)
        setopt(pycurl.OPENSOCKETFUNCTION, self._open)
        for option, value in self.wanted.options:
            setopt(option, value)

    async def finished(self) -> None:
        """Wait until the answer is complete; raise what has prevented that."""
        self._alarm = self._loop.call_at(self._began + min(self._timeouts), self._check_time)
        try:
            await self._done
        finally:
            self._alarm.cancel()

    def finish(self, code: int, words: str) -> None:
        """Take note that libcurl is done."""
        if self._done.done():  # its time was over at the same moment, or it was given up
            return
        if self._error is None and (code or self.head is None):
            self._error = failure_of(self, self._curl, code, words)
        if self._error is None or isinstance(self._error, Enough):
            self._done.set_result(None)
        else:
            self._done.set_exception(self._error)

    def fail(self, failure: Exception) -> None:
        """End the transfer from outside of libcurl."""
        if not self._done.done():
            self._done.set_exception(failure)

    def _check_time(self) -> None:
        timeouts, now = self._timeouts, self._loop.time()
        last = self._began + timeouts.whole
        late: type[Exception]
        if not self.sent_at:
            end, late = self._began + timeouts.connect, ConnectTimeoutError
        elif self.head is None:
            end, late = self.sent_at + timeouts.head, FirstByteTimeoutError
        else:
            end, late = last, DownloadTimeoutError
        if end >= last:
            end, late = last, DownloadTimeoutError
        if now < end:
            self._alarm = self._loop.call_at(end, self._check_time)
        else:
            self.fail(late(f"No answer of {self.wanted.url} in time."))

    # --- for libcurl ---

    def _open(self, purpose: int, address: Any) -> Any:
        family, kind, protocol, place = address
        self.sent_at = 0.0  # if it was sent, then over a kept connection that has ended
        try:
            if self._admitted(place[0]) is None:
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

    def _admitted(self, text: str) -> Address | None:
        """Return an address as the guard has admitted it, None if it has not."""
        for _, addresses in self._found:
            if text in addresses:
                return addresses[text]
            address = ip_address(text)  # there are several ways to write one
            if address in addresses.values():
                return address
        return None

    def _send(self, address: str, own_address: str, port: int, own_port: int) -> Any:
        """Note that the request is sent over a connection."""
        self._error = None  # of an address that was tried before
        self.sent_at = self._loop.time()
        self.address = self._admitted(address) or ip_address(address)
        return pycurl.PREREQFUNC_OK

    def _take_line(self, line: bytes) -> int | None:
        """Take a line of a head; which lines are one, libcurl decides."""
        if self.head is not None:  # a trailer
            return None
        if line not in _BLANK:
            self._lines.append(line)
            return None
        try:
            head = _head_of(self._lines)
            if head.status < 200 and head.status != 101:
                self._lines.clear()
                return None
            self.head = head
            self.head_came()
            if head.status == 101:  # what follows is another protocol
                raise Enough
            return None
        except Exception as error:
            self._error = error
            return 0

    def _take(self, data: bytes) -> int | None:
        try:
            return self.piece_came(data)
        except Exception as error:
            self._error = error
            return 0


@lru_cache(maxsize=4_096)
def _entry(name: str, port: int, found: tuple[Address, ...]) -> tuple[str, dict[str, Address]]:
    """Return an entry for libcurl's cache, and the addresses in it by their texts."""
    # libcurl begins with IPv6. Where that is not the first, it leads nowhere.
    texts = {str(each): each for each in found if each.version <= found[0].version}
    return f"+{name}:{port}:{','.join(texts)}", texts


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
