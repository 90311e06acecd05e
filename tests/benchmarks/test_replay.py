"""How fast pages are read again: pages a second and CPU a page, beside the crawl. Run by name with -s.

    pytest tests/benchmarks/test_replay.py -s

Two webs are crawled and read again into empty stores: with the settings that users have, and all in one
process, which is the cheapest way to do either. What the larger one takes more than the smaller one is
what its pages cost: the start of processes, which does not depend on their number, is in both. Each is done
twice, and the better time counts, since whatever else the machine does can only add to it.
"""

from __future__ import annotations

import gzip
import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running

PROJECT = Path(__file__).parents[2]
WEBS = {
    levels: Parameters(seed=1, levels=levels, pages=4, links_inside=36, sentences=25, triples=10)
    for levels in (4, 6)
}
PAGES = {4: 341, 6: 5_461}
MORE = PAGES[6] - PAGES[4]

RECORDS = 200_000


class Cost(NamedTuple):
    """Seconds by the clock, those of CPU of a command and all its processes, and what it printed."""

    seconds: float
    cpu: float
    said: str = ""

    def __sub__(self, other: Cost) -> Cost:
        return Cost(self.seconds - other.seconds, self.cpu - other.cpu)


def measured(directory: Path, *arguments: str) -> Cost:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "rdfaspider", *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        check=True,
        capture_output=True,
        text=True,
    )
    after, seconds = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic() - began
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(seconds, cpu, done.stdout)


def better(directory: Path, *arguments: str) -> Cost:
    """Run a command in two new directories beside one; return the better of both times."""
    costs = []
    for _ in range(2):
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        costs.append(measured(directory, *arguments))
    seconds, cpu = (min(cost[part] for cost in costs) for part in (0, 1))
    return Cost(float(seconds), float(cpu), costs[-1].said)


@pytest.fixture(scope="module", params=["default", "one process"])
def crawled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, dict[int, Path], float]:
    """Crawl both webs; return how, where they are, and the CPU seconds of a page."""
    settings = ["POLITENESS_OFF_FOR_OWN_SERVERS=1", "ARCHIVE=1"]
    settings += ["EXTRACT_PROCESSES=0"] if request.param == "one process" else []
    options = [word for setting in settings for word in ("-s", setting)]
    places, costs = {}, {}
    for levels, parameters in WEBS.items():
        places[levels] = tmp_path_factory.mktemp("crawled") / "here"
        with running(parameters) as url:
            costs[levels] = better(places[levels], "crawl", "rdfa", "-a", f"seeds={url}", *options)
    return request.param, places, (costs[6] - costs[4]).cpu / MORE


def test_reading_again(crawled: tuple[str, dict[int, Path], float], tmp_path: Path) -> None:
    how, places, crawl = crawled
    processes = ["--processes", "0"] if how == "one process" else []
    costs = []
    for place in places.values():
        archive = str(place / "crawl" / "archive")
        costs.append(better(tmp_path / "again", "replay", "--to", "again", *processes, archive))
    small, large = costs
    assert large.said.startswith(f"{PAGES[6]:,} pages read again")
    again = (large - small).cpu / MORE
    print(
        f"\n{how}: {MORE / (large - small).seconds:,.0f} pages/s;"
        f" {again * 1e6:,.0f} µs CPU a page, the crawl {crawl * 1e6:,.0f}: {crawl / again:.1f} times"
    )
    assert crawl / again >= 3


@pytest.mark.campaign
@pytest.mark.parametrize("store, growth", [("nquads:again", 1.1), ("again", 1.5)])
def test_memory_of_many_records(tmp_path: Path, store: str, growth: float) -> None:
    """The replay itself does not grow; an embedded store keeps filters of its files in memory."""
    with (tmp_path / "many.warc.gz").open("wb") as file:
        for number in range(RECORDS):
            file.write(gzip.compress(record(number), 1))
    command = [sys.executable, "-m", "rdfaspider", "replay", "--to", store, "many.warc.gz"]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    with (
        (tmp_path / "said").open("w") as said,
        subprocess.Popen(command, cwd=tmp_path, env=environment, stdout=said) as replay,
    ):
        sizes = []
        while replay.poll() is None:
            sizes.append(resident(replay.pid))
            time.sleep(0.25)
    assert (tmp_path / "said").read_text().startswith(f"{RECORDS:,} pages read again")
    early, late = (
        max(sizes[at : at + len(sizes) // 8]) for at in (len(sizes) // 4, -len(sizes) // 8)
    )
    print(
        f"\n{store}: {RECORDS:,} records: {early:.0f} MB after a quarter, {late:.0f} MB at the end"
    )
    assert late < growth * early


def record(number: int) -> bytes:
    """Return a page as a record of WARC; no two have the same words or triples."""
    said = "".join(
        f'<p property="name">Item {number}-{part}</p><a href="/p{number + part}">next {part}</a>'
        for part in range(10)
    )
    page = f"<html vocab='https://schema.org/'><body typeof='Thing'>{said}</body></html>"
    answer = (
        f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(page)}\r\n\r\n{page}"
    )
    return (
        "WARC/1.1\r\nWARC-Type: response\r\n"
        f"WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-{number:012x}>\r\n"
        f"WARC-Target-URI: http://www{number % 997}.example/p{number}\r\n"
        "WARC-Date: 2026-11-01T00:00:00Z\r\nContent-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(answer)}\r\n\r\n{answer}\r\n\r\n"
    ).encode()


def resident(process: int) -> float:
    """Return the megabytes of memory that a process has now."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except FileNotFoundError:
        return 0.0
    return pages * resource.getpagesize() / 1e6
