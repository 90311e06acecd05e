"""A connection of aiohttp that accepts answers only to its requests."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Any

from aiohttp import SocketTimeoutError
from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import BadHttpMessage

if TYPE_CHECKING:
    import asyncio

    from aiohttp.http import RawResponseMessage
    from aiohttp.streams import StreamReader

# Heads of one answer: the final one, and informational ones (100 Continue, 103 Early Hints).
_MOST_HEADS = 10


class StrictConnection(ResponseHandler):
    """Limits the time for a head and the number of informational heads, and closes if anything arrives
    while it is kept for later.

    aiohttp would take that for the answer to the next request. It limits the time between two pieces of an
    answer, but not the time for a head that comes a byte at a time.
    """

    _is_kept = False
    _heads = 0
    _alarm: asyncio.TimerHandle | None = None

    def __init__(self, loop: asyncio.AbstractEventLoop, patience: float) -> None:
        super().__init__(loop)
        self._call_later = loop.call_later
        self._patience = patience

    def keep(self) -> None:
        """Wait for another request."""
        self._is_kept = True

    def set_response_params(self, **parameters: Any) -> None:
        self._is_kept = False
        self._heads = 0
        self._stop_waiting()
        self._alarm = self._call_later(self._patience, self._give_up)
        super().set_response_params(**parameters)

    async def read(self) -> tuple[RawResponseMessage, StreamReader]:
        self._heads += 1
        if self._heads > _MOST_HEADS:
            raise BadHttpMessage("too many informational answers")
        head, body = await super().read()
        if head.code >= 200:
            self._stop_waiting()
        return head, body

    def _give_up(self) -> None:
        self.set_exception(SocketTimeoutError(f"No head within {self._patience:g} seconds"))

    def _stop_waiting(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None

    def connection_lost(self, exc: BaseException | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_kept and data:  # aiohttp also calls it without data
            self.close()
        else:
            super().data_received(data)

    def is_connected(self) -> bool:
        if not super().is_connected():
            return False
        # Data or the end of the connection may wait in the socket.
        return not self._is_kept or not (self.should_close or self._has_input())

    def _has_input(self) -> bool:
        assert self.transport is not None
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(poll.poll(0))
