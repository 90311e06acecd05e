"""Puts the quads of a page into the store, or into the outbox of a store that is elsewhere."""

from __future__ import annotations

import asyncio
from pathlib import Path
from time import time
from typing import TYPE_CHECKING, Any, Self, cast

from scrapy.exceptions import UsageError
from scrapy.utils.asyncio import create_looping_call

from rdfaspider.frontier import is_shared
from rdfaspider.items import Page
from rdfaspider.pipelines.served import ServedStore
from rdfaspider.pipelines.writer import Writer
from rdfaspider.signals import store_closing, store_opened
from rdfaspider.stores import open_store
from rdfaspider.stores.changes import Change
from rdfaspider.stores.http import Access
from rdfaspider.stores.provenance import crawl_graph, provenance
from rdfaspider.urls import to_iri

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from rdfaspider.stores.embedded import Embedded
    from rdfaspider.stores.outbox import Outbox

# Seconds between two looks at an outbox that is full.
_PATIENCE = 0.1


def store_url(settings: BaseSettings) -> str:
    """Return the URL of the crawl's store; {jobdir} in it is the crawl's directory."""
    url: str = settings["STORE_URL"]
    return url.replace("{jobdir}", str(settings["JOBDIR"] or "."))


def store_access(settings: BaseSettings) -> Access | None:
    """Return how to identify to the store's server, None if that is left to its URL."""
    headers = settings.getdict("STORE_HEADERS")
    # The client would show a value that cannot be sent in its complaint, and so in the log.
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
    # Nothing set: the URL may carry a name and a password.
    return None if access == Access() else access


def _is_header(value: object) -> bool:
    return isinstance(value, str) and value.isascii() and value.isprintable()


def outbox_options(settings: BaseSettings) -> dict[str, Any]:
    """Return the options of `open_store` for writing through the crawl's outbox."""
    return {
        "access": store_access(settings),
        "outbox": str(Path(settings["JOBDIR"] or ".") / "outbox"),
        "batch_quads": settings.getint("STORE_BATCH_QUADS", 5_000),
        "batch_seconds": settings.getfloat("STORE_BATCH_SECONDS", 5.0),
        "limit_bytes": int(settings.getfloat("STORE_OUTBOX_MB", 1024) * (1 << 20)),
        "drain_seconds": settings.getfloat("STORE_DRAIN_SECONDS", 30.0),
        "rebuild": settings.getbool("STORE_REBUILD", False),
    }


def crawl_of(settings: BaseSettings) -> str:
    """Return the name of the crawl for what is known of its fetches, "" if that is not stored."""
    if not settings.getbool("STORE_PROVENANCE"):
        return ""
    jobdir = settings["CREW_JOBDIR"] or settings["JOBDIR"] or "."
    return crawl_graph(str(Path(jobdir).resolve()))


class StorePipeline:
    """Replaces the page's graph by what was found this time.

    The store is opened when the pipeline is built, before anything is fetched: one that cannot be
    opened stops the crawl at once; a server that is merely down does not. A full outbox holds
    the page back, and so in the end the crawl.
    """

    def __init__(
        self, crawler: Crawler, store: Outbox | Embedded | ServedStore, crawl: str = ""
    ) -> None:
        self.crawler = crawler
        self.store = store
        self.crawl = crawl
        self._writer = Writer(store)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        url = store_url(settings)
        if is_shared(url):
            return cls(crawler, ServedStore(url), crawl_of(settings))
        store = open_store(url, **outbox_options(settings))
        return cls(crawler, cast("Outbox | Embedded", store), crawl_of(settings))

    def open_spider(self) -> None:
        self.crawler.signals.send_catch_log(store_opened, pipeline=self)
        self._reporting = create_looping_call(self._report)
        self._reporting.start(1.0)

    async def process_item(self, page: Page) -> Page:
        if isinstance(page, Page) and page.is_read:
            await self._store(page)
        return page

    async def put(self, changes: Sequence[Change]) -> list[bool]:
        """Make changes, when there is room for them; False for each that changes nothing."""
        if self.store.is_full:
            await self._wait_for_room()
        return await self._writer.put(changes)

    async def _wait_for_room(self) -> None:
        self.crawler.stats.inc_value("store/waits")
        # When the crawl ends, the few pages that are still on their way are let in.
        while self.store.is_full and not self._is_ending():
            await asyncio.sleep(_PATIENCE)

    def _is_ending(self) -> bool:
        slot = self.crawler.engine._slot  # Scrapy has no public way to ask
        return slot is None or slot.closing is not None

    async def _store(self, page: Page) -> None:
        graph, quads = to_iri(page.url), page.quad_count
        changes = [Change.of_page(graph, page.nquads)]
        if self.crawl and quads:
            changes += Change.adding(provenance(page, graph, self.crawl, time()))
        is_new, *_ = await self.put(changes)
        if not quads:
            return
        count = self.crawler.stats.inc_value
        if is_new:
            count("store/graphs")
            count("store/quads", quads)
        else:
            count("store/unchanged")

    async def close_spider(self) -> None:
        await self.crawler.signals.send_catch_log_async(store_closing)
        if self._reporting.running:
            self._reporting.stop()
        self._writer.close()
        await asyncio.to_thread(self.store.close)
        self._report()

    def _report(self) -> None:
        """Hand what the store has counted over to the stats."""
        put = self.crawler.stats.set_value
        counters = dict(self.store.counters)
        pages, size = self.store.backlog
        put("store/backlog", pages)
        put("store/backlog/bytes", size)
        put("store/backlog/quads", self.store.backlog_quads)
        put("store/batches", counters.get("batches", 0))
        put("store/sent", counters.get("quads", 0))
        put("store/aside", counters.get("aside", 0))
        put("store/rebuilt", counters.get("rebuilt", 0))
        if batches := counters.get("batches"):
            put("store/latency", round(counters["milliseconds"] / batches / 1000, 3))
        for name, number in counters.items():
            if name.startswith("failed/"):
                put(f"store/{name}", number)
