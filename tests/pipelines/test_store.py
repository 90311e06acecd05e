"""The store pipeline alone; whole crawls are in tests/test_crawl_stores.py."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyoxigraph import Literal, NamedNode, Quad
from scrapy.exceptions import UsageError
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from rdfaspider.items import Page
from rdfaspider.pipelines.store import StorePipeline, store_access
from rdfaspider.stores import open_sink, open_store
from rdfaspider.stores.embedded import Embedded
from rdfaspider.stores.embedded.oxigraph import OxigraphStore
from rdfaspider.stores.nquads import NQuadsStore
from rdfaspider.stores.outbox import Outbox

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from rdfaspider.stores import Sink


def page(url: str, *names: str) -> Page:
    graph = NamedNode("http://site.test/a")
    quads = [Quad(graph, NamedNode("http://schema.org/name"), Literal(n), graph) for n in names]
    page = Page(url, 0)
    page.quads = quads
    return page


@pytest.fixture
def crawler() -> Crawler:
    crawler = get_crawler()
    crawler.stats = MemoryStatsCollector(crawler)
    return crawler


def pipeline_of(crawler: Crawler, sink: Sink, crawl: str = "") -> StorePipeline:
    return StorePipeline(crawler.stats, crawler.signals, sink, crawl)


def process(pipeline: StorePipeline, *pages: Page) -> None:
    async def run() -> None:
        pipeline.open_spider()
        for item in pages:
            assert await pipeline.process_item(item) is item
        await pipeline.close_spider()

    asyncio.run(run())


def test_pages_are_replaced_and_counted(crawler: Crawler, tmp_path: Path) -> None:
    store = Embedded(OxigraphStore(str(tmp_path / "store")))
    first, again = (
        page("http://site.test/a", "one", "two"),
        page("http://site.test/a", "one", "two"),
    )
    failed = Page("http://site.test/a", 0, outcome="failed", reason="500")
    process(pipeline_of(crawler, store), first, again, failed)
    assert crawler.stats
    assert crawler.stats.get_value("store/graphs") == 1
    assert crawler.stats.get_value("store/quads") == 2
    assert crawler.stats.get_value("store/unchanged") == 1


def test_a_url_that_is_no_iri_has_a_graph_all_the_same(crawler: Crawler, tmp_path: Path) -> None:
    target = NQuadsStore(str(tmp_path / "files"))
    process(
        pipeline_of(crawler, Outbox(target, str(tmp_path / "outbox"))),
        page("http://site.test/?q={a|b}", "one"),
    )
    with open_store(f"nquads:{tmp_path / 'files'}") as store:
        graphs = {str(quad.graph_name) for quad in store.quads()}
    assert graphs == {"<http://site.test/?q=%7Ba%7Cb%7D>"}
    assert crawler.stats
    stats = crawler.stats.get_stats()
    assert (stats["store/sent"], stats["store/batches"], stats["store/backlog"]) == (1, 1, 0)
    assert stats["store/backlog/quads"] == 0
    assert stats["store/latency"] >= 0


def test_the_end_of_a_graph_is_told_once(crawler: Crawler, tmp_path: Path) -> None:
    url = "http://site.test/a"
    gone = [
        Page(url, 0, outcome="failed", reason="410", status=410, fetched=at) for at in (9.0, 99.0)
    ]
    never = Page("http://site.test/never", 0, outcome="failed", reason="410", status=410)
    for each in (*gone, never):
        each.cleared = "410"
    store = Embedded(OxigraphStore(str(tmp_path / "store")))
    process(pipeline_of(crawler, store, "urn:crawl"), page(url, "one"), *gone, never)
    with open_store(str(tmp_path / "store"), read_only=True) as stored:
        (row,) = stored.query(
            "SELECT ?page ?time {"
            " GRAPH <urn:crawl> { ?page <http://www.w3.org/ns/prov#invalidatedAtTime> ?time } }"
        )
    assert row[0].value == url
    assert row[1].value.startswith("1970-01-01T00:00:09")
    assert [each.changed for each in (*gone, never)] == [True, False, False]


def test_provenance_is_beside_the_pages(crawler: Crawler, tmp_path: Path) -> None:
    pages = [page("http://site.test/a", "one"), page("http://site.test/empty")]
    store = Embedded(OxigraphStore(str(tmp_path / "store")))
    process(pipeline_of(crawler, store, "urn:crawl"), *pages)
    with open_store(str(tmp_path / "store"), read_only=True) as stored:
        (row,) = stored.query(
            "SELECT ?page { GRAPH <urn:crawl> { ?f <http://www.w3.org/ns/prov#generated> ?page } }"
        )
    assert row["page"] == NamedNode("http://site.test/a")


class Kept(NQuadsStore):
    """Files whose outbox keeps what it sends."""

    def is_own(self) -> bool:
        return True

    def drop(self) -> None:
        self.remove({quad.graph_name.value for quad in self.quads()})  # type: ignore[union-attr]


def test_a_password_for_fetching_reaches_neither_the_outbox_nor_the_store(
    crawler: Crawler, tmp_path: Path
) -> None:
    """Wherever the bytes are, in the database, its log, the files: the secret is not among them."""
    files = Kept(str(tmp_path / "files"))
    outbox = Outbox(files, str(tmp_path / "outbox"), rebuilt=files)
    item = page("http://me:secret@site.test/a", "one")
    process(pipeline_of(crawler, outbox, "urn:crawl"), item)
    with open_store(f"nquads:{tmp_path / 'files'}", read_only=True) as store:
        everything = "".join(map(str, store.quads()))
    assert "<http://site.test/a> <http://schema.org/name>" in everything
    assert "<http://www.w3.org/ns/prov#generated> <http://site.test/a>" in everything
    assert "secret" not in everything
    kept = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert len(kept) > 2
    assert not any(b"secret" in path.read_bytes() for path in kept)


def test_a_full_outbox_holds_pages_back_until_the_crawl_ends(
    crawler: Crawler, tmp_path: Path
) -> None:
    box = Outbox(NQuadsStore(str(tmp_path / "files")), str(tmp_path / "outbox"), limit_bytes=0)
    ending: list[bool] = []
    pipeline = StorePipeline(crawler.stats, crawler.signals, box, is_ending=lambda: bool(ending))

    async def run() -> None:
        pipeline.open_spider()
        held = asyncio.create_task(pipeline.process_item(page("http://site.test/a", "one")))
        done, _ = await asyncio.wait([held], timeout=0.3)
        assert not done
        ending.append(True)
        await asyncio.wait_for(held, 60)
        await pipeline.close_spider()

    asyncio.run(run())
    assert crawler.stats
    assert crawler.stats.get_value("store/waits") == 1
    assert crawler.stats.get_value("store/sent") == 1


def test_what_a_server_did_not_take_is_not_said_to_be_stored(
    crawler: Crawler, tmp_path: Path
) -> None:
    url = "update+http://127.0.0.1:1/update"
    sink = open_sink(url, str(tmp_path / "outbox"), drain_seconds=0.1)
    process(pipeline_of(crawler, sink), page("http://site.test/a", "one", "two"))
    assert crawler.stats
    stats = crawler.stats.get_stats()
    assert (stats["store/sent"], stats["store/backlog"], stats["store/backlog/quads"]) == (0, 1, 2)


def test_access_comes_from_the_settings_only_if_there_is_any() -> None:
    assert store_access(get_crawler().settings) is None
    settings = {"STORE_USER": "me", "STORE_PASSWORD": "pw", "STORE_HEADERS": {"X-Key": "k"}}
    access = store_access(get_crawler(settings_dict=settings).settings)
    assert access
    assert (access.user, access.password, access.headers) == ("me", "pw", {"X-Key": "k"})


@pytest.mark.parametrize(
    "settings",
    [
        {"STORE_TOKEN": "secret\n"},
        {"STORE_TOKEN": "sécret"},
        {"STORE_HEADERS": {"X-Key": "secret\r"}},
        {"STORE_HEADERS": {"X-Key": 1}},
    ],
)
def test_a_secret_that_cannot_be_sent_is_refused_without_being_shown(
    settings: dict[str, object],
) -> None:
    with pytest.raises(UsageError, match="is wrong") as caught:
        store_access(get_crawler(settings_dict=settings).settings)
    assert "cret" not in str(caught.value)
