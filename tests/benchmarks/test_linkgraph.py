"""What the link graph costs: while crawling, on disk, and in its analysis. Run by name with -s.

    pytest -s tests/benchmarks/test_linkgraph.py
    pytest -s -m campaign tests/benchmarks/test_linkgraph.py      a hundred million links; ten minutes

All times are of the processor, so that others on the machine disturb little. LINKGRAPH_LINKS changes the
number of links of the last one.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.tables.database import Database
from rdfaspider.frontier.tables.trie import pack_number
from rdfaspider.linkgraph.compact import Compaction
from rdfaspider.linkgraph.edges import FOLLOW, pack
from rdfaspider.linkgraph.files.rows import Rows
from rdfaspider.linkgraph.files.sorting import Sorter, join, parts
from rdfaspider.linkgraph.files.varints import Array
from rdfaspider.linkgraph.graph import Graph
from rdfaspider.linkgraph.measures.components import bow_tie
from rdfaspider.linkgraph.measures.ranks import Power, hits, pagerank
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.urls.keys import to_key

PROJECT = Path(__file__).parents[2]
LINKS = int(os.environ.get("LINKGRAPH_LINKS", "100_000_000"))

# What may be spent.
SHARE_OF_A_PAGE = 0.03
BYTES_CRAWLING, BYTES_COMPACT = 2.2, 1.3
MEGABYTES = 400
SECONDS = {"PageRank, an iteration": 2.5, "HITS, an iteration": 5.0, "bow tie": 30.0}


# --- while crawling ---

PAGES, PER_PAGE = 4_000, 40


def crawl_frontier(path: Path, *, linkgraph: bool) -> float:
    """Return the CPU seconds of a page of 40 links in the frontier alone, its background work included."""
    chance = random.Random(1)
    total = PAGES * 10
    urls = [
        f"https://www.site{n % 200}.org/part{n % 13}/page-{n * 7919 % 999_983}"
        for n in range(total)
    ]
    pages = []
    for page in range(PAGES):
        near = [(page * 10 + chance.randrange(2000)) % total for _ in range(PER_PAGE - 8)]
        pages.append([urls[n] for n in near + chance.sample(range(total), 8)])
    rules = Politeness(delay=0.0, at_once=1000)
    with LocalFrontier(str(path), politeness=rules, linkgraph=linkgraph) as frontier:
        frontier.put(urls[:500])
        begun = time.process_time()
        for links in pages:
            taken = frontier.take(0.0)
            assert taken is not None
            frontier.finish(taken, "done", 0.0, links, beside={"media": {"image": 3}})
        frontier.counts()
    return (time.process_time() - begun) / PAGES


def cpu_of_a_page(tmp_path: Path) -> float:
    """Return the CPU seconds of a page of 40 links in a whole crawl without the graph."""
    parameters = Parameters(seed=2, levels=4, pages=6, links_inside=36)
    with running(parameters) as origin:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        options = {"LINKGRAPH": 0, "POLITENESS_DELAY": 0, "POLITENESS_AT_ONCE": 16, "JOBDIR": "job"}
        settings = [word for name, value in options.items() for word in ("-s", f"{name}={value}")]
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "rdfaspider",
                "crawl",
                "rdfa",
                "-a",
                f"seeds={origin}/",
                *settings,
            ],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
            check=True,
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    pages = int(done.stderr.split(" URLs = ")[1].split(" done")[0].replace(",", ""))
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return spent / pages


def test_writing_links(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    costs: dict[bool, list[float]] = {True: [], False: []}
    for run in range(5):
        for is_kept in (False, True):
            costs[is_kept].append(crawl_frontier(tmp_path / f"{run}{is_kept}", linkgraph=is_kept))
    more = min(costs[True]) - min(costs[False])
    page = cpu_of_a_page(tmp_path)
    with capsys.disabled():
        print(
            f"\na page of {PER_PAGE} links in the frontier: {min(costs[False]) * 1e6:.0f} µs,",
            end=" ",
        )
        print(f"with the graph {more * 1e6:+.0f} µs; in a crawl {page * 1e6:.0f} µs:", end=" ")
        print(f"{more / page:.1%}")
    assert more / page <= SHARE_OF_A_PAGE


# --- on disk ---


class Web:
    """A web by the copying model: a page has some links of the page before it, and others of its own.

    Pages are in the order of keys, on hosts of which some are large. Of the links two thirds are within the
    host, to neighbours or anywhere, more often to its first pages; the others go to popular hosts, mostly
    to their first pages. Plain varints in the order of keys take about ten bits a link, compressed.
    """

    def __init__(self, pages: int, links: float) -> None:
        chance = np.random.default_rng(1)
        sizes = np.minimum(chance.pareto(0.9, pages // 10) * 3 + 1, pages // 50).astype(np.int64)
        ends = np.minimum(np.cumsum(sizes), pages)
        self.ends = np.unique(np.append(ends[ends < pages], pages))
        self.starts = np.concatenate(([0], self.ends[:-1]))
        self.pages, self._links, self._chance = pages, links, chance

    def rows(self, step: int = 1 << 17) -> Iterator[tuple[Array, Array]]:
        """Yield sources and targets; some links twice."""
        for first in range(0, self.pages, step):
            own = np.arange(first, min(first + step, self.pages))
            mean = self._links / self.pages * 1.25
            drawn = np.minimum(self._chance.lognormal(np.log(mean) - 0.32, 0.8, len(own)), 500)
            drawn[self._chance.random(len(own)) < 0.15] = 0
            degrees = drawn.astype(np.int64)
            sources = np.repeat(own, degrees)
            yield sources, self._targets(sources)[self._copied(own, degrees)]

    def _targets(self, sources: Array) -> Array:
        count, chance = len(sources), self._chance
        hosts = np.searchsorted(self.ends, sources, "right")
        elsewhere = chance.random(count) < 0.28
        popular = (len(self.ends) * chance.random(count) ** 6).astype(np.int64)
        hosts = np.where(elsewhere, popular, hosts)
        starts, sizes = self.starts[hosts], self.ends[hosts] - self.starts[hosts]
        power = np.where(elsewhere, 12, 3)
        first = (sizes * chance.random(count) ** power).astype(np.int64)
        near = np.clip(sources - starts + chance.geometric(0.1, count) - 8, 0, sizes - 1)
        is_near = ~elsewhere & (chance.random(count) < 0.5)
        targets: Array = starts + np.where(is_near, near, first)
        return targets

    def _copied(self, own: Array, degrees: Array) -> Array:
        """Return for each link the one that it is a copy of, in the end, or itself."""
        begins = np.cumsum(degrees) - degrees
        places = np.arange(degrees.sum()) - np.repeat(begins, degrees)
        hosts = np.searchsorted(self.ends, own, "right")
        is_same = np.diff(hosts, prepend=-1) == 0
        length = np.where(is_same, np.roll(degrees, 1), 0)  # of the page before
        copied = (self._chance.random(len(places)) < 0.4) & (places < np.repeat(length, degrees))
        before = np.repeat(np.roll(begins, 1), degrees) + places
        origin = np.where(copied, before, np.arange(len(places)))
        while (origin[origin] != origin).any():
            origin = origin[origin]
        return origin


# Links that a sieve looks up together, and gives numbers to in the order of keys.
SIEVED = 10_000


def breadth_first(web: Web, rows: Rows) -> Array:
    """Return the number of each page in the order in which a crawl finds them."""
    numbers = np.full(web.pages, -1, np.int64)
    order = np.empty(web.pages, np.int64)
    seeds = web.starts[:: len(web.starts) // 100 or 1]
    given = ended = 0
    inbox = [seeds]
    size = len(seeds)
    while given < web.pages:
        while ended < given and size < SIEVED:
            inbox.append(rows.between(int(order[ended]), int(order[ended]) + 1))
            size += len(inbox[-1])
            ended += 1
        if not size:  # a page that nobody links to
            inbox = [np.flatnonzero(numbers < 0)[:1000]]
        new = np.unique(np.concatenate(inbox))
        new = new[numbers[new] < 0]
        numbers[new] = order_of = np.arange(given, given + len(new))
        order[order_of] = new
        given += len(new)
        inbox, size = [], 0
    return numbers


class Stored:
    """The links of a web as a frontier has them."""

    def __init__(self, path: Path, web: Web, numbers: Array) -> None:
        self._database = Database(path, read_only=True)
        self._web = web
        self._numbers = numbers
        self.size = web.pages

    def urls(self) -> Iterator[tuple[bytes, int, int, int]]:
        hosts = np.searchsorted(self._web.ends, np.arange(self.size), "right").tolist()
        for page, (host, number) in enumerate(zip(hosts, self._numbers.tolist(), strict=True)):
            yield to_key(f"https://h{host:07}.org/{page:09}"), number, 1, 1

    def pages(self) -> Iterator[tuple[int, bytes]]:
        for key, value in self._database.edges.pairs():
            yield int.from_bytes(key, "big"), value

    def numbers(self, keys: list[bytes]) -> list[int | None]:
        return [None] * len(keys)

    def close(self) -> None:
        self._database.close()


def test_sizes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A million pages with 17.5 links each."""
    web = Web(1_000_000, 21_500_000)
    rows, _ = make_rows(web, tmp_path)
    numbers = breadth_first(web, rows)
    write_frontier(tmp_path / "frontier", rows, numbers)
    files = (tmp_path / "frontier").glob("*.sst")
    crawling = sum(path.stat().st_size for path in files) / rows.links
    stored = Stored(tmp_path / "frontier", web, numbers)
    begun = time.process_time()
    Compaction([stored], tmp_path / "graph").run()
    spent = time.process_time() - begun
    stored.close()
    with Graph(tmp_path / "graph") as graph:
        assert graph.outward.links == graph.inward.links == rows.links
        compact = {"out": graph.outward.size / rows.links, "in": graph.inward.size / rows.links}
        found = Rows.expand(graph.outward, tmp_path / "again")
        assert found.path.read_bytes() == rows.path.read_bytes()
    inside = share_inside(web, rows)
    with capsys.disabled():
        print(
            f"\n{rows.links:,} links, {inside:.0%} within a host: {crawling:.2f} bytes a link in the"
        )
        print(
            f"frontier, {compact['out']:.2f} outward and {compact['in']:.2f} inward in the graph,"
        )
        print(f"which takes {spent:.0f} s")
    assert crawling <= BYTES_CRAWLING
    assert max(compact.values()) <= BYTES_COMPACT


def share_inside(web: Web, rows: Rows) -> float:
    inside = 0
    for first, end, targets in rows:
        own = np.repeat(np.arange(first, end), rows.degrees[first:end])
        hosts = np.searchsorted(web.ends, own, "right")
        inside += int((hosts == np.searchsorted(web.ends, targets, "right")).sum())
    return inside / rows.links


def write_frontier(path: Path, rows: Rows, numbers: Array) -> None:
    """Write the links as the sieve does, in the order in which pages end."""
    database = Database(path)
    order = np.argsort(numbers)
    for start in range(0, len(order), 250):
        batch = database.batch()
        for page in order[start : start + 250].tolist():
            number = int(numbers[page])
            targets = numbers[rows.between(page, page + 1)].tolist()
            batch.put(
                pack_number(number), pack(number, FOLLOW, targets, b"\0"), database.edges.handle
            )
        database.write(batch)
    database._database.flush()
    database.close()


# --- a hundred million links ---


def make_rows(web: Web, folder: Path) -> tuple[Rows, Rows]:
    """Write the rows of a web in both directions."""
    degrees = np.zeros(web.pages, np.int64)
    raw = folder / "raw"
    with raw.open("wb") as file:
        for begins, ends in web.rows():
            others = begins != ends  # a graph has no links of a page to itself
            sources, targets = begins[others], ends[others]
            degrees += np.bincount(sources, minlength=web.pages)
            join(sources, targets, np.full(len(sources), FOLLOW)).tofile(file)
    sorter = Sorter(folder / "sorting", degrees)
    with raw.open("rb") as file:
        while len(links := np.fromfile(file, np.uint64, 1 << 21)):
            sorter.add(links)
    raw.unlink()
    both = []
    turned: Sorter | None = None
    for name in ("out", "in"):
        lengths = []
        back = np.zeros(web.pages, np.int64)
        with (folder / f"{name}.rows").open("wb") as file, raw.open("wb") as reverse:
            for some, links in sorter.rows():
                firsts, others, kinds = parts(links)
                others.tofile(file)
                lengths.append(some)
                if turned is None:
                    join(others, firsts, kinds).tofile(reverse)
                    back += np.bincount(others, minlength=web.pages)
        both.append(np.concatenate(lengths).astype(np.uint32))
        if turned is None:
            sorter = turned = Sorter(folder / "turning", back)
            with raw.open("rb") as file:
                while len(links := np.fromfile(file, np.uint64, 1 << 21)):
                    sorter.add(links)
    raw.unlink()
    for name, counts in zip(("out", "in"), both, strict=True):
        counts.tofile(folder / f"{name}.degrees")
    return load_rows(folder)


def load_rows(folder: Path) -> tuple[Rows, Rows]:
    outward, inward = (
        Rows(folder / f"{name}.rows", np.fromfile(folder / f"{name}.degrees", np.uint32))
        for name in ("out", "in")
    )
    return outward, inward


def measure_pagerank(folder: Path) -> float:
    outward, inward = load_rows(folder)
    return _of_an_iteration(lambda power: pagerank(inward, outward.degrees, power))


def measure_hits(folder: Path) -> float:
    outward, inward = load_rows(folder)
    # After the last one the authorities are computed once more: half an iteration.
    return _of_an_iteration(lambda power: hits(inward, outward, power))


def _of_an_iteration(compute: Callable[[Power], object]) -> float:
    times: list[float] = []
    compute(Power(most=5, tell=lambda iteration, change: times.append(time.process_time())))
    return float(min(np.diff(times)))


def measure_bow_tie(folder: Path) -> float:
    outward, inward = load_rows(folder)
    begun = time.process_time()
    tie = bow_tie(outward, inward)
    assert sum(tie) == outward.nodes
    (folder / "tie.json").write_text(json.dumps(tie._asdict()))
    return time.process_time() - begun


MEASURES = {
    "PageRank, an iteration": measure_pagerank,
    "HITS, an iteration": measure_hits,
    "bow tie": measure_bow_tie,
}


def in_child(name: str, folder: str, results: str) -> None:
    seconds = MEASURES[name](Path(folder))
    # Not ru_maxrss, which has the memory of the parent in it.
    status = Path("/proc/self/status").read_text()
    kilobytes = int(status.split("VmHWM:")[1].split()[0])
    Path(results).write_text(json.dumps([seconds, kilobytes / 1024]))


@pytest.mark.campaign
@pytest.mark.timeout(3600)
def test_a_hundred_million_links(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    web = Web(round(LINKS * 0.06), LINKS * 1.18)
    outward, inward = make_rows(web, tmp_path)
    assert outward.links == inward.links
    found: dict[str, tuple[float, float]] = {}
    for name in MEASURES:
        results = str(tmp_path / "results.json")
        context = multiprocessing.get_context("spawn")
        process = context.Process(target=in_child, args=(name, str(tmp_path), results))
        process.start()
        process.join()
        assert process.exitcode == 0
        seconds, megabytes = json.loads(Path(results).read_text())
        found[name] = seconds, megabytes
    with capsys.disabled():
        print(f"\n{outward.nodes:,} pages, {outward.links:,} links")
        for name, (seconds, megabytes) in found.items():
            print(f"{name}: {seconds:.2f} s, {megabytes:.0f} MB")
        print((tmp_path / "tie.json").read_text())
    for name, (seconds, megabytes) in found.items():
        assert megabytes <= MEGABYTES
        assert seconds <= SECONDS[name] * LINKS / 100_000_000
