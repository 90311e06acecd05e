"""What it costs that the link graph steers a crawl. Run by name with -s.

    pytest -s tests/benchmarks/test_steering.py

Pages end as fast as in a crawl that keeps a processor busy, by the clock that the frontier is told. All times
are of the processor, RocksDB's threads and the process that ranks included. STEERING_PAGES changes the number
of pages.
"""

from __future__ import annotations

import logging
import os
import random
import re
import resource
from pathlib import Path

import pytest

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.engine.ranker import rank
from rdfaspider.frontier.politeness import Politeness

PAGES = int(os.environ.get("STEERING_PAGES", "16_000"))
PER_PAGE = 40
# Seconds of a page of 40 links in a whole crawl (docs/linkgraph.md).
PAGE = 3.1e-3
EVERY = 10.0

# What may be spent: of a page, and of memory.
SHARE_OF_A_PAGE = 0.05
BYTES_A_URL = 64


def pages() -> list[list[int]]:
    """Return the links of pages: most to their neighbours, some to popular ones."""
    chance = random.Random(1)
    total = PAGES * 10
    return [
        [(page * 10 + chance.randrange(2_000)) % total for _ in range(PER_PAGE - 8)]
        + [int(total * chance.random() ** 6) for _ in range(8)]
        for page in range(PAGES)
    ]


def url(number: int) -> str:
    return f"https://www.site{number % 200}.org/part{number % 13}/page-{number * 7919 % 9_999_991}"


def spent() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in both)


def crawl(path: Path, order: str, links: list[list[int]], every: float) -> float:
    """Return the seconds of a page in the frontier, and of all that it starts."""
    rules = Politeness(delay=0.0, at_once=1000)
    begun = spent()
    with LocalFrontier(str(path), order=order, politeness=rules, rank_every=every) as frontier:
        frontier.put([url(number) for number in range(500)])
        for page, numbers in enumerate(links):
            now = page * PAGE
            taken = frontier.take(now)
            assert taken is not None
            frontier.finish(taken, "done", now, list(map(url, numbers)))
        frontier.counts()
    return (spent() - begun) / len(links)


@pytest.mark.timeout(1_200)
@pytest.mark.parametrize("order", ["profit", "harvest"])
def test_steering(
    tmp_path: Path,
    order: str,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
) -> None:
    caplog.set_level(logging.INFO)
    links = pages()
    costs = {every: crawl(tmp_path / str(every), order, links, every) for every in (0.0, EVERY)}
    said = re.findall(r"PageRank of (\d+) URLs by (\d+) links took ([\d.]+) s; (\d+)", caplog.text)
    assert said, "nothing was computed"
    more = costs[EVERY] - costs[0.0]
    seconds = sum(float(words[2]) for words in said)
    with capsys.disabled():
        print(
            f"\n{order}, {PAGES:,} pages of {PER_PAGE} links: {costs[0.0] * 1e6:.0f} µs a page in the"
        )
        print(
            f"frontier, {more * 1e6:+.0f} µs with steering, {more / PAGE:.1%} of a page of a crawl;"
        )
        print(
            f"{len(said)} computations took {seconds:.1f} s, {seconds / PAGES * 1e6:.0f} µs a page"
        )
        for urls, counted, took, moved in said:
            print(f"  {int(urls):,} URLs, {int(counted):,} links: {took} s, {int(moved):,} moved")
    assert more / PAGE <= SHARE_OF_A_PAGE


def test_memory(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The vectors of the computation, and what is read of the links at once."""
    import tracemalloc

    links = pages()[: PAGES // 2]
    crawl(tmp_path / "frontier", "profit", links, 0.0)
    with LocalFrontier(str(tmp_path / "frontier"), order="profit") as frontier:
        tracemalloc.start()
        ranked = rank(frontier._database, frontier._order, tmp_path, tmp_path / "ranking")
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    fixed = 150 * 2**20  # for links that are sorted at once
    with capsys.disabled():
        print(f"\n{ranked.urls:,} URLs, {ranked.links:,} links: {most / 2**20:.0f} MB at most")
    assert most <= fixed + BYTES_A_URL * ranked.urls
