"""The frontier as the scheduler of any Scrapy spider, with its callbacks, meta, cb_kwargs and bodies.

A request waits in the frontier by its URL, and as a whole in a table beside it (requests.py). It has ended
when Scrapy has done all that follows from it: its answer is read, its callback or errback has ended, its
items have passed the pipelines. Only then does it end in the frontier. So a crawl that was killed goes on
with everything that had not ended, by the same callbacks.

What cannot be kept on disk, such as a callback that is no method of the spider, waits in memory, in Scrapy's
own scheduler.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from logging import getLogger
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.exceptions import UsageError

from rdfaspider import clock
from rdfaspider.compat import hear_robots, under_way
from rdfaspider.frontier import is_shared, open_frontier
from rdfaspider.frontier.politeness import Demand, Experience
from rdfaspider.middlewares.politeness import experience_of
from rdfaspider.parts.requests import Requests, again, first, key_of, written
from rdfaspider.scheduler.alarm import Alarm
from rdfaspider.scheduler.options import frontier_order, politeness_of
from rdfaspider.scheduler.own import OwnRequests
from rdfaspider.settings.defaults import completed
from rdfaspider.settings.places import frontier_url
from rdfaspider.urls import host

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.settings import BaseSettings
    from twisted.python.failure import Failure

    from rdfaspider.frontier import Frontier, Taken

logger = getLogger(__name__)

# Marks requests that the frontier has handed out.
META = "rdfaspider_frontier"
# No request of this process is lost to another one, however long its callback takes.
_LEASE = 1e9
# Keys that are put into the frontier at once when a crawl is resumed.
_CHUNK = 10_000


@dataclass(slots=True)
class _Flight:
    """A request under way.

    `is_answered` says that the spider has its response: what carries its mark then is the spider's, before
    that a middleware's. `repeats` says that a middleware wants it again.
    """

    taken: Taken
    request: Request
    is_answered: bool = False
    is_replaced: bool = False
    repeats: bool = False
    status: int = 0
    error: str = ""


class FrontierScheduler(BaseScheduler):
    """Takes requests from a frontier, each when its host may be asked."""

    def __init__(
        self, crawler: Crawler, frontier: Frontier, requests: Requests, *, patience: float
    ) -> None:
        self.crawler = crawler
        self.frontier = frontier
        self.requests = requests
        self.patience = patience
        self._flights: dict[int, _Flight] = {}
        self._alarm = Alarm(crawler)
        self._own = OwnRequests.of(crawler)
        self._directory: TemporaryDirectory[str] | None = None
        self._repeats = 0
        settings = completed(crawler.settings)
        self._agent = settings["ROBOTSTXT_USER_AGENT"] or settings["USER_AGENT"]
        self._longest_delay = settings.getfloat("ROBOTS_MAX_CRAWL_DELAY")

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = completed(crawler.settings)
        directory = None if settings["JOBDIR"] else TemporaryDirectory(prefix="rdfaspider-")
        try:
            url = _place(settings, directory)
            frontier = open_frontier(
                url,
                order=frontier_order(settings) if directory is None else settings["FRONTIER_ORDER"],
                # Each host by itself: nobody resolves names for a foreign spider.
                politeness=replace(politeness_of(settings), server_delay=None, server_pace=0.0),
                lease=_LEASE,
                linkgraph=False,
                now=clock.now(),
            )
        except ValueError as error:
            raise UsageError(str(error)) from error
        requests = Requests(Path(f"{url}.requests.sqlite"))
        patience = settings.getfloat("FRONTIER_PATIENCE")
        scheduler = cls(crawler, frontier, requests, patience=patience)
        scheduler._directory = directory
        connect = crawler.signals.connect
        connect(scheduler.response_downloaded, signals.response_downloaded)
        connect(scheduler.response_received, signals.response_received)
        connect(scheduler.spider_error, signals.spider_error)
        hear_robots(crawler, scheduler.robots_parsed)
        return scheduler

    def open(self, spider: Spider) -> None:
        self.spider = spider
        self._own.open(spider)
        keys = list(self.requests.keys())
        for start in range(0, len(keys), _CHUNK):
            self.frontier.put(keys[start : start + _CHUNK])
        if keys:
            logger.info("Resuming: %d requests wait.", len(keys))

    def close(self, reason: str) -> None:
        self._land_all()
        self._alarm.stop()
        self.frontier.close()
        self.requests.close()
        self._own.close(reason)
        if self._directory is not None:
            self._directory.cleanup()

    # --- what comes in ---

    def enqueue_request(self, request: Request) -> bool:
        flight = self._flights.get(request.meta.pop(META, -1))
        try:
            key = key_of(request, self._fingerprint)
            text = written(request, self.spider)
        except ValueError:
            self._count("memory")
            return bool(self._own.enqueue_request(request))
        if flight is not None and not flight.is_answered:
            flight.is_replaced = True
            if key == first(flight.taken.url):
                flight.repeats = True
                self.requests.add(flight.taken.url, text)
                return True
        if key in self.requests or self.frontier.knows(key):
            # Those of the start are made in each run, to be sure; here they are known.
            if not request.dont_filter or request.meta.get("is_start_request"):
                self._count("filtered")
                return False
            key = self._another(key)
        self.requests.add(key, text)
        self.frontier.put([key])
        self._count("enqueued")
        return True

    def _another(self, key: str) -> str:
        while True:
            self._repeats += 1
            other = again(key, self._repeats)
            if other not in self.requests and not self.frontier.knows(other):
                return other

    def _fingerprint(self, request: Request) -> bytes:
        assert self.crawler.request_fingerprinter is not None
        return self.crawler.request_fingerprinter.fingerprint(request)

    # --- what goes out ---

    def has_pending_requests(self) -> bool:
        self._land_all()
        wait = self.frontier.wait(clock.now())
        if wait is not None and wait > self.patience and not self._flights:
            logger.warning(
                "The rest of the requests may not be made for %.0f seconds: the crawl ends, and its command"
                " resumes it.",
                wait,
            )
            wait = None
        return wait is not None or self._own.has_pending_requests()

    def next_request(self) -> Request | None:
        self._land_all()
        if (own := self._own.next_request()) is not None:
            return own
        now = clock.now()
        while (taken := self.frontier.take(now)) is not None:
            request = self._made(taken, now)
            if request is not None:
                request.meta[META] = taken.number
                self._flights[taken.number] = _Flight(taken, request)
                self._count("dequeued")
                return request
        self._alarm.ring_in(self.frontier.wait(now))
        return None

    def _made(self, taken: Taken, now: float) -> Request | None:
        """Return the request of a URL; end it if the spider has changed so that it cannot be made."""
        try:
            request = self.requests.find(taken.url, self.spider)
        except (ValueError, AttributeError) as error:
            logger.warning("%s cannot be requested any more: %s", taken.url, error)
            request = None
        if request is None:
            self.frontier.finish(taken, "failed", now, reason="request")
            self.requests.remove(taken.url)
        return request

    # --- how it went ---

    def _flight(self, request: Request | None) -> _Flight | None:
        return None if request is None else self._flights.get(request.meta.get(META, -1))

    def response_downloaded(self, response: Response, request: Request) -> None:
        if (flight := self._flight(request)) is not None:
            now = clock.now()
            self.frontier.report(flight.taken.host, now, experience_of(request, response, now))
            flight.status = response.status

    def response_received(self, response: Response, request: Request) -> None:
        if (flight := self._flight(request)) is not None:
            flight.is_answered = True

    def spider_error(self, failure: Failure, response: Response) -> None:
        if response is not None and (flight := self._flight(response.request)) is not None:
            flight.error = type(failure.value).__name__

    def robots_parsed(self, robotparser: Any, request: Request) -> None:
        """Obey the Crawl-delay of a robots.txt, if its parser has read one."""
        asked = getattr(robotparser, "crawl_delay", lambda agent: None)(self._agent)
        for flight in self._flights.values():
            if asked is not None and host(flight.taken.url) == host(request.url):
                demand = Demand(crawl_delay=min(asked, self._longest_delay))
                self.frontier.slow_down(flight.taken.host, clock.now(), demand)
                return

    def _land_all(self) -> None:
        """End each request that Scrapy has done with."""
        waited = under_way(self.crawler)
        for flight in [each for each in self._flights.values() if each.request not in waited]:
            self._land(flight)

    def _land(self, flight: _Flight) -> None:
        taken, now = flight.taken, clock.now()
        del self._flights[taken.number]
        if flight.repeats:
            self.frontier.retry(taken, now, reason="retry", status=flight.status)
            return
        if not (flight.status or flight.is_answered or flight.is_replaced):
            self.frontier.report(taken.host, now, Experience())
        if flight.error or not (flight.is_answered or flight.is_replaced):
            reason = flight.error or "download"
            self.frontier.finish(taken, "failed", now, reason=reason, status=flight.status)
        else:
            reason = "page" if flight.is_answered else "redirect"
            self.frontier.finish(taken, "done", now, reason=reason, status=flight.status)
        self.requests.remove(taken.url)

    def _count(self, what: str) -> None:
        assert self.crawler.stats is not None
        self.crawler.stats.inc_value(f"scheduler/frontier/{what}")


def _place(settings: BaseSettings, directory: TemporaryDirectory[str] | None) -> str:
    """Return the directory of the frontier; without JOBDIR it is gone at the end, as Scrapy's queues are."""
    if directory is not None:
        return str(Path(directory.name) / "frontier")
    url = frontier_url(settings)
    if is_shared(url):
        raise ValueError(
            "The part frontier keeps its requests on this machine, so FRONTIER_URL must be a directory."
        )
    Path(url).parent.mkdir(parents=True, exist_ok=True)
    return url
