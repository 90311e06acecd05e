"""Bounds the memory of large downloads."""

from __future__ import annotations

import asyncio
from itertools import islice
from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request

# Seconds between two checks for memory, and until a download is postponed.
_PAUSE = 0.1
_PATIENCE = 15.0


class Crowded(IgnoreRequest):
    """A download was postponed because large ones used all their memory."""

    postpones = True


class DownloadMemory:
    """Lets large downloads go on while they and the pages not parsed yet fit into a budget.

    Layout: the bytes of each large download, in the order in which they became large, and the downloads
    that wait. A waiting download does not read, so its server waits too.
    Invariant: beyond the budget only the oldest goes on, and only while the pages not parsed yet take less
    than half of it. Parsing makes those fewer, so there is always progress.
    """

    def __init__(self, budget: int, unread: Callable[[], int]) -> None:
        """`unread()` returns the bytes of pages that were downloaded and not parsed yet."""
        self.budget = budget
        self.crowded = 0  # downloads that were postponed
        self._unread = unread
        self._held: dict[Request, int] = {}
        self._total = 0
        self._waited: set[Request] = set()
        self._waiting: dict[Request, asyncio.Future[None]] = {}
        self._timer: asyncio.TimerHandle | None = None

    def admits(self, request: Request, size: int) -> bool:
        """Note the size of a large download; return whether it may go on."""
        self._total += size - self._held.get(request, 0)
        self._held[request] = size
        return self._may_go_on(request)

    async def hold(self, request: Request, size: int) -> None:
        """Note the size of a large download, and wait until it may go on; else raise Crowded."""
        if self.admits(request, size):
            return
        self._waited.add(request)
        try:
            async with asyncio.timeout(_PATIENCE):
                while not self._may_go_on(request):
                    await self._turn(request)
        except TimeoutError:
            raise self.put_off(request) from None
        finally:
            self._waiting.pop(request, None)

    def put_off(self, request: Request) -> Crowded:
        self.crowded += 1
        return Crowded(f"{request.url} waits until other large pages are parsed.")

    def has_waited(self, request: Request) -> bool:
        return request in self._waited

    def release(self, request: Request) -> None:
        """Forget a download that has ended, large or not."""
        if self._held and (size := self._held.pop(request, 0)):
            self._total -= size
            self._waited.discard(request)
            self._wake()

    def _free(self) -> int:
        """Return how many downloads may go on, the oldest first."""
        unread = self._unread()
        if self._total + unread <= self.budget:
            return len(self._held)
        return 1 if unread <= self.budget // 2 else 0

    def _may_go_on(self, request: Request) -> bool:
        free = self._free()
        return free == len(self._held) or (free == 1 and next(iter(self._held)) is request)

    def _turn(self, request: Request) -> asyncio.Future[None]:
        """Return a future that is done when the download may go on."""
        self._waiting[request] = turn = asyncio.get_running_loop().create_future()
        self._look_later()
        return turn

    def _look_later(self) -> None:
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_PAUSE, self._wake)

    def _wake(self) -> None:
        """Have those go on that may; hundreds of others may wait, and to wake them all would cost much."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._waiting:
            return
        for request in islice(self._held, self._free()):
            turn = self._waiting.pop(request, None)
            if turn is not None and not turn.done():  # else the download was given up
                turn.set_result(None)
        if self._waiting:
            self._look_later()
