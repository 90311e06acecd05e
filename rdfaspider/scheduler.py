"""The scheduler: a thin plug between Scrapy's engine and the frontier.

A URL becomes a Request when it is taken and not before. Every Page that leaves the pipelines ends its
URL in the frontier, together with the links to follow, in one step; so a URL is done when its triples
are stored, and its links are known when it is done.
"""

from __future__ import annotations

import logging
from collections import Counter
from time import time
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.utils.asyncio import call_later, create_looping_call

from rdfaspider.frontier import open_frontier
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.items import Page

if TYPE_CHECKING:
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from rdfaspider.frontier import Frontier, Taken

logger = logging.getLogger(__name__)


def frontier_url(settings: BaseSettings) -> str:
    """Return the URL of the crawl's frontier; {jobdir} in it is the crawl's directory."""
    url: str = settings["FRONTIER_URL"]
    return url.replace("{jobdir}", str(settings["JOBDIR"] or "."))


class Scheduler(BaseScheduler):
    """Serves requests from a frontier and acknowledges what became of them.

    The spider's `follow(page)` says which links of a page to take in.
    """

    def __init__(
        self, crawler: Crawler, frontier: Frontier, *, retries: int, retry_delay: float
    ) -> None:
        self.crawler = crawler
        self.frontier = frontier
        self.retries = retries
        self.retry_delay = retry_delay
        self._taken: dict[str, Taken] = {}
        self._outcomes: Counter[str] = Counter()
        self._alarm: Any = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        scheduler = cls(
            crawler,
            open_frontier(frontier_url(settings), **_options(settings, crawler.spider)),
            retries=settings.getint("FRONTIER_RETRIES"),
            retry_delay=settings.getfloat("FRONTIER_RETRY_DELAY"),
        )
        connect = crawler.signals.connect
        connect(scheduler.item_scraped, signals.item_scraped)
        connect(scheduler.item_dropped, signals.item_dropped)
        connect(scheduler.item_error, signals.item_error)
        connect(scheduler.spider_error, signals.spider_error)
        return scheduler

    def open(self, spider: Spider) -> Deferred[None] | None:
        self.spider = spider
        self._reporting = create_looping_call(self._report)
        self._reporting.start(1.0)
        return None

    def close(self, reason: str) -> Deferred[None] | None:
        if self._alarm is not None:
            self._alarm.cancel()
        self._reporting.stop()
        self._report()
        self.frontier.close()
        return None

    # --- requests ---

    def has_pending_requests(self) -> bool:
        return self.frontier.wait(time()) is not None

    def enqueue_request(self, request: Request) -> bool:
        """Take in a seed, or what some middleware made of a request that is in flight."""
        taken = self._taken.pop(request.url, None)
        if taken is not None:
            self.frontier.retry(taken, time())
        else:
            self.frontier.put([request.url], depth=request.meta.get("depth", 0))
        return True

    def next_request(self) -> Request | None:
        now = time()
        taken = self.frontier.take(now)
        if taken is None:
            self._wake_engine_at_next(now)
            return None
        self._taken[taken.url] = taken
        return Request(
            taken.url,
            callback=self.spider.parse,
            errback=self.spider.failed,  # type: ignore[attr-defined]
            # The frontier sees to redirects and retries, and its URLs are in normal form already.
            meta={
                "depth": taken.depth,
                "dont_redirect": True,
                "dont_retry": True,
                "verbatim_url": True,
            },
        )

    def _wake_engine_at_next(self, now: float) -> None:
        """Have the engine ask again when a host gets ready, not at its next heartbeat."""
        seconds = self.frontier.wait(now)
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if seconds is not None:
            self._alarm = call_later(seconds, self._wake_engine)

    def _wake_engine(self) -> None:
        self._alarm = None
        slot = self.crawler.engine._slot  # Scrapy has no public way to say so
        if slot is not None:
            slot.nextcall.schedule()

    # --- outcomes ---

    def item_scraped(self, item: Any) -> None:
        if not isinstance(item, Page) or (taken := self._taken.pop(item.url, None)) is None:
            return
        now = time()
        if item.transient and taken.attempts < self.retries:
            self.frontier.retry(taken, now, after=self.retry_delay * 2**taken.attempts)
            self._outcomes[f"retried/{item.reason}"] += 1
            return
        links = self.spider.follow(item)  # type: ignore[attr-defined]
        deeper = 0 if item.reason == "redirect" else 1
        self.frontier.finish(taken, item.outcome, now, links, deeper=deeper)
        self._outcomes[f"{item.outcome}/{item.reason}"] += 1

    def item_dropped(self, item: Any) -> None:
        self._fail(item, "dropped")

    def item_error(self, item: Any, failure: Failure) -> None:
        self._fail(item, type(failure.value).__name__)

    def _fail(self, item: Any, reason: str) -> None:
        if isinstance(item, Page):
            self._finish_failed(item.url, reason)

    def spider_error(self, failure: Failure, response: Any) -> None:
        self._finish_failed(response.request.url, type(failure.value).__name__)

    def _finish_failed(self, url: str, reason: str) -> None:
        if (taken := self._taken.pop(url, None)) is not None:
            self.frontier.finish(taken, "failed", time())
            self._outcomes[f"failed/{reason}"] += 1

    def _report(self) -> None:
        """Hand the counters over to the stats, once a second and at the end."""
        counts = self.frontier.counts()
        put = self.crawler.stats.set_value
        for name in ("seen", "waiting", "in_flight", "done", "failed", "denied"):
            put(f"frontier/{name}", getattr(counts, name))
        for reason, count in counts.rejected.items():
            put(f"frontier/rejected/{reason}", count)
        for outcome, count in self._outcomes.items():
            put(f"frontier/{outcome}", count)


def _options(settings: BaseSettings, spider: Spider | None) -> dict[str, Any]:
    """Return the options of the frontier that the settings and the spider's depth ask for."""
    wanted = getattr(spider, "depth", None)
    depth = settings.getint("FRONTIER_DEPTH") if wanted is None else wanted
    return {
        "order": settings["FRONTIER_ORDER"],
        "delay": settings.getfloat("POLITENESS_DELAY"),
        "at_once": settings.getint("POLITENESS_AT_ONCE"),
        "lease": settings.getfloat("FRONTIER_LEASE"),
        "limits": FrontierLimits(
            depth=depth,
            dynamic_depth=min(depth, settings.getint("FRONTIER_DYNAMIC_DEPTH")),
            host_urls=settings.getint("FRONTIER_HOST_URLS"),
            host_waiting=settings.getint("FRONTIER_HOST_WAITING"),
        ),
        "now": time(),
    }
