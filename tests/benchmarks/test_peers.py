"""How fast rdfaspider is beside crawlers of other languages, in one run.

    pytest tests/benchmarks/test_peers.py -s

colly, spider, crawler4j with Any23, Apache Nutch and Heritrix crawl the web of test_speed.py under the
same meter, beside bare Scrapy and rdfaspider. Each is built when it is first used (speed/programs.py),
and left out with a reason where it cannot be. Nutch must be installed: NUTCH_HOME is its folder
runtime/local. Only ratios within the run are asserted: a goal once it is reached, and on the machine
that docs/speed.json was measured on that none is 15 % below what it has. A goal that is not reached is
told, as a skipped test. A ratio by the clock is skipped when strangers took part of a core meanwhile.
SPEED_PIN=1 writes the part `peers` of that file, and docs/speed.md.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from rdfaspider.site.process import running
from tests.benchmarks.speed import machine, pins, programs, report, triples
from tests.benchmarks.speed.document import document
from tests.benchmarks.speed.nutch import version_of
from tests.benchmarks.test_speed import BARE, EMBEDDED, MOST_OTHERS, WEB, Goal, Race, Run
from tests.benchmarks.test_speed import CLOCK as BY_CLOCK
from tests.benchmarks.test_speed import PROCESSOR as BY_CPU

COLLY, COLLY_REDIS = "(g) colly (Go), in memory", "(h) colly (Go), Redis"
SPIDER, CRAWLER4J = "(i) spider (Rust), in memory", "(j) crawler4j (Java), Any23"
NUTCH, HERITRIX = "(k) Nutch (Java), Hadoop in local mode", "(l) Heritrix (Java), WARC files"
PROGRAMS = {
    COLLY: "colly",
    COLLY_REDIS: "colly",
    SPIDER: "spider",
    CRAWLER4J: "crawler4j",
    NUTCH: "nutch",
    HERITRIX: "heritrix",
}

GOALS = {
    "(e) : (a), pages a CPU second": Goal(0.714, EMBEDDED, BARE, measure=BY_CPU),
    "(e) : (a), pages/s": Goal(1.2, EMBEDDED, BARE),
    "(e) : (g), pages/s": Goal(0.75, EMBEDDED, COLLY),
    "(e) : (h), pages a CPU second": Goal(1.0, EMBEDDED, COLLY_REDIS, measure=BY_CPU),
    "(e) : (j), pages a CPU second": Goal(5.0, EMBEDDED, CRAWLER4J, measure=BY_CPU),
    "(e) : (k), pages a CPU second": Goal(15.0, EMBEDDED, NUTCH, measure=BY_CPU),
}

pytestmark = pytest.mark.timeout(3600)


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Let everybody run, print the table, and pin it if that is asked for."""
    run = Run(tmp_path_factory.mktemp("peers"))
    run.pinned, run.is_pinned_here = pins.read("peers")
    _race(run)
    print(f"\n\n{report.table(run.rows.values())}")
    for name, why in {**run.missing, **run.failed}.items():
        print(f"{name} did not run: {why}")
    print()
    for name, goal in GOALS.items():
        print(f"{name}: {_obstacle(run, name) or goal.ratio(run)} (goal {goal.least})")
    if os.environ.get("SPEED_PIN"):
        _pin(run)
    yield run


def _race(run: Run) -> None:
    """Let everybody crawl; those whose ratio by the clock is asserted, in turns."""
    for name, program in PROGRAMS.items():
        try:
            programs.PEERS[program].build()
        except programs.Unavailable as reason:
            run.missing[name] = str(reason)
    with ExitStack() as stack:
        race = Race(run, run.start(stack, "site", running(WEB)))
        for _ in range(5):
            race.bare()
            race.embedded()
            _crawl(race, COLLY)
        _crawl(race, SPIDER)
        _crawl(race, CRAWLER4J)
        if CRAWLER4J in run.rows:
            quads = triples.of_files(run.place.glob("quads-*.nq"))
            agrees = quads == race.expected
            row = replace(run.rows[CRAWLER4J], triples=len(quads), agrees=agrees)
            run.rows[CRAWLER4J] = row
        _crawl(race, NUTCH)
        _crawl(race, HERITRIX)
        redis = run.start(stack, "Redis", machine.redis(run.directory))
        _crawl(race, COLLY_REDIS, "--redis", redis)
    run.rows = dict(sorted(run.rows.items()))


def _crawl(race: Race, name: str, *options: str) -> None:
    """Let a program crawl if it is there; it must fetch every page of the web."""
    if name in race.run.missing:
        return
    race.crawl(name, "peer", None, "--peer", PROGRAMS[name], *options)
    if name not in race.run.failed:
        fetched = set((race.run.place / "pages.txt").read_text().split())
        if lost := set(race.pages) - fetched:
            race.run.failed[name] = f"it did not fetch {len(lost)} pages, such as {min(lost)}"


def _obstacle(run: Run, name: str) -> str:
    """Return why a ratio cannot be told, "" if it can."""
    goal = GOALS[name]
    for contender in (goal.ours, goal.theirs):
        if why := run.missing.get(contender) or run.failed.get(contender):
            return why
    others = max(row.others for row in goal.rows(run))
    if goal.measure is BY_CLOCK and others > MOST_OTHERS:
        return f"strangers took {others:.0%} of the core"
    return ""


def _pin(run: Run) -> None:
    """Write down what was measured, and nothing of what test_speed.py measures."""
    data = json.loads(pins.PINNED.read_text())
    untold = {name: why for name in GOALS if (why := _obstacle(run, name))}
    data["peers"] = {
        "machine": pins.machine(),
        "ratios": {name: goal.ratio(run) for name, goal in GOALS.items() if name not in untold},
        "untold": untold,
        "goals": {name: goal.least for name, goal in GOALS.items()},
        "rows": [asdict(row) for row in run.rows.values()],
        "missing": {**run.missing, **run.failed},
        "nutch": version_of(Path(os.environ["NUTCH_HOME"])) if NUTCH in run.rows else "",
    }
    pins.write(data, document(data))


@pytest.mark.parametrize("name", GOALS)
def test_ratio(run: Run, name: str) -> None:
    goal = GOALS[name]
    assert not run.failed.keys() & {goal.ours, goal.theirs}, run.failed
    if obstacle := _obstacle(run, name):
        pytest.skip(obstacle)
    ratio = goal.ratio(run)
    assert ratio >= pins.least(goal.least, run.pinned.get(name), run.is_pinned_here)
    if ratio < goal.least:
        pytest.skip(f"{ratio}: the goal of {goal.least} is not reached")


@pytest.mark.parametrize("name", PROGRAMS)
def test_fetches_every_page(run: Run, name: str) -> None:
    if name in run.missing:
        pytest.skip(run.missing[name])
    assert name not in run.failed, run.failed[name]
