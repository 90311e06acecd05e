"""Fetches what the scripts of a page ask for, by the crawl's own client.

So the address guard, robots.txt, certificates and the archive hold for each request. Requests to the page's
own host run as a browser makes them, a few at a time, in the turn of the page; then the host rests its delay
for each that was sent. Any other host is asked in a turn of its own, which the frontier lends: one request at
a time, and its delay after each.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, Self
from weakref import WeakValueDictionary

from scrapy.http.request import NO_CALLBACK

from rdfaspider import clock
from rdfaspider.compat import VerbatimRequest, download, scheduler_of
from rdfaspider.frontier.manners import Manners
from rdfaspider.frontier.politeness import Demand
from rdfaspider.middlewares.contenttype import moved_to
from rdfaspider.middlewares.robots import RobotsMiddleware
from rdfaspider.middlewares.servicefiles import address_of
from rdfaspider.middlewares.turns import demand_frontier, frontier_of
from rdfaspider.rendering.resources import Cache, Resource, Wish, headers_for
from rdfaspider.resolver import ForbiddenAddressError
from rdfaspider.signals import subresources_wanted
from rdfaspider.urls import host, normalise

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from rdfaspider.items import Page
    from rdfaspider.rendering.process import Fetch
    from rdfaspider.robots.record import RobotsRecord

# Requests at a time to the host of a page.
_AT_ONCE = 4
# The kind of requests whose answers a page runs, and cannot read.
_SCRIPT = "script"
# Redirects in a row that are followed.
_MAX_REDIRECTS = 5
# Bytes of one answer.
_LARGEST = 5 << 20


class Refused(Exception):
    """A request is not sent; the only argument says why: address, robots, busy, bytes or redirects."""


class _Visit(NamedTuple):
    """A page that is being rendered: its host, by name and number, and what was sent to that."""

    host: str
    number: int | None
    places: asyncio.Semaphore
    sent: list[str]
    url: str


class SubresourcesMiddleware:
    """Fetches subresources for all pages; scripts are fetched once for those that want them.

    Whoever renders asks for it by signal.
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._crawler = crawler
        self._cache = Cache()
        self._coming: dict[Wish, asyncio.Future[Resource]] = {}
        self._most_bytes = settings.getint("RENDER_MAX_BYTES")
        self._patience = settings.getfloat("RENDER_TIMEOUT")
        self._longest_delay = settings.getfloat("ROBOTS_MAX_CRAWL_DELAY")
        self._locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        # When a host that the frontier may not know has rested the Crawl-delay of its robots.txt.
        self._rested: dict[str, float] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler)
        demand_frontier(crawler, middleware)
        crawler.signals.connect(middleware.wanted, subresources_wanted)
        return middleware

    def wanted(self, give: Callable[[Any], None]) -> None:
        give(self.of_page)

    @asynccontextmanager
    async def of_page(self, page: Page) -> AsyncIterator[Fetch]:
        """Give what fetches for a page; let its host rest in the end for what was sent to it."""
        number = scheduler_of(self._crawler).host_of(page.number)
        places = asyncio.Semaphore(_AT_ONCE)
        visit = _Visit(host(page.url), number, places, [], page.url)
        left = self._most_bytes

        async def fetch(wish: Wish) -> Resource:
            nonlocal left
            found = await self._get(wish, visit) if left > 0 else Resource(refused="bytes")
            left -= len(found.body)
            if left < 0:
                found = Resource(refused="bytes")
            if found.refused:
                self._count(f"refused/{found.refused}")
            return found

        try:
            yield fetch
        finally:
            if visit.sent and number is not None and (pause := self._pause(page)):
                demand = Demand(pause=(len(visit.sent) + 1) * pause)
                frontier_of(self._crawler).slow_down(number, clock.now(), demand)

    def _pause(self, page: Page) -> float:
        """Return the seconds that the host of a page rests after each request."""
        record = self._robots and self._robots.known(page.url)
        asked = (record.rules.crawl_delay if record else None) or 0.0
        politeness = scheduler_of(self._crawler).politeness
        manners = Manners()
        manners.latency, manners.crawl_delay = page.latency, min(asked, self._longest_delay)
        name = host(page.url)
        manners.is_own = politeness.own is not None and politeness.own.includes(name)
        return float(politeness.pause(manners))

    @property
    def _robots(self) -> RobotsMiddleware | None:
        return self._crawler.get_downloader_middleware(RobotsMiddleware)

    async def _get(self, wish: Wish, visit: _Visit) -> Resource:
        """Return the answer to a wish; pages that want the same script at the same time share one request."""
        if (known := self._cache.get(wish)) is not None:
            self._count("cached")
            return known
        if wish.kind == _SCRIPT and (coming := self._coming.get(wish)) is not None:
            self._count("cached")
            return await asyncio.shield(coming)
        self._coming[wish] = coming = asyncio.get_running_loop().create_future()
        found = Resource(refused="busy")  # if the page is given up meanwhile
        try:
            found = await self._fetch(wish, visit)
            self._cache.keep(wish, found)
        except Refused as refused:
            found = Resource(refused=str(refused))
        except ForbiddenAddressError:
            found = Resource(refused="address")
        except Exception as error:  # whatever a server or its name does: the page goes on without
            is_busy = getattr(error, "postpones", False)
            found = Resource(refused="busy" if is_busy else "failed")
            self._cache.keep(wish, found)
        finally:
            if self._coming.get(wish) is coming:
                del self._coming[wish]
            coming.set_result(found)
        return found

    async def _fetch(self, wish: Wish, visit: _Visit) -> Resource:
        try:
            url = normalise(wish.url)
        except ValueError:
            raise Refused("url") from None
        for _ in range(_MAX_REDIRECTS + 1):
            response = await self._ask(url, wish, visit)
            if not (target := moved_to(response)):
                break
            if wish.kind != _SCRIPT and _origin_of(target) != _origin_of(url):
                raise Refused("redirects")  # the page could read what another site says
            url = target
        else:
            raise Refused("redirects")
        return Resource(response.status, headers_for(response.headers), response.body)

    async def _ask(self, url: str, wish: Wish, visit: _Visit) -> Response:
        """Return the answer of a URL, if robots.txt allows to ask for it."""
        if self._robots is not None:
            record = await self._rules(self._robots, url, visit)
            if not record.rules.allows(url):
                raise Refused("robots")
            if record.rules.crawl_delay and host(url) != visit.host:
                await self._rest(host(url), min(record.rules.crawl_delay, self._longest_delay))
        async with self._turn(url, visit):
            return await self._download(url, wish, visit)

    async def _rules(self, robots: RobotsMiddleware, url: str, visit: _Visit) -> RobotsRecord:
        """Return what robots.txt says; one request at a time asks for that of a host."""
        async with self._locks.setdefault(host(url), asyncio.Lock()):
            while (record := robots.known(url)) is None:
                async with self._turn(url, visit):
                    await robots.ask(url)
        return record

    async def _rest(self, name: str, delay: float) -> None:
        """Wait until a host has rested the delay of its robots.txt."""
        begin = max(self._rested.get(name, 0.0), clock.now())
        if (wait := begin - clock.now()) > self._patience:
            raise Refused("busy")
        self._rested.pop(name, None)
        self._rested[name] = begin + delay
        while len(self._rested) > 10_000:
            del self._rested[next(iter(self._rested))]
        await asyncio.sleep(wait)

    @asynccontextmanager
    async def _turn(self, url: str, visit: _Visit) -> AsyncIterator[None]:
        """Have the turn of a host for one request."""
        if host(url) == visit.host:
            async with visit.places:
                visit.sent.append(url)
                yield
            return
        frontier = frontier_of(self._crawler)
        address = await address_of(self._crawler, host(url))
        while wait := frontier.borrow(visit.number, url, address, clock.now()):
            if wait > self._patience:
                raise Refused("busy")
            await asyncio.sleep(wait)
        try:
            yield
        finally:
            frontier.repay(url, clock.now())

    async def _download(self, url: str, wish: Wish, visit: _Visit) -> Response:
        headers = {"Accept": "*/*", "Referer": _origin_of(visit.url)}
        if wish.origin:
            headers["Origin"] = wish.origin
        meta = {
            "dont_redirect": True,
            "dont_merge_cookies": True,
            "dont_retry": True,
            "verbatim_url": True,
            "download_maxsize": _LARGEST,
            "download_timeout": self._patience,
        }
        request = VerbatimRequest(url, callback=NO_CALLBACK, headers=headers, meta=meta)
        self._count("requests")
        response = await download(self._crawler, request)
        self._count("bytes", len(response.body))
        return response

    def _count(self, name: str, count: int = 1) -> None:
        self._crawler.stats.inc_value(f"render/{name}", count)


def _origin_of(url: str) -> str:
    return "/".join(url.split("/", 3)[:3]) + "/"
