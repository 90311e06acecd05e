"""Obeys robots.txt, as RFC 9309 says, from asking for it to forgetting it."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from time import time
from typing import TYPE_CHECKING, Self

from scrapy import Request
from scrapy.exceptions import CannotResolveHostError, IgnoreRequest, NotConfigured
from scrapy.http.request import NO_CALLBACK

from rdfaspider.robots import record as robots
from rdfaspider.robots.record import Record

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from rdfaspider.frontier import Frontier

# Services whose rules are at hand; the rest is with the frontier.
_REMEMBERED = 10_000


class Denied(IgnoreRequest):
    """Says that robots.txt forbids a URL, or that it could not be had (`unreachable`)."""


class Postponed(IgnoreRequest):
    """Says that a URL has to wait for another turn of its host, and is to be asked for then."""


class RobotsMiddleware:
    """Lets a request pass if the robots.txt of its service (scheme, host, port) does.

    To ask for robots.txt is to ask the host, so it takes the turn of the page that needed it: the
    page is postponed. However many requests wait, it is asked for once. What it says is kept with
    the frontier, so a restart does not ask again. A service whose robots.txt cannot be had is left
    alone for a while, each time longer; after `retries` times its pages are denied.
    """

    def __init__(self, crawler: Crawler, agent: str, retries: int, longest_delay: float) -> None:
        self.crawler = crawler
        self.agent = agent
        self.retries = retries
        self.longest_delay = longest_delay
        self._records: OrderedDict[str, Record] = OrderedDict()
        self._asking: dict[str, asyncio.Event] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        if not settings.getbool("ROBOTS_OBEY"):
            raise NotConfigured("ROBOTS_OBEY is off")
        return cls(
            crawler,
            settings["BOT_NAME"],
            settings.getint("ROBOTS_RETRIES"),
            settings.getfloat("ROBOTS_MAX_CRAWL_DELAY"),
        )

    async def process_request(self, request: Request) -> None:
        # Only pages have a host in the frontier; robots.txt itself is asked for without.
        if "host" not in request.meta:
            return
        service = "/".join(request.url.split("/", 3)[:3])
        record = self._known(service)
        if record is None or record.expires <= time():
            await self._ask(service, request.meta["host"])
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

    async def _ask(self, service: str, host: int) -> None:
        """Ask for the robots.txt of a service, or wait for somebody who does."""
        if asked := self._asking.get(service):
            await asked.wait()
            return
        self._asking[service] = asyncio.Event()
        try:
            record = await self._fetch(service)
            self._remember(service, record)
            if record.rules.crawl_delay is not None:
                delay = min(record.rules.crawl_delay, self.longest_delay)
                self._frontier.slow_down(host, crawl_delay=delay)
        finally:
            self._asking.pop(service).set()

    async def _fetch(self, service: str) -> Record:
        request = Request(
            f"{service}/robots.txt",
            callback=NO_CALLBACK,
            meta={"dont_retry": True, "verbatim_url": True},
            priority=1000,
        )
        previous = self._known(service)
        try:
            response = await self.crawler.engine.download_async(request)
        except CannotResolveHostError:
            raise  # there is no server, and so neither a robots.txt nor a page
        except IgnoreRequest as error:
            if type(error) is not IgnoreRequest:
                raise  # the server may not be asked at all
            # More redirects than RFC 9309 asks to follow: it may be taken for missing.
            self._count("fetched/redirects")
            return robots.answered(404, b"", self.agent, time(), previous)
        except Exception as error:
            self._count(f"failed/{type(error).__name__}")
            return robots.unreachable(time(), previous)
        self._count(f"fetched/{response.status}")
        return robots.answered(response.status, response.body, self.agent, time(), previous)

    def _known(self, service: str) -> Record | None:
        record = self._records.get(service)
        if record is None and (data := self._frontier.note(f"robots {service}")) is not None:
            record = self._records[service] = Record.from_bytes(data)
        return record

    def _remember(self, service: str, record: Record) -> None:
        self._frontier.set_note(f"robots {service}", record.to_bytes())
        self._records[service] = record
        self._records.move_to_end(service)
        if len(self._records) > _REMEMBERED:
            self._records.popitem(last=False)

    def _count(self, name: str) -> None:
        self.crawler.stats.inc_value(f"robots/{name}")

    @property
    def _frontier(self) -> Frontier:
        frontier: Frontier = self.crawler.engine.scheduler.frontier  # type: ignore[union-attr]
        return frontier
