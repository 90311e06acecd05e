"""Keeps Scrapy's downloader polite by the rules of the frontier (frontier/politeness.py).

Scrapy has a slot for each host, with a delay between the starts of two requests. This sets the delay after
each answer: to the pause of the host, which its Crawl-delay may lengthen, or to the time for which it has to
be left alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from scrapy.exceptions import IgnoreRequest, NotConfigured
from scrapy.http.request import NO_CALLBACK

from rdfaspider import clock
from rdfaspider.compat import STEADY, hear_robots
from rdfaspider.frontier.manners import Manners
from rdfaspider.frontier.politeness import Experience
from rdfaspider.middlewares.politeness import REFUSALS, experience_of
from rdfaspider.scheduler import uses_frontier
from rdfaspider.scheduler.options import politeness_of
from rdfaspider.settings.defaults import completed

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from rdfaspider.frontier.politeness import Politeness
    from rdfaspider.parts.robots import RobotsParser


class MannersMiddleware:
    """Remembers how each host answers, and sets the delay of its slot."""

    def __init__(
        self, crawler: Crawler, politeness: Politeness, agent: str, longest_delay: float
    ) -> None:
        self.crawler = crawler
        self.politeness = politeness
        self.agent = agent
        self.longest_delay = longest_delay
        self._hosts: dict[str, Manners] = {}
        # The delays that the project wants for slots of its own, or that it changes as the crawl goes on.
        self._wanted: dict[str, float] = {}
        self._set: dict[str, float] = {}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = completed(crawler.settings)
        if uses_frontier(settings):
            raise NotConfigured("the frontier is polite by itself")
        agent = settings["ROBOTSTXT_USER_AGENT"] or settings["USER_AGENT"]
        longest = settings.getfloat("ROBOTS_MAX_CRAWL_DELAY")
        middleware = cls(crawler, politeness_of(settings), agent, longest)
        hear_robots(crawler, middleware.robots_parsed)
        return middleware

    def robots_parsed(self, robotparser: RobotsParser, request: Request) -> None:
        """Obey the Crawl-delay of a robots.txt, if its parser has read one."""
        asked = getattr(robotparser, "crawl_delay", lambda agent: None)(self.agent)
        if asked is not None:
            slot = self.crawler.engine.downloader.get_slot_key(request)
            self._host(slot).crawl_delay = min(asked, self.longest_delay)
            self._set_delay(slot)

    def process_response(self, request: Request, response: Response) -> Response:
        if request.callback is NO_CALLBACK:  # robots.txt: others say what its answer means
            return response
        now = clock.now()
        if response.status in REFUSALS:
            self.crawler.stats.inc_value(f"politeness/refused/{response.status}")
        self._learn(request, now, experience_of(request, response, now))
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        if not isinstance(exception, IgnoreRequest):
            self._learn(request, clock.now(), Experience())

    def _learn(self, request: Request, now: float, experience: Experience) -> None:
        slot = request.meta.get("download_slot")
        if slot is not None:  # else it did not come from a server
            self.politeness.learn(self._host(slot), now, experience)
            self._set_delay(slot)

    def _host(self, slot: str) -> Manners:
        if slot not in self._hosts:
            self._hosts[slot] = Manners()
        return self._hosts[slot]

    def _set_delay(self, name: str) -> None:
        """Set the delay of a slot to what its host needs, but not below what somebody else has set."""
        downloader: Any = self.crawler.engine.downloader
        slot = downloader.slots.get(name)
        if slot is None:
            return
        if slot.delay != self._set.get(name):  # DOWNLOAD_SLOTS, AutoThrottle, the spider
            self._wanted[name] = slot.delay
        host = self._hosts[name]
        needed = max(self.politeness.pause(host), host.blocked - clock.now())
        slot.delay = self._set[name] = max(needed, self._wanted[name])
        for attribute, value in STEADY.items():
            setattr(slot, attribute, value)  # else it would go below the pause
        # Scrapy forgets a slot that has been idle for a minute.
        downloader.per_slot_settings[name] = {
            **downloader.per_slot_settings.get(name, {}),
            "delay": slot.delay,
            **STEADY,
        }
