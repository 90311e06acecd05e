from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from rdfaspider.frontier import Visit
from rdfaspider.items import Page
from rdfaspider.pipelines import quota as module
from rdfaspider.pipelines.quota import Limits, Quota, QuotaPipeline
from rdfaspider.stores import open_store
from tests.hostile import OK, crawl, name_of, serving, with_robots

NONE = Limits(0, 0)
TRIPLE = b"<http://a/s> <http://a/p> <http://a/o> <http://a/> .\n"


def page(url: str, quads: int) -> Page:
    return Page(url, 0, nquads=TRIPLE * quads, predicates=["http://a/p"])


def pipeline(hosts: Limits = NONE, domains: Limits = NONE) -> QuotaPipeline:
    return QuotaPipeline(MemoryStatsCollector(get_crawler()), hosts, domains, None)


def stored(quotas: QuotaPipeline, *pages: Page) -> list[int]:
    return [quotas.process_item(each).quad_count for each in pages]


def test_a_host_stores_about_so_many_triples() -> None:
    quotas = pipeline(Limits(10, 0))
    pages = [page(f"http://a.example.com/{n}", 4) for n in range(5)]
    assert stored(quotas, *pages) == [4, 4, 4, 0, 0]
    assert stored(quotas, page("http://b.example.com/", 4)) == [4]
    assert quotas.stats.get_value("store/dropped/host_quads") == 8


def test_or_so_many_bytes() -> None:
    quotas = pipeline(Limits(0, 2 * len(TRIPLE)))
    assert stored(quotas, *(page("http://a.example.com/", 1) for _ in range(3))) == [1, 1, 0]
    assert quotas.stats.get_value("store/dropped/host_mb") == 1


def test_hosts_of_a_domain_have_a_limit_together() -> None:
    quotas = pipeline(domains=Limits(10, 0))
    pages = [page(f"http://h{n}.example.com/", 5) for n in range(4)]
    assert stored(quotas, *pages) == [5, 5, 0, 0]
    assert stored(quotas, page("http://h0.example.org/", 5)) == [5]
    assert stored(quotas, *(page(f"http://h{n}.blogspot.com/", 5) for n in range(4))) == [5] * 4
    assert quotas.stats.get_value("store/dropped/domain_quads") == 10


def test_a_page_that_is_visited_again_counts_by_what_it_has_grown() -> None:
    quotas = pipeline(Limits(100, 0))
    assert stored(quotas, page("http://a.example.com/1", 50)) == [50]

    def again(quads: int, weight: float) -> Page:
        revisited = page("http://a.example.com/1", quads)
        revisited.visit = Visit(1.0, weight=weight)
        return revisited

    assert stored(quotas, *(again(50, 48.0) for _ in range(20))) == [50] * 20
    assert stored(quotas, again(150, 50.0), again(150, 148.0)) == [150, 150]
    # The limit is reached: pages may stay as they are, but grow no more.
    assert stored(quotas, again(150, 150.0), again(200, 150.0), again(5, 0.0)) == [150, 0, 0]


def test_what_is_no_page_passes() -> None:
    quotas = pipeline(Limits(1, 0))
    redirect = Page("http://a.example.com/", 0, reason="redirect")
    assert quotas.process_item(redirect) is redirect
    item = {"of": "a user"}
    assert quotas.process_item(item) is item  # type: ignore[arg-type,comparison-overlap]


def test_memory_is_bounded_and_large_counts_are_never_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "_OTHERS", 10)
    quota = Quota(Limits(1000, 0))
    quota.add("large", 10, 0)
    quota.add("small", 9, 0)
    for number in range(10):
        quota.add(f"h{number}", 1, 0)
    quota.add("small", 9, 0)
    assert quota.large == {"large": (10, 0)}, "what was small has been forgotten"
    quota.add("small", 1, 0)
    assert quota.large == {"large": (10, 0), "small": (10, 0)}
    assert len(quota._small) <= 10


@pytest.mark.parametrize("content", [b"", b"[]", b'{"hosts": {"a": 1}, "domains": {}}', b"\xff"])
def test_a_damaged_file_is_no_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "quotas.json").write_bytes(content)
    assert module.read(tmp_path / "quotas.json") == ({}, {})


async def answer(client: asyncio.StreamWriter, path: str) -> None:
    """Answer with a page of 20 triples, which links to the next."""
    number = int(path.strip("/") or 0)
    items = "".join(f"<p property='http://p.example/{n}'>{number}</p>" for n in range(20))
    body = f"<!DOCTYPE html><title>x</title>{items}<a href='/{number + 1}'>on</a>".encode()
    client.write(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body)


def test_a_host_that_fills_the_store_is_named_and_the_next_start_knows_it(tmp_path: Path) -> None:
    with serving({"127.6.0.1": with_robots(answer)}) as web:
        seed = f"http://{name_of('127.6.0.1', 'full.com')}:{web.port}/"
        first, second = (
            crawl(tmp_path, [url], "-a", "depth=5", POLITENESS_DELAY=0, STORE_HOST_QUADS=50)
            for url in (seed, f"{seed}100")
        )
    assert first.stat("frontier/done/page") == 6
    assert first.stat("store/quads") == 60
    assert "60 triples beyond those of their host: STORE_HOST_QUADS=50" in first.output
    assert second.stat("frontier/done/page") == 6
    assert second.stat("store/dropped/host_quads") == 120
    with open_store(str(tmp_path / "crawl" / "store"), read_only=True) as store:
        found = store.query("SELECT (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } }")
        assert [int(row["n"].value) for row in found] == [60]
