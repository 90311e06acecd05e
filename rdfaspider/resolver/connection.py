"""A connection of aiohttp that takes answers only to what was asked."""

from __future__ import annotations

import select
from typing import TYPE_CHECKING, Any

from aiohttp.client_proto import ResponseHandler
from aiohttp.http_exceptions import BadHttpMessage

if TYPE_CHECKING:
    from aiohttp.http import RawResponseMessage
    from aiohttp.streams import StreamReader

# Heads of one answer: a final one, and some that say 100 Continue or 103 Early Hints.
_MOST_HEADS = 10


class Connection(ResponseHandler):
    """Has an end to informational answers, and is closed if anything comes while it is kept for later.

    aiohttp would take that for the answer to the next request.
    """

    _is_kept = False
    _heads = 0

    def keep(self) -> None:
        """Wait for another request."""
        self._is_kept = True

    def set_response_params(self, **parameters: Any) -> None:
        self._is_kept = False
        self._heads = 0
        super().set_response_params(**parameters)

    async def read(self) -> tuple[RawResponseMessage, StreamReader]:
        self._heads += 1
        if self._heads > _MOST_HEADS:
            raise BadHttpMessage("too many informational answers")
        return await super().read()

    def data_received(self, data: bytes) -> None:
        if self._is_kept and data:  # aiohttp calls it without any to go on with what it has
            self.close()
        else:
            super().data_received(data)

    def is_connected(self) -> bool:
        if not super().is_connected():
            return False
        # What came just now may not have reached us yet, be it an answer or the end.
        return not self._is_kept or not (self.should_close or self._has_input())

    def _has_input(self) -> bool:
        assert self.transport is not None
        poll = select.poll()
        poll.register(self.transport.get_extra_info("socket").fileno(), select.POLLIN)
        return bool(poll.poll(0))
