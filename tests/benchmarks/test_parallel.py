"""What orders lose when many workers crawl: the harvest of four workers, and topics over several.

    pytest tests/benchmarks/test_parallel.py -s

The handler, the allocator and the workers are those of a real crawl, but in virtual time, so the figures are
the same on every machine (tests/frontier/virtual.py). One test crawls the generated web with real processes.
"""

from __future__ import annotations

import os
from pathlib import Path
from statistics import mean
from tempfile import TemporaryDirectory

import pytest

from rdfaspider.frontier import Taken
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.simulator.drive import Real, crawl
from rdfaspider.simulator.web import GeneratedWeb, Shape
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from tests.benchmarks.test_crew import counter, finish, start
from tests.frontier.virtual import Member, Room

FETCHES = int(os.environ.get("PARALLEL_FETCHES", "6_000"))
SEEDS = range(100, 105)
WORKERS, CONNECTIONS = 4, 32  # connections of all together
ENOUGH = 0.95  # of the triples a page of one worker


def harvest_alone(web: GeneratedWeb, seed: int, connections: int) -> float:
    """Return the triples a page of a crawl of one process."""
    with TemporaryDirectory() as directory, frontier_in(directory) as frontier:
        return crawl(Real(frontier), web, FETCHES, seed=seed, connections=connections).harvest


def harvest_together(web: GeneratedWeb, seed: int, connections: int) -> float:
    """Return the triples a page of workers that share the connections."""
    gains = []

    def land(member: Member, taken: Taken, now: float) -> None:
        page = web.fetch(taken.url)
        gains.append(page.gain)
        member.contexts.finish(taken, "done", now, page.links, gain=page.gain)

    with TemporaryDirectory() as directory, frontier_in(directory) as frontier:
        frontier.put(web.seeds(20))
        room = Room(frontier, seed=seed)
        with room.open(WORKERS, connections // WORKERS):
            assert room.run(FETCHES, land) == FETCHES
    return mean(gains)


def frontier_in(directory: str) -> LocalFrontier:
    return LocalFrontier(directory, order="harvest", politeness=Politeness(delay=1.0))


@pytest.mark.timeout(900)
@pytest.mark.parametrize("kind", ["hosts", "sections"])
def test_four_workers_harvest_as_much_as_one(kind: str) -> None:
    print(f"\n{kind}: triples a page of {FETCHES:,}, {CONNECTIONS} connections")
    print("seed   one worker  four workers  ratio")
    rows = []
    for seed in SEEDS:
        web = GeneratedWeb(Shape(kind), seed)
        alone = harvest_alone(web, seed, CONNECTIONS)
        together = harvest_together(web, seed, CONNECTIONS)
        rows.append((alone, together))
        print(f"{seed:4}  {alone:11.2f}  {together:12.2f}  {together / alone:5.2f}")
    alone, together = (mean(column) for column in zip(*rows, strict=True))
    print(f"mean  {alone:11.2f}  {together:12.2f}  {together / alone:5.2f}")
    assert together >= ENOUGH * alone


# A tenth of the pages have triples, mostly on a tenth of the hosts.
SITE = {"hosts": 1_000, "levels": 2, "pages": 4, "links_across": 4, "latency": 0.1, "triples": 10}
RICH = {"rdfa": 0.06, "jsonld": 0.02, "microdata": 0.02, "skew": 0.9}
REAL_PAGES = int(os.environ.get("PARALLEL_PAGES", "1_500"))
REAL_CONNECTIONS = 16
REAL_SEEDS = range(int(os.environ.get("PARALLEL_SEEDS", "4")))
# FETCH_UNPROVEN_SHARE: all slots for everybody, and the default.
SHARES = (1.0, 0.5)


def harvest_of_site(directory: Path, seed: int, workers: int, share: float) -> float:
    """Return the triples a page of a real crawl of the generated web."""
    web = Parameters(seed=seed, **SITE, **RICH)  # type: ignore[arg-type]
    settings: dict[str, object] = {
        "WORKERS": workers,
        "CONCURRENT_REQUESTS": REAL_CONNECTIONS // workers,
        "FRONTIER_ORDER": "harvest",
        "POLITENESS_DELAY": 0.2,
        "CLOSESPIDER_PAGECOUNT": REAL_PAGES,
        "FETCH_UNPROVEN_SHARE": share,
    }
    with running(web) as proxy:
        log = finish(start(directory, proxy, web, settings, seeds=20))
    return counter(log, "store/quads") / counter(log, "frontier/done/page")


@pytest.mark.timeout(900)
@pytest.mark.parametrize("share", SHARES)
def test_four_processes_harvest_as_much_as_one(tmp_path: Path, share: float) -> None:
    print(
        f"\nreal crawls, FETCH_UNPROVEN_SHARE={share}: triples a page of {REAL_PAGES:,},", end=" "
    )
    print(f"{REAL_CONNECTIONS} connections")
    print("seed   WORKERS=1  WORKERS=4  ratio")
    rows = []
    for seed in REAL_SEEDS:
        alone, together = (
            harvest_of_site(tmp_path / f"{seed}-{workers}", seed, workers, share)
            for workers in (1, 4)
        )
        rows.append((alone, together))
        print(f"{seed:4}  {alone:10.2f}  {together:9.2f}  {together / alone:5.2f}", flush=True)
    alone, together = (mean(column) for column in zip(*rows, strict=True))
    print(f"mean  {alone:10.2f}  {together:9.2f}  {together / alone:5.2f}")
    assert together >= ENOUGH * alone
