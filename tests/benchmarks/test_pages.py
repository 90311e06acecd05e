"""What the table of pages costs, and how well near copies are found."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from hashlib import sha1
from itertools import combinations
from pathlib import Path
from random import Random

import numpy as np
import pytest
from numpy.typing import NDArray

from rdfaspider.extract import Options, extract
from rdfaspider.extract.document.html import HtmlDocument
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.items import Page
from rdfaspider.pages.clusters import clusters
from rdfaspider.pages.nearcopies import stars
from rdfaspider.pages.row import row_of
from rdfaspider.pages.sketch import MOST, sketch_of
from rdfaspider.site.answers import answer
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web

# What a page of 5.9 KB takes without all this, in µs of CPU (docs/archive.md).
PAGE = 2_100
# As large as those of docs/archive.md.
LARGER = Parameters(levels=4, pages=6, sentences=40, links_inside=20, triples=12)


def microseconds(call: Callable[[], object], count: int, rounds: int = 5) -> float:
    """Return the least CPU time of a call that does `count` things, for each of them."""
    best = float("inf")
    for _ in range(rounds):
        begin = time.process_time()
        call()
        best = min(best, time.process_time() - begin)
    return best / count * 1e6


def page_of(body: bytes, number: int) -> Page:
    page = Page(f"http://a.test/{number}", 3, status=200, fetched=1.79e9, body=body)
    page.title, page.language, page.content_type = "The old library", "en", "text/html"
    page.digest = sha1(b"%d" % (number // 2)).digest()
    page.links, page.found = ["http://a.test/"] * 40, {"rdfa": 12}
    page.nquads = b"a line of N-Quads that has some length\n" * 12
    return page


def finishing(path: Path, count: int, row: Callable[[int], bytes]) -> float:
    """Return the CPU time of ending a page in the frontier, in µs."""
    with LocalFrontier(str(path), politeness=Politeness(delay=0.0, at_once=999)) as frontier:
        frontier.put([f"http://a{number % 50}.test/{number}" for number in range(count)])
        spent = 0.0
        for number in range(count):
            taken = frontier.take(0.0)
            assert taken
            packed = row(number)
            begin = time.process_time()
            frontier.finish(taken, "done", 0.0, row=packed)
            spent += time.process_time() - begin
        begin = time.process_time()
        frontier.counts()
        spent += time.process_time() - begin
    return spent / count * 1e6


def test_rows_cost_little(tmp_path: Path) -> None:
    body = answer(Web(LARGER), "http://w0.site.test/").body
    pages = [page_of(body, number) for number in range(1000)]
    packing = microseconds(lambda: [row_of(page) for page in pages], 1000)
    digest = microseconds(lambda: [sha1(body).hexdigest() for _ in range(1000)], 1000)
    rows = [row_of(page_of(body, number)) for number in range(20_000)]
    without = min(finishing(tmp_path / f"a{n}", 20_000, lambda number: b"") for n in range(2))
    with_ = min(finishing(tmp_path / f"b{n}", 20_000, rows.__getitem__) for n in range(2))
    total = packing + digest + with_ - without
    print(f"\n{len(body):,} bytes: packing {packing:.1f} µs, digest {digest:.1f} µs, ending a page")
    print(f"{with_:.1f} instead of {without:.1f} µs; together {total:.0f} µs = {total / PAGE:.1%}")
    print(f"{len(rows[0])} bytes a row")
    assert total < 0.02 * PAGE


def test_an_analysis_of_small_pages() -> None:
    web = Web(LARGER)
    urls = [web.url(0, number) for number in range(200)]
    bodies = [answer(web, url).body for url in urls]

    def read(options: Options) -> None:
        for url, body in zip(urls, bodies, strict=True):
            extract(body, url, "text/html", options)

    plain = microseconds(lambda: read(Options()), 200)
    analysed = microseconds(lambda: read(Options(analyse=True)), 200)
    alone = microseconds(lambda: read(Options(formats=frozenset(), analyse=True)), 200)
    size = sum(map(len, bodies)) // len(bodies)
    print(f"\n{size:,} bytes: extraction {plain:.0f} µs, with analysis {analysed:.0f} µs,")
    print(f"{analysed / plain - 1:.0%} more; afterwards, from the archive, {alone:.0f} µs a page")
    assert analysed < 1.8 * plain  # the rest of a page takes two to three times as much


TIMED = """
import sys, time
import rdfaspider.extract.reading as extract
spent = 0.0
analyse = extract._analyse
def timed(*given):
    global spent
    begin = time.thread_time()
    analyse(*given)
    spent += time.thread_time() - begin
extract._analyse = timed
from rdfaspider.__main__ import main
try:
    main()
finally:
    print("spent", spent, time.process_time())
"""


def test_an_analysis_during_a_crawl(tmp_path: Path) -> None:
    """By the clock of the thread, in one process; the pages are those of docs/archive.md."""
    web = Parameters(seed=1, levels=6, pages=4, links_inside=36, sentences=25, triples=10)
    settings = ["PAGES_ANALYSE=during", "EXTRACT_PROCESSES=0", "POLITENESS_OFF_FOR_OWN_SERVERS=1"]
    options = [word for each in settings for word in ("-s", each)]
    shares = []
    with running(web) as url:
        for number in range(3):
            place = tmp_path / str(number)
            place.mkdir()
            command = [sys.executable, "-c", TIMED, "crawl", "rdfa", "-a", f"seeds={url}/"]
            done = subprocess.run(
                [*command, *options], cwd=place, check=True, capture_output=True, text=True
            )
            _, spent, whole = done.stdout.splitlines()[-1].split()
            shares.append(float(spent) / (float(whole) - float(spent)))
            each = float(spent) / 5461 * 1e6
            print(f"\nanalysis {each:.0f} µs a page, {shares[-1]:.1%} of the rest")
    assert min(shares) <= 0.15


def crawl(tmp_path: Path, url: str, name: str, *settings: str) -> float:
    """Return the CPU seconds of a crawl and its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    options = [word for each in settings for word in ("-s", each)]
    command = [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", "-a", f"seeds={url}/"]
    subprocess.run(
        [*command, "-s", f"JOBDIR={name}", "-s", "POLITENESS_OFF_FOR_OWN_SERVERS=1", *options],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_a_crawl_with_and_without(tmp_path: Path) -> None:
    kinds = {"none": ("PAGES=0",), "rows": ("PAGES=1",), "during": ("PAGES_ANALYSE=during",)}
    spent: dict[str, list[float]] = {kind: [] for kind in kinds}
    with running(LARGER) as url:
        for number in range(4):
            for kind, settings in kinds.items():
                spent[kind].append(crawl(tmp_path, url, f"{kind}{number}", *settings))
    for kind, seconds in spent.items():
        print(f"\n{kind}: {' '.join(f'{each / 1555 * 1e6:,.0f}' for each in seconds)} µs a page")
    print(f"rows {min(spent['rows']) / min(spent['none']) - 1:+.1%}")
    print(f"during {min(spent['during']) / min(spent['none']) - 1:+.1%}")


@pytest.mark.parametrize("count", [1_000_000])
def test_clusters_of_many_sketches(tmp_path: Path, count: int) -> None:
    """A third are in groups of about ten, whose members share nine bins of ten with one sketch."""
    count = int(os.environ.get("RDFASPIDER_SKETCHES", count))
    path, truth = tmp_path / "sketches", np.empty(count, np.int64)
    numbers = np.random.default_rng(1)
    with path.open("wb") as file:
        for start in range(0, count, 100_000):
            size = min(100_000, count - start)
            own = numbers.integers(0, 1 << 27, (size, 32), np.uint32)
            own |= np.arange(32, dtype=np.uint32) << np.uint32(27)
            group, grouped = np.arange(size), size // 30 * 10
            group[:grouped] //= 10
            shared = numbers.random((size, 32)) < 0.9
            shared[grouped:] = False
            file.write(np.where(shared, own[group], own).astype("<u4").tobytes())
            truth[start : start + size] = group + start
            truth[start + grouped : start + size] = -1
    sketches = np.memmap(path, np.dtype("<u4"), "r", shape=(count, 32))
    begin, cpu = time.perf_counter(), time.process_time()
    labels = clusters(sketches)
    members, firsts, _ = stars(sketches, labels, np.arange(count, dtype=np.uint32))
    first = np.full(count, -1)
    first[members] = firsts
    pairs = (truth[1:] == truth[:-1]) & (truth[1:] >= 0)
    found = ((first[1:] == first[:-1]) & (first[1:] >= 0))[pairs].mean()
    seconds, spent = time.perf_counter() - begin, time.process_time() - cpu
    print(
        f"\n{count:,} sketches: {seconds:.0f} s, {spent:.0f} s of CPU, {_anonymous()} MB; {found:.3f}"
    )
    assert found > 0.98 and not (truth[members] < 0).any()


def _anonymous() -> int:
    """Return the most memory of this process in MB, without files that are mapped."""
    status = dict(line.split(":") for line in Path("/proc/self/status").read_text().splitlines())
    return (int(status["VmHWM"].split()[0]) - int(status["RssFile"].split()[0])) >> 10


def test_near_copies_of_real_pages() -> None:
    """Against the exact similarity; RDFASPIDER_PAGES names folders with HTML, separated by colons."""
    folders = os.environ.get("RDFASPIDER_PAGES", "/usr/share/doc").split(":")
    paths = sorted(path for folder in folders for path in Path(folder).rglob("*.html"))
    paths = [path for path in paths if path.is_file() and path.stat().st_size > 1500]
    Random(7).shuffle(paths)
    bodies = {path.read_bytes()[:400_000] for path in paths[:2000]}
    texts = [HtmlDocument(body, frozenset(), 100_000).visible_text()[:MOST] for body in bodies]
    begin = time.process_time()
    each = [(text, sketch) for text in texts if (sketch := sketch_of(text)[1])]
    spent = (time.process_time() - begin) / len(texts) * 1e6
    if len(each) < 200:
        pytest.skip(f"only {len(each)} pages in {folders}: set RDFASPIDER_PAGES")
    sketches = np.frombuffer(b"".join(sketch for _, sketch in each), "<u4").reshape(-1, 32)
    exact = _exact([text for text, _ in each])
    found = _found(sketches)
    alike = {pair for pair, share in exact.items() if share >= 0.8}
    print(f"\n{len(each):,} pages, {len(alike):,} pairs of 0.8 or more; {spent:.0f} µs a sketch")
    print(f"recall {len(found & alike) / len(alike):.3f}, found {len(found):,}; of these")
    for least in (0.5, 0.7, 0.8):
        share = sum(exact.get(pair, 0.0) >= least for pair in found) / len(found)
        print(f"  {share:.3f} have {least} or more")


def _exact(texts: list[str]) -> dict[tuple[int, int], float]:
    """Return the pairs whose similarity is at least one half."""
    runs = []
    for text in texts:
        words = text.lower().split()
        runs.append({hash(run) for run in zip(words, words[1:], words[2:], strict=False)})
    exact = {}
    for one, other in combinations(range(len(runs)), 2):
        small, large = sorted((len(runs[one]), len(runs[other])))
        if 2 * small >= large:
            common = len(runs[one] & runs[other])
            if 3 * common >= small + large:
                exact[one, other] = common / (small + large - common)
    return exact


def _found(sketches: NDArray[np.uint32]) -> set[tuple[int, int]]:
    times = np.arange(len(sketches), dtype=np.uint32)
    members, firsts, _ = stars(sketches, clusters(sketches), times)
    groups: dict[int, list[int]] = {}
    for member, first in sorted(zip(members.tolist(), firsts.tolist(), strict=True)):
        groups.setdefault(first, []).append(member)
    return {pair for group in groups.values() for pair in combinations(group, 2)}
