"""How fast the stores are, and what they cost the crawl. Run by `make bench`, or by name with -s.

STORE_QUADS is the size of the RDF4J repository in which pages are replaced (default: 200,000; the
figures in docs/stores.md are of 1,000,000).
"""

from __future__ import annotations

import os
import random
import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from rdfaspider.stores import Store, open_store
from rdfaspider.stores.changes import Change
from tests.stores.conftest import oxigraph_server, rdf4j_server

QUADS = int(os.environ.get("STORE_QUADS", "200_000"))
PAGE_QUADS = 20
BATCH = 250
PREDICATES = [NamedNode(f"http://schema.org/p{number}") for number in range(9)]


def page(number: int, version: int = 0) -> tuple[str, list[Quad]]:
    url = f"http://site{number % 97}.test/some/path/{number}"
    graph = NamedNode(url)
    return url, [
        Quad(
            NamedNode(f"{url}#{thing // 5}"),
            PREDICATES[thing % 9],
            Literal(f"value {version} of {thing} in {number * 7919 % 10_007}"),
            graph,
        )
        for thing in range(PAGE_QUADS)
    ]


@contextmanager
def place(kind: str, path: Path) -> Iterator[str]:
    """Run what the kind of store needs, and give the store's URL."""
    if kind == "rdf4j":
        with rdf4j_server(path / "rdf4j") as (_, url):
            yield f"rdf4j+{url}/benchmark"
    elif kind in ("gsp", "update"):
        with oxigraph_server(path / "oxigraph") as (_, url):
            yield f"{kind}+{url}/{'store' if kind == 'gsp' else 'update'}"
    else:
        yield f"{'nquads:' if kind == 'nquads' else ''}{path / 'store'}"


def fill(store: Store, pages: range, version: int = 0) -> float:
    """Write pages in batches; return the seconds that took."""
    seconds = 0.0
    for first in range(pages.start, pages.stop, BATCH):
        batch = range(first, min(first + BATCH, pages.stop))
        changes = [Change.replacing(*page(number, version)) for number in batch]
        start = time.perf_counter()
        store.write(changes)
        seconds += time.perf_counter() - start
    return seconds


@pytest.mark.parametrize("kind", ["oxigraph", "rdf4j", "gsp", "update", "nquads"])
def test_throughput(kind: str, tmp_path: Path) -> None:
    pages = 2_000
    with place(kind, tmp_path) as url, open_store(url) as store:
        fill(store, range(10_000, 11_000))  # the server warms up
        new = fill(store, range(pages))
        again = fill(store, range(pages), version=1)
    print(f"\n{kind:<10} {'quads/s':>9} {'pages/s':>8}")
    for name, seconds in (("new", new), ("replaced", again)):
        print(f"  {name:<8} {pages * PAGE_QUADS / seconds:>9,.0f} {pages / seconds:>8,.0f}")
    assert pages / again > 100


def test_replacing_one_page_of_a_large_repository(tmp_path: Path) -> None:
    with place("rdf4j", tmp_path) as url, open_store(url) as store:
        pages = QUADS // PAGE_QUADS
        seconds = fill(store, range(pages))
        chance = random.Random(1)
        print(f"\n{QUADS:,} quads loaded at {QUADS / seconds:,.0f} quads/s; replacing pages:")
        for size, rounds in ((1, 200), (BATCH, 8)):
            times = []
            for version in range(1, rounds + 1):
                batch = chance.sample(range(pages), size)
                changes = [Change.replacing(*page(number, version)) for number in batch]
                start = time.perf_counter()
                store.write(changes)
                times.append((time.perf_counter() - start) / size * 1e3)
            cuts = statistics.quantiles(times, n=20)
            print(f"  {size:>3} at once: median {cuts[9]:.1f} ms a page, 95 % {cuts[18]:.1f} ms")
        assert store.count() == QUADS
    assert statistics.median(times) < 20


def test_what_the_outbox_costs_the_crawl(tmp_path: Path) -> None:
    """Both the putting in and the sender's thread, as CPU of this process for each page."""
    with place("rdf4j", tmp_path) as url:
        pages = [page(number) for number in range(3_000)]
        with open_store(url) as store:
            fill(store, range(10_000, 11_000))
        before = time.process_time()
        start = time.perf_counter()
        with open_store(url, outbox=str(tmp_path / "outbox")) as store:
            for graph, quads in pages:
                store.replace(graph, quads)
            put = time.perf_counter() - start
        cost = (time.process_time() - before) / len(pages)
        total = time.perf_counter() - start
    print(
        f"\noutbox: {put / len(pages) * 1e6:.0f} µs to put a page, {cost * 1e6:.0f} µs CPU a page"
        f" in all, {len(pages) / total:,.0f} pages/s end to end"
    )
    # A page costs the crawl some 5 ms; the sink may take 15 % of that.
    assert cost < 0.15 * 0.005
