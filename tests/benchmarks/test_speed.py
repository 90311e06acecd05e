"""How fast rdfaspider is beside Scrapy alone and beside what others build on it, in one run.

    pytest tests/benchmarks/test_speed.py -s

Every contender crawls the same generated web, or fetches the same pages, one after the other, each
in a process of its own beside the web's server, Redis and RDF4J; all may use the whole machine, as
their users would let them. Only ratios within the run are asserted: the goals, and on the machine that
docs/speed.json was measured on that none is 15 % below what it has. A ratio by the clock is skipped
when strangers took part of a core meanwhile. SPEED_PIN=1 writes that file, docs/speed.svg and
docs/speed.md anew, unless strangers disturbed the run or it missed a goal.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from importlib.util import find_spec
from operator import attrgetter
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import pytest

from rdfaspider.frontier import FrontierUnavailable, open_frontier
from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.benchmarks.speed import machine, pins, report, triples
from tests.benchmarks.speed.document import document
from tests.benchmarks.speed.report import Row
from tests.benchmarks.test_site import fetch
from tests.stores.conftest import rdf4j_server

# Pages of 5 KB with 40 links and 20 triples, in RDFa, which all contenders read.
WEB = Parameters(
    levels=3,
    pages=15,
    links_inside=28,
    triples=20,
    sentences=5,
    rdfa=1.0,
    jsonld=0.0,
    microdata=0.0,
)
# Of each page, so that all run for some seconds.
LARGE_COPIES = {"pyrdfa": 4, "rdfaspider": 160}
# The pace of a shared machine changes from one turn to the next by more than what is to be told.
LARGE_TURNS = 7
# Seconds after which a contender is taken for stuck.
LONGEST = 600
BARE, LINKS = "(a) Scrapy, fetching only", "(b) Scrapy, following links"
EXTRUCT, PYRDFA = "(c) Scrapy, scrapy-redis, extruct", "(d) Scrapy, pyRdfa3"
EMBEDDED, SHARED = "(e) rdfaspider", "(f) rdfaspider, Redis, RDF4J"
# Not (c): extruct leaves out the languages of texts, and takes what is shown of a time for its value.
EXACT = (PYRDFA, EMBEDDED, SHARED)

pytestmark = pytest.mark.timeout(3600)


@dataclass
class Run:
    """What all contenders of one run share, and what they have reached."""

    directory: Path
    servers: dict[str, int] = field(default_factory=dict)  # name -> process
    rows: dict[str, Row] = field(default_factory=dict)
    turns: dict[str, list[Row]] = field(default_factory=dict)  # all runs, one after the other
    large: dict[str, Row] = field(default_factory=dict)
    large_turns: dict[str, list[Row]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)  # name -> why it did not run
    failed: dict[str, str] = field(default_factory=dict)  # name -> what went wrong
    site: float = 0.0  # pages/s that the web's server can serve
    samples: dict[str, int] = field(default_factory=dict)
    pinned: dict[str, float] = field(default_factory=dict)  # the ratios of docs/speed.json
    is_pinned_here: bool = False  # on this machine

    def start(self, stack: ExitStack, name: str, server: AbstractContextManager[Any]) -> Any:
        """Start a server whose use of its core is to be told."""
        before = machine.children()
        value = stack.enter_context(server)
        (self.servers[name],) = machine.children() - before
        return value

    def crawl(self, name: str, module: str, pages: int, seeds: Path, *options: str) -> Row:
        """Run a contender once, and return what it took; what it wrote is in `self.place`."""
        self.place = self.directory / f"{module}-{time.monotonic_ns()}"
        self.place.mkdir()
        result = self.place.with_suffix(".json")
        before = {name: machine.cpu_seconds(pid) for name, pid in self.servers.items()}
        command = [sys.executable, "-m", f"tests.benchmarks.speed.{module}"]
        subprocess.run(
            [*command, str(result), str(self.place), str(seeds), *options],
            cwd=machine.PROJECT,
            check=True,
            timeout=LONGEST,
        )
        cost: dict[str, Any] = json.loads(result.read_text())
        assert cost["answers"] >= pages, f"{name} fetched {cost['answers']} of {pages} pages"
        self.samples = cost["samples"] or self.samples
        used = {
            server: (machine.cpu_seconds(pid) - before[server]) / cost["seconds"]
            for server, pid in self.servers.items()
        }
        return Row(
            name,
            pages / cost["seconds"],
            cost["own"] / pages * 1e3,
            cost["children"] / pages * 1e3,
            cost["memory"],
            cost["children_memory"] if cost["children"] else 0,
            others=max(0.0, cost["others"] - sum(used.values())),
            servers={server: share for server, share in used.items() if share >= 0.005},
        )


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Let everybody run, print the tables, and pin them if that is asked for."""
    run = Run(tmp_path_factory.mktemp("speed"))
    run.pinned, run.is_pinned_here = pins.read()
    _generated(run)
    _large(run)
    print(f"\n\nthe web's server alone: {run.site:,.0f} pages/s\n")
    print(report.table(run.rows.values()))
    for name, why in run.missing.items():
        print(f"{name} did not run: {why}")
    for name, why in run.failed.items():
        print(f"{name} failed: {why}")
    print("\nreal pages of 60 to 300 KB:\n")
    print(report.table(run.large.values()))
    print("\nwhere the time of (e)'s main process goes:\n")
    print(report.components(run.samples, run.rows[EMBEDDED].own))
    print()
    for name, goal in GOALS.items():
        print(f"{name}: {_obstacle(run, name) or goal.ratio(run)} (goal {goal.least})")
    if os.environ.get("SPEED_PIN"):
        if reasons := _objections(run):
            print(f"\nThis run is not pinned: {'; '.join(reasons)}")
        else:
            _pin(run)
    yield run


def _generated(run: Run) -> None:
    """Let everybody crawl the generated web; those whose ratio is close, three times in turns."""
    with ExitStack() as stack:
        site = run.start(stack, "site", running(WEB))
        race = Race(run, site)
        run.site = _served(site, race.pages)
        race.bare()
        race.embedded()
        race.crawl(LINKS, "links")
        race.crawl(PYRDFA, "pyrdfa", lambda: triples.of_feed(run.place / "items.jsonl"))
        race.bare()
        race.embedded()
        redis = run.start(stack, "Redis", machine.redis(run.directory))
        race.extruct(redis)
        _, repositories = run.start(stack, "RDF4J", rdf4j_server(run.directory / "rdf4j"))
        for number in range(2):
            race.shared(redis, f"rdf4j+{repositories}/speed{number}")
        race.bare()
        race.embedded()
        race.profile()
    run.servers.clear()
    run.rows = dict(sorted(run.rows.items()))


class Race:
    """The contenders on one generated web; of each the fastest run is kept."""

    def __init__(self, run: Run, site: str) -> None:
        oracle = Oracle(Web(WEB))
        self.run = run
        self.pages = list(oracle.urls(origin=site))
        self.expected = frozenset(quad for url in self.pages for quad in oracle.triples(url))
        self.root, self.every = run.directory / "root.txt", run.directory / "pages.txt"
        self.root.write_text(f"{site}/\n")
        self.every.write_text("\n".join(self.pages))

    def crawl(
        self,
        name: str,
        module: str,
        found: Callable[[], triples.Quads] | None = None,
        *options: str,
    ) -> None:
        seeds = self.every if module == "bare" else self.root
        try:
            row = self.run.crawl(name, module, len(self.pages), seeds, "--follow", *options)
        except (subprocess.SubprocessError, AssertionError) as error:
            # The others go on; its own tests fail.
            self.run.failed[name] = str(error)
            return
        if found is not None:
            quads = found()
            row = replace(row, triples=len(quads), agrees=quads == self.expected)
        self.run.turns.setdefault(name, []).append(row)
        best = self.run.rows.get(name)
        if best is None or row.pages_per_second > best.pages_per_second:
            self.run.rows[name] = row

    def bare(self) -> None:
        self.crawl(BARE, "bare")

    def embedded(self) -> None:
        self.crawl(EMBEDDED, "rdfaspider", lambda: triples.of_store(f"{self.run.place}/store"))

    def extruct(self, redis: str) -> None:
        if find_spec("scrapy_redis") and find_spec("extruct"):
            found = partial(triples.of_redis, redis)
            self.crawl(EXTRUCT, "redis_extruct", found, "--redis", redis)
        else:
            self.run.missing[EXTRUCT] = "pip install scrapy-redis extruct"

    def shared(self, redis: str, store: str) -> None:
        if reason := _refusal(redis, self.run.directory / "refused"):
            self.run.missing[SHARED] = reason
            return
        _empty(redis)
        options = ("--redis", redis, "--store", store)
        self.crawl(SHARED, "rdfaspider", partial(triples.of_store, store), *options)
        if _is_empty(redis):
            self.run.failed[SHARED] = "it did not use Redis"

    def profile(self) -> None:
        """Look at where the time goes, in a run that does not count."""
        pages = len(self.pages)
        self.run.crawl(EMBEDDED, "rdfaspider", pages, self.root, "--follow", "--samples")


def _served(site: str, pages: list[str]) -> float:
    """Return the pages/s of the web's server when a client does nothing else but ask."""
    start = time.perf_counter()
    asyncio.run(fetch(site, pages * 3))
    return len(pages) * 3 / (time.perf_counter() - start)


def _refusal(redis: str, directory: Path) -> str:
    """Return why the frontier cannot be shared over Redis, "" if it can."""
    try:
        open_frontier(f"{redis}/1", path=str(directory)).close()
    except (FrontierUnavailable, ValueError, ImportError) as error:
        return str(error)
    return ""


def _empty(redis: str) -> None:
    from redis import Redis

    with Redis.from_url(redis) as client:
        client.flushall()


def _is_empty(redis: str) -> bool:
    from redis import Redis

    with Redis.from_url(redis) as client:
        return not client.dbsize()


def _large(run: Run) -> None:
    vectors = Path(
        os.environ.get("RDFASPIDER_VECTORS", machine.PROJECT.parent / "shared" / "vectors")
    )
    files = (vectors / "pages").glob("*.html")
    names = sorted(path.name for path in files if path.stat().st_size > 50_000)
    if not names:
        return
    with machine.files(vectors / "pages") as url:
        for name, module in [(PYRDFA, "pyrdfa"), (EMBEDDED, "rdfaspider")] * LARGE_TURNS:
            copies = range(LARGE_COPIES[module])
            pages = [f"{url}/{number}/{page}" for number in copies for page in names]
            seeds = run.directory / f"large-{module}.txt"
            seeds.write_text("\n".join(pages) + "\n")
            samples = run.samples
            row = run.crawl(name, module, len(pages), seeds)
            run.samples = samples
            run.large_turns.setdefault(name, []).append(row)
            run.large[name] = max(row, run.large.get(name, row), key=CLOCK)


CLOCK, PROCESSOR = attrgetter("pages_per_second"), attrgetter("per_cpu_second")


class Goal(NamedTuple):
    """The least that one contender must reach of another, by some measure."""

    least: float
    ours: str
    theirs: str
    large: bool = False
    measure: Callable[[Row], float] = CLOCK

    def rows(self, run: Run) -> tuple[Row, Row]:
        """Return both contenders' rows; KeyError if one did not run."""
        rows = run.large if self.large else run.rows
        return rows[self.ours], rows[self.theirs]

    def ratio(self, run: Run) -> float:
        """Return the median over turns if both ran in turns: a shared machine changes its pace meanwhile."""
        ours, theirs = ([row] for row in self.rows(run))
        all_turns = run.large_turns if self.large else run.turns
        turns = [all_turns.get(name, []) for name in (self.ours, self.theirs)]
        if len(turns[0]) == len(turns[1]):
            ours, theirs = turns
        pairs = zip(map(self.measure, ours), map(self.measure, theirs), strict=True)
        return round(median(own / other for own, other in pairs), 3)


PAIRS = {
    "(e) : (a)": Goal(1.2, EMBEDDED, BARE),
    "(e) : (c)": Goal(6, EMBEDDED, EXTRUCT),
    "(e) : (d)": Goal(6, EMBEDDED, PYRDFA),
    "(f) : (e)": Goal(0.3, SHARED, EMBEDDED),
    "(e) : (d), large pages": Goal(22, EMBEDDED, PYRDFA, large=True),
}
GOALS = {
    **{f"{name}, pages/s": goal for name, goal in PAIRS.items()},
    # Everything on for 1.4 times the CPU of fetching alone.
    "(e) : (a), pages a CPU second": Goal(0.714, EMBEDDED, BARE, measure=PROCESSOR),
    "(e) : (c), pages a CPU second": Goal(6, EMBEDDED, EXTRUCT, measure=PROCESSOR),
    "(f) : (e), pages a CPU second": Goal(0.5, SHARED, EMBEDDED, measure=PROCESSOR),
    "(e) : (a), pages a second of the main process": Goal(
        0.5, EMBEDDED, BARE, measure=lambda row: 1e3 / row.own
    ),
}
# The clock tells nothing of a contender that had to share its core.
MOST_OTHERS = 0.1


def ratios(run: Run) -> dict[str, float]:
    """Return every ratio whose contenders have run, and were left alone if the clock counts."""
    return {name: goal.ratio(run) for name, goal in GOALS.items() if not _obstacle(run, name)}


def _obstacle(run: Run, name: str) -> str:
    """Return why a ratio cannot be told, "" if it can."""
    try:
        rows = GOALS[name].rows(run)
    except KeyError:
        return "; ".join(run.missing.values()) or "there are no external vectors"
    others = max(row.others for row in rows)
    if GOALS[name].measure is CLOCK and others > MOST_OTHERS:
        return f"strangers took {others:.0%} of the core: run it on a machine that is idle"
    return ""


def _objections(run: Run) -> list[str]:
    """Return why a run must not be what later ones are compared with."""
    wrong = [name for name in EXACT if name in run.rows and not run.rows[name].agrees]
    return [
        *(f"{name} failed: {why}" for name, why in run.failed.items()),
        *(f"{name} has other triples" for name in wrong),
        *(f"{name}: {why}" for name in GOALS if (why := _obstacle(run, name))),
        *(f"{name} is {ratio}" for name, ratio in ratios(run).items() if ratio < GOALS[name].least),
    ]


def _pin(run: Run) -> None:
    """Write down what was measured, beside the figures of other benchmarks."""
    kept = json.loads(pins.PINNED.read_text()) if pins.PINNED.exists() else {}
    data = {
        **kept,
        "machine": pins.machine(),
        "ratios": ratios(run),
        "rows": [asdict(row) for row in run.rows.values()],
        "large": [asdict(row) for row in run.large.values()],
        "components": run.samples,
        "site": round(run.site),
    }
    pins.write(data, document(data))
    pins.PINNED.with_suffix(".svg").write_text(report.chart(list(run.rows.values())))


@pytest.mark.parametrize("name", GOALS)
def test_ratio(run: Run, name: str) -> None:
    assert not run.failed.keys() & {GOALS[name].ours, GOALS[name].theirs}, run.failed
    if obstacle := _obstacle(run, name):
        pytest.skip(obstacle)
    ratio = GOALS[name].ratio(run)
    if run.is_pinned_here:
        assert ratio >= pins.KEPT * run.pinned.get(name, 0.0)
    assert ratio >= GOALS[name].least


@pytest.mark.parametrize("name", EXACT)
def test_finds_the_triples_that_are_there(run: Run, name: str) -> None:
    assert name not in run.failed, run.failed[name]
    if name in run.missing:
        pytest.skip(run.missing[name])
    assert run.rows[name].agrees


def test_the_site_is_not_the_bottleneck(run: Run) -> None:
    fastest = max(row.pages_per_second for row in run.rows.values())
    assert run.site > 2 * fastest
    assert all(row.servers.get("site", 0.0) < 0.6 for row in run.rows.values())
