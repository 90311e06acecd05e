"""Storage: puts the quads of a page into the sink of the crawl, which workers reach through the crawl."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, Self

from scrapy.exceptions import UsageError

from rdfaspider.compat import create_looping_call, is_closing
from rdfaspider.frontier import is_shared
from rdfaspider.items import Page
from rdfaspider.pipelines.writer import Writer
from rdfaspider.settings.defaults import completed
from rdfaspider.settings.places import jobdir_of, store_url
from rdfaspider.signals import is_heard, store_closing, store_opened
from rdfaspider.stores import Sink, open_sink
from rdfaspider.stores.changes import Change
from rdfaspider.stores.provenance import crawl_graph, ended, provenance, stale
from rdfaspider.stores.server.access import Access
from rdfaspider.urls import to_iri

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from scrapy.signalmanager import SignalManager
    from scrapy.statscollectors import StatsCollector

# Seconds between two looks at a full sink.
_PATIENCE = 0.1


def store_access(settings: BaseSettings) -> Access | None:
    """Return the credentials for the store's server, or None to use those in its URL."""
    headers = settings.getdict("STORE_HEADERS")
    # The HTTP client would show a value that cannot be sent in its error, and so in the log.
    if not all(map(_is_header, (*headers, *headers.values()))):
        raise UsageError('STORE_HEADERS is wrong: give a dictionary of texts, {"X-Key": "…"}.')
    if not _is_header(settings.get("STORE_TOKEN", "")):
        raise UsageError("STORE_TOKEN is wrong: it must be one line of printable ASCII.")
    access = Access(
        user=settings.get("STORE_USER", ""),
        password=settings.get("STORE_PASSWORD", ""),
        token=settings.get("STORE_TOKEN", ""),
        headers=headers,
        certificates=settings.get("STORE_CERTIFICATES", ""),
        verify=settings.getbool("STORE_VERIFY", True),
        timeout=settings.getfloat("STORE_TIMEOUT", 60.0),
    )
    return None if access == Access() else access


def _is_header(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable()


def outbox_options(settings: BaseSettings) -> dict[str, Any]:
    """Return the options of `open_sink`."""
    return {
        "access": store_access(settings),
        "outbox": str(Path(settings["JOBDIR"] or ".") / "outbox"),
        "batch_quads": settings.getint("STORE_BATCH_QUADS", 5_000),
        "batch_seconds": settings.getfloat("STORE_BATCH_SECONDS", 5.0),
        "limit_bytes": int(settings.getfloat("STORE_OUTBOX_MB", 1024) * (1 << 20)),
        "drain_seconds": settings.getfloat("STORE_DRAIN_SECONDS", 30.0),
        "rebuild": settings.getbool("STORE_REBUILD", False),
    }


def recorded(sink: Sink, settings: BaseSettings, directory: Path) -> Sink:
    """Return a sink, with a stream of its changes in a directory if the settings ask for one."""
    if not settings.getbool("STORE_CHANGES"):
        return sink
    from rdfaspider.stores.stream import Recorder

    limit = int(settings.getfloat("STORE_CHANGES_MB", 1024) * (1 << 20))
    return Recorder(sink, directory / "changes", limit)


def indexed(sink: Sink, settings: BaseSettings, directory: Path) -> Sink:
    """Return a sink, with a search index in a directory if the settings ask for one."""
    if not settings.getbool("SEARCH"):
        return sink
    from rdfaspider.pipelines.texts import archived_texts
    from rdfaspider.search import FOLDER
    from rdfaspider.search.sink import IndexingSink

    return IndexingSink(sink, directory / FOLDER, partial(archived_texts, settings))


def crawl_of(settings: BaseSettings) -> str:
    """Return the name of the crawl's provenance graph, "" if provenance is not stored."""
    if not settings.getbool("STORE_PROVENANCE"):
        return ""
    jobdir = settings["CREW_JOBDIR"] or settings["JOBDIR"] or "."
    return crawl_graph(str(Path(jobdir).resolve()))


@dataclass(eq=False)
class StorePipeline:
    """Replaces the page's graph by what was found this time.

    The sink is opened when the pipeline is built, before anything is fetched: a store that cannot be
    opened stops the crawl at once, but a server that is merely down does not. A full sink holds the
    page back, and so in the end the crawl; when the crawl `is_ending`, the last pages are let in.
    `indexed` characters of the texts of pages go to the search index, None if there is none.
    """

    stats: StatsCollector
    signals: SignalManager
    sink: Sink
    crawl: str = ""
    is_ending: Callable[[], bool] = lambda: False
    indexed: int | None = None

    def __post_init__(self) -> None:
        self._writer = Writer(self.sink)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = completed(crawler.settings)
        url = store_url(settings)
        sink: Sink
        if is_shared(url):
            from rdfaspider.pipelines.served import ServedSink  # with all messages of a service

            sink = ServedSink(url)  # the crawl itself records its changes
        else:
            sink = open_sink(url, **outbox_options(settings))
            sink = recorded(sink, settings, jobdir_of(settings))
            sink = indexed(sink, settings, jobdir_of(settings))
        length = settings.getint("SEARCH_TEXT") if settings.getbool("SEARCH") else None
        return cls(
            crawler.stats,
            crawler.signals,
            sink,
            crawl_of(settings),
            partial(is_closing, crawler),
            length,
        )

    def open_spider(self) -> None:
        self.signals.send_catch_log(store_opened, pipeline=self)
        self._reporting = create_looping_call(self._report)
        self._reporting.start(1.0)

    async def process_item(self, page: Page) -> Page:
        if isinstance(page, Page) and (page.is_read or page.cleared):
            await self.store([page])
        elif isinstance(page, Page) and page.visit is not None and page.outcome == "denied":
            await self._mark_stale(page)
        return page

    async def _mark_stale(self, page: Page) -> None:
        """Note that the graph of a page stays as it was, because robots.txt forbids another visit."""
        if self.crawl:
            graph = to_iri(page.url)
            await self.put(Change.adding(stale(graph, self.crawl, page.fetched or time())))

    async def put(self, changes: Sequence[Change]) -> list[bool]:
        """Make changes durable when there is room; return False for each that changes nothing."""
        if self.sink.is_full:
            self.stats.inc_value("store/waits")
            while self.sink.is_full and not self.is_ending():
                await asyncio.sleep(_PATIENCE)
        are_new = await self._writer.put(changes)
        for change, is_new in zip(changes, are_new, strict=True):
            if not change.replaces or not change.quads:
                continue
            if is_new:
                self.stats.inc_value("store/graphs")
                self.stats.inc_value("store/quads", change.quads)
            else:
                self.stats.inc_value("store/unchanged")
        return are_new

    async def store(self, pages: Sequence[Page]) -> None:
        """Store pages together, or clear their graphs; no two may have the same URL."""
        changes: list[Change] = []
        own: dict[int, Page] = {}
        for page in pages:
            own[len(changes)] = page
            changes += self._changes(page)
        are_new = await self.put(changes)
        if self.crawl and any(page.cleared or page.replaces for page in pages):
            # Only of graphs that had something: a page that stays away is cleared at every visit.
            new = {
                change.graph: change
                for change, is_new in zip(changes, are_new, strict=True)
                if is_new and change.replaces and not change.quads
            }
            said = [change for page in pages for change in self._endings(page, new)]
            if said:
                await self.put(said)
        for number, page in own.items():
            page.changed = are_new[number]

    def _changes(self, page: Page) -> list[Change]:
        """Return the change of the page's graph first, and then all others."""
        page.check()
        if page.invalid:
            self.stats.inc_value("store/dropped/iri", page.invalid)
        graph = to_iri(page.url)
        visited = (page.source.date if page.source else 0.0) or page.fetched or time()
        content = (page.nquads, page.quad_count) if page.is_read else (b"", 0)
        change = Change.of_page(graph, *content)._replace(time=visited, cause=page.cleared)
        if self.indexed is not None and page.is_read and not page.noindex:
            change = change._replace(title=page.title, text=page.text[: self.indexed])
        changes = [change]
        moved = [to_iri(url) for url in page.replaces]
        changes += [Change(each, b"", 0, time=visited, cause="moved") for each in moved]
        if self.crawl and page.quad_count:
            changes += Change.adding(provenance(page, graph, self.crawl, time()))
        return changes

    def _endings(self, page: Page, changes: Mapping[str, Change]) -> list[Change]:
        """Return what is said of graphs that these changes of a page have cleared."""
        graph, said = to_iri(page.url), list[Change]()
        if page.cleared and graph in changes:
            target = to_iri(page.moved_to) if page.moved_to else ""
            said += Change.adding(ended(graph, self.crawl, changes[graph].time, target))
        for each in map(to_iri, page.replaces):
            if each in changes:
                said += Change.adding(ended(each, self.crawl, changes[each].time, graph))
        return said

    async def close_spider(self) -> None:
        if is_heard(self.signals.sender, store_closing):
            await self.signals.send_catch_log_async(store_closing)
        if self._reporting.running:
            self._reporting.stop()
        self._writer.close()
        await asyncio.to_thread(self.sink.close)
        self._report()

    def _report(self) -> None:
        """Copy the counters of the sink to the stats."""
        put = self.stats.set_value
        counters = dict(self.sink.counters)
        backlog = self.sink.backlog
        put("store/backlog", backlog.pages)
        put("store/backlog/bytes", backlog.size)
        put("store/backlog/quads", backlog.quads)
        put("store/held", backlog.held)
        put("store/batches", counters.get("batches", 0))
        put("store/sent", counters.get("quads", 0))
        put("store/aside", counters.get("refused", 0))
        put("store/rebuilt", counters.get("rebuilt", 0))
        for name in ("changes", "changes/added", "changes/removed"):
            if name in counters:
                put(f"store/{name}", counters[name])
        for name in ("search/pages", "search/things"):
            if name in counters:
                put(name, counters[name])
        if batches := counters.get("batches"):
            put("store/latency", round(counters["milliseconds"] / batches / 1000, 3))
        for name, number in counters.items():
            if name.startswith("failed/"):
                put(f"store/{name}", number)
