"""Obeys robots.txt by RFC 9309: fetches it, keeps it, applies it, lets it expire."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy import Request
from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http.request import NO_CALLBACK

from rdfaspider import clock
from rdfaspider.compat import CannotResolveHostError
from rdfaspider.fetchmeta import meta_of
from rdfaspider.frontier.politeness import Demand
from rdfaspider.middlewares.politeness import retry_after
from rdfaspider.middlewares.problems import problem_of
from rdfaspider.middlewares.robotsrecords import Records, service_of
from rdfaspider.middlewares.servicefiles import ServiceFiles
from rdfaspider.middlewares.sitemaps import announce
from rdfaspider.middlewares.turns import Postponed, demand_frontier, frontier_of
from rdfaspider.robots import record as robots
from rdfaspider.robots.record import RobotsRecord
from rdfaspider.settings.defaults import completed
from rdfaspider.signals import scope_grown, seed_failed
from rdfaspider.urls import normalise

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class Denied(IgnoreRequest):
    """robots.txt forbids a URL (`robots`), or could not be fetched (`unreachable`)."""


class RobotsMiddleware:
    """Lets a request pass if the robots.txt of its service (scheme, host, port) does.

    A request for robots.txt takes the turn of the page that needed it (servicefiles.py); the page is
    postponed. The rules are kept with the frontier, so a restart does not fetch them again. A service whose
    robots.txt cannot be fetched is left alone for a while, longer each time; after `retries` times its
    pages are denied.
    With `sitemaps`, those of the services in the spider's scope are read.
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
        self._records = Records(lambda: frontier_of(self.crawler))
        self._files = ServiceFiles(crawler, "/robots.txt")
        # Services whose Crawl-delay was read while no page of theirs was requested.
        self._unheeded: set[str] = set()

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = completed(crawler.settings)
        if not settings.getbool("ROBOTS_OBEY"):
            raise NotConfigured("ROBOTS_OBEY is off")
        middleware = cls(
            crawler,
            settings["BOT_NAME"],
            settings.getint("ROBOTS_RETRIES"),
            settings.getfloat("ROBOTS_MAX_CRAWL_DELAY"),
            sitemaps=settings.getbool("ROBOTS_SITEMAPS"),
        )
        demand_frontier(crawler, middleware)
        crawler.signals.connect(middleware.scope_grown, scope_grown)
        return middleware

    def scope_grown(self, url: str) -> None:
        """Read the sitemaps of a service that was outside the scope when its robots.txt was read."""
        service = service_of(url)
        if self.sitemaps and (record := self._records.known(service)) is not None:
            announce(self.crawler, record.rules.sitemaps, f"{service}/")

    async def process_request(self, request: Request) -> None:
        # Only pages have a host in the frontier; the request for robots.txt has none.
        if "host" not in request.meta:
            if request.callback is not NO_CALLBACK and "dont_obey_robotstxt" not in request.meta:
                await self._check_own(request)
            return
        service = service_of(request.url)
        record = self._records.known(service)
        if record is None or record.expires <= clock.now():
            await self._ask(service, request)
            raise Postponed
        if self._unheeded and service in self._unheeded:
            self._set_delay(service, record, meta_of(request)["host"])
        if record.rules.allows(request.url):
            if not record.rules.allows_training(request.url):
                request.meta["no_training"] = True
            return
        if record.reached:
            self._count("denied")
            raise Denied("robots")
        if record.failures > self.retries:
            self._count("denied")
            raise Denied("unreachable")
        now = clock.now()
        demand = Demand(pause=record.expires - now)
        frontier_of(self.crawler).slow_down(meta_of(request)["host"], now, demand)
        raise Postponed

    async def _check_own(self, request: Request) -> None:
        """Raise Denied if the spider's own request is forbidden; it has no turn to wait for."""
        url = normalise(request.url)
        while (record := self.known(url)) is None:
            await self._ask(service_of(url), request)
        if not record.rules.allows(url):
            self._count("denied")
            raise Denied("robots" if record.reached else "unreachable")

    def known(self, url: str) -> RobotsRecord | None:
        """Return what is known of the robots.txt for a normalised URL, None if it must be fetched."""
        record = self._records.known(service_of(url))
        return None if record is None or record.expires <= clock.now() else record

    async def ask(self, url: str) -> None:
        """Fetch the robots.txt for a URL that is no page, in a turn that the caller has.

        If it has moved, it is not known yet: that takes another turn.
        """
        await self._ask(service_of(url), Request(url))

    async def _ask(self, service: str, request: Request) -> None:
        """Fetch the robots.txt of a service, or wait for the request that does."""

        async def fetch() -> None:
            previous = self._records.known(service)
            record = await self._fetch(service, request, previous)
            if record is not None:
                self._heed(service, record, previous, meta_of(request).get("host"))

        await self._files.once(service, fetch)

    def _heed(
        self, service: str, record: RobotsRecord, previous: RobotsRecord | None, host: int | None
    ) -> None:
        if self.sitemaps and f"{service}/" in self.crawler.spider.scope:  # type: ignore[union-attr]
            announce(self.crawler, record.rules.sitemaps, f"{service}/")
        self._records.remember(service, record)
        delay, before = record.rules.crawl_delay, previous and previous.rules.crawl_delay
        if delay is None and before is None:
            return
        if host is None:
            self._unheeded.add(service)
        else:
            self._set_delay(service, record, host)

    def _set_delay(self, service: str, record: RobotsRecord, host: int) -> None:
        """Give a host the longest Crawl-delay of its services; it may be shorter than before."""
        self._unheeded.discard(service)
        longest = self._records.longest_delay(service, record.rules.crawl_delay)
        demand = Demand(crawl_delay=min(longest, self.longest_delay))
        frontier_of(self.crawler).slow_down(host, clock.now(), demand)

    async def _fetch(
        self, service: str, request: Request, previous: RobotsRecord | None
    ) -> RobotsRecord | None:
        """Return the new record; None if robots.txt has moved, which takes another turn.

        Raise if the service cannot or may not be asked.
        """
        url, hops = self._files.where(service)
        if hops and (answer := self._records.answered(url, clock.now())) is not None:
            self._files.stop_following(service)
            return answer
        try:
            response = await self._files.download(service, request)
        except Exception as error:
            if getattr(error, "postpones", False) or (hops == 0 and _concerns_the_server(error)):
                raise
            self._count(f"failed/{type(error).__name__}")
            moved = f"its robots.txt has moved to {service_of(url)}, and " if hops else ""
            self._warn(request, moved + problem_of(error))
            return robots.unreachable(clock.now(), previous)
        if response is None:
            return None
        record = self._read(response, request, previous)
        if hops and record.reached and not record.failures:
            self._records.keep_answer(url, record)
        return record

    def _read(
        self, response: Response, request: Request, previous: RobotsRecord | None
    ) -> RobotsRecord:
        status, body = response.status, response.body
        if 300 <= status < 400 and "Location" in response.headers:
            # To nowhere, or further than RFC 9309 asks to follow: it counts as missing.
            status, body = 404, b""
            self._count("fetched/redirects")
        else:
            self._count(f"fetched/{min(status, 600)}")
            if status >= 500 or status == 429:
                self._warn(request, f"its robots.txt is answered by {status}")
        now = clock.now()
        wanted = retry_after(response.headers.get("Retry-After"), now)
        return robots.answered(status, body, self.agent, now, previous, wanted=wanted)

    def _warn(self, request: Request, problem: str) -> None:
        """Report at once a seed that has to wait because its robots.txt cannot be fetched."""
        if meta_of(request).get("depth") == 0:
            send = self.crawler.signals.send_catch_log
            send(seed_failed, url=request.url, problem=problem)

    def _count(self, name: str) -> None:
        self.crawler.stats.inc_value(f"robots/{name}")


def _concerns_the_server(error: Exception) -> bool:
    """Tell whether an error means that there is no server, or that it must not be asked."""
    if isinstance(error, IgnoreRequest):
        return type(error) is not IgnoreRequest  # that is a body that unpacks to too much
    return isinstance(error, CannotResolveHostError) or getattr(error, "concerns_server", False)
