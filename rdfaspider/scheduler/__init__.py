"""The scheduler: a thin plug between Scrapy's engine and the frontier.

A URL becomes a Request when it is taken and not before. Every Page that leaves the pipelines ends its
URL in the frontier, together with the links to follow, in one step; so a URL is done when its triples
are stored, and its links are known when it is done. When the store or the frontier cannot write any
more, or no page can be read, the crawl stops: what is in flight then waits for the next start.
"""

from __future__ import annotations

import asyncio
import logging
from collections import Counter
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request, signals
from scrapy.core.scheduler import BaseScheduler
from scrapy.exceptions import UsageError
from scrapy.utils.asyncio import call_later, create_looping_call
from scrapy.utils.defer import deferred_from_coro
from scrapy.utils.misc import load_object

from rdfaspider import clock
from rdfaspider.frontier import FrontierUnavailable, Hooks, is_page, open_frontier
from rdfaspider.frontier.limits import MAX_REDIRECTS
from rdfaspider.frontier.politeness import Experience
from rdfaspider.items import Page
from rdfaspider.scheduler.advice import advice_for
from rdfaspider.scheduler.counting import Counting
from rdfaspider.scheduler.guessing import NOTE, Guessing
from rdfaspider.scheduler.intake import Intake
from rdfaspider.scheduler.lanes import FLOW, Lanes
from rdfaspider.scheduler.loglines import LogLines
from rdfaspider.scheduler.memory import Memory
from rdfaspider.scheduler.options import (
    frontier_options,
    frontier_url,
    lanes_of,
)
from rdfaspider.scheduler.own import OwnRequests
from rdfaspider.scheduler.placing import Placing
from rdfaspider.service.notes import SETTINGS as RELOADABLE
from rdfaspider.settings.places import seeds_url
from rdfaspider.signals import hosts_unplaced, scope_grown, seed_failed
from rdfaspider.urls import normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from twisted.internet.defer import Deferred
    from twisted.python.failure import Failure

    from rdfaspider.frontier import Frontier, State, Taken
    from rdfaspider.scheduler.advice import Advice
    from rdfaspider.scheduler.placing import Place

logger = logging.getLogger(__name__)

# Under this name the frontier keeps whether all seeds of the spider were taken in, if there are many.
_SEEDS = "seeds"

# URLs looked at in one go for one whose host may be fetched from, and the seconds until the next go.
_LOOKED_AT = 50
_BREATH = 0.02


class Scheduler(BaseScheduler):
    """Serves requests from a frontier and acknowledges what became of them.

    The spider's `follow(page)` says which links of a page to take in; its `memory` is kept with the
    frontier and given back to `recall` at the next start.
    """

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
        self.advice = advice
        self.lanes = lanes
        self.lease = lease
        self.retries = retries
        self.retry_delay = retry_delay
        self.patience = patience
        self.page_limit = page_limit
        self._pages = 0
        self.spider: Any = None
        self._taken: dict[int, Taken] = {}
        self._outcomes: Counter[str] = Counter()
        self._guessing: Guessing | None = None
        self._alarm: Any = None
        self._placing = Placing(frontier, self._ask_for_servers, self._wake_engine)
        # A URL may be granted a second time while the first fetch is still on its way; each fetch answers
        # for its own grant.
        self._grants = 0
        self._intake = Intake(frontier, self._contexts_of_seeds)
        self._log_lines: LogLines | None = None
        self._closed = False
        self._is_stopping = False
        self._own = OwnRequests.of(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
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
            patience=settings.getfloat("FRONTIER_PATIENCE"),
            page_limit=settings.getint("CLOSESPIDER_PAGECOUNT"),
            lanes=lanes_of(settings),
            lease=settings.getfloat("FRONTIER_LEASE"),
        )
        try:
            advice.begin(frontier)
            scheduler._memory.recall(crawler.spider)
            _refuse_to_begin_without_seeds(
                frontier,
                crawler.spider,
                may_come=bool(seeds_url(settings)),
            )
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

    def open(self, spider: Spider) -> Deferred[None] | None:
        self.spider = spider
        self._own.open(spider)
        if self._memory.is_resumed:
            self._greet()
        if self.frontier.is_shared:
            self._join()
        for url, context in self.advice.seeds():
            self.spider.scope.add(url)
            self.frontier.put([url], contexts=[context])
        if budget := self.crawler.settings.getint("FRONTIER_GUESSES"):
            self._guessing = Guessing(budget, self.frontier.note(NOTE))
        if not self.frontier.is_shared:  # else they come with any worker, and by Redis
            self._intake.expect(getattr(getattr(spider, "seeds", None), "urls", ()))
        self._memory.begin(self.spider)
        self._reporting = create_looping_call(self._report)
        self._reporting.start(1.0)
        return None

    def _join(self) -> None:
        """Let the other workers know of this one, and this one of them."""
        loop = asyncio.get_running_loop()

        def notify() -> None:
            loop.call_soon_threadsafe(self._wake_engine)

        self.growth = Counting(self.crawler.stats.get_stats()).growth
        self.crawler.signals.connect(self._seed_failed, seed_failed)
        hooks = Hooks(
            notify=notify,
            room=lambda: self.lanes.slots - self.lanes.young(clock.now()),
            growth=self.growth,
            heed=self._heed,
        )
        if (level := self.crawler.settings["FRONTIER_LOG_LEVEL"]) != "OFF":
            self._log_lines = LogLines(level)
            logging.root.addHandler(self._log_lines)
            hooks.lines = self._log_lines.take
        self.frontier.attach(hooks)

    def _heed(self, told: dict[str, str]) -> None:
        """Take over the settings that all workers are told."""
        settings = self.crawler.settings.copy()
        settings.frozen = False
        for name in told.keys() & set(RELOADABLE):
            settings.set(name, told[name], "cmdline")
        self.retries = settings.getint("FRONTIER_RETRIES")
        self.retry_delay = settings.getfloat("FRONTIER_RETRY_DELAY")
        self.lanes.resize(lanes_of(settings))
        if "LOG_LEVEL" in told:
            for handler in logging.root.handlers:
                handler.setLevel(told["LOG_LEVEL"])

    def _seed_failed(self, url: str, problem: str) -> None:
        self.frontier.say("seed_failed", url=url, problem=problem)

    def _greet(self) -> None:
        """Say how far the crawl is that goes on."""
        counts = self.frontier.counts()
        if self._intake.was_cut_short and not self.spider.seeds.urls:
            logger.warning(
                "The crawl ended before it had taken in all its seeds: give them again with"
                " -a seeds=…; those that it knows are not fetched twice."
            )
        if waiting := counts.waiting + counts.in_flight:
            logger.info("Resuming: %s waiting, %s done.", f"{waiting:,}", f"{counts.done:,}")
        elif counts.done and not self.spider.seeds.urls:
            logger.info("Nothing is left to fetch: %s done.", f"{counts.done:,}")

    async def add_seeds(self, urls: Sequence[str]) -> None:
        """Take in seeds, some at a time; the crawl goes on meanwhile."""
        try:
            async for _ in self._intake.take(urls):
                self._wake_engine()
        except FrontierUnavailable as error:
            self._stop("frontier_error", error)

    def _contexts_of_seeds(self, urls: Sequence[str]) -> Sequence[int]:
        topics = getattr(getattr(self.spider, "seeds", None), "topics", {})
        return self.advice.contexts_of_seeds(urls, topics)

    async def add_pushed(self, urls: Sequence[str], depth: int) -> bool:
        """Take in seeds that came after the start, and let the other workers know their scope; return when
        they are safe, False if they cannot be."""
        try:
            self._memory.keep(self.spider)
            self.frontier.put(urls, depth)
            while not self.frontier.is_settled:
                await asyncio.sleep(0.02)
        except FrontierUnavailable as error:
            self._stop("frontier_error", error)
            return False
        self._wake_engine()
        return True

    def close(self, reason: str) -> Deferred[None] | None:
        self._closed = True
        self._placing.close()
        if self._alarm is not None:
            self._alarm.cancel()
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
            if self._guessing is not None:
                self.frontier.set_note(NOTE, self._guessing.dump())
        finally:
            self.frontier.close()

    # --- requests ---

    @property
    def is_told_to_stop(self) -> bool:
        """Tell whether the workers of this crawl are told to stop."""
        return self.frontier.state == "stop"

    @property
    def is_waiting(self) -> bool:
        """Tell whether nothing is under way: no fetch, no look-up of a host, no seed."""
        return not (self._taken or self._placing or self.lanes.waiting or self._intake.is_busy)

    def has_pending_requests(self) -> bool:
        """Tell whether it is worth waiting: for hosts that are being looked up, and for those that will be
        ready soon, not in a day."""
        self._placing.look_ahead(clock.now())
        if self._placing or self.lanes.waiting or self._own.has_pending_requests():
            return True
        seconds = self._wait(clock.now())
        return seconds is not None and seconds <= self.patience

    def enqueue_request(self, request: Request) -> bool:
        """Take in a seed, a request of the spider's own, or what some middleware made of a request that is
        in flight."""
        taken = self._taken.pop(request.meta.get("number", -1), None)
        if taken is None and self._own.includes(request):
            return self._own.enqueue_request(request)
        if taken is None:
            try:
                url = normalise(request.url)
            except ValueError:
                return False
            self.frontier.put([url], depth=request.meta.get("depth", 0))
        elif request.url == taken.url:
            self.frontier.retry(taken, clock.now())
        else:
            self._move(taken, normalise(request.url))
        return True

    def _move(self, taken: Taken, url: str) -> None:
        """End a URL that a middleware has redirected to another."""
        now, hops = clock.now(), taken.hops + 1
        if hops > MAX_REDIRECTS:
            self.frontier.finish(taken, "failed", now, reason="redirects")
        else:
            self.frontier.finish(taken, "done", now, [url], deeper=0, hops=hops)

    def next_request(self) -> Request | None:
        if (own := self._own.next_request()) is not None:
            return own
        if self.page_limit and self._pages + len(self._taken) >= self.page_limit:
            return None  # those in flight may be the last; one that is not a page makes room
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
        return Request(
            taken.url,
            callback=self.spider.parse,
            errback=self.spider.failed,
            # The frontier sees to redirects and retries, and its URLs are in normal form already.
            meta={
                "number": self._grants,
                "host": taken.host,
                "depth": taken.depth,
                "hops": taken.hops,
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
            self.frontier.release(url, now)  # it would be handed out a second time
        for _ in range(_LOOKED_AT):
            if lanes.is_patient(now):
                self._wake_engine_in(FLOW)  # or sooner, when a fetch ends
                return None
            taken = self.frontier.take(now)
            if taken is None:
                self._wake_engine_at_next(now)
                return None
            if lanes.admits(taken.host, now):
                return taken
            if not lanes.keep(taken, now):
                self.frontier.slow_down(taken.host, until=lanes.return_time(now))
                self.frontier.release(taken, now)
        self._wake_engine_in(_BREATH)
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
        """Have the engine ask again when a host gets ready, not at its next heartbeat."""
        waits = (self._wait(now), self.lanes.seconds_to_room(now))
        self._wake_engine_in(min((wait for wait in waits if wait is not None), default=None))

    def _wake_engine_in(self, seconds: float | None) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        if seconds is not None:
            self._alarm = call_later(seconds, self._wake_engine)

    def _wait(self, now: float) -> float | None:
        try:
            return self.frontier.wait(now)
        except FrontierUnavailable as error:
            self._stop("frontier_error", error)
            return None

    def _wake_engine(self) -> None:
        if self._alarm is not None:
            self._alarm.cancel()
            self._alarm = None
        slot = self.crawler.engine._slot if self.crawler.engine else None  # there is no public way
        if slot is not None:
            slot.nextcall.schedule()

    # --- outcomes ---

    def item_scraped(self, item: Any) -> None:
        if isinstance(item, Page) and (taken := self._taken.pop(item.number, None)) is not None:
            try:
                self._acknowledge(taken, item)
            except FrontierUnavailable as error:
                self._stop("frontier_error", error)

    def _acknowledge(self, taken: Taken, page: Page) -> None:
        now = clock.now()
        self._count_page(page)
        if page.strikes:
            # Not as a failure: the answer to this very fetch has cleared the failures of the host.
            self.frontier.report(taken.host, now, Experience(strikes=page.strikes))
        if page.outcome == "postponed":
            self.frontier.release(taken, now)
        elif page.transient and taken.attempts < self.retries:
            after = self.retry_delay * 2**taken.attempts
            self.frontier.retry(taken, now, after, reason=page.reason, status=page.status)
            self._outcomes[f"retried/{page.reason}"] += 1
        else:
            links, places = self.spider.follow(page)
            guesses = self._guesses(page, taken) if self._guessing is not None else []
            is_redirect = page.reason == "redirect"
            if self.frontier.is_shared and is_redirect and page.depth == 0:
                # Whoever fetches the target does not know how it was found.
                for link in links:
                    self.spider.scope.grow(link)
            if self.spider.scope.grown:
                self._memory.keep(self.spider)
                self.crawler.signals.send_catch_log(scope_grown, url=page.url)
            state: State = page.outcome
            gain = self.advice.gain(page)
            contexts = self.advice.contexts(page, links, places)
            if contexts:
                contexts += [0] * len(guesses)
            self.frontier.finish(
                taken,
                state,
                now,
                links + guesses,
                deeper=0 if is_redirect else 1,
                hops=taken.hops + 1 if is_redirect else 0,
                gain=gain,
                contexts=contexts,
                reason=page.reason,
                status=page.status,
            )
            self._outcomes[f"{page.outcome}/{page.reason}"] += 1

    def _count_page(self, page: Page) -> None:
        """Count what was answered, robots.txt, redirects and sitemaps left out; stop at the limit."""
        self._pages += is_page(page.status, page.reason)
        if self.page_limit and self._pages >= self.page_limit and not self._is_stopping:
            self._is_stopping = True
            self._close_spider("closespider_pagecount")

    def _guesses(self, page: Page, taken: Taken) -> list[str]:
        assert self._guessing is not None
        self._guessing.answer(page)
        if taken.depth >= self.frontier.limits.depth:
            return []  # they would lie beyond
        return self._guessing.guess(
            page, lambda url: self.spider.may_follow(url) and not self.frontier.knows(url)
        )

    def item_error(self, item: Any, failure: Failure) -> None:
        if isinstance(failure.value, OSError):
            # The disk, the store or the workers: it is not the page's fault, so the page stays in flight.
            reason = getattr(failure.value, "finish_reason", "store_error")
            self._stop(reason, failure.value)
        elif isinstance(item, Page):
            self._fail(item.number, type(failure.value).__name__)

    def item_dropped(self, item: Any) -> None:
        if isinstance(item, Page):
            self._fail(item.number, "dropped")

    def spider_error(self, failure: Failure, response: Any) -> None:
        if response is not None:  # else an error of the spider's start
            self._fail(response.request.meta.get("number", -1), type(failure.value).__name__)

    def _fail(self, number: int, reason: str) -> None:
        if (taken := self._taken.pop(number, None)) is not None:
            self.frontier.finish(taken, "failed", clock.now(), reason=reason)
            self._outcomes[f"failed/{reason}"] += 1

    def _stop(self, reason: str, error: BaseException) -> None:
        if self._is_stopping:  # once is enough for all pages that are on their way
            return
        self._is_stopping = True
        logger.error("The crawl stops: %s Fix this, then run the same command to resume.", error)
        self._close_spider(reason)

    def _close_spider(self, reason: str) -> None:
        if self.crawler.engine.running:
            deferred_from_coro(self.crawler.engine.close_spider_async(reason=reason))

    def _report(self) -> None:
        """Hand the counters over to the stats, once a second and at the end; look ahead."""
        if not self._closed:
            self._placing.look_ahead(clock.now())
            self._wake_engine()  # some of what is under way may have become slow, and hold no slot any more
        counts = self.frontier.counts()
        put = self.crawler.stats.set_value
        for name in ("seen", "waiting", "in_flight", "done", "failed", "denied"):
            put(f"frontier/{name}", getattr(counts, name))
        for reason, count in counts.rejected.items():
            put(f"frontier/rejected/{reason}", count)
        if self._guessing is not None:
            put("frontier/guesses", self._guessing.made)
            put("frontier/guesses/hits", self._guessing.hits)
        for outcome, count in self._outcomes.items():
            put(f"frontier/{outcome}", count)
        self._report_fetches()

    def _report_fetches(self) -> None:
        self.crawler.stats.set_value("fetch/slow", self.lanes.slow)
        self.crawler.stats.set_value("fetch/held", self.lanes.waiting)


def uses_frontier(settings: BaseSettings) -> bool:
    """Tell whether a crawl with these settings takes its URLs from a frontier."""
    # Scrapy's schedulers have an issubclass of their own, which is true of all that look like one.
    return Scheduler in load_object(settings["SCHEDULER"]).__mro__


def _refuse_to_begin_without_seeds(frontier: Frontier, spider: Any, *, may_come: bool) -> None:
    """Raise UsageError if there is a frontier, but an earlier run has put nothing in it."""
    seeds = getattr(spider, "seeds", None)
    if seeds is not None and not (
        frontier.is_shared or may_come or seeds.urls or frontier.counts().seen
    ):
        raise UsageError(
            "No seeds: this crawl was begun but has none yet. Say where to start with"
            " -a seeds=URL[,URL…], -a seeds=FILE (a URL a line) or -a seeds=- (standard input)."
        )
