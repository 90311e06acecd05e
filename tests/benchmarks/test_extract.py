"""Speed of extraction on real pages, beside pyRdfa3 and raptor's C parser.

    pytest -s tests/benchmarks/test_extract.py

prints the table of docs/results.md. They run in turns, each in a process of its own, as their users have
them: the heap of one is garbage to look through for another. The table has the least CPU time of all turns;
a ratio is the median over the turns, because a shared machine is not equally fast from one to the next.
Beside pyRdfa3, which gives a graph in memory, ours gives N-Quads, as a crawl takes them, of RDFa alone; "all"
is what a crawl does: links and all formats.
"""

from __future__ import annotations

import ctypes
import ctypes.util
import gc
import io
import logging
import resource
import statistics
import time
import warnings
from collections.abc import Callable
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import ExitStack
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import NamedTuple

import pytest
import turbohtml

from rdfaspider.extract import Options, extract
from rdfaspider.extract.document.limits import Limits
from rdfaspider.heap import keep_freed

TURNS = 7
TURNS_BESIDE_PARSER = 10
PAGES = 20_000
BASE = "http://site.example/"


# What the others read: RDFa, with @role, and no links.
RDFA = Options(formats=frozenset({"rdfa"}), limits=Limits(links=0))


class Times(NamedTuple):
    """Milliseconds for one page, by turn."""

    name: str
    quads: int
    own: list[float]
    every: list[float]
    reference: list[float]
    raptor: float | None

    @property
    def ratios(self) -> list[float]:
        return [theirs / ours for theirs, ours in zip(self.reference, self.own, strict=True)]


def test_extract_outruns_the_others(vectors: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ExitStack() as stack:
        # A crawl keeps freed memory in the processes that extract.
        ours_, theirs_, raptors = (
            stack.enter_context(ProcessPoolExecutor(1, get_context("spawn"), prepare))
            for prepare in (keep_freed, None, None)
        )
        pages = sorted((vectors / "pages").glob("*.html"))
        rows = [_measured(path, ours_, theirs_, raptors) for path in pages]
    turns = [
        (sum(row.own[turn] for row in rows), sum(row.reference[turn] for row in rows))
        for turn in range(TURNS)
    ]
    total = statistics.median(theirs / ours for ours, theirs in turns)
    missing = "stops early" if ctypes.util.find_library("raptor2") else "not there"
    with capsys.disabled():
        print("\n| page | quads | RDFa ms | all formats ms | pyRdfa3 ms | ratio | raptor ms |")
        print("|---|--:|--:|--:|--:|--:|--:|")
        for row in rows:
            raptor = f"{row.raptor:.2f}" if row.raptor else missing
            times = f"{min(row.own):.2f} | {min(row.every):.2f} | {min(row.reference):.1f}"
            ratio = f"{statistics.median(row.ratios):.0f}"
            print(f"| {row.name} | {row.quads} | {times} | {ratio} | {raptor} |")
        ours, every, theirs = (
            sum(min(getattr(row, column)) for row in rows)
            for column in ("own", "every", "reference")
        )
        print(f"| all | | {ours:.1f} | {every:.1f} | {theirs:,.0f} | {total:.0f} | |")
    assert total >= 30
    assert min(statistics.median(row.ratios) for row in rows) >= 15
    assert all(min(row.own) <= row.raptor for row in rows if row.raptor)


def test_extract_costs_little_more_than_its_parser(
    vectors: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """turbohtml's `structured_data()` gives the items of a page; ours gives triples, links and facts."""
    pages = [path.read_bytes() for path in sorted((vectors / "pages").glob("*.html"))]
    tasks: list[Callable[[bytes], object]] = [
        lambda page: extract(page, BASE),
        lambda page: turbohtml.parse(page).structured_data(BASE),
    ]
    order = Random(1)
    ratios = []
    for _ in range(TURNS_BESIDE_PARSER):
        spent = [0.0, 0.0]
        trials = [(task, page) for task in (0, 1) for page in pages]
        order.shuffle(trials)
        for task, page in trials:
            run = partial(tasks[task], page)
            spent[task] += min(_milliseconds(run) for _ in range(10))
        ratios.append(spent[0] / spent[1])
    with capsys.disabled():
        print(f"\n{statistics.median(ratios):.2f} times the CPU of turbohtml's structured_data()")
    assert statistics.median(ratios) <= 3.7


def test_memory_stays_flat(vectors: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pages = [path.read_bytes() for path in sorted((vectors / "pages").glob("*.html"))]
    small = [page for page in pages if len(page) < 100_000]
    for _ in range(PAGES // 10):
        _run(small)
    _run(pages)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for number in range(PAGES // len(small)):
        for page in small:
            extract(page, f"{BASE}{number}")
        if number % 100 == 0:
            _run(pages)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with capsys.disabled():
        print(f"\n{PAGES:,} pages: {before / 1024:.0f} MB before, {after / 1024:.0f} MB after")
    assert after - before < 8 * 1024


def _run(pages: list[bytes]) -> None:
    for page in pages:
        extract(page, BASE)


def _measured(path: Path, ours: Executor, theirs: Executor, raptors: Executor) -> Times:
    body, url = path.read_bytes(), BASE + path.name
    own: list[float] = []
    every: list[float] = []
    reference: list[float] = []
    native: list[float | None] = []
    for _ in range(TURNS):
        own.append(ours.submit(_own, body, url, RDFA).result())
        every.append(ours.submit(_own, body, url, Options()).result())
        reference.append(theirs.submit(_reference, body, url).result())
        native += [raptors.submit(_raptor, body, url).result() for _ in range(5)]
    quads = len(extract(body, url, options=RDFA).quads)
    finished = [value for value in native if value is not None]
    return Times(path.stem, quads, own, every, reference, min(finished) if finished else None)


def _own(body: bytes, url: str, options: Options) -> float:
    return min(_milliseconds(lambda: extract(body, url, options=options)) for _ in range(20))


def _reference(body: bytes, url: str) -> float:
    gc.collect()  # it does not pay for the page before
    return min(_milliseconds(lambda: _pyrdfa(body, url)) for _ in range(2))


def _milliseconds(task: Callable[[], object]) -> float:
    start = time.process_time()
    task()
    return (time.process_time() - start) * 1000


def _pyrdfa(body: bytes, base: str) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyRdfa import pyRdfa

        logging.getLogger("rdflib").setLevel(logging.CRITICAL)
        return pyRdfa(base=base, media_type="text/html").graph_from_source(io.BytesIO(body))


def _raptor(body: bytes, base: str) -> float | None:
    """Returns the milliseconds raptor needs in C alone, None when it gives up or is not there."""
    name = ctypes.util.find_library("raptor2")
    if name is None:
        return None
    library = ctypes.CDLL(name)
    pointer = ctypes.c_void_p
    for function in ("raptor_new_world_internal", "raptor_new_parser", "raptor_new_uri"):
        getattr(library, function).restype = pointer
    world = pointer(library.raptor_new_world_internal(20015))
    handler = ctypes.CFUNCTYPE(None, pointer, pointer)
    silent = handler(lambda _data, _message: None)
    library.raptor_world_set_log_handler(world, None, silent)
    parser = pointer(library.raptor_new_parser(world, b"rdfa"))
    uri = pointer(library.raptor_new_uri(world, base.encode()))
    failed = 0

    def parse() -> None:
        nonlocal failed
        library.raptor_parser_parse_start(parser, uri)
        failed = library.raptor_parser_parse_chunk(parser, body, ctypes.c_size_t(len(body)), 1)

    spent = _milliseconds(parse)
    library.raptor_free_parser(parser)
    library.raptor_free_uri(uri)
    library.raptor_free_world(world)
    return None if failed else spent
