"""Domains whose pages took down a worker lately; all of them share one worker.

A page that times out, needs too much memory or crashes a parser keeps a worker busy for seconds. A few
hosts with such pages could keep all workers busy, and no other page would be read. So pages of suspects
are read one at a time. Only a limited number may wait, since pages that are not read yet count towards the
memory of the crawl. A page for which there is no room goes back to the frontier.
"""

from __future__ import annotations

import asyncio
import contextlib
from typing import TYPE_CHECKING

from rdfaspider.extract.pool.process import ExtractionFailed
from rdfaspider.urls import registered_domain

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

# Good pages that cancel one strike.
_GOOD = 10
# Domains to remember; the one with the oldest last strike is dropped.
_MOST = 1_000
# Bytes of pages that may wait, and the least that a page counts for. So at most 16 pages wait: if each of
# them times out after 30 seconds, the last is done before its lease in the frontier expires.
_ROOM = 8 << 20
_LEAST = _ROOM // 16


class Suspects:
    """Counts strikes by registered domain, since subdomains are free, and queues pages of suspects."""

    def __init__(self) -> None:
        # A strike adds _GOOD points, a good page takes one off.
        self._points: dict[str, int] = {}
        self._turn = asyncio.Lock()
        self._waiting = 0
        self._is_closed = False

    def close(self) -> None:
        """Refuse all pages from now on, also those that wait."""
        self._is_closed = True

    def __contains__(self, url: str) -> bool:
        return bool(self._points) and registered_domain(url) in self._points

    def strikes(self, url: str) -> int:
        return -(-self._points.get(registered_domain(url), 0) // _GOOD)

    def strike(self, url: str) -> None:
        """Count a page that took down a worker."""
        domain = registered_domain(url)
        self._points[domain] = self._points.pop(domain, 0) + _GOOD
        if len(self._points) > _MOST:
            del self._points[next(iter(self._points))]

    def forgive(self, url: str) -> None:
        """Count a good page."""
        if url in self:
            domain = registered_domain(url)
            self._points[domain] -= 1
            if not self._points[domain]:
                del self._points[domain]

    @contextlib.asynccontextmanager
    async def turn(self, size: int) -> AsyncIterator[None]:
        """Wait until a page of `size` bytes may be read; raise ExtractionFailed if too many wait."""
        weight = max(size, _LEAST)
        if self._is_closed or (self._waiting and self._waiting + weight > _ROOM):
            raise ExtractionFailed("busy")
        self._waiting += weight
        try:
            await self._turn.acquire()
        finally:
            self._waiting -= weight
        try:
            if self._is_closed:
                raise ExtractionFailed("busy")
            yield
        finally:
            self._turn.release()
