"""How many pages a second a crew crawls, by its size. Run by name with -s.

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
from pathlib import Path
from typing import NamedTuple

import pytest

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web

PROJECT = Path(__file__).parent.parent.parent
SIZES = [int(size) for size in os.environ.get("CREW_SIZES", "1,2").split(",")]
SECONDS = float(os.environ.get("CREW_SECONDS", "30"))
WEB = Parameters(seed=7, hosts=3_000, levels=2, pages=5, links_across=12, latency=0.2)
AT_ONCE = 16  # fetches of each worker


class Measured(NamedTuple):
    """Pages and triples in a run, its seconds, and the CPU seconds of all its processes."""

    pages: int
    triples: int
    seconds: float
    cpu: float

    @property
    def pace(self) -> float:
        return self.pages / self.seconds


def crawl(directory: Path, proxy: str, size: int) -> Measured:
    directory.mkdir()
    settings = {
        "WORKERS": size,
        "CONCURRENT_REQUESTS": AT_ONCE,
        "EXTRACT_PROCESSES": 0,
        "POLITENESS_DELAY": 0.01,
        "POLITENESS_SERVER_DELAY": 0,
        "FETCH_UNPROVEN_SHARE": 1,
        "CLOSESPIDER_TIMEOUT": SECONDS,
    }
    options = [word for name in settings for word in ("-s", f"{name}={settings[name]}")]
    seeds = ",".join(Web(WEB).url(host, 0) for host in range(100))
    program = [sys.executable, "-m", "rdfaspider", "crawl", "rdfa"]
    before, began = cpu(), time.monotonic()
    done = subprocess.run(
        [*program, "-a", f"seeds={seeds}", "-a", "scope=all", *options],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "http_proxy": proxy},
        check=True,
        capture_output=True,
        text=True,
    )
    pages = found(r"([\d,]+) pages", done.stderr.partition("done in this run")[2])
    triples = found(r"([\d,]+) triples", done.stderr)
    return Measured(pages, triples, min(time.monotonic() - began, SECONDS), cpu() - before)


def found(pattern: str, text: str) -> int:
    match = re.search(pattern, text)
    assert match, text
    return int(match[1].replace(",", ""))


def cpu() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


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
