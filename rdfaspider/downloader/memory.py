"""Bounds the memory of large downloads."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy import Request

# Seconds between two looks of a download that waits, and until a download is postponed.
_PAUSE = 0.1
_PATIENCE = 15.0


class Crowded(IgnoreRequest):
    """A download was postponed because large ones used all their memory."""

    postpones = True

    def __init__(self, url: str) -> None:
        super().__init__(f"{url} waits until other large pages are parsed.")


class DownloadMemory:
    """Lets large downloads go on while they and the pages not parsed yet fit into a budget.

    Layout: the bytes of each large download, in the order in which they became large. One that waits does
    not read, so its server waits too.
    Invariant: beyond the budget only the oldest goes on, and only while the pages not parsed yet take less
    than half of it. Parsing makes those fewer, so there is always progress.
    """

    def __init__(self, budget: int, unread: Callable[[], int]) -> None:
        """`unread()` returns the bytes of pages that were downloaded and not parsed yet."""
        self.budget = budget
        self._unread = unread
        self._held: dict[Request, int] = {}
        self._total = 0
        self._waited: set[Request] = set()

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
                    await asyncio.sleep(_PAUSE)
        except TimeoutError:
            raise Crowded(request.url) from None

    def has_waited(self, request: Request) -> bool:
        return request in self._waited

    def release(self, request: Request) -> None:
        """Forget a download that has ended, large or not."""
        if self._held and (size := self._held.pop(request, 0)):
            self._total -= size
            self._waited.discard(request)

    def _may_go_on(self, request: Request) -> bool:
        unread = self._unread()
        if self._total + unread <= self.budget:
            return True
        return unread <= self.budget // 2 and next(iter(self._held)) is request
