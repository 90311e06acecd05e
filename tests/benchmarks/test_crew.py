"""How many pages a second a crew crawls, and what it costs, by its size. Run by name with -s.

    CREW_SIZES=1,2,4,8 pytest tests/benchmarks/test_crew.py -s

The web's server answers after a while and each worker fetches a few pages at a time, so that fetching is the
limit, as it is on the web. Pages are read in the workers themselves.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

import pytest

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.losses import fetched

PROJECT = Path(__file__).parent.parent.parent
SIZES = [int(size) for size in os.environ.get("CREW_SIZES", "1,2").split(",")]
SECONDS = float(os.environ.get("CREW_SECONDS", "30"))
WEB = Parameters(seed=7, hosts=3_000, levels=2, pages=5, links_across=12, latency=0.2)
AT_ONCE = 16  # fetches of each worker

# The table of sizes and depths: each worker can fetch some seven pages a second, so that two cores are enough
# for eight. Hosts differ in their latency, so there are many, and all workers meet the same mixture of them.
SLOW_WEB = Parameters(seed=7, hosts=3_000, levels=2, pages=5, links_across=12, latency=0.6)
SLOW_AT_ONCE = 4
# By depth: so many seeds that a crawl spends its time there, and not before.
SLOW_SEEDS = {1: 300, 3: 3}
TABLE_SIZES = (1, 2, 4, 8)
WINDOW = 8.0  # seconds that are measured


Parts = dict[str, float]  # seconds of CPU
PARTS = ("service", "workers", "extraction", "store")


class Measured(NamedTuple):
    """Pages and triples in a run, its seconds, and the CPU seconds of all its processes."""

    pages: int
    triples: int
    seconds: float
    cpu: float

    @property
    def pace(self) -> float:
        return self.pages / self.seconds


def start(
    directory: Path, proxy: str, web: Parameters, settings: dict[str, object], seeds: int = 100
) -> subprocess.Popen[str]:
    """Start a crawl in a new directory; its log has its counters at the end."""
    directory.mkdir()
    given = {
        "EXTRACT_PROCESSES": 0,
        "POLITENESS_DELAY": 0.01,
        "POLITENESS_SERVER_DELAY": 0,
        "FETCH_UNPROVEN_SHARE": 1,
        "STATS_DUMP": 1,
        "JOBDIR": "crawl",
        **settings,
    }
    options = [word for name in given for word in ("-s", f"{name}={given[name]}")]
    urls = ",".join(Web(web).url(host, 0) for host in range(seeds))
    program = [sys.executable, "-m", "rdfaspider", "crawl", "rdfa"]
    return subprocess.Popen(
        [*program, "-a", f"seeds={urls}", "-a", "scope=all", *options],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "http_proxy": proxy},
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(process: subprocess.Popen[str]) -> str:
    """Return what a crawl has logged, when it has ended."""
    _, log = process.communicate()
    assert process.returncode == 0, log
    return log


def crawl(directory: Path, proxy: str, size: int) -> Measured:
    settings: dict[str, object] = {
        "WORKERS": size,
        "CONCURRENT_REQUESTS": AT_ONCE,
        "CLOSESPIDER_TIMEOUT": SECONDS,
    }
    before, began = cpu(), time.monotonic()
    log = finish(start(directory, proxy, WEB, settings))
    pages = found(r"([\d,]+) pages", log.partition("done in this run")[2])
    triples = found(r"([\d,]+) triples", log)
    return Measured(pages, triples, min(time.monotonic() - began, SECONDS), cpu() - before)


def found(pattern: str, text: str) -> int:
    match = re.search(pattern, text)
    assert match, text
    return int(match[1].replace(",", ""))


def counter(log: str, name: str) -> int:
    """Return a counter of the whole crawl, which dumps them last."""
    return found(rf"'{name}': (\d+)", log.rpartition("Dumping Scrapy stats")[2])


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def cpu_of_parts(pid: int, size: int) -> Parts:
    """Return the CPU seconds of a running crawl until now, by its parts.

    The first thread of a crew's own process is the service; the others are the store and RocksDB. A crawl of
    one process has its only worker in the first thread.
    """
    parts: Parts = defaultdict(float)
    first = "service" if size > 1 else "workers"
    for task in Path(f"/proc/{pid}/task").iterdir():
        parts[first if task.name == str(pid) else "store"] += seconds_of(task / "stat")
    for child in children(pid):
        parts["workers" if size > 1 else "extraction"] += seconds_of(Path(f"/proc/{child}/stat"))
        for each in children(child):
            parts["extraction"] += seconds_of(Path(f"/proc/{each}/stat"))
    return parts


def seconds_of(stat: Path) -> float:
    try:
        fields = stat.read_text().rpartition(")")[2].split()
    except OSError:  # it has just ended
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children(pid: int) -> list[int]:
    """Return the processes that a process has started, from any of its threads."""
    found: list[int] = []
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found += map(int, file.read_text().split())
        except OSError:  # it has just ended
            continue
    return found


def bytes_in(directory: Path) -> int:
    return sum(file.stat().st_size for file in directory.rglob("*") if file.is_file())


@pytest.mark.timeout(1800)
def test_two_workers_crawl_faster_than_one(tmp_path: Path) -> None:
    with running(WEB) as proxy:
        rows = {size: crawl(tmp_path / str(size), proxy, size) for size in SIZES}
    print("\nworkers  pages/s  triples/s  ms of CPU a page")
    for size, row in rows.items():
        cost = row.cpu / row.pages * 1000
        print(f"{size:7}  {row.pace:7.0f}  {row.triples / row.seconds:9.0f}  {cost:16.1f}")
    if {1, 2} <= rows.keys():
        assert rows[2].pace >= 1.5 * rows[1].pace


class Row(NamedTuple):
    """A crawl: what came of it as a whole, and what was measured within the window."""

    pace: float  # pages/s
    ms: Parts  # of CPU a page
    pages: int
    triples: int
    received: int
    stored: int
    load: float

    def __str__(self) -> str:
        parts = "  ".join(f"{self.ms.get(part, 0.0):{len(part)}.1f}" for part in PARTS)
        sizes = f"{self.received / 1e6:6.2f}  {self.stored / 1e6:6.2f}"
        return f"{self.pace:7.1f}  {self.pages:5}  {self.triples:7}  {sizes}  {parts}  {self.load:4.1f}"


HEADING = "pages/s  pages  triples  MB got  MB disk  " + "  ".join(PARTS) + "  load"


def measure(directory: Path, settings: dict[str, object], size: int, seeds: int = 300) -> Row:
    """Crawl until all workers are at work, and then for as long as the window is."""
    settle = 5.0 + 1.2 * size
    access = directory.with_suffix(".log")
    access.touch()
    given = {"CONCURRENT_REQUESTS": SLOW_AT_ONCE, "WORKERS": size, "ROBOTS_OBEY": 0, **settings}
    given["CLOSESPIDER_TIMEOUT"] = settle + WINDOW + 1
    with running(SLOW_WEB, log=access) as proxy:
        process = start(directory, proxy, SLOW_WEB, given, seeds)
        time.sleep(settle)
        before, began = cpu_of_parts(process.pid, size), time.time()
        time.sleep(WINDOW)
        after, ended = cpu_of_parts(process.pid, size), time.time()
        load = os.getloadavg()[0]
        log = finish(process)
    pages = sum(began <= at < ended for times in fetched(access).values() for at in times)
    return Row(
        pages / (ended - began),
        {part: (after[part] - before[part]) / pages * 1000 for part in after},
        counter(log, "frontier/done/page"),
        counter(log, "store/quads"),
        counter(log, "downloader/response_bytes"),
        bytes_in(directory / "crawl"),
        load,
    )


@pytest.mark.timeout(1800)
def test_pace_and_cost_by_workers_and_depth(tmp_path: Path) -> None:
    """Four workers fetch three times as much as one, at any depth, for about the same CPU a page."""
    print(f"\nms of CPU a page by part; {SLOW_AT_ONCE} fetches at a time for each worker")
    print(f"depth  workers  {HEADING}")
    rows: dict[tuple[int, int], Row] = {}
    for depth, seeds in SLOW_SEEDS.items():
        for size in TABLE_SIZES:
            settings: dict[str, object] = {"FRONTIER_DEPTH": depth}
            row = rows[depth, size] = measure(tmp_path / f"{depth}-{size}", settings, size, seeds)
            print(f"{depth:5}  {size:7}  {row}", flush=True)
    for depth in SLOW_SEEDS:
        assert rows[depth, 4].pace >= 3 * rows[depth, 1].pace


@pytest.mark.timeout(600)
def test_what_extraction_costs_beside_fetching(tmp_path: Path) -> None:
    """Reading pages takes a part of the CPU time that can be moved to processes of its own."""
    row = measure(tmp_path / "apart", {"EXTRACT_PROCESSES": 1}, 2)
    print(f"\ntwo workers, pages are read in a process beside each\n{HEADING}\n{row}")
    assert row.ms["extraction"] > 0
