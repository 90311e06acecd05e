"""What the console shows of crawls in other processes, for `scrapy console`.

`ServedCrawl` is one whose frontier a service serves, with its workers on any machine. `StoredCrawl` is one in
a directory, which does not run, or runs without a service; then it is shown as far as it is on disk.
What nobody here can know is None, never 0.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from time import monotonic, time
from typing import TYPE_CHECKING, Any, Self, cast

from rdfaspider import __version__
from rdfaspider.console.crawls.controls import Controls
from rdfaspider.console.crawls.course import Course
from rdfaspider.console.crawls.disk import Disk
from rdfaspider.console.crawls.kept import line_of
from rdfaspider.console.crawls.running import shown_workers, urls_behind
from rdfaspider.console.hosts.frontiers import ServedSource, StoredSource
from rdfaspider.console.hosts.table import HostTables
from rdfaspider.console.query.endpoint import answering, open_endpoint
from rdfaspider.console.search.searches import Searches
from rdfaspider.extensions import leftout
from rdfaspider.extensions.history.samples import Sample, completed
from rdfaspider.extensions.summary.reasons import in_words, sentences
from rdfaspider.frontier import State
from rdfaspider.resolver import ForbiddenAddressError
from rdfaspider.resolver.addresses import literal
from rdfaspider.resolver.guard import Guard
from rdfaspider.scheduler.control.exclusions import NOTE as EXCLUDED
from rdfaspider.scheduler.control.exclusions import check_rule
from rdfaspider.scheduler.options import politeness_of, security_of
from rdfaspider.settings.places import jobdir_of
from rdfaspider.stores import StoreUnavailable
from rdfaspider.stores.kinds import is_embedded
from rdfaspider.urls import host, registered_domain
from rdfaspider.urls.hosts import host_and_port

if TYPE_CHECKING:
    from collections.abc import Mapping

    from scrapy.settings import BaseSettings

    from rdfaspider.console.query.endpoint import Endpoint
    from rdfaspider.frontier import Counts

_COUNTS = ("seen", "done", "failed", "denied", "kept", "waiting", "in_flight")
# Seconds for which the outcomes are kept: they take a scan of all URLs.
_FRESH = 30.0
_LINES = 200  # of the log
_ENDS: tuple[State, ...] = ("failed", "denied")
# What a member of a scope is, by the kind of the scope.
_MEMBERS: dict[str, Callable[[str], str]] = {"host": host, "domain": registered_domain}
# Seconds to look for the service of a crawl on this machine: it is there, or the crawl has ended.
_SOON = 1.0


class _OutsideCrawl:
    """What both kinds have in common. `disk` is None if the crawl is on another machine."""

    frontier: ServedSource | StoredSource
    has_controls = False

    def __init__(self, settings: BaseSettings, disk: Disk | None) -> None:
        self.settings = settings
        jobdir = jobdir_of(settings).resolve()
        self.name, self.directory = jobdir.name, str(jobdir)
        self._jobdir = jobdir
        self._disk = disk
        self._counts: Counts | None = None
        self._looked = 0.0
        self._started = monotonic()
        self.course = Course(self._counted, None if disk is None else disk.history)
        self.hosts = HostTables(lambda: self.frontier.hosts(time()))
        self.searches = Searches(self, jobdir)
        self._endpoint = open_endpoint(settings)

    async def current(self) -> Self:
        """Return what shows the crawl now."""
        return self

    @property
    def endpoint(self) -> Endpoint:
        """Return what answers queries; StoreUnavailable if nothing does."""
        endpoint = answering(self._endpoint)
        if is_embedded(endpoint.store) and self._disk is not None and self._disk.runs:
            raise StoreUnavailable(
                "The crawl writes to its store, which nobody else can read meanwhile. Its own console"
                " (CONSOLE_PORT) answers queries now; this one does when the crawl has ended."
            )
        return endpoint

    @property
    def counters(self) -> Mapping[str, Any]:
        """Return what is known under the names of the stats."""
        if self._counts is None:
            return {}
        return {f"frontier/{name}": getattr(self._counts, name) for name in _COUNTS}

    def _counted(self) -> Sample:
        """Return the counts as a sample, for a crawl that has left no history here."""
        sample = Sample(time(), 1, monotonic() - self._started)
        return sample if self._counts is None else completed(sample, self._counts, None)

    def _last_sample(self) -> Sample | None:
        return None if self._disk is None else self._disk.sample(self.course, self._counts)

    async def _count(self) -> Counts:
        """Return how many URLs are in each state, asked at most once a second."""
        if self._counts is None or monotonic() - self._looked > 1.0:
            counts: Counts = await self.frontier.ask(lambda frontier: frontier.counts())
            self._counts, self._looked = counts, monotonic()
            if self._last_sample() is None:
                self.course.tick()
        return self._counts

    async def _overview(self, *, runs: bool, **more: Any) -> dict[str, Any]:
        counts = await self._count()
        found, values = leftout.read(self._jobdir / leftout.NAME)
        sample = self._last_sample()
        known: dict[str, Any] = {} if sample is None else sample._asdict()
        rates: dict[str, float | None] = dict(self.course.rates()._asdict())
        if sample is None:
            rates |= dict.fromkeys(("pages", "triples", "bytes"))
        forecast = self.course.forecast() if runs else None
        if forecast is not None and sample is not None and sample.end:
            # The crawl itself knows its limits and its hosts.
            left = max(0.0, sample.end - sample.seconds)
            forecast = forecast._replace(seconds=left, pages=sample.end_pages)
        errors, warnings = (None, None) if self._disk is None else await self._disk.problems()
        return {
            "name": self.name,
            "directory": self.directory,
            "version": __version__,
            "runs": runs,
            "time": time(),
            "seconds": None,
            "total_seconds": known.get("seconds"),
            "counts": {name: getattr(counts, name) for name in _COUNTS},
            "pages": known.get("pages"),
            "triples": known.get("quads"),
            "bytes": known.get("received"),
            "memory": known.get("memory") if runs else None,
            "copies": counts.copies,
            "topics": counts.topics,
            "rates": rates if runs else dict.fromkeys(rates, 0.0),
            "forecast": None if forecast is None else forecast._asdict(),
            "left_out": sentences(found, values),
            "outcomes_of": "the whole crawl",
            "excluded": [],
            "errors": errors,
            "warnings": warnings,
            "has_log": self._disk is not None and self._disk.has_log,
            "controls": self.has_controls,
            **await self._ends(counts),
            **more,
        }

    async def _ends(self, counts: Counts) -> dict[str, Any]:
        """Return the latest pages, and how URLs ended, as far as they are on disk."""
        endings = None if self._disk is None else await self._disk.endings(counts)
        if endings is None:
            return {"latest": None, "outcomes": None}
        rows = [_outcome(*ended, count) for ended, count in endings.counts.most_common()]
        return {"latest": endings.latest, "outcomes": rows}

    async def urls(self, state: str, reason: str, after: int) -> dict[str, Any]:
        if state not in ("failed", "denied"):
            return {"rows": [], "is_whole": True, "next": None}
        return await urls_behind(self.frontier, cast("State", state), reason, after)

    async def curves(self) -> dict[str, Any]:
        curve: dict[str, Any] = self.course.curve()
        if self._last_sample() is None:  # only the frontier is known
            curve |= {"pages": None, "triples": None}
        return curve

    async def log(self, level: str) -> list[dict[str, Any]]:
        return [] if self._disk is None else await self._disk.log(level)

    async def workers(self) -> list[dict[str, Any]]:
        return shown_workers(await self.frontier.workers())


class StoredCrawl(_OutsideCrawl):
    """A crawl in a directory."""

    def __init__(self, settings: BaseSettings, disk: Disk) -> None:
        self._delay = politeness_of(settings).delay
        self.frontier: StoredSource = disk.frontier
        self._disk: Disk
        super().__init__(settings, disk)

    async def overview(self) -> dict[str, Any]:
        runs = await self._disk.look_whether_it_runs()
        order, depth, rules = await self.frontier.ask(
            lambda reader: (reader.order, reader.limits.depth, reader.note(EXCLUDED))
        )
        return await self._overview(
            runs=runs,
            state="running elsewhere" if runs else "not running",
            told={},
            excluded=json.loads(rules or b"[]"),
            settings={"order": order or "", "scope": "", "depth": depth, "delay": self._delay},
        )

    @property
    def controls(self) -> Controls:
        if self._disk.runs:
            raise ValueError("The crawl runs in another process: its own console steers it.")
        raise ValueError("The crawl does not run: its command resumes it.")


class ServedCrawl(_OutsideCrawl):
    """A crawl whose frontier is served to workers."""

    has_controls = True

    def __init__(self, settings: BaseSettings, url: str, disk: Disk | None = None) -> None:
        patience = {} if disk is None else {"patience": _SOON}
        self.frontier: ServedSource = ServedSource(url, security_of(settings), **patience)
        self._delay = politeness_of(settings).delay
        self._outcomes: tuple[float, list[dict[str, Any]]] = (-_FRESH, [])
        super().__init__(settings, disk)
        self.controls = Controls(self)

    async def overview(self) -> dict[str, Any]:
        told, state, order, depth, rules = await self.frontier.ask(
            lambda frontier: (
                frontier.told,
                frontier.state,
                frontier.order,
                frontier.limits.depth,
                frontier.note(EXCLUDED),
            )
        )
        return await self._overview(
            runs=True,
            state={"pause": "paused", "stop": "stopping"}.get(state, "running"),
            told=told,
            excluded=json.loads(rules or b"[]"),
            settings={"order": order, "scope": "", "depth": depth, "delay": self._delay},
            **({"has_log": True} if self._disk is None else {}),
        )

    async def _ends(self, counts: Counts) -> dict[str, Any]:
        if self._disk is not None:
            return await super()._ends(counts)
        of = "the whole crawl, those that are done excepted"
        return {"latest": None, "outcomes": await self._by_reason(), "outcomes_of": of}

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

    async def log(self, level: str) -> list[dict[str, Any]]:
        if self._disk is not None:  # the log of a crawl with its own workers is one file
            return await self._disk.log(level)
        lines: list[str] = await self.frontier.ask(lambda frontier: frontier.log(_LINES, level))
        return [line_of(line) for line in reversed(lines)]

    async def tell(self, name: str, value: str) -> None:
        await self.frontier.ask(lambda frontier: frontier.tell(name, value))

    async def exclude(self, rule: str) -> None:
        check_rule(rule)
        await self._add_to_note(EXCLUDED, [rule])

    async def add_seeds(self, urls: list[str]) -> list[str]:
        """Take in seeds, and let the scope of all workers grow by them; return for each one that all of them
        would deny why."""
        memory = json.loads(await self.frontier.note("spider") or b"{}")
        guard = Guard([*self.settings.getlist("RESOLVER_ALLOW"), *memory.get("servers", [])])
        why = {url: sentence for url in urls if (sentence := _forbidden(guard, url))}
        taken = [url for url in urls if url not in why]
        kind = memory["kind"][0] if memory.get("kind") else "all"
        if taken and kind in _MEMBERS:
            members = sorted(set(map(_MEMBERS[kind], taken)))
            await self._add_to_note("spider", {"kind": [kind], "scope": members})

        def put(frontier: Any) -> None:
            frontier.put(taken, 0)

        await self.frontier.ask(put)
        return [why[url] for url in urls if url in why]

    async def _add_to_note(self, name: str, value: Any) -> None:
        def add(frontier: Any) -> None:
            frontier.watch(name, lambda _: None)  # then it is added, not replaced
            frontier.set_note(name, json.dumps(value).encode())

        await self.frontier.ask(add)


def _forbidden(guard: Guard, url: str) -> str:
    """Return why no worker may connect to the host of a URL, "" if it may, or only its address tells."""
    name, port = host_and_port(url)
    reasons = [guard.refuses(address, port, name) for address in literal(name)]
    return str(ForbiddenAddressError(name, reasons[0])) if reasons and all(reasons) else ""


def _outcome(state: str, reason: str, count: int) -> dict[str, Any]:
    words = in_words(state, reason, count).partition(" ")[2]
    return {"state": state, "reason": reason, "count": count, "words": words}
