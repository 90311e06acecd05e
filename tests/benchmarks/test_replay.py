"""How fast pages are read again: pages a second and CPU a page, beside the crawl. Run by name with -s.

pytest tests/benchmarks/test_replay.py -s
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running

PROJECT = Path(__file__).parents[2]
WEB = Parameters(seed=1, levels=5, pages=4, links_inside=36, sentences=25, triples=10)
PAGES = 1_365


def measured(directory: Path, *arguments: str) -> tuple[float, float]:
    """Run a command; return its seconds, and those of CPU, of it and all its processes."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    subprocess.run(
        [sys.executable, "-m", "rdfaspider", *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        check=True,
        capture_output=True,
    )
    after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - began
    return seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


@pytest.mark.parametrize("processes", [0, 1, 2])
def test_reading_again(tmp_path: Path, processes: int) -> None:
    settings = ["POLITENESS_OFF_FOR_OWN_SERVERS=1", "EXTRACT_PROCESSES=0", "ARCHIVE=1"]
    options = [word for setting in settings for word in ("-s", setting)]
    _, start = measured(tmp_path, "version")
    with running(WEB) as url:
        _, crawled = measured(tmp_path, "crawl", "rdfa", "-a", f"seeds={url}", *options)
    (path,) = map(str, (tmp_path / "crawl" / "archive").glob("*.warc.gz"))
    times = 10
    seconds, cpu = measured(
        tmp_path, "replay", "--to", "again", "--processes", str(processes), *[path] * times
    )
    crawl, again = (crawled - start) / PAGES, (cpu - start) / PAGES / times
    print(
        f"\n{processes} processes: {PAGES * times / seconds:,.0f} pages/s;"
        f" {again * 1e6:,.0f} µs CPU a page, the crawl {crawl * 1e6:,.0f}: {crawl / again:.1f} times"
    )
    assert crawl / again >= 2.5
