"""What the console shows of crawls in other processes, for `scrapy console`.

`ServedCrawl` is one whose frontier a service serves, with its workers on any machine. `StoredCrawl` is one in
a directory, which does not run, or runs without a service; then it is shown as far as it is on disk.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from time import monotonic, time
from typing import TYPE_CHECKING, Any, cast

from rdfaspider import __version__
from rdfaspider.console.crawls.controls import Controls
from rdfaspider.console.crawls.course import Course
from rdfaspider.console.crawls.kept import KeptPages, kept_log, line_of
from rdfaspider.console.crawls.running import shown_workers, urls_behind
from rdfaspider.console.hosts.frontiers import ServedSource, StoredSource
from rdfaspider.console.hosts.table import HostTables
from rdfaspider.console.query.endpoint import Endpoint, no_store
from rdfaspider.console.search.searches import Searches
from rdfaspider.extensions import leftout
from rdfaspider.extensions.history import samples
from rdfaspider.extensions.history.samples import Sample
from rdfaspider.extensions.summary.reasons import in_words, sentences
from rdfaspider.frontier import State, is_shared
from rdfaspider.pipelines.store import store_access
from rdfaspider.scheduler.control.exclusions import NOTE as EXCLUDED
from rdfaspider.scheduler.control.exclusions import check_rule
from rdfaspider.scheduler.options import politeness_of, security_of
from rdfaspider.settings.places import frontier_url, jobdir_of, store_url
from rdfaspider.urls import host, registered_domain

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

    from rdfaspider.frontier import Counts

_COUNTS = ("seen", "done", "failed", "denied", "waiting", "in_flight")
# Seconds for which the outcomes are kept: they take a scan of all URLs.
_FRESH = 30.0
_LINES = 200  # of the log
_ENDS: tuple[State, ...] = ("failed", "denied")
# What a member of a scope is, by the kind of the scope.
_MEMBERS: dict[str, Callable[[str], str]] = {"host": host, "domain": registered_domain}


class _OutsideCrawl:
    """What both kinds have in common."""

    frontier: ServedSource | StoredSource
    has_controls = False

    def __init__(self, settings: BaseSettings) -> None:
        self.settings = settings
        jobdir = jobdir_of(settings).resolve()
        self.name, self.directory = jobdir.name, str(jobdir)
        self._jobdir = jobdir
        self._counts: Counts | None = None
        self._looked = 0.0
        self._outcomes: tuple[float, list[dict[str, Any]]] = (-_FRESH, [])
        self._started = monotonic()
        self.course = Course(self._sample)
        self.hosts = HostTables(lambda: self.frontier.hosts(time()))
        self.searches = Searches(self, jobdir)
        self._endpoint = self._open_endpoint()

    def _open_endpoint(self) -> Endpoint | None:
        url = store_url(self.settings)
        if is_shared(url):
            return None
        seconds = self.settings.getfloat("CONSOLE_QUERY_TIMEOUT")
        return Endpoint(url, store_access(self.settings), None, seconds)

    @property
    def endpoint(self) -> Endpoint:
        if self._endpoint is None:
            raise no_store()
        return self._endpoint

    @property
    def counters(self) -> Mapping[str, Any]:
        """Return what is known under the names of the stats."""
        if self._counts is None:
            return {}
        return {f"frontier/{name}": getattr(self._counts, name) for name in _COUNTS}

    def _sample(self) -> Sample:
        counts = self._counts
        if counts is None:
            return Sample(time(), 1, 0.0)
        seconds = monotonic() - self._started
        waiting = counts.waiting + counts.in_flight
        return Sample(time(), 1, seconds, counts.done, counts.seen, waiting, counts.failed)

    async def _count(self) -> Counts:
        """Return how many URLs are in each state, asked at most once a second."""
        if self._counts is None or monotonic() - self._looked > 1.0:
            counts: Counts = await self.frontier.ask(lambda frontier: frontier.counts())
            self._counts, self._looked = counts, monotonic()
            self.course.tick()
        return self._counts

    def _overview(self, counts: Counts, **more: Any) -> dict[str, Any]:
        found, values = leftout.read(self._jobdir / leftout.NAME)
        forecast = self.course.forecast(self.hosts.slowest)
        sample = self.course.now
        return {
            "name": self.name,
            "directory": self.directory,
            "version": __version__,
            "time": time(),
            "seconds": sample.seconds,
            "total_seconds": sample.seconds,
            "counts": {name: getattr(counts, name) for name in _COUNTS},
            "pages": sample.pages,
            "triples": sample.quads,
            "bytes": sample.received,
            "memory": sample.memory,
            "copies": counts.copies,
            "rates": self.course.rates()._asdict(),
            "forecast": None if forecast is None else forecast._asdict(),
            "left_out": sentences(found, values),
            "latest": [],
            "excluded": [],
            "errors": 0,
            "warnings": 0,
            "controls": self.has_controls,
            **more,
        }

    async def _by_reason(self) -> list[dict[str, Any]]:
        """Return how many URLs failed and were denied in the whole crawl, by reason."""
        made, rows = self._outcomes
        if monotonic() - made < _FRESH:
            return rows
        self._outcomes = monotonic(), rows  # the others need not wait
        counted: Counter[tuple[str, str]] = Counter()
        is_whole = True
        for state in _ENDS:
            scan = self.frontier.all_ended(state)
            async for part in scan:
                counted.update((state, view.reason or "unknown") for view in part)
            is_whole = is_whole and scan.is_whole
        rows = [_outcome(*ended, count) for ended, count in counted.most_common()]
        if not is_whole:  # there was no time to count more
            rows = [{**row, "words": f"{row['words']}, at least"} for row in rows]
        self._outcomes = monotonic(), rows
        return rows

    async def urls(self, state: str, reason: str, after: int) -> dict[str, Any]:
        if state not in ("failed", "denied"):
            return {"rows": [], "is_whole": True, "next": None}
        return await urls_behind(self.frontier, cast("State", state), reason, after)

    async def curves(self) -> dict[str, Any]:
        return self.course.curve()

    async def log(self, level: str) -> list[dict[str, Any]]:
        return []

    async def workers(self) -> list[dict[str, Any]]:
        return shown_workers(await self.frontier.workers())


class StoredCrawl(_OutsideCrawl):
    """A crawl in a directory."""

    frontier: StoredSource

    def __init__(self, settings: BaseSettings) -> None:
        self._delay = politeness_of(settings).delay
        self.frontier = StoredSource(frontier_url(settings), self._delay)
        super().__init__(settings)
        self._kept = KeptPages()
        self._history: tuple[int, Sample | None] = (-1, None)
        self.course = Course(self._last_sample, self._jobdir / samples.NAME)

    def _last_sample(self) -> Sample:
        path = self._jobdir / samples.NAME
        try:
            changed = path.stat().st_mtime_ns
            if changed != self._history[0]:  # it may be long
                self._history = changed, next(reversed(samples.read(path)), None)
        except OSError:
            pass
        return self._history[1] or self._sample()

    async def _look_at_pages(self, counts: Counts) -> None:
        """Find out about the pages that have ended, unless nothing has changed."""
        if not self._kept.is_of(counts):
            await self._kept.read(counts, self.frontier.all_pages())

    async def log(self, level: str) -> list[dict[str, Any]]:
        file = self.settings["LOG_FILE"] or ""
        return await asyncio.to_thread(kept_log, frontier_url(self.settings), file, level)

    async def overview(self) -> dict[str, Any]:
        counts = await self._count()
        about = await self.frontier.ask(lambda reader: (reader.order, reader.limits.depth))
        is_running = (self._jobdir / "console").exists()
        await self._look_at_pages(counts)
        done = [_outcome("done", *each) for each in self._kept.reasons.most_common()]
        return self._overview(
            counts,
            state="running elsewhere" if is_running else "not running",
            outcomes=[*done, *await self._by_reason()],
            latest=self._kept.latest,
            told={},
            settings={
                "order": about[0] or "",
                "scope": "",
                "depth": about[1],
                "delay": self._delay,
            },
        )

    @property
    def controls(self) -> Controls:
        raise ValueError("The crawl does not run in this process: its command resumes it.")


class ServedCrawl(_OutsideCrawl):
    """A crawl whose frontier is served to workers."""

    has_controls = True

    def __init__(self, settings: BaseSettings, url: str) -> None:
        self.frontier: ServedSource = ServedSource(url, security_of(settings))
        self._delay = politeness_of(settings).delay
        super().__init__(settings)
        self.controls = Controls(self)

    async def overview(self) -> dict[str, Any]:
        counts = await self._count()
        told, state, order, depth, rules = await self.frontier.ask(
            lambda frontier: (
                frontier.told,
                frontier.state,
                frontier.order,
                frontier.limits.depth,
                frontier.note(EXCLUDED),
            )
        )
        return self._overview(
            counts,
            state={"pause": "paused", "stop": "stopping"}.get(state, "running"),
            outcomes=await self._by_reason(),
            told=told,
            excluded=json.loads(rules or b"[]"),
            settings={"order": order, "scope": "", "depth": depth, "delay": self._delay},
        )

    async def log(self, level: str) -> list[dict[str, Any]]:
        lines: list[str] = await self.frontier.ask(lambda frontier: frontier.log(_LINES, level))
        return [line_of(line) for line in reversed(lines)]

    async def tell(self, name: str, value: str) -> None:
        await self.frontier.ask(lambda frontier: frontier.tell(name, value))

    async def exclude(self, rule: str) -> None:
        check_rule(rule)
        await self._add_to_note(EXCLUDED, [rule])

    async def add_seeds(self, urls: list[str]) -> int:
        """Take in seeds, and let the scope of all workers grow by them."""
        memory = json.loads(await self.frontier.note("spider") or b"{}")
        kind = memory["kind"][0] if isinstance(memory, dict) and memory.get("kind") else "all"
        if kind in _MEMBERS:
            members = sorted(set(map(_MEMBERS[kind], urls)))
            await self._add_to_note("spider", {"kind": [kind], "scope": members})

        def put(frontier: Any) -> None:
            frontier.put(urls, 0)

        await self.frontier.ask(put)
        return len(urls)

    async def _add_to_note(self, name: str, value: Any) -> None:
        def add(frontier: Any) -> None:
            frontier.watch(name, lambda _: None)  # then it is added, not replaced
            frontier.set_note(name, json.dumps(value).encode())

        await self.frontier.ask(add)


def _outcome(state: str, reason: str, count: int) -> dict[str, Any]:
    words = in_words(state, reason, count).partition(" ")[2]
    return {"state": state, "reason": reason, "count": count, "words": words}


def crawls_in(settings: BaseSettings, directories: list[Path]) -> dict[str, Any]:
    """Return the crawls of directories, by name; a directory may be that of a crawl, or have some below."""
    found: dict[str, Any] = {}
    for directory in directories:
        for each in [directory, *sorted(path for path in directory.glob("*") if path.is_dir())]:
            own = settings.copy()
            own.set("JOBDIR", str(each), "cmdline")
            if Path(frontier_url(own)).is_dir():
                found[str(each.relative_to(directory)) if each != directory else each.name] = (
                    crawl_of(own)
                )
    return found


def crawl_of(settings: BaseSettings) -> StoredCrawl | ServedCrawl:
    """Return the crawl that settings name: by its service if there is one, else by its directory."""
    url = frontier_url(settings)
    if is_shared(url):
        return ServedCrawl(settings, url)
    if Path(f"{url}.sock").is_socket():
        return ServedCrawl(settings, f"unix:{url}.sock")
    return StoredCrawl(settings)
