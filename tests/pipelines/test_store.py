"""The store pipeline alone, and whole crawls into a real RDF4J server."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import pytest
from pyoxigraph import Literal, NamedNode, Quad
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from rdfaspider.items import Page
from rdfaspider.pipelines.store import StorePipeline, store_access
from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from rdfaspider.stores import open_store
from rdfaspider.stores.nquads import NQuadsStore
from rdfaspider.stores.outbox import Outbox
from tests.stores.conftest import PROJECT, Server, rdf4j_server

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from tests.conftest import Scrapy


def page(url: str, *names: str) -> Page:
    graph = NamedNode("http://site.test/a")
    quads = [Quad(graph, NamedNode("http://schema.org/name"), Literal(n), graph) for n in names]
    return Page(url, 0, quads=quads)


@pytest.fixture
def crawler() -> Crawler:
    crawler = get_crawler()
    crawler.stats = MemoryStatsCollector(crawler)
    crawler.engine = SimpleNamespace(_slot=SimpleNamespace(closing=None))  # type: ignore[assignment]
    return crawler


def process(pipeline: StorePipeline, *pages: Page) -> None:
    async def run() -> None:
        pipeline.open_spider()
        for item in pages:
            assert await pipeline.process_item(item) is item
        await pipeline.close_spider()

    asyncio.run(run())


def test_pages_are_replaced_and_counted(crawler: Crawler, tmp_path: Path) -> None:
    store = open_store(str(tmp_path / "store"))
    first, again = (
        page("http://site.test/a", "one", "two"),
        page("http://site.test/a", "one", "two"),
    )
    failed = Page("http://site.test/a", 0, outcome="failed", reason="500")
    process(StorePipeline(crawler, store), first, again, failed)
    assert crawler.stats
    assert crawler.stats.get_value("store/graphs") == 1
    assert crawler.stats.get_value("store/quads") == 2
    assert crawler.stats.get_value("store/unchanged") == 1


def test_a_url_that_is_no_iri_has_a_graph_all_the_same(crawler: Crawler, tmp_path: Path) -> None:
    target = NQuadsStore(str(tmp_path / "files"))
    process(
        StorePipeline(crawler, Outbox(target, str(tmp_path / "outbox"))),
        page("http://site.test/?q={a|b}", "one"),
    )
    with open_store(f"nquads:{tmp_path / 'files'}") as store:
        graphs = {str(quad.graph_name) for quad in store.quads()}
    assert graphs == {"<http://site.test/?q=%7Ba%7Cb%7D>"}
    assert crawler.stats
    stats = crawler.stats.get_stats()
    assert (stats["store/sent"], stats["store/batches"], stats["store/backlog"]) == (1, 1, 0)
    assert stats["store/latency"] >= 0


def test_provenance_is_beside_the_pages(crawler: Crawler, tmp_path: Path) -> None:
    pages = [page("http://site.test/a", "one"), page("http://site.test/empty")]
    process(StorePipeline(crawler, open_store(str(tmp_path / "store")), "urn:crawl"), *pages)
    with open_store(str(tmp_path / "store"), read_only=True) as store:
        (row,) = store.query(
            "SELECT ?page { GRAPH <urn:crawl> { ?f <http://www.w3.org/ns/prov#generated> ?page } }"
        )
    assert row["page"] == NamedNode("http://site.test/a")


def test_a_full_outbox_holds_pages_back_until_the_crawl_ends(
    crawler: Crawler, tmp_path: Path
) -> None:
    box = Outbox(NQuadsStore(str(tmp_path / "files")), str(tmp_path / "outbox"), limit_bytes=0)
    pipeline = StorePipeline(crawler, box)

    async def run() -> None:
        pipeline.open_spider()
        held = asyncio.create_task(pipeline.process_item(page("http://site.test/a", "one")))
        done, _ = await asyncio.wait([held], timeout=0.3)
        assert not done
        crawler.engine._slot.closing = True  # type: ignore[union-attr]
        await asyncio.wait_for(held, 5)
        await pipeline.close_spider()

    asyncio.run(run())
    assert crawler.stats
    assert crawler.stats.get_value("store/waits") == 1
    assert crawler.stats.get_value("store/sent") == 1


def test_access_comes_from_the_settings_only_if_there_is_any() -> None:
    assert store_access(get_crawler().settings) is None
    settings = {"STORE_USER": "me", "STORE_PASSWORD": "pw", "STORE_HEADERS": {"X-Key": "k"}}
    access = store_access(get_crawler(settings_dict=settings).settings)
    assert access
    assert (access.user, access.password, access.headers) == ("me", "pw", {"X-Key": "k"})


# --- whole crawls ---

# A write in the log of the RDF4J server.
WRITTEN = '/statements HTTP/1.1" 204'
SITE = Parameters(seed=4, hosts=6, levels=2, pages=4, links_across=3, rdfa=1, jsonld=0, microdata=0)
OPTIONS = {"POLITENESS_DELAY": 0, "POLITENESS_AT_ONCE": 8, "EXTRACT_PROCESSES": 0}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[tuple[Server, str]]:
    with rdf4j_server(tmp_path / "rdf4j") as started:
        yield started


def expected(parameters: Parameters, at: float = 0.0) -> set[Quad]:
    web = Web(parameters)
    oracle = Oracle(web)
    reach = oracle.reachable([web.url(0, 0)], 99)
    return {quad for url in reach.pages for quad in oracle.triples(url, at=at)}


def stored(url: str) -> list[Quad]:
    with open_store(url, read_only=True) as store:
        return list(store.quads())


def arguments(url: str, **settings: object) -> list[str]:
    seed = Web(SITE).url(0, 0)
    words = ["crawl", "rdfa", "-a", f"seeds={seed}", "-a", "scope=all"]
    for name, value in {**OPTIONS, "STORE_URL": url, **settings}.items():
        words += ["-s", f"{name}={value}"]
    return words


def test_what_changed_is_written_again_and_the_rest_is_not_touched(
    server: tuple[Server, str], scrapy: Scrapy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dataclasses import replace

    web = replace(SITE, changing=0.2, period=100_000.0)
    url = f"rdf4j+{server[1]}/crawl"
    for at in (0.0, 100_000.0):
        with running(web, start=at) as proxy:
            monkeypatch.setenv("http_proxy", proxy)
            # One page a batch, so that the server's log has a line for each graph that is written.
            result = scrapy(*arguments(url, STORE_BATCH_QUADS=1, STORE_BATCH_SECONDS=0))
        assert result.returncode == 0, result.stderr
        quads = stored(url)
        assert len(quads) == len(set(quads))
        assert set(quads) == expected(web, at)
        for leftover in (tmp_path / "crawl" / "frontier").glob("*"):
            leftover.unlink()
    changed = {quad.graph_name for quad in expected(web) ^ expected(web, 100_000.0)}
    log = (tmp_path / "rdf4j.log").read_text()
    pages = len({quad.graph_name for quad in quads})
    assert 0 < len(changed) < pages / 2
    assert log.count(WRITTEN) == pages + len(changed)


def test_a_server_that_is_killed_again_and_again_loses_nothing(
    server: tuple[Server, str], tmp_path: Path
) -> None:
    process, base = server
    url = f"rdf4j+{base}/crawl"
    with open_store(url) as store:
        store.create()
    log = tmp_path / "rdf4j.log"
    settings = {"POLITENESS_DELAY": 1.5, "STORE_BATCH_QUADS": 6, "STORE_BATCH_SECONDS": 0.1}
    with running(SITE) as proxy:
        command = [sys.executable, "-m", "rdfaspider"]
        command += arguments(url, STORE_DRAIN_SECONDS=90, **settings)
        environment = {"PYTHONPATH": str(PROJECT), "http_proxy": proxy}
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, cwd=tmp_path, env=environment, stderr=pipe, text=True
        ) as crawl:
            for _ in range(5):
                # In the midst of writing: some batches have arrived since it was started.
                wanted = log.read_text().count(WRITTEN) + 2
                while crawl.poll() is None and log.read_text().count(WRITTEN) < wanted:
                    time.sleep(0.01)
                assert crawl.poll() is None, "the crawl ended before the last kill"
                process.kill()
                process.start()
            _, output = crawl.communicate(timeout=150)
    assert crawl.returncode == 0, output
    assert output.count("takes pages again") >= 5
    assert "wait in the outbox crawl" not in output
    quads = stored(url)
    assert len(quads) == len(set(quads))
    assert set(quads) == expected(SITE)
