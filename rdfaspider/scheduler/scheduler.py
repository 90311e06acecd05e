"""Scrapy's scheduler interface over a frontier.

A URL ends in the frontier when Scrapy says `item_scraped`: after the last pipeline, when the triples of its
page are safe (answers/outcomes.py). If anything dies before that, the URL still waits.
"""

from __future__ import annotations

import asyncio
import logging
from functools import cached_property
from math import inf
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.exceptions import UsageError
from scrapy.utils.defer import deferred_from_coro

from rdfaspider import clock
from rdfaspider.compat import VerbatimRequest, create_looping_call
from rdfaspider.fetchmeta import meta_of
from rdfaspider.frontier import FrontierUnavailable, Hooks, open_frontier
from rdfaspider.frontier.politeness import Demand
from rdfaspider.items import Page
from rdfaspider.scheduler.alarm import Alarm
from rdfaspider.scheduler.answers.advice import advice_for
from rdfaspider.scheduler.answers.outcomes import Outcomes
from rdfaspider.scheduler.control.exclusions import Exclusions
from rdfaspider.scheduler.control.sharing import COUNTS, Growth, LogLines
from rdfaspider.scheduler.control.steering import Steering
from rdfaspider.scheduler.intake import Intake
from rdfaspider.scheduler.lanes import FLOW, Lanes
from rdfaspider.scheduler.memory import Memory
from rdfaspider.scheduler.options import frontier_options, lanes_of, politeness_of
from rdfaspider.scheduler.own import OwnRequests, callback_of
from rdfaspider.scheduler.placing import Placing
from rdfaspider.service.notes import SETTINGS as RELOADABLE
from rdfaspider.settings.defaults import demand_all
from rdfaspider.settings.places import frontier_url, has_pushed_seeds
from rdfaspider.signals import hosts_unplaced, seed_failed
from rdfaspider.urls import normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from rdfaspider.frontier import Frontier, Taken
    from rdfaspider.frontier.politeness import Politeness
    from rdfaspider.scheduler.answers.advice import Advice
    from rdfaspider.scheduler.placing import Place
    from rdfaspider.service.notes import SharedNotes

logger = logging.getLogger(__name__)

# URLs tried in one go for one whose host may be fetched from, and the seconds until the next go.
_LOOKED_AT = 50
_BREATH = 0.02


class Scheduler(BaseScheduler):
    """Serves requests from a frontier and reports their outcomes to it.

    The spider's `memory` is kept with the frontier and passed to `recall` at the next start.
    """

    has_frontier = True

    def __init__(
        self,
        crawler: Crawler,
        frontier: Frontier,
        advice: Advice,
        *,
        retries: int,
        retry_delay: float,
        patience: float,
        lanes: Lanes,
        lease: float,
        page_limit: int = 0,
    ) -> None:
        self.crawler = crawler
        self.frontier = frontier
        self._memory = self._make_memory()
        self.exclusions = Exclusions(self._notes, self._excluded_more)
        self._steering = Steering(frontier, self._told_otherwise, self._told_to_stop)
        self.advice = advice
        self.lanes = lanes
        self.lease = lease
        self.patience = patience
        self.page_limit = page_limit
        self.spider: Any = None
        self._taken: dict[int, Taken] = {}
        self._outcomes = Outcomes(
            crawler, frontier, advice, self._memory, retries=retries, retry_delay=retry_delay
        )
        self._alarm = Alarm(crawler)
        self._placing = Placing(frontier, self._ask_for_servers, self._alarm.ring)
        # A URL may be granted again while its first fetch is under way; each fetch has its own grant.
        self._grants = 0
        self._intake = Intake(frontier, self._contexts_of_seeds)
        self._log_lines: LogLines | None = None
        self._closed = False
        self._is_stopping = False
        self._own = OwnRequests.of(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        demand_all(settings, cls.__name__)
        try:
            advice = advice_for(
                settings["FRONTIER_ORDER"],
                settings["FRONTIER_OBJECTIVE"],
                settings["FRONTIER_TOPICS"],
            )
            frontier = open_frontier(
                frontier_url(settings), **frontier_options(settings, crawler.spider)
            )
        except ValueError as error:
            raise UsageError(str(error)) from error
        scheduler = cls(
            crawler,
            frontier,
            advice,
            retries=settings.getint("FRONTIER_RETRIES"),
            retry_delay=settings.getfloat("FRONTIER_RETRY_DELAY"),
            # A crawl with revisits goes on until it is stopped, or visits what is due.
            patience=inf
            if settings.getbool("FRONTIER_REVISIT") and not settings.getbool("FRONTIER_REVISIT_DUE")
            else settings.getfloat("FRONTIER_PATIENCE"),
            page_limit=settings.getint("CLOSESPIDER_PAGECOUNT"),
            lanes=lanes_of(settings),
            lease=settings.getfloat("FRONTIER_LEASE"),
        )
        try:
            advice.begin(frontier)
            scheduler._memory.recall(crawler.spider)
            may_come = has_pushed_seeds(settings)
            _refuse_to_begin_without_seeds(frontier, crawler.spider, may_come=may_come)
        except UsageError:
            frontier.close()
            raise
        except ValueError as error:
            frontier.close()
            raise UsageError(str(error)) from error
        connect = crawler.signals.connect
        connect(scheduler.item_scraped, signals.item_scraped)
        connect(scheduler.item_dropped, signals.item_dropped)
        connect(scheduler.item_error, signals.item_error)
        connect(scheduler.spider_error, signals.spider_error)
        return scheduler

    def _make_memory(self) -> Memory:
        return Memory(self.frontier, is_shared=self.frontier.is_shared)

    @property
    def _notes(self) -> Frontier | SharedNotes:
        """Return what keeps the notes of the crawl."""
        return self.frontier

    def open(self, spider: Spider) -> Deferred[None] | None:
        self.spider = spider
        self._own.open(spider)
        if self._memory.is_resumed:
            self._greet()
        if self.frontier.is_shared:
            self._join()
        self._outcomes.open(spider)
        if not self.frontier.is_shared:  # else they come with any worker, and through Redis
            self._intake.expect(getattr(getattr(spider, "seeds", None), "urls", ()))
        self._memory.begin(self.spider)
        self.exclusions.begin()
        self._reporting = create_looping_call(self._report)
        self._reporting.start(1.0)
        return None

    def _join(self) -> None:
        """Connect this worker with the service of the others."""
        loop = asyncio.get_running_loop()

        def notify() -> None:
            loop.call_soon_threadsafe(self._alarm.ring)

        growth = Growth(self.crawler.stats.get_stats())

        def take_growth() -> dict[str, int]:
            self._report_outcomes()  # those that end in the message that takes this along
            return growth.take()

        self.growth = take_growth
        self.crawler.signals.connect(self._seed_failed, seed_failed)
        hooks = Hooks(
            notify=notify,
            room=lambda: self.lanes.slots - self.lanes.young(clock.now()),
            growth=take_growth,
            instructed=self._apply_settings,
        )
        if (level := self.crawler.settings["FRONTIER_LOG_LEVEL"]) != "OFF":
            self._log_lines = LogLines(level)
            logging.root.addHandler(self._log_lines)
            hooks.lines = self._log_lines.take
        self.frontier.attach(hooks)

    def _apply_settings(self, told: dict[str, str]) -> None:
        """Adopt the settings in the instructions to all workers."""
        settings = self.crawler.settings.copy()
        settings.frozen = False
        for name in told.keys() & set(RELOADABLE):
            settings.set(name, told[name], "cmdline")
        self._outcomes.retries = settings.getint("FRONTIER_RETRIES")
        self._outcomes.retry_delay = settings.getfloat("FRONTIER_RETRY_DELAY")
        self.lanes.resize(lanes_of(settings))
        if "LOG_LEVEL" in told:
            for handler in logging.root.handlers:
                handler.setLevel(told["LOG_LEVEL"])

    # --- instructions ---

    @property
    def _shared(self) -> Any:
        """Return the frontier of a shared crawl, which passes instructions on."""
        return self.frontier

    @property
    def told(self) -> dict[str, str]:
        """Return the instructions to the crawl while it runs."""
        return self._shared.told if self.frontier.is_shared else self._steering.told

    @property
    def state(self) -> str:
        """Return what the crawl is told to do: run, pause or stop."""
        return self.frontier.state if self.frontier.is_shared else self._steering.state

    def tell(self, name: str, value: str) -> None:
        """Give the crawl, and all its workers, an instruction; ValueError if it is invalid."""
        (self._shared if self.frontier.is_shared else self._steering).tell(name, value)

    def _told_otherwise(self, told: dict[str, str]) -> None:
        self._apply_settings(told)
        self._alarm.ring()

    def _told_to_stop(self) -> None:
        """End the crawl as Ctrl-C does."""
        if not self._is_stopping:
            self._is_stopping = True
            self._close_spider("shutdown")

    def _excluded_more(self) -> None:
        """Let the spider judge links by the rules that are new."""
        self.spider.excludes = self.exclusions.has

    def _seed_failed(self, url: str, problem: str) -> None:
        self.frontier.say("seed_failed", url=url, problem=problem)

    def _greet(self) -> None:
        """Log how far a resumed crawl is."""
        counts = self.frontier.counts()
        if self._intake.was_cut_short and not self.spider.seeds.urls:
            logger.warning(
                "The crawl ended before it had taken in all its seeds: give them again with"
                " -a seeds=…; those that it knows are not fetched twice."
            )
        if waiting := counts.waiting + counts.in_flight:
            logger.info("Resuming: %s waiting, %s done.", f"{waiting:,}", f"{counts.done:,}")
        elif counts.kept:
            logger.info(
                "Resuming: %s pages are visited again when they are due.", f"{counts.kept:,}"
            )
        elif counts.done and not self.spider.seeds.urls:
            logger.info("Nothing is left to fetch: %s done.", f"{counts.done:,}")

    async def add_seeds(self, urls: Sequence[str]) -> None:
        """Take in seeds, some at a time, while the crawl goes on."""
        try:
            async for _ in self._intake.take(urls):
                self._alarm.ring()
        except FrontierUnavailable as error:
            self._stop("frontier_error", error)

    def _contexts_of_seeds(self, urls: Sequence[str]) -> Sequence[int]:
        topics = getattr(getattr(self.spider, "seeds", None), "topics", {})
        return self.advice.contexts_of_seeds(urls, topics)

    async def add_pushed(self, urls: Sequence[str], depth: int) -> bool:
        """Take in seeds that came after the start, and share their scope with the other workers; return
        once they are safe, False if that fails."""
        try:
            self._memory.keep(self.spider)
            self.frontier.put(urls, depth)
            while not self.frontier.is_settled:
                await asyncio.sleep(0.02)
        except FrontierUnavailable as error:
            self._stop("frontier_error", error)
            return False
        self._alarm.ring()
        return True

    def close(self, reason: str) -> Deferred[None] | None:
        self._closed = True
        self._placing.close()
        self._alarm.stop()
        self._reporting.stop()
        if self._log_lines is not None:
            logging.root.removeHandler(self._log_lines)
        try:
            self._close_frontier()
        except FrontierUnavailable as error:
            if not self._is_stopping:
                logger.error("The end of the crawl is not safe: %s", error)
            self.crawler.stats.set_value("frontier/unsafe", 1)
        finally:
            self._report()
        return None

    def _close_frontier(self) -> None:
        try:
            self._intake.finish()
            self._outcomes.close()
        finally:
            self.frontier.close()

    # --- requests ---

    @cached_property
    def politeness(self) -> Politeness:
        """The rules of the crawl, without what was told it for single hosts."""
        return politeness_of(self.crawler.settings)

    def host_of(self, number: int) -> int | None:
        """Return the host of a URL that is under way by the number of its grant, None if there is none."""
        taken = self._taken.get(number)
        return None if taken is None else taken.host

    @property
    def is_told_to_stop(self) -> bool:
        """Return whether the workers of this crawl are instructed to stop."""
        return self.state == "stop"

    @property
    def is_waiting(self) -> bool:
        """Return whether nothing is under way: no fetch, no look-up of a host, no seed."""
        return not (self._taken or self._placing or self.lanes.waiting or self._intake.is_busy)

    def has_pending_requests(self) -> bool:
        """Return whether waiting is worthwhile: for hosts being looked up, and for those ready within
        FRONTIER_PATIENCE. A crawl that is paused waits."""
        if self.state == "pause":
            return True
        self._placing.look_ahead(clock.now())
        if self._placing or self.lanes.waiting or self._own.has_pending_requests():
            return True
        seconds = self._wait(clock.now())
        return seconds is not None and seconds <= self.patience

    def enqueue_request(self, request: Request) -> bool:
        """Take in a seed, a request of the spider's own, or a middleware's replacement of a request in
        flight."""
        taken = self._taken.pop(meta_of(request).get("number", -1), None)
        if taken is None and self._own.includes(request):
            request.callback = request.callback or callback_of(self.spider)
            return self._own.enqueue_request(request)
        if taken is None:
            try:
                url = normalise(request.url)
            except ValueError:
                return False
            self.frontier.put([url], depth=meta_of(request).get("depth", 0))
        elif request.url == taken.url:
            self.frontier.retry(taken, clock.now())
        else:
            self._outcomes.move(taken, normalise(request.url))
        return True

    def next_request(self) -> Request | None:
        if self.state == "pause":
            return None
        if (own := self._own.next_request()) is not None:
            return own
        if self.page_limit and self._outcomes.pages + len(self._taken) >= self.page_limit:
            return None  # those in flight may be the last; one that is not a page makes room again
        now = clock.now()
        try:
            taken = self._next(now)
        except FrontierUnavailable as error:
            self._stop("frontier_error", error)
            return None
        if taken is None:
            self._placing.look_ahead(now)
            return None
        self._grants += 1
        self._taken[self._grants] = taken
        self.lanes.begin(self._grants, taken.host, now)
        return VerbatimRequest(
            taken.url,
            headers=self._outcomes.validators.conditions(taken) if taken.visit else None,
            callback=callback_of(self.spider),
            errback=self.spider.failed,
            # The frontier handles redirects and retries, and its URLs are in normal form already.
            meta={
                "number": self._grants,
                "host": taken.host,
                "depth": taken.depth,
                "hops": taken.hops,
                "visit": taken.visit,
                "dont_redirect": True,
                "dont_retry": True,
                "handle_httpstatus_all": True,
                "verbatim_url": True,
            },
        )

    def _next(self, now: float) -> Taken | None:
        """Take a URL whose host may be fetched from now, None if there is none or its lane is full."""
        lanes = self.lanes
        while (kept := lanes.next_kept(now)) is not None:
            since, url = kept
            if now - since < self.lease / 2:
                return url
            self.frontier.release(url, now)  # its lease would expire
        for _ in range(_LOOKED_AT):
            if lanes.is_patient(now):
                self._alarm.ring_in(FLOW)  # or sooner, when a fetch ends
                return None
            taken = self.frontier.take(now)
            if taken is None:
                self._wake_engine_at_next(now)
                return None
            if self.exclusions.has(taken.url):
                self._outcomes.deny(taken, "excluded")
                continue
            wanted = self.spider.filters.without_idle(taken.url)
            # A redirect may lead to a page with the parameter because the server wants one.
            if wanted != taken.url and taken.visit is None and not taken.hops:
                self.frontier.put([wanted], taken.depth)
                self._outcomes.deny(taken, "parameter")
                continue
            if lanes.admits(taken.host, now):
                return taken
            if not lanes.keep(taken, now):
                self.frontier.slow_down(taken.host, now, Demand(pause=lanes.return_time(now) - now))
                self.frontier.release(taken, now)
        self._alarm.ring_in(_BREATH)
        return None

    def _ask_for_servers(self, hosts: list[tuple[int, str]], place: Place) -> None:
        def place_or_stop(host: int, address: str) -> None:
            try:
                place(host, address)
            except FrontierUnavailable as error:
                self._stop("frontier_error", error)

        send = self.crawler.signals.send_catch_log
        send(hosts_unplaced, hosts=hosts, place=place_or_stop)

    def _wake_engine_at_next(self, now: float) -> None:
        """Wake the engine when a host gets ready."""
        waits = (self._wait(now), self.lanes.seconds_to_room(now))
        self._alarm.ring_in(min((wait for wait in waits if wait is not None), default=None))

    def _wait(self, now: float) -> float | None:
        try:
            return self.frontier.wait(now)
        except FrontierUnavailable as error:
            self._stop("frontier_error", error)
            return None

    # --- outcomes ---

    def item_scraped(self, item: Any) -> None:
        if isinstance(item, Page) and (taken := self._taken.pop(item.number, None)) is not None:
            try:
                self._outcomes.acknowledge(taken, item)
            except FrontierUnavailable as error:
                self._stop("frontier_error", error)
            if 0 < self.page_limit <= self._outcomes.pages and not self._is_stopping:
                self._is_stopping = True
                self._close_spider("closespider_pagecount")

    def item_error(self, item: Any, failure: Failure) -> None:
        if isinstance(failure.value, OSError):
            # The disk, the store or the workers failed: it is not the page's fault, so the page stays in
            # flight.
            reason = getattr(failure.value, "finish_reason", "store_error")
            self._stop(reason, failure.value)
        elif isinstance(item, Page):
            self._fail(item.number, type(failure.value).__name__)

    def item_dropped(self, item: Any) -> None:
        if isinstance(item, Page):
            self._fail(item.number, "dropped")

    def spider_error(self, failure: Failure, response: Any) -> None:
        if response is not None:  # else an error of the spider's start
            self._fail(meta_of(response.request).get("number", -1), type(failure.value).__name__)

    def _fail(self, number: int, reason: str) -> None:
        if (taken := self._taken.pop(number, None)) is not None:
            self._outcomes.fail(taken, reason)

    def _stop(self, reason: str, error: BaseException) -> None:
        if self._is_stopping:  # once for all pages that are under way
            return
        self._is_stopping = True
        logger.error("The crawl stops: %s Fix this, then run the same command to resume.", error)
        self._close_spider(reason)

    def _close_spider(self, reason: str) -> None:
        if self.crawler.engine.running:
            deferred_from_coro(self.crawler.engine.close_spider_async(reason=reason))

    def _report(self) -> None:
        """Copy the counters to the stats, once a second and at the end; look ahead."""
        if not self._closed:
            self._placing.look_ahead(clock.now())
            self._alarm.ring()  # some fetches may have become slow and freed their slots
        counts = self.frontier.counts()
        put = self.crawler.stats.set_value
        for name in COUNTS:
            put(f"frontier/{name}", getattr(counts, name))
        for reason, count in counts.rejected.items():
            put(f"frontier/rejected/{reason}", count)
        for topic, count in counts.topics.items():
            put(f"frontier/topic/{topic}", count)
        self._report_outcomes()
        self._report_fetches()

    def _report_outcomes(self) -> None:
        for name, count in self._outcomes.stats().items():
            self.crawler.stats.set_value(name, count)

    def _report_fetches(self) -> None:
        self.crawler.stats.set_value("fetch/slow", self.lanes.slow)
        self.crawler.stats.set_value("fetch/held", self.lanes.waiting)


def _refuse_to_begin_without_seeds(frontier: Frontier, spider: Any, *, may_come: bool) -> None:
    """Raise UsageError if there is a frontier, but no earlier run has put seeds in it."""
    seeds = getattr(spider, "seeds", None)
    if seeds is not None and not (
        frontier.is_shared or may_come or seeds.urls or frontier.counts().seen
    ):
        raise UsageError(
            "No seeds: this crawl was begun but has none yet. Say where to start with"
            " -a seeds=URL[,URL…], -a seeds=FILE (a URL a line), -a seeds=- (standard input), with seeds in"
            " the file of FRONTIER_TOPICS or, in Redis, with -s SEEDS_URL=redis://HOST:PORT/0."
        )
