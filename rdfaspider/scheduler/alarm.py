"""Wakes Scrapy's engine when a host gets ready, not at its next heartbeat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rdfaspider.compat import wake

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class Alarm:
    """Makes the engine ask for the next request, now or later; the last call counts."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._timer: Any = None

    def ring(self) -> None:
        """Wake the engine now."""
        self.stop()
        wake(self._crawler)

    def ring_in(self, seconds: float | None) -> None:
        """Wake the engine after some seconds; None means not at all."""
        self.stop()
        if seconds is not None:
            from scrapy.utils.asyncio import call_later  # from 2.14

            self._timer = call_later(seconds, self.ring)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
