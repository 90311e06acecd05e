"""Wakes Scrapy's engine when a host gets ready, not at its next heartbeat."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.utils.asyncio import call_later

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class Alarm:
    """Has the engine ask for the next request, now or in a while; the last wish counts."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._timer: Any = None

    def ring(self) -> None:
        """Wake the engine now."""
        self.stop()
        slot = (
            self._crawler.engine._slot if self._crawler.engine else None
        )  # there is no public way
        if slot is not None:
            slot.nextcall.schedule()

    def ring_in(self, seconds: float | None) -> None:
        """Wake the engine in a while; None is not at all."""
        self.stop()
        if seconds is not None:
            self._timer = call_later(seconds, self.ring)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
