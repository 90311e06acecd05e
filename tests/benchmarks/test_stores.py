"""How fast the stores are, what they cost the crawl, and what becomes of one whose server dies.

    pytest -s tests/benchmarks/test_stores.py

prints the tables of docs/stores.md. STORE_QUADS is the size of the RDF4J repository in which pages
are replaced (default: 200,000; the figures in docs/stores.md are of 1,000,000).
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyoxigraph import Literal, NamedNode, Quad

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.stores import Store, open_store
from rdfaspider.stores.changes import Change
from tests.stores.conftest import PROJECT, oxigraph_server, rdf4j_server
from tests.test_crawl_stores import crawl_through_deaths

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


def test_throughput(tmp_path: Path) -> None:
    pages = 2_000
    print(
        f"\n{'':<10} {'new: quads/s':>13} {'pages/s':>8} {'replaced: quads/s':>18} {'pages/s':>8}"
    )
    for kind in ("oxigraph", "rdf4j", "gsp", "update", "nquads"):
        with place(kind, tmp_path) as url, open_store(url) as store:
            fill(store, range(10_000, 11_000))  # the server warms up
            new = pages / fill(store, range(pages))
            again = pages / fill(store, range(pages), version=1)
        print(
            f"{kind:<10} {new * PAGE_QUADS:>13,.0f} {new:>8,.0f}"
            f" {again * PAGE_QUADS:>18,.0f} {again:>8,.0f}"
        )
        assert again > 100


def test_replacing_one_page_of_a_large_repository(tmp_path: Path) -> None:
    with place("rdf4j", tmp_path) as url, open_store(url) as store:
        pages = QUADS // PAGE_QUADS
        seconds = fill(store, range(pages))
        chance = random.Random(1)
        print(f"\n{QUADS:,} quads loaded at {QUADS / seconds:,.0f} quads/s; replacing pages:")
        for size, rounds in ((1, 100), (5, 40), (25, 20), (BATCH, 8)):
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


SITE = Parameters(seed=2, levels=5, pages=4, triples=PAGE_QUADS)


def cost_of_a_crawl(directory: Path, seed: str, settings: dict[str, str]) -> float:
    """Return the CPU seconds of a crawl, its sender and its extracting processes included."""
    directory.mkdir()
    settings = {"POLITENESS_OFF_FOR_OWN_SERVERS": "1", **settings}
    options = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    process = subprocess.Popen(
        [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", "-a", f"seeds={seed}/", *options],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stderr=subprocess.DEVNULL,
    )
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def test_what_the_store_costs_the_crawl(tmp_path: Path) -> None:
    """Crawl with the store and without, by turns; the least CPU counts, for others run beside."""
    pipelines = {
        "rdfaspider.pipelines.extract.ExtractPipeline": 100,
        "rdfaspider.pipelines.filter.FilterPipeline": 500,
    }
    costs: dict[str, list[float]] = {"none": [], "oxigraph": [], "rdf4j": []}
    with place("rdf4j", tmp_path) as url, running(SITE) as seed:
        for turn in range(3):
            for kind, spent in costs.items():
                settings = {
                    "none": {"ITEM_PIPELINES": json.dumps(pipelines)},
                    "oxigraph": {},
                    "rdf4j": {"STORE_URL": f"{url}{turn}"},
                }[kind]
                spent.append(cost_of_a_crawl(tmp_path / f"{kind}{turn}", seed, settings))
        with open_store(f"{url}0", read_only=True) as store:
            pages = store.count() // PAGE_QUADS
    least = {kind: min(spent) for kind, spent in costs.items()}
    for kind, seconds in least.items():
        share = 1 - least["none"] / seconds
        print(
            f"\n{kind:<10} {seconds:6.2f} s CPU, {seconds / pages * 1e3:.2f} ms a page,"
            f" the store's share {share:.1%}",
            end="",
        )
    print(f" ({pages:,} pages of {PAGE_QUADS} quads)")
    assert 1 - least["none"] / least["rdf4j"] < 0.15


def test_five_deaths_of_the_server_in_a_larger_crawl(tmp_path: Path) -> None:
    site = Parameters(seed=9, hosts=12, levels=3, pages=4, links_across=3, triples=20)
    crawl_through_deaths(tmp_path, site, deaths=5, delay=0.5, batch=2_000)
