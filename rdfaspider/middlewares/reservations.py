"""Asks each service once a day what it reserves (robots/reservations.py), and tells it of each page."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple, Self

from scrapy.exceptions import NotConfigured

from rdfaspider import clock
from rdfaspider.fetchmeta import is_for_page, meta_of
from rdfaspider.frontier.politeness import Experience
from rdfaspider.middlewares.kept import Kept
from rdfaspider.middlewares.politeness import REFUSALS, retry_after
from rdfaspider.middlewares.robotsrecords import Records, service_of
from rdfaspider.middlewares.servicefiles import ServiceFiles
from rdfaspider.middlewares.turns import Postponed, demand_frontier, frontier_of, noted
from rdfaspider.robots.record import DAY
from rdfaspider.robots.reservations import LIMIT, PLACE, Reservations
from rdfaspider.settings.defaults import completed

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

_SOON = 3_600.0  # seconds until a service that did not answer is asked again
_REMEMBERED = 4_000_000  # octets in memory; the rest is with the frontier
_OVERHEAD = 200  # octets that a service takes which reserves nothing, as nearly all
_HEAD = struct.Struct(">d")


class Known(NamedTuple):
    """What a service reserves, and until when that holds. A note of the frontier: a time, then the rules."""

    rules: Reservations
    expires: float

    def to_bytes(self) -> bytes:
        return _HEAD.pack(self.expires) + self.rules.to_bytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Known:
        (expires,) = _HEAD.unpack(data[: _HEAD.size])
        return cls(Reservations.from_bytes(data[_HEAD.size :]), expires)


class ReservationsMiddleware:
    """Sets `tdm` in the meta of a page that its service reserves by a tdmrep.json.

    The request takes the turn of the page that needed it (servicefiles.py), and the page is postponed. It is
    made only if robots.txt allows it, as far as that is known where a redirect leads. Whatever goes wrong is
    counted, the service counts as one that reserves nothing until it is asked again, and its pages are
    fetched. What was answered is kept with the frontier, so neither a restart nor another worker asks again.
    """

    def __init__(self, crawler: Crawler, *, obeys_robots: bool) -> None:
        self.crawler = crawler
        self._robots = Records(lambda: frontier_of(crawler)) if obeys_robots else None
        self._kept = Kept[Known](_REMEMBERED)
        self._files = ServiceFiles(crawler, PLACE, download_maxsize=LIMIT)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = completed(crawler.settings)
        if not settings.getbool("ROBOTS_TDMREP"):
            raise NotConfigured
        middleware = cls(crawler, obeys_robots=settings.getbool("ROBOTS_OBEY"))
        demand_frontier(crawler, middleware)
        return middleware

    async def process_request(self, request: Request) -> None:
        if not is_for_page(request.meta):
            return
        service = service_of(request.url)
        known = self._known(service)
        if known is None or known.expires <= clock.now():
            if self._may_ask(service):
                await self._ask(service, request)
                raise Postponed
            self._files.stop_following(service)
            known = self._remember(service, Reservations([]), DAY)
        reserved = known.rules.of(request.url)
        if reserved[0]:
            request.meta["tdm"] = reserved

    def _may_ask(self, service: str) -> bool:
        if self._robots is None:
            return True
        url, _ = self._files.where(service)
        record = self._robots.known(service_of(url))
        return record is None or record.rules.allows(url)

    async def _ask(self, service: str, request: Request) -> None:
        """Fetch the file of a service, or wait for the request that does."""

        async def fetch() -> None:
            try:
                response = await self._files.download(service, request)
            except Exception as error:
                if getattr(error, "postpones", False):
                    raise
                self._count(f"failed/{type(error).__name__}")
                self._remember(service, Reservations([]), _SOON)
                return
            if response is not None:
                self._remember(service, *self._read(response, meta_of(request)["host"]))

        await self._files.once(service, fetch)

    def _read(self, response: Response, host: int) -> tuple[Reservations, float]:
        """Return what a service reserves, and for how many seconds that holds."""
        self._count(f"fetched/{min(response.status, 600)}")
        if response.status in REFUSALS:
            now = clock.now()
            wanted = retry_after(response.headers.get("Retry-After"), now)
            frontier_of(self.crawler).report(host, now, Experience(refused=True, wanted=wanted))
        if response.status != 200:
            return Reservations([]), _SOON if response.status >= 429 else DAY
        try:
            return Reservations.read(response.body), DAY
        except ValueError:
            self._count("bad")
            return Reservations([]), DAY

    def _known(self, service: str) -> Known | None:
        """Return what is known of a service; Postponed if it cannot be read now."""
        if (known := self._kept.at_hand(service)) is not None:
            return known
        data = noted(frontier_of(self.crawler), f"tdm {service}")
        return None if data is None else self._keep(service, Known.from_bytes(data), len(data))

    def _remember(self, service: str, rules: Reservations, seconds: float) -> Known:
        known = Known(rules, clock.now() + seconds)
        data = known.to_bytes()
        frontier_of(self.crawler).set_note(f"tdm {service}", data)
        return self._keep(service, known, len(data))

    def _keep(self, service: str, known: Known, size: int) -> Known:
        return self._kept.keep(service, known, size + _OVERHEAD)

    def _count(self, name: str) -> None:
        self.crawler.stats.inc_value(f"robots/tdmrep/{name}")
