"""What the services of pages reserve, for any Scrapy spider: by robots.txt, and by tdmrep.json."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy import Request
from scrapy.http.request import NO_CALLBACK

from rdfaspider.compat import download, hear_robots
from rdfaspider.middlewares.kept import Kept
from rdfaspider.middlewares.robotsrecords import service_of
from rdfaspider.middlewares.servicefiles import ServiceFiles
from rdfaspider.parts.robots import RobotsParser
from rdfaspider.robots.reservations import LIMIT, PLACE, Reservations
from rdfaspider.settings.defaults import completed

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from scrapy.robotstxt import RobotParser

_REMEMBERED = 4_000_000  # octets
_OVERHEAD = 200  # octets that a service takes which reserves nothing


class Rights:
    """Knows what robots.txt says of training, and asks each service once for its tdmrep.json.

    robots.txt is that which Scrapy's middleware has read with our parser; of others nothing is known. The
    request for tdmrep.json passes the middlewares of the project, so robots.txt and its delays hold for it
    too, and redirects are followed as the project does. What goes wrong is counted, and reserves nothing.
    """

    def __init__(self, crawler: Crawler, agent: str, *, asks: bool) -> None:
        self.crawler = crawler
        self.agent = agent
        self.asks = asks
        self._parsers: dict[str, RobotsParser] = {}
        self._files = ServiceFiles(crawler, PLACE)
        self._kept = Kept[Reservations](_REMEMBERED)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = completed(crawler.settings)
        agent = settings["ROBOTSTXT_USER_AGENT"] or settings["USER_AGENT"]
        rights = cls(crawler, agent, asks=settings.getbool("ROBOTS_TDMREP"))
        hear_robots(crawler, rights.robots_parsed)
        return rights

    def robots_parsed(self, robotparser: RobotParser, request: Request) -> None:
        if isinstance(robotparser, RobotsParser):
            self._parsers[service_of(request.url)] = robotparser

    def forbids_training(self, url: str) -> bool:
        """Tell whether robots.txt says that a page is not for training."""
        parser = self._parsers.get(service_of(url))
        return parser is not None and not parser.allows_training(url, self.agent)

    async def reserved(self, url: str) -> tuple[str, str]:
        """Return reservation and policy of a page by the file of its service, as headers would."""
        if not self.asks:
            return "", ""
        service = service_of(url)
        rules = self._kept.at_hand(service)
        while rules is None:
            await self._files.once(service, lambda: self._ask(service))
            rules = self._kept.at_hand(service)
        return rules.of(url)

    async def _ask(self, service: str) -> None:
        rules = Reservations([])
        meta = {"dont_retry": True, "download_maxsize": LIMIT}
        request = Request(service + PLACE, callback=NO_CALLBACK, meta=meta, priority=1000)
        try:
            response = await download(self.crawler, request)
            self._count(f"fetched/{min(response.status, 600)}")
            if response.status == 200:
                rules = Reservations.read(response.body)
        except ValueError:
            self._count("bad")
        except Exception as error:
            self._count(f"failed/{type(error).__name__}")
        self._kept.keep(service, rules, len(rules.to_bytes()) + _OVERHEAD)

    def _count(self, name: str) -> None:
        self.crawler.stats.inc_value(f"robots/tdmrep/{name}")
