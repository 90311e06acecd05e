"""A connection that carries one request and its answer at a time."""

from __future__ import annotations

import asyncio
import select
from typing import TYPE_CHECKING, Any, cast

from scrapy.exceptions import DownloadFailedError, DownloadTimeoutError

from rdfaspider.downloader.failures import FirstByteTimeoutError
from rdfaspider.downloader.http1.answer import Answer, BadAnswer

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable
    from ipaddress import IPv4Address, IPv6Address

    from rdfaspider.downloader.http1.request import Place, Wanted

# Bytes of a body that wait to be read, above which the server has to wait too.
_ENOUGH = 1 << 17


class CutShort(Exception):
    """A body ended before its end, or cannot be read further."""


class Connection(asyncio.Protocol):
    """A connection to an address that the guard admitted.

    Layout: the answer that is awaited, the pieces of its body that nobody has read, and the future of whoever
    waits for more. Without an answer the connection is idle.
    Invariant: nothing that comes while it is idle is ever read as an answer; it closes the connection. So
    does whatever comes after the end of an answer.
    """

    def __init__(
        self,
        loop: asyncio.AbstractEventLoop,
        place: Place,
        address: IPv4Address | IPv6Address,
        on_idle_end: Callable[[Connection], None],
    ) -> None:
        self.place = place
        self.address = address
        self.certificate: bytes | None = None
        self.kept_at = 0.0
        self.answer: Answer | None = None
        self._loop = loop
        self._on_idle_end = on_idle_end
        self._transport: asyncio.Transport = cast("asyncio.Transport", None)
        self._poll = select.poll()
        self._pieces: list[bytes] = []
        self._size = 0
        self._is_paused = False
        self._is_lost = False
        self._is_last = False
        self._failure: Exception | None = None
        self._waiter: asyncio.Future[None] | None = None
        self._alarm: asyncio.TimerHandle | None = None
        self._deadline = 0.0

    # --- for whoever fetches ---

    def ask(self, wanted: Wanted, patience: float, deadline: float) -> None:
        """Send a request. Its head must come within `patience` seconds, all of it until `deadline`, a time of
        the loop."""
        self.answer = Answer(has_body=not wanted.head.startswith((b"HEAD ", b"CONNECT ")))
        self._is_last = wanted.is_last
        self._deadline = deadline
        late = self._loop.time() + patience
        if late < deadline:
            self._alarm = self._loop.call_at(late, self._be_late, FirstByteTimeoutError)
        else:
            self._alarm = self._loop.call_at(deadline, self._be_late, DownloadTimeoutError)
        self._transport.write(wanted.head + wanted.body if wanted.body else wanted.head)

    async def receive_head(self) -> Answer:
        """Wait for the head of the answer."""
        answer = self.answer
        assert answer is not None
        while answer.head is None:
            if self._failure is not None:
                raise self._failure
            await self._change()
        return answer

    async def receive(self) -> bytes:
        """Wait for more of the body; return b"" at its end, raise CutShort if that is missing."""
        answer = self.answer
        assert answer is not None
        while not self._pieces:
            if self._failure is not None:
                raise self._failure
            if answer.is_complete:
                return b""
            await self._change()
        pieces, self._pieces, self._size = self._pieces, [], 0
        if self._is_paused and not self._transport.is_closing():
            self._is_paused = False
            self._transport.resume_reading()
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    def take_whole(self, most: int) -> bytes | None:
        """Return the body if all of it is there; None if not, or if it has more than `most` bytes."""
        answer = self.answer
        assert answer is not None
        if not answer.is_complete or self._failure is not None or self._size > most:
            return None
        pieces, self._pieces, self._size = self._pieces, [], 0
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def secure(self, tls: ssl.SSLContext, host: str, last_words: float) -> None:
        """Go on by TLS with whom a proxy has connected; the answer of the proxy is forgotten."""
        self._forget_answer()
        transport = await self._loop.start_tls(
            self._transport, self, tls, server_hostname=host, ssl_shutdown_timeout=last_words
        )
        if transport is None:
            raise ConnectionAbortedError("The connection ended before TLS began.")
        self.connection_made(transport)

    def finish(self) -> bool:
        """Forget the answer; return whether another request may be sent. If not, the connection is closed."""
        answer = self._forget_answer()
        if answer is None or not answer.is_complete or self._failure is not None:
            self.abort()
        elif not self._transport.is_closing():
            # A server may answer before all of a request was sent.
            if not (self._is_last or answer.is_last or self._transport.get_write_buffer_size()):
                return True
            self._transport.close()
        return False

    @property
    def is_usable(self) -> bool:
        """Tell whether an idle connection is open and nothing came on it."""
        return not (self._is_lost or self._transport.is_closing() or self._poll.poll(0))

    def abort(self) -> None:
        if not self._is_lost:
            self._transport.abort()

    def info(self, name: str) -> Any:
        """Return what the transport knows, as `ssl_object`."""
        return self._transport.get_extra_info(name)

    # --- for the loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)
        self._poll.register(transport.get_extra_info("socket").fileno(), select.POLLIN)
        if (tls := transport.get_extra_info("ssl_object")) is not None:
            self.certificate = tls.getpeercert(binary_form=True)

    def data_received(self, data: bytes) -> None:
        answer = self.answer
        if answer is None:
            self._transport.abort()
            return
        if self._failure is not None:
            return
        had_head = answer.head is not None
        try:
            piece = answer.feed(data)
        except BadAnswer as error:
            self._fail(DownloadFailedError(str(error)))
            return
        if piece:
            self._pieces.append(piece)
            self._size += len(piece)
            has_more = not (self._is_paused or answer.is_complete)
            if self._size > _ENOUGH and has_more and not self._transport.is_closing():
                self._is_paused = True
                self._transport.pause_reading()
        if answer.fault:
            self._fail(CutShort(answer.fault))
        elif answer.is_complete:
            self._stop_alarm()
        elif not had_head and answer.head is not None:
            self._stop_alarm()
            self._alarm = self._loop.call_at(self._deadline, self._be_late, DownloadTimeoutError)
        if answer.head is not None:
            self._wake()

    def eof_received(self) -> None:
        self._end_input(None)

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost = True
        if self.answer is None:
            self._on_idle_end(self)
        else:
            self._end_input(exc)

    def _end_input(self, error: Exception | None) -> None:
        answer = self.answer
        if answer is None or answer.is_complete or self._failure is not None:
            return
        if error is not None:
            failure: Exception = (
                DownloadFailedError(str(error)) if answer.head is None else CutShort(str(error))
            )
            failure.__cause__ = error
            self._fail(failure)
            return
        try:
            answer.feed_end()
        except BadAnswer as problem:
            self._fail(DownloadFailedError(str(problem)))
            return
        if answer.fault:
            self._fail(CutShort(answer.fault))
        else:
            self._stop_alarm()
            self._wake()

    # --- inside ---

    def _forget_answer(self) -> Answer | None:
        answer, self.answer = self.answer, None
        self._stop_alarm()
        self._waiter = None
        self._pieces, self._size = [], 0
        return answer

    def _fail(self, failure: Exception) -> None:
        """End the exchange. What has come of a body can still be read."""
        self._stop_alarm()
        if self._failure is None:
            self._failure = failure
        self.abort()
        self._wake()

    def _be_late(self, kind: type[Exception]) -> None:
        self._alarm = None
        self._fail(kind())

    def _change(self) -> asyncio.Future[None]:
        """Return a future that is done when something came."""
        self._waiter = self._loop.create_future()
        return self._waiter

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def _stop_alarm(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
