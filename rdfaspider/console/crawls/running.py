"""What the console shows of the crawl in whose process it runs."""

from __future__ import annotations

import logging
import os
from dataclasses import asdict
from pathlib import Path
from time import monotonic, time
from typing import TYPE_CHECKING, Any, cast

from scrapy import signals

from rdfaspider import __version__, clock
from rdfaspider.compat import create_looping_call, is_closing, scheduler_of
from rdfaspider.console.crawls.controls import Controls
from rdfaspider.console.crawls.course import Course
from rdfaspider.console.crawls.latest import Latest, LatestUrls
from rdfaspider.console.crawls.logtail import LogTail
from rdfaspider.console.hosts.frontiers import LocalSource, ServedSource
from rdfaspider.console.hosts.table import HostTables
from rdfaspider.console.query.endpoint import answering, open_endpoint
from rdfaspider.console.query.snapshots import NAME, Snapshots
from rdfaspider.console.search.searches import Searches
from rdfaspider.extensions.history.extension import History
from rdfaspider.extensions.leftout import LeftOut
from rdfaspider.extensions.summary.reasons import in_words, topics_of
from rdfaspider.frontier import is_shared
from rdfaspider.items import Page
from rdfaspider.pages.row import unpack
from rdfaspider.resolver import ForbiddenAddressError, installed_resolver
from rdfaspider.scheduler.options import security_of
from rdfaspider.settings.places import frontier_url, store_url
from rdfaspider.stores.kinds import is_embedded
from rdfaspider.urls.hosts import host_and_port
from rdfaspider.urls.iris import without_userinfo

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from rdfaspider.console.hosts.frontiers import FrontierSource
    from rdfaspider.console.query.endpoint import Endpoint
    from rdfaspider.frontier import Ending, State, Taken, UrlView
    from rdfaspider.service.messages import WorkerView
    from rdfaspider.stores import Sink

logger = logging.getLogger(__name__)

_COUNTS = ("seen", "done", "failed", "denied", "kept", "waiting", "in_flight")
# Latest pages that are shown.
_SHOWN = 12
# URLs of a page of those behind an outcome.
_URLS = 100
# An overview is made at most this often, however many look at it.
_FRESH = 0.5


def shown_url(view: UrlView) -> dict[str, Any]:
    """Return a URL that has ended as it is shown."""
    return {
        "url": without_userinfo(view.url),
        "time": view.time,
        "status": view.status,
        "reason": view.reason,
        "attempts": view.attempts,
        "referrer": view.referrer and without_userinfo(view.referrer),
    }


async def urls_behind(
    frontier: FrontierSource, state: State, reason: str, after: int
) -> dict[str, Any]:
    """Return a page of the URLs that ended for a reason, and the place of the next, None at the end."""
    scan = frontier.ended(state, reason, after)
    views = await scan.first(_URLS)
    following = None if scan.is_whole else frontier.place(after, views)
    rows = [shown_url(view) for view in views]
    return {"rows": rows, "is_whole": scan.is_whole, "next": following if rows else None}


def shown_workers(views: Iterable[WorkerView]) -> list[dict[str, Any]]:
    """Return workers as they are shown."""
    return [asdict(view) | {"silent": max(0.0, view.silent)} for view in views]


class RunningCrawl:
    """A crawl in this process, with workers of its own or without."""

    is_running = True

    def __init__(self, crawler: Crawler, sink: Sink | None) -> None:
        self.crawler = crawler
        self.stats: StatsCollector = crawler.stats
        self.spider: Any = crawler.spider
        self.scheduler: Any = scheduler_of(crawler)
        jobdir = crawler.settings["JOBDIR"]
        self.name = Path(jobdir).resolve().name if jobdir else "crawl"
        self.directory = str(Path(jobdir).resolve()) if jobdir else ""
        history = crawler.get_extension(History)
        path = None if history is None else history.path
        self._history = history or History(self.stats, Path(), 0.0)
        self.course = Course(self._history.sample, path)
        self._left_out = crawler.get_extension(LeftOut)
        self.latest = LatestUrls()
        self._tail = LogTail(crawler.settings["LOG_LEVEL"])
        self.frontier: FrontierSource = self._source()
        self.hosts = HostTables(lambda: self.frontier.hosts(clock.now()))
        self.controls = Controls(self)
        self.searches = Searches(self, Path(jobdir or "."))
        self._snapshots: Snapshots | None = None
        self._endpoint = self._open_endpoint(sink)
        self._started = monotonic()
        self._ticking = create_looping_call(self.course.tick)
        self._overview: tuple[float, dict[str, Any]] = (0.0, {})

    async def current(self) -> RunningCrawl:
        """Return what shows the crawl now."""
        return self

    def _source(self) -> FrontierSource:
        settings = self.crawler.settings
        if is_shared(url := frontier_url(settings)):
            return ServedSource(url, security_of(settings))
        return LocalSource(self.scheduler.frontier, lambda: self._ticking.running)

    def _open_endpoint(self, sink: Sink | None) -> Endpoint | None:
        settings = self.crawler.settings
        if sink is None:
            return None  # a worker has no store
        if is_embedded(store_url(settings)):
            self._snapshots = Snapshots(sink, Path(settings["JOBDIR"] or ".") / NAME)
        return open_endpoint(settings, self._snapshots)

    @property
    def endpoint(self) -> Endpoint:
        """Return what answers queries; StoreUnavailable if nothing does."""
        return answering(self._endpoint)

    def start(self) -> None:
        """Begin to watch the crawl."""
        self._ticking.start(1.0)
        # The other handlers have filters that keep secrets out of the log.
        for handler in logging.root.handlers:
            for each in handler.filters:
                self._tail.addFilter(each)
        logging.root.addHandler(self._tail)
        self.crawler.signals.connect(self._item_scraped, signals.item_scraped)
        if (handler := self._handler) is not None:
            handler.ended = self._ended

    def stop(self) -> None:
        if self._snapshots is not None:
            self._snapshots.close()
        logging.root.removeHandler(self._tail)
        if self._ticking.running:
            self._ticking.stop()

    @property
    def _handler(self) -> Any:
        """Return what serves the frontier to workers of this crawl, None if it has none."""
        return getattr(self.scheduler, "handler", None)

    # --- what happens ---

    def _item_scraped(self, item: Any) -> None:
        if isinstance(item, Page) and item.outcome != "postponed":
            self.latest.add(
                Latest(
                    item.fetched,
                    without_userinfo(item.url),
                    item.outcome,
                    item.reason,
                    item.status,
                    item.quad_count,
                    item.title,
                )
            )

    def _ended(self, taken: Taken, state: State, said: Ending) -> None:
        """Take note of a URL that a worker has ended."""
        triples, title = -1, ""
        if data := said.get("row", b""):
            try:
                row, _ = unpack(data)
                triples, title = row.triples, row.title
            except ValueError:
                pass  # of another version
        url, reason = without_userinfo(taken.url), said.get("reason", "")
        status = said.get("status", 0)
        self.latest.add(Latest(time(), url, state, reason, status, triples, title))

    async def tell(self, name: str, value: str) -> None:
        """Give the crawl an instruction."""
        if isinstance(self.frontier, ServedSource):
            await self.frontier.ask(lambda frontier: frontier.tell(name, value))
        else:
            self.scheduler.tell(name, value)
        self._overview = (0.0, {})

    async def exclude(self, rule: str) -> None:
        """Exclude URLs by a rule."""
        self.scheduler.exclusions.add(rule)

    async def add_seeds(self, urls: list[str]) -> list[str]:
        """Take in seeds that the crawl may fetch; return for each other one why not."""
        taken, refused = [], []
        for url in urls:
            try:
                installed_resolver().check_target(*host_and_port(url))
            except ForbiddenAddressError as error:
                logger.error("The seed %s was not taken: %s", without_userinfo(url), error)
                refused.append(str(error))
                continue
            if self.spider.welcome(url):
                taken.append(url)
            else:
                refused.append("The log says why.")
        if taken and not await self.scheduler.add_pushed(taken, 0):
            raise ValueError("The frontier does not take them: the log says why.")
        self.stats.inc_value("seeds/added", len(taken))
        return refused

    # --- what is shown ---

    async def overview(self) -> dict[str, Any]:
        """Return everything on the page of the crawl but its curves."""
        made, overview = self._overview
        if monotonic() - made < _FRESH:
            return overview
        overview = self._look()
        self._overview = monotonic(), overview
        return overview

    def _look(self) -> dict[str, Any]:
        sample = self.course.now
        return {
            "name": self.name,
            "directory": self.directory,
            "version": __version__,
            "state": self._state,
            "runs": True,
            "time": time(),
            "seconds": monotonic() - self._started,
            "total_seconds": sample.seconds,
            "counts": {name: self._stat(f"frontier/{name}") for name in _COUNTS},
            "pages": sample.pages,
            "triples": sample.quads,
            "bytes": sample.received,
            "memory": sample.memory,
            "copies": self._stat("frontier/copies"),
            "backlog": self._stat("store/backlog/quads"),
            "rates": self.course.rates()._asdict(),
            "forecast": self._forecast(),
            "outcomes": self._outcomes(),
            "outcomes_of": "this run",
            "topics": topics_of(self.stats.get_stats()),
            "left_out": [] if self._left_out is None else self._left_out.sentences,
            "latest": [each._asdict() for each in reversed(self.latest.pages)][:_SHOWN],
            "told": dict(self.scheduler.told),
            "excluded": self.scheduler.exclusions.rules,
            "settings": self._settings(),
            "process": os.getpid(),
            "errors": self._stat("log_count/ERROR"),
            "warnings": self._stat("log_count/WARNING"),
            "has_log": True,
            "controls": True,
        }

    @property
    def _state(self) -> str:
        if is_closing(self.crawler):
            return "stopping"
        return {"pause": "paused", "stop": "stopping"}.get(self.scheduler.state, "running")

    def _forecast(self) -> dict[str, Any] | None:
        found = self._history.forecast
        return None if found is None else found._asdict()

    def _settings(self) -> dict[str, Any]:
        settings = self.crawler.settings
        return {
            "order": getattr(self.scheduler.frontier, "order", ""),
            "scope": getattr(getattr(self.spider, "scope", None), "kind", ""),
            "depth": self.scheduler.frontier.limits.depth,
            "delay": settings.getfloat("POLITENESS_DELAY"),
            "workers": max(1, settings.getint("WORKERS")) if self._handler is None else "",
        }

    def _outcomes(self) -> list[dict[str, Any]]:
        """Return how many URLs ended in which way in this run, by reason."""
        rows = []
        for name, count in self.stats.get_stats().items():
            part, _, label = name.partition("/")
            state, _, reason = label.partition("/")
            if part == "frontier" and reason and state in ("done", "failed", "denied", "retried"):
                words = in_words(state, reason, count).partition(" ")[2]
                rows.append({"state": state, "reason": reason, "count": count, "words": words})
        rows.sort(key=lambda row: -row["count"])
        return rows

    async def urls(self, state: str, reason: str, after: int) -> dict[str, Any]:
        """Return URLs with an outcome: from the frontier, or the latest ones of this run."""
        if state in ("failed", "denied"):
            return await urls_behind(self.frontier, cast("State", state), reason, after)
        rows = [
            {"url": each.url, "time": each.time, "status": each.status, "triples": each.triples}
            for each in self.latest.of(state, reason)
        ]
        return {"rows": rows, "is_whole": len(rows) < 100, "next": None}

    async def log(self, level: str) -> list[dict[str, Any]]:
        return [line._asdict() for line in self._tail.last(level)]

    @property
    def counters(self) -> dict[str, Any]:
        """Return the stats of the crawl."""
        return self.stats.get_stats()

    async def curves(self) -> dict[str, Any]:
        return self.course.curve()

    async def workers(self) -> list[dict[str, Any]]:
        if (handler := self._handler) is None:
            return shown_workers(await self.frontier.workers())
        now = clock.now()
        return shown_workers([worker.view(now) for worker in handler.workers])

    def _stat(self, name: str) -> int:
        value: int = self.stats.get_value(name, 0)
        return value
