"""How fast the stores are, what they cost the crawl, and what becomes of one whose server dies.

    pytest -s tests/benchmarks/test_stores.py

prints the tables of docs/results.md. STORE_QUADS is the size of the RDF4J repository in which pages
are replaced (default: 200,000; the figures in docs/results.md are of 1,000,000), STORE_KILLS how often
a server is killed (default: 3). CPU is that of the server, and does not depend on what else runs.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from threading import Timer

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.stores import Store, StoreDown, open_sink, open_store
from rdfaspider.stores.changes import Change
from rdfaspider.stores.embedded import Embedded, merging
from rdfaspider.stores.embedded.oxigraph import OxigraphStore
from tests.stores.conftest import PROJECT, Server, oxigraph_server, rdf4j_server
from tests.test_crawl_stores import crawl_through_deaths

QUADS = int(os.environ.get("STORE_QUADS", "200_000"))
KILLS = int(os.environ.get("STORE_KILLS", "3"))
PAGE_QUADS = 20
BATCH = 250
# Loads of an embedded store in a long crawl of large pages, and the pages and quads of one.
LOADS, LOAD_PAGES, LOAD_QUADS = 60, 150, 99_900
JOIN = """SELECT (COUNT(*) AS ?pairs) WHERE {
    ?thing <http://schema.org/p1> ?one . ?thing <http://schema.org/p2> ?other
}"""
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
def place(kind: str, path: Path) -> Iterator[tuple[str, Server | None]]:
    """Run what the kind of store needs; the values are the store's URL and the server, if any."""
    if kind in ("rdf4j", "lmdb"):
        with rdf4j_server(path / kind) as (server, url):
            yield f"rdf4j+{url}/benchmark{'?sail=lmdb' if kind == 'lmdb' else ''}", server
    elif kind in ("gsp", "update"):
        with oxigraph_server(path / "oxigraph") as (server, url):
            yield f"{kind}+{url}/{'store' if kind == 'gsp' else 'update'}", server
    else:
        yield f"{'nquads:' if kind == 'nquads' else ''}{path / 'store'}", None


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
        f" {'CPU: ms a page':>15}"
    )
    for kind in ("oxigraph", "rdf4j", "lmdb", "gsp", "update", "nquads"):
        with place(kind, tmp_path) as (url, server), open_store(url) as store:
            fill(store, range(10_000, 11_000))  # the server warms up
            # What is embedded takes its CPU here, together with the making of the pages.
            spent = server.cpu if server else time.process_time
            before = spent()
            new = pages / fill(store, range(pages))
            again = pages / fill(store, range(pages), version=1)
            cpu = (spent() - before) / (2 * pages) * 1e3
        print(
            f"{kind:<10} {new * PAGE_QUADS:>13,.0f} {new:>8,.0f}"
            f" {again * PAGE_QUADS:>18,.0f} {again:>8,.0f} {cpu:>15.2f}"
        )
        assert again > 100


def cost_of_filling(path: str, outbox: str) -> tuple[float, int, int]:
    """Return the CPU seconds of filling an embedded store, megabytes of memory and of disk."""
    making, start = 0.0, time.process_time()
    with open_sink(path, outbox) if outbox else open_store(path) as store:
        for first in range(0, QUADS // PAGE_QUADS, 8):
            before = time.thread_time()
            pages = [page(number) for number in range(first, first + 8)]
            quads = [quad for _, found in pages for quad in found]
            changes = [Change.replacing(*found) for found in pages]
            making += time.thread_time() - before
            if isinstance(store, Embedded):
                store.put(changes)
            elif isinstance(store, OxigraphStore):  # the quickest way in one transaction
                store.add(quads)
    cpu = time.process_time() - start - making
    size = sum(file.stat().st_size for file in Path(path).rglob("*") if file.is_file())
    return cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss >> 10, size >> 20


def test_loading_in_bulk(tmp_path: Path) -> None:
    """New pages, eight at a time: each eight in a transaction, or through the journal."""
    pages = QUADS // PAGE_QUADS
    costs = {}
    for way in ("transactions", "journal"):
        with ProcessPoolExecutor(1, get_context("spawn")) as process:
            outbox = str(tmp_path / "outbox") if way == "journal" else ""
            cpu, memory, disk = process.submit(
                cost_of_filling, str(tmp_path / way), outbox
            ).result()
        costs[way] = cpu
        print(
            f"\n{way:<14} {cpu / pages * 1e3:.2f} ms of CPU a page, {memory:,} MB of memory,"
            f" {disk:,} MB on disk",
            end="",
        )
    print(f" ({QUADS:,} quads)")
    assert costs["journal"] < costs["transactions"]


def cost_of_loads(path: str, niceness: int) -> tuple[float, float]:
    """Return the CPU seconds of loads one after the other, and those by the clock."""
    merging._NICE = niceness
    spent = waited = 0.0
    with OxigraphStore(path) as store:
        for first in range(0, LOADS * LOAD_PAGES, LOAD_PAGES):
            changes = [new_page(number) for number in range(first, first + LOAD_PAGES)]
            before, start = time.process_time(), time.perf_counter()
            store.load(changes)
            spent += time.process_time() - before
            waited += time.perf_counter() - start
    return spent, waited


def join(path: str) -> tuple[int, float]:
    """Look for each thing of one index in another; return how many pairs there are, and the seconds.

    Those of a second time, when the system has read the files.
    """
    with OxigraphStore(path, read_only=True) as store:
        for _ in range(2):
            start = time.perf_counter()
            (row,) = store.query(JOIN)
            seconds = time.perf_counter() - start
        return int(row["pairs"].value), seconds


def merge(path: str) -> float:
    """Merge all files of a store; return how long that takes."""
    with OxigraphStore(path) as store:
        start = time.perf_counter()
        store.optimize()
        return time.perf_counter() - start


def new_page(number: int) -> Change:
    """Return a page about things without names, in which other pages are named too."""
    url = f"http://site{number % 97}.test/some/path/{number}"
    lines = []
    for at in range(LOAD_QUADS // LOAD_PAGES):
        value = (
            f'"value {at} of {number}"' if at % 4 else f"<http://{number * 7919 % 10_007}.test/>"
        )
        lines.append(f"_:b{number}x{at // 5} <http://schema.org/p{at % 9}> {value} <{url}> .\n")
    return Change.of_page(url, "".join(lines).encode())


@pytest.mark.timeout(1_800)
@pytest.mark.skipif(sys.platform != "linux", reason="a thread has no priority of its own")
def test_merging_that_gives_way_takes_less_cpu(tmp_path: Path) -> None:
    """While two processes are as busy as workers that read pages, and as nice."""
    busy = ["nice", "-n", str(merging._NICE), sys.executable, "-c", "while True: pass"]
    workers = [subprocess.Popen(busy) for _ in range(2)]
    costs = {}
    try:
        for niceness in (0, merging._NICE, 2 * merging._NICE):
            with ProcessPoolExecutor(1, get_context("spawn")) as process:
                path = str(tmp_path / str(niceness))
                cpu, clock = process.submit(cost_of_loads, path, niceness).result()
            costs[niceness] = cpu
            print(f"\n{LOADS} loads, merging nicer by {niceness:>2}: {cpu:.1f} s of CPU", end="")
            print(f", {clock:.1f} s by the clock", end="")
    finally:
        for worker in workers:
            worker.kill()
            worker.wait()
    for niceness in costs:  # what the crawl has left unmerged, a query has to look through
        path = str(tmp_path / str(niceness))
        (pairs, before), seconds, (same, after) = join(path), merge(path), join(path)
        assert pairs == same > 0
        print(f"\nafter {niceness:>2}, a join takes {before:.1f} s", end="")
        print(f"; {after:.1f} s when all is merged, which takes {seconds:.1f} s", end="")
        shutil.rmtree(path)
    print()
    assert costs[merging._NICE] < costs[0]


@pytest.mark.parametrize("kind", ["rdf4j", "lmdb"])
def test_replacing_one_page_of_a_large_repository(tmp_path: Path, kind: str) -> None:
    medians = {}
    with place(kind, tmp_path) as (url, server), open_store(url) as store:
        assert server
        pages = QUADS // PAGE_QUADS
        versions = dict.fromkeys(range(pages), 0)
        seconds = fill(store, range(pages))
        chance = random.Random(1)
        print(f"\n{kind}: {QUADS:,} quads loaded at {QUADS / seconds:,.0f} quads/s; replaced:")
        for size, rounds in ((1, 200), (5, 40), (25, 20), (BATCH, 8)):
            times = []
            before = server.cpu()
            for version in range(1, rounds + 1):
                batch = chance.sample(range(pages), size)
                versions |= dict.fromkeys(batch, version)
                changes = [Change.replacing(*page(number, version)) for number in batch]
                start = time.perf_counter()
                store.write(changes)
                times.append((time.perf_counter() - start) / size * 1e3)
            cuts = statistics.quantiles(times, n=20)
            cpu = (server.cpu() - before) / rounds / size * 1e3
            print(
                f"  {size:>3} at once: median {cuts[9]:.1f} ms a page, 95 % {cuts[18]:.1f} ms,"
                f" CPU {cpu:.1f} ms"
            )
            medians[size] = cuts[9]
        # A million quads are compared by their sum, for want of memory.
        expected = (quad for number in range(pages) for quad in page(number, versions[number])[1])
        assert store.count() == QUADS
        assert sum(map(hash, store.quads())) == sum(map(hash, expected))
    # NativeStore misses the mark for one page alone: it writes the list of all graphs at each commit.
    assert medians[BATCH if kind == "rdf4j" else 1] < 20


def send(store: Store, server: Server, changes: list[Change], delay: float | None) -> bool:
    """Write, while the server is killed after a delay; once more if that was in the midst of it."""
    killer = Timer(delay, server.kill) if delay is not None else None
    if killer:
        killer.start()
    is_hit = False
    try:
        store.write(changes)
    except StoreDown:
        is_hit = True
    if killer:
        killer.join()
        server.start()
    if is_hit:
        store.write(changes)
    return is_hit


def killed_again_and_again(path: Path, sail: str, size: int) -> tuple[int, str]:
    """Return how often a server was killed in the midst of a write, and what became of the rest."""
    chance = random.Random(size)
    expected: dict[str, list[Quad]] = {}
    hits, seconds = 0, 1.0
    with (
        rdf4j_server(path) as (server, base),
        open_store(f"rdf4j+{base}/kills?sail={sail}") as store,
    ):
        try:
            for turn in range(3 * KILLS):
                pages = [
                    page(n, chance.randrange(10**6)) for n in chance.sample(range(3_000), size)
                ]
                delay = chance.uniform(0, seconds) if turn % 3 == 2 else None
                start = time.perf_counter()
                hits += send(store, server, [Change.replacing(*each) for each in pages], delay)
                if delay is None:
                    seconds = time.perf_counter() - start
                expected |= dict(pages)
            found = Counter(store.quads())
        except (StoreDown, SyntaxError) as error:
            return hits, f"broken: {str(error).partition('answers')[2][:90]}"
    right = Counter(quad for quads in expected.values() for quad in quads)
    wrong = (found - right).total(), (right - found).total()
    return hits, f"{wrong[0]} statements too many, {wrong[1]} too few" if any(wrong) else "exact"


def test_what_becomes_of_a_repository_whose_server_is_killed(tmp_path: Path) -> None:
    print(f"\n{'':<8} {'quads a batch':>13} {'kills':>6} {'in a write':>11}  result")
    for sail in ("native", "lmdb"):
        for size in (10, 100):
            hits, result = killed_again_and_again(tmp_path / f"{sail}{size}", sail, size)
            print(f"{sail:<8} {size * PAGE_QUADS:>13,} {KILLS:>6} {hits:>11}  {result}")
            assert hits or result == "exact"


SITE = Parameters(seed=2, levels=5, pages=4, triples=PAGE_QUADS)


def costs_of_a_crawl(directory: Path, seed: str, store: str) -> dict[str, float]:
    """Return the CPU seconds of each part of the sink, and of the crawl with its extracting processes."""
    directory.mkdir()
    seeds, result = directory / "seeds.txt", directory / "result.json"
    seeds.write_text(f"{seed}/\n")
    words = [str(result), str(directory), str(seeds), "--follow", "--store", store]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    command = [sys.executable, "-m", "tests.benchmarks.speed.sink", *words]
    subprocess.run(command, cwd=PROJECT, env=environment, check=True)
    found = json.loads(result.read_text())
    return {**found["sink"], "the whole crawl": found["own"] + found["children"]}


def test_what_the_store_costs_the_crawl(tmp_path: Path) -> None:
    """Measured inside the crawl, by the clocks of its threads; the median of three crawls."""
    shares = {}
    with place("rdf4j", tmp_path) as (url, _), running(SITE) as seed:
        for kind in ("oxigraph", "rdf4j"):
            turns = [
                costs_of_a_crawl(
                    tmp_path / f"{kind}{turn}", seed, f"{url}{turn}" if kind == "rdf4j" else ""
                )
                for turn in range(3)
            ]
            with open_store(
                f"{url}0" if kind == "rdf4j" else str(tmp_path / "oxigraph0" / "store"),
                read_only=True,
            ) as store:
                pages = store.count() // PAGE_QUADS
            print(f"\n{kind}: ms of CPU a page ({pages:,} pages of {PAGE_QUADS} quads)")
            for part in turns[0]:
                print(
                    f"  {part:<20} {statistics.median(t[part] for t in turns) / pages * 1e3:6.3f}"
                )
            found = sorted((sum(t.values()) / t["the whole crawl"] - 1) for t in turns)
            shares[kind] = found[1]
            print(f"  the sink's share: {', '.join(f'{share:.1%}' for share in found)}")
    assert max(shares.values()) < 0.15


@pytest.mark.parametrize("sail", ["native", "lmdb"])
def test_five_deaths_of_the_server_in_a_larger_crawl(tmp_path: Path, sail: str) -> None:
    site = Parameters(seed=9, hosts=12, levels=3, pages=4, links_across=3, triples=20)
    crawl_through_deaths(tmp_path, site, deaths=5, delay=0.5, batch=2_000, sail=sail)
