"""How long a full report on a large crawl takes, and how much memory.

    pytest -s tests/benchmarks/test_report.py

The crawl has 200,000 pages of 2,000 hosts with ten links and five triples each, written by the frontier and
the store themselves.
"""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.pages.row import Row, pack
from rdfaspider.stores import open_store
from rdfaspider.stores.changes import Change

PAGES, HOSTS, LINKS, TRIPLES = 200_000, 2_000, 10, 5
# Prints seconds of CPU and the most kilobytes of memory. The system's own figure of a child begins with that
# of its parent.
_TASK = """
import atexit, re, sys, time
def tell():
    memory = re.search("VmHWM:[^0-9]*([0-9]+)", open("/proc/self/status").read())[1]
    print(time.process_time(), memory, file=sys.stderr)
atexit.register(tell)
from rdfaspider.__main__ import main
main()
"""
SCHEMA = "http://schema.org/"


def url(number: int) -> str:
    return f"http://h{number % HOSTS}.test/s{number // HOSTS % 7}/p{number}"


def crawl(directory: Path) -> None:
    """Take and finish every page; half of the links are within the host."""
    choice = random.Random(1)
    frontier = LocalFrontier(str(directory / "frontier"), politeness=Politeness(delay=0.0))
    frontier.put([url(number) for number in range(HOSTS)])
    now, done = 0.0, 0
    while done < PAGES and (taken := frontier.take(now)) is not None:
        number = int(taken.url.rpartition("p")[2])
        near = [number + HOSTS * choice.randrange(1, 6) for _ in range(LINKS // 2)]
        far = [choice.randrange(PAGES) for _ in range(LINKS - len(near))]
        links = [url(target) for target in (*near, *far) if target < PAGES]
        row = Row(
            200, "page", 1_700_000_000 + done, 20, "text/html", "utf-8", 5_000 + number % 9_000,
            f"Page {number}", "en", len(links), TRIPLES, TRIPLES,
        )  # fmt: skip
        frontier.finish(taken, "done", now, links, row=pack(row, number.to_bytes(20)))
        now += 0.01
        done += 1
    frontier.close()
    assert done > 0.9 * PAGES


def store(directory: Path) -> None:
    with open_store(str(directory / "store")) as opened:
        for first in range(0, PAGES, 5_000):
            opened.write([_change(number) for number in range(first, first + 5_000)])


def _change(number: int) -> Change:
    page = url(number)
    lines = [
        f'<{page}#t> <{SCHEMA}p{number * 7 % (50 + each)}> "v{number}-{each}" <{page}> .\n'
        for each in range(4)
    ]
    lines.append(
        f"<{page}#t> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <{SCHEMA}T{number % 90}> <{page}> .\n"
    )
    return Change.of_page(page, "".join(lines).encode())


@pytest.mark.timeout(1_800)
def test_a_report_on_200_000_pages(tmp_path: Path) -> None:
    crawl(tmp_path)
    store(tmp_path)
    begun = time.perf_counter()
    out = str(tmp_path / "out")
    task = [sys.executable, "-c", _TASK, "report", "--full", "-o", out, "-s", f"JOBDIR={tmp_path}"]
    done = subprocess.run(task, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - begun
    assert done.returncode == 0, done.stderr
    *missing, told = done.stderr.splitlines()
    assert [line.partition(": ")[2] for line in missing] == ["There is no history of the crawl."]
    cpu, kilobytes = map(float, told.split())
    size = (tmp_path / "out" / "report.html").stat().st_size
    print(
        f"\n{PAGES:,} pages: {seconds:.0f} s by the clock, {cpu:.0f} s of CPU, {kilobytes / 1024:.0f} MB,"
        f" a page of {size / 1024:.0f} KB"
    )
    assert cpu < 60
    assert kilobytes < 500 * 1024
