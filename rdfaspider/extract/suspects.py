"""The domains whose pages have lately cost a worker: all together they get one worker, no more.

A page that times out, needs too much memory or crashes a parser costs a worker for seconds. A few
hosts with such pages would have all workers busy with them, and nobody else's pages read. So the pages
of a suspect wait for each other. What waits is bounded, for the crawl has only so much room for pages
that are not read yet; a page beyond that is put back.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from rdfaspider.extract.process import ExtractionFailed
from rdfaspider.urls import registered_domain

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

# Good pages that make up for a bad one.
_GOOD = 10
# Domains remembered; the one whose last strike is longest ago is forgotten.
_MOST = 1_000
# Bytes that may wait, and those that a page counts for at least. So at most 16 wait: by the time that all of
# them have timed out, in half a minute each, no lease of the frontier has expired.
_ROOM = 8 << 20
_LEAST = _ROOM // 16


class Suspects:
    """Counts strikes by registered domain, for names below one cost nothing; and keeps the line."""

    def __init__(self) -> None:
        # A strike counts _GOOD points, a good page takes one off.
        self._points: dict[str, int] = {}
        self._turn = asyncio.Lock()
        self._waiting = 0

    def __bool__(self) -> bool:
        return bool(self._points)

    def __contains__(self, url: str) -> bool:
        return bool(self._points) and registered_domain(url) in self._points

    def strikes(self, url: str) -> int:
        return -(-self._points.get(registered_domain(url), 0) // _GOOD)

    def strike(self, url: str) -> int:
        """Take in a page that cost a worker; return the strikes of its domain."""
        domain = registered_domain(url)
        self._points[domain] = self._points.pop(domain, 0) + _GOOD
        if len(self._points) > _MOST:
            del self._points[next(iter(self._points))]
        return self.strikes(url)

    def forgive(self, url: str) -> None:
        """Take in a good page."""
        domain = registered_domain(url)
        if domain in self._points:
            self._points[domain] -= 1
            if not self._points[domain]:
                del self._points[domain]

    @contextlib.asynccontextmanager
    async def turn(self, size: int) -> AsyncIterator[None]:
        """Wait for the turn of a page of so many bytes; ExtractionFailed if too much waits already."""
        weight = max(size, _LEAST)
        if self._waiting and self._waiting + weight > _ROOM:
            raise ExtractionFailed("busy")
        self._waiting += weight
        try:
            await self._turn.acquire()
        finally:
            self._waiting -= weight
        try:
            yield
        finally:
            self._turn.release()
