"""Obeys robots.txt, as RFC 9309 says, from asking for it to forgetting it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from typing import TYPE_CHECKING, Self

from scrapy import Request
from scrapy.exceptions import CannotResolveHostError, IgnoreRequest, NotConfigured
from scrapy.http.request import NO_CALLBACK

from rdfaspider import clock
from rdfaspider.middlewares.contenttype import header_text
from rdfaspider.middlewares.politeness import retry_after
from rdfaspider.middlewares.problems import problem_of
from rdfaspider.middlewares.sitemaps import announce
from rdfaspider.middlewares.turns import Postponed, noted
from rdfaspider.robots import record as robots
from rdfaspider.robots.record import Record
from rdfaspider.signals import scope_grown, seed_failed
from rdfaspider.urls import as_linked, normalise
from rdfaspider.urls.hosts import authority

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from rdfaspider.frontier import Frontier

# As many as RFC 9309 asks to follow at least.
_MAX_REDIRECTS = 5
# Octets of stored rules that are at hand, some 40,000 services; the rest is with the frontier.
_REMEMBERED = 8_000_000


class Denied(IgnoreRequest):
    """Says that robots.txt forbids a URL, or that it could not be had (`unreachable`)."""


class RobotsMiddleware:
    """Lets a request pass if the robots.txt of its service (scheme, host, port) does.

    To ask for robots.txt is to ask the host, so it takes the turn of the page that needed it, and
    each redirect another: the page is postponed. However many requests wait, it is asked for once.
    What it says is kept with the frontier, so a restart does not ask again. A service whose
    robots.txt cannot be had is left alone for a while, each time longer; after `retries` times its
    pages are denied.
    With `sitemaps` those of the services in the spider's scope are taken in.
    """

    def __init__(
        self,
        crawler: Crawler,
        agent: str,
        retries: int,
        longest_delay: float,
        *,
        sitemaps: bool = False,
    ) -> None:
        self.crawler = crawler
        self.agent = agent
        self.retries = retries
        self.longest_delay = longest_delay
        self.sitemaps = sitemaps
        # Records with the size of what is stored of them, the least recently used first.
        self._records: OrderedDict[str, tuple[Record, int]] = OrderedDict()
        self._size = 0
        self._asking: dict[str, asyncio.Event] = {}
        # Where the robots.txt of a service is looked for next, behind how many redirects.
        self._moved: dict[str, tuple[str, int]] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        if not settings.getbool("ROBOTS_OBEY"):
            raise NotConfigured("ROBOTS_OBEY is off")
        middleware = cls(
            crawler,
            settings["BOT_NAME"],
            settings.getint("ROBOTS_RETRIES"),
            settings.getfloat("ROBOTS_MAX_CRAWL_DELAY"),
            sitemaps=settings.getbool("ROBOTS_SITEMAPS"),
        )
        crawler.signals.connect(middleware.scope_grown, scope_grown)
        return middleware

    def scope_grown(self, url: str) -> None:
        """Take in the sitemaps of a service that was not in the scope when its robots.txt was read."""
        service = service_of(url)
        if self.sitemaps and (record := self._known(service)) is not None:
            announce(self.crawler, record.rules.sitemaps, f"{service}/")

    async def process_request(self, request: Request) -> None:
        # Only pages have a host in the frontier; robots.txt itself is asked for without.
        if "host" not in request.meta:
            if request.callback is not NO_CALLBACK and "dont_obey_robotstxt" not in request.meta:
                await self._check_own(request)
            return
        service = service_of(request.url)
        record = self._known(service)
        if record is None or record.expires <= clock.now():
            await self._ask(service, request)
            raise Postponed
        if record.rules.allows(request.url):
            return
        if record.reached:
            self._count("denied")
            raise Denied("robots")
        if record.failures > self.retries:
            self._count("denied")
            raise Denied("unreachable")
        self._frontier.slow_down(request.meta["host"], until=record.expires)
        raise Postponed

    async def _check_own(self, request: Request) -> None:
        """Raise Denied if a request of the spider's own is forbidden; it has no turn to wait for."""
        url = normalise(request.url)
        service = service_of(url)
        while (record := self._known(service)) is None or record.expires <= clock.now():
            await self._ask(service, request)
        if not record.rules.allows(url):
            self._count("denied")
            raise Denied("robots" if record.reached else "unreachable")

    async def _ask(self, service: str, request: Request) -> None:
        """Ask for the robots.txt of a service, or wait for somebody who does."""
        if asked := self._asking.get(service):
            await asked.wait()
            return
        self._asking[service] = asyncio.Event()
        try:
            record = await self._fetch(service, request)
            if record is not None:
                self._heed(service, record, request.meta.get("host"))
        finally:
            self._asking.pop(service).set()

    def _heed(self, service: str, record: Record, host: int | None) -> None:
        if self.sitemaps and f"{service}/" in self.crawler.spider.scope:  # type: ignore[union-attr]
            announce(self.crawler, record.rules.sitemaps, f"{service}/")
        self._remember(service, record)
        if host is not None and record.rules.crawl_delay is not None:
            delay = min(record.rules.crawl_delay, self.longest_delay)
            self._frontier.slow_down(host, crawl_delay=delay)

    async def _fetch(self, service: str, request: Request) -> Record | None:
        """Return what becomes of the record; None if robots.txt has moved, which takes another turn.

        Raise if the service cannot or may not be asked.
        """
        previous = self._known(service)
        url, hops = self._moved.pop(service, (f"{service}/robots.txt", 0))
        try:
            response = await self._download(url)
        except Postponed:
            if hops:
                self._moved[service] = (url, hops)
            raise
        except Exception as error:
            if getattr(error, "postpones", False) or (hops == 0 and _concerns_the_server(error)):
                raise
            self._count(f"failed/{type(error).__name__}")
            self._warn(request, problem_of(error))
            return robots.unreachable(clock.now(), previous)
        status, body = response.status, response.body
        if 300 <= status < 400 and "Location" in response.headers:
            if hops < _MAX_REDIRECTS and (target := _target(response, url)):
                self._moved[service] = (target, hops + 1)
                return None
            # To nowhere, or further than RFC 9309 asks to follow: it may be taken for missing.
            status, body = 404, b""
            self._count("fetched/redirects")
        else:
            self._count(f"fetched/{min(status, 600)}")
            if status >= 500 or status == 429:
                self._warn(request, f"its robots.txt is answered by {status}")
        now = clock.now()
        wanted = retry_after(response.headers.get("Retry-After"), now)
        return robots.answered(status, body, self.agent, now, previous, wanted=wanted)

    async def _download(self, url: str) -> Response:
        meta = {"robots": True, "dont_redirect": True, "dont_retry": True, "verbatim_url": True}
        request = Request(url, callback=NO_CALLBACK, meta=meta, priority=1000)
        return await self.crawler.engine.download_async(request)

    def _warn(self, request: Request, problem: str) -> None:
        """Tell at once if a seed has to wait because its robots.txt cannot be had."""
        if request.meta.get("depth") == 0:
            send = self.crawler.signals.send_catch_log
            send(seed_failed, url=request.url, problem=problem)

    def _known(self, service: str) -> Record | None:
        if service in self._records:
            self._records.move_to_end(service)
            return self._records[service][0]
        data = noted(self._frontier, f"robots {service}")
        return None if data is None else self._keep(service, Record.from_bytes(data), len(data))

    def _remember(self, service: str, record: Record) -> None:
        data = record.to_bytes()
        self._frontier.set_note(f"robots {service}", data)
        self._keep(service, record, len(data))

    def _keep(self, service: str, record: Record, size: int) -> Record:
        self._forget(service)
        self._records[service] = (record, size)
        self._size += size
        while self._size > _REMEMBERED:
            self._forget(next(iter(self._records)))
        return record

    def _forget(self, service: str) -> None:
        _, size = self._records.pop(service, (None, 0))
        self._size -= size

    def _count(self, name: str) -> None:
        self.crawler.stats.inc_value(f"robots/{name}")

    @property
    def _frontier(self) -> Frontier:
        frontier: Frontier = self.crawler.engine.scheduler.frontier  # type: ignore[union-attr]
        return frontier


def service_of(url: str) -> str:
    """Return scheme, host and port of a normalised URL, which have one robots.txt for all users."""
    return f"{url.partition('/')[0]}//{authority(url)}"


def _target(response: Response, url: str) -> str:
    try:
        return as_linked(normalise(header_text(response.headers, "Location"), url), url)
    except ValueError:
        return ""


def _concerns_the_server(error: Exception) -> bool:
    """Tell whether an error means that there is no server, or none that may be asked at all."""
    if isinstance(error, IgnoreRequest):
        return type(error) is not IgnoreRequest  # which is a body that unpacks to too much
    return isinstance(error, CannotResolveHostError)
