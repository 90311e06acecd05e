"""Downloads the file in which a service speaks to robots: robots.txt, or tdmrep.json."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from scrapy.http.request import NO_CALLBACK

from rdfaspider import clock, urls
from rdfaspider.compat import VerbatimRequest
from rdfaspider.fetchmeta import meta_of
from rdfaspider.frontier.politeness import Demand
from rdfaspider.middlewares.contenttype import moved_to
from rdfaspider.middlewares.turns import Postponed, frontier_of
from rdfaspider.signals import hosts_unplaced

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

# Seconds that the spider's own request waits for the turn of another host.
_PATIENCE = 60.0

# Redirects in a row that RFC 9309 asks to be followed.
_MAX_REDIRECTS = 5


class ServiceFiles:
    """One file of each service, at a place such as /robots.txt.

    A request for it is a request to the host, so it takes the turn of the page that needed it. Each
    redirect takes another turn, and a redirect to another host takes the turn of that host too. However
    many pages wait for it, it is downloaded once.
    """

    def __init__(self, crawler: Crawler, place: str, **meta: Any) -> None:
        self._crawler = crawler
        self._place = place
        self._meta = meta
        self._asking: dict[str, asyncio.Event] = {}
        # Where to look next for the file of a service, and after how many redirects.
        self._moved: dict[str, tuple[str, int]] = {}

    async def once(self, service: str, ask: Callable[[], Awaitable[None]]) -> None:
        """Ask for the file of a service, or wait until somebody who has asked already is done."""
        if asked := self._asking.get(service):
            await asked.wait()
            return
        self._asking[service] = asyncio.Event()
        try:
            await ask()
        finally:
            self._asking.pop(service).set()

    def where(self, service: str) -> tuple[str, int]:
        """Return the URL to look at next, and how many redirects have led there."""
        return self._moved.get(service, (service + self._place, 0))

    def stop_following(self, service: str) -> None:
        self._moved.pop(service, None)

    async def download(self, service: str, request: Request) -> Response | None:
        """Return the answer for a page's request; None if the file has moved, which takes another turn.

        Raise what the download raises, and Postponed if it is not the turn of the host it has moved to.
        """
        url, hops = self.where(service)
        try:
            response = await self._download_in_turn(service, url, request)
        except Exception as error:
            if not getattr(error, "postpones", False):
                self.stop_following(service)
            raise
        self.stop_following(service)
        if hops < _MAX_REDIRECTS and (target := moved_to(response)):
            self._moved[service] = (target, hops + 1)
            return None
        return response

    async def _download_in_turn(self, service: str, url: str, request: Request) -> Response:
        """Download a file in the turn of the page, or of the host to which the file has moved."""
        if urls.host(url) == urls.host(f"{service}/"):
            return await self._download(url)
        frontier = frontier_of(self._crawler)
        host, address = (
            meta_of(request).get("host"),
            await address_of(self._crawler, urls.host(url)),
        )
        while wait := frontier.borrow(host, url, address, now := clock.now()):
            if host is not None:
                frontier.slow_down(host, now, Demand(pause=wait))
                raise Postponed
            if wait > _PATIENCE:
                raise TimeoutError(f"{service}{self._place} has moved to a busy host")
            await asyncio.sleep(wait)
        try:
            return await self._download(url)
        finally:
            frontier.repay(url, clock.now())

    async def _download(self, url: str) -> Response:
        meta = {"robots": True, "dont_redirect": True, "dont_retry": True, "verbatim_url": True}
        request = VerbatimRequest(url, callback=NO_CALLBACK, meta=meta | self._meta, priority=1000)
        return await self._crawler.engine.download_async(request)


async def address_of(crawler: Crawler, name: str) -> str:
    """Return the address of a host, "" if it has none or nobody answers."""
    found: asyncio.Future[str] = asyncio.get_running_loop().create_future()

    def place(_: int, address: str) -> None:
        if not found.done():
            found.set_result(address)

    heard = crawler.signals.send_catch_log(hosts_unplaced, hosts=[(-1, name)], place=place)
    return await found if heard else ""
