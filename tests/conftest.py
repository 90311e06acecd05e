"""What tests share: the external vectors, and running the crawler as a user does."""

from __future__ import annotations

import csv
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import hypothesis
import pytest
from pyoxigraph import Quad

from rdfaspider.stores import open_store

PROJECT = Path(__file__).parent.parent

# A property is about what is computed; how long that takes depends on what else runs.
# Where a change is judged, the same examples are tried each time; elsewhere others in each run.
hypothesis.settings.register_profile(
    "rdfaspider", deadline=None, derandomize=bool(os.environ.get("CI"))
)
hypothesis.settings.load_profile("rdfaspider")

# A script starts `make test &` with Ctrl-C ignored, and crawls that tests interrupt would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_xdist_auto_num_workers() -> int:
    """Run five tests for two cores: half of the time they wait, for delays and for processes.

    On a slow or busy machine they compute most of the time, and would only wait for each other.
    """
    cores = os.cpu_count() or 1
    return cores if seconds_for_a_million() > _SLOW else 5 * cores // 2


# Seconds for a million additions; 0.11 on the idle machine that this was written on.
_SLOW = 0.15


def seconds_for_a_million() -> float:
    begin, total = time.perf_counter(), 0
    for number in range(1_000_000):
        total += number
    return time.perf_counter() - begin


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, so that it is not left alone in the end.

    The tests of Virtuoso follow together, so that few processes start a server of their own.
    """
    items.sort(key=lambda item: "virtuoso" not in item.name)
    items.sort(key=lambda item: item.get_closest_marker("timeout") is None)


@pytest.fixture(scope="session")
def vectors() -> Path:
    """Return the folder of external test vectors, or skip where there is none."""
    path = Path(os.environ.get("RDFASPIDER_VECTORS", PROJECT.parent / "shared" / "vectors"))
    if not path.is_dir():
        pytest.skip(f"no external vectors in {path}: set RDFASPIDER_VECTORS to their folder")
    return path


Scrapy = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def scrapy(tmp_path: Path) -> Scrapy:
    """Run `scrapy …` in an empty directory, as somebody who installed the project would."""

    def run(
        *arguments: str, stdin: str = "", **settings: object
    ) -> subprocess.CompletedProcess[str]:
        options = [word for k, v in settings.items() for word in ("-s", f"{k}={v}")]
        return subprocess.run(
            [sys.executable, "-m", "rdfaspider", *arguments, *options],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            input=stdin,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    return run


# A feed of what became of each URL, in the form of the setting FEEDS.
FATES = json.dumps(
    {
        "fates.csv": {
            "format": "csv",
            "overwrite": True,
            "item_filter": "rdfaspider.feeds.EveryUrl",
            "fields": ["url", "outcome", "reason"],
        }
    }
)


def read_fates(path: Path) -> list[tuple[str, str]]:
    """Return the URLs of a feed and what became of each, `done/page` for example."""
    with path.open(newline="") as file:
        return [(row["url"], f"{row['outcome']}/{row['reason']}") for row in csv.DictReader(file)]


@dataclass(frozen=True)
class Crawl:
    """What a crawl left behind: its output, the fate of each URL, and its quads."""

    output: str
    fates: dict[str, str]
    quads: frozenset[Quad]

    @property
    def pages(self) -> set[str]:
        return {url for url, fate in self.fates.items() if fate == "done/page"}


Crawler = Callable[..., Crawl]


@pytest.fixture
def crawl(scrapy: Scrapy, tmp_path: Path) -> Crawler:
    """Crawl without pauses, as one does on a server of one's own, and collect what came of it."""

    def run(seeds: str, *arguments: str, **settings: object) -> Crawl:
        # JOBDIR may be given to crawl twice; the fates are of the last run only.
        options = {
            "POLITENESS_DELAY": 0,
            "POLITENESS_AT_ONCE": 16,
            "FRONTIER_RETRIES": 0,
            "JOBDIR": "crawl",
            "FEEDS": FATES,
            **settings,
        }
        result = scrapy("crawl", "rdfa", "-a", f"seeds={seeds}", *arguments, **options)
        assert result.returncode == 0, result.stderr
        rows = read_fates(tmp_path / "fates.csv")
        fates = dict(rows)
        if not options["FRONTIER_RETRIES"]:
            assert len(fates) == len(rows), "a URL was taken twice"
        with open_store(str(tmp_path / str(options["JOBDIR"]) / "store"), read_only=True) as store:
            found = store.query("SELECT ?s ?p ?o ?g { GRAPH ?g { ?s ?p ?o } }")
            quads = frozenset(Quad(row["s"], row["p"], row["o"], row["g"]) for row in found)
        return Crawl(result.stderr, fates, quads)

    return run
