"""What a service costs, and how many pages a second one core can feed. Run by name with -s.

Synthetic workers only take and finish: each page has 40 links, some 70 % of them new, on 10,000 hosts without
delay. What is compared is CPU time, of the service and of the workers.
"""

from __future__ import annotations

import os
import random
import resource
import subprocess
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from rdfaspider.frontier import Hooks, Taken, open_frontier, services_of
from rdfaspider.service.address import Security
from rdfaspider.service.worker.client import ServedFrontier
from tests.frontier.served import PROJECT, ServiceProcess

PAGES = int(os.environ.get("SERVICE_PAGES", "20_000"))
# Where a service saturates: workers, the pages/s of each, and the seconds of a run.
SIZES = (1, 2, 4, 8)
PACES = {"breadth": 200, "harvest": 60}
SECONDS = 6
HOSTS = 10_000
LINKS = 40
FLYING = 16  # URLs that a worker fetches at the same time


def links(number: int, chance: random.Random) -> list[str]:
    """Return the links of a page: 70 % are new."""
    found = []
    for place in range(LINKS):
        page = (
            number * LINKS + place
            if chance.random() < 0.7
            else chance.randrange(number * LINKS + 1)
        )
        found.append(
            f"https://www.host{page * 7919 % HOSTS}.example/part{page % 13}/page-{page:09}"
        )
    return found


def work(url: str, pages: int, seed: int, pace: float) -> None:
    """Take and finish so many pages, at most at a pace; print the CPU seconds, the begin and the end.

    Hosts that wait for it get an address each.
    """
    chance, total = random.Random(seed), len(services_of(url))
    security = Security(os.environ.get("FRONTIER_SECRET", ""))
    frontier: Any
    with open_frontier(url, security=security, worker=f"worker{seed}", read_ahead=64) as frontier:
        flying: list[Taken] = []
        frontier.attach(Hooks(room=lambda: FLYING - len(flying)))
        done = 0
        began, first = time.process_time(), time.monotonic()
        spent = 0.0
        while done < pages:
            now = time.time()
            for host, name in frontier.hosts_to_resolve(100):
                frontier.set_address(host, name)
            while len(flying) < FLYING and (taken := frontier.take(now)) is not None:
                flying.append(taken)
            if not flying or done > (time.monotonic() - first) * pace:
                time.sleep(0.001)
                continue
            ended = flying.pop(0)
            before = time.process_time()
            found = links(ended.number * total + ended.host % total, chance)
            spent += time.process_time() - before
            frontier.finish(ended, "done", now, found)
            done += 1
        print(time.process_time() - began - spent, first, time.monotonic())


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> int:
    """Return the most memory that a process has had, in bytes."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))


def wanted_by(pid: int) -> float:
    """Return the seconds in which the first thread of a process has run, or could have with a free core."""
    ran, waited, _ = Path(f"/proc/{pid}/schedstat").read_text().split()
    return (int(ran) + int(waited)) / 1e9


class Fed(NamedTuple):
    """A run: seconds of CPU of the service and of all workers, and what the frontier takes."""

    pages: int
    seconds: float
    service: float
    wanted: float  # seconds of a core of its own that the service would have used
    workers: float
    memory: int
    urls: int
    disk: int

    @property
    def cost(self) -> float:
        """Return the seconds of the service's CPU a page."""
        return self.service / self.pages


def feed(directory: Path, order: str, workers: int, pages: int, pace: float = float("inf")) -> Fed:
    """Have workers take and finish so many pages of a new service, each at most at a pace."""
    settings = {
        "POLITENESS_DELAY": 0,
        "POLITENESS_SERVER_DELAY": 0,
        "FRONTIER_DEPTH": 250,
        "FRONTIER_HOST_URLS": 1_000_000,
        "FRONTIER_HOST_WAITING": 1_000_000,
        "POLITENESS_AT_ONCE": 64,
    }
    directory.mkdir(exist_ok=True)
    with ServiceProcess(directory, order, settings) as service:
        with ServedFrontier(service.url, worker="seeds", read_ahead=0) as frontier:
            frontier.put(links(0, random.Random(0)))
        before, wanted = cpu_of(service.pid), wanted_by(service.pid)
        program = [sys.executable, "-m", "tests.benchmarks.test_service"]
        running = [
            subprocess.Popen(
                [*program, service.url, str(pages // workers), str(number), str(pace)],
                cwd=PROJECT,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(workers)
        ]
        told = [process.communicate()[0].split() for process in running]
        spent, wanted = cpu_of(service.pid) - before, wanted_by(service.pid) - wanted
        with ServedFrontier(service.url, onlooks=True, read_ahead=0) as frontier:
            urls = frontier.counts().seen
        memory = memory_of(service.pid)
    disk = sum(file.stat().st_size for file in (directory / "frontier").rglob("*"))
    begins, ends = zip(*[(float(one[1]), float(one[2])) for one in told], strict=True)
    seconds, worked = max(ends) - min(begins), sum(float(one[0]) for one in told)
    return Fed(pages, seconds, spent, wanted, worked, memory, urls, disk)


@pytest.mark.parametrize("order", ["breadth", "harvest"])
@pytest.mark.timeout(900)
def test_a_core_feeds_many_workers(tmp_path: Path, order: str) -> None:
    fed = feed(tmp_path, order, 4, PAGES)
    print(
        f"\n{order}: service {fed.cost * 1e6:.0f} µs of CPU a page, worker"
        f" {fed.workers / fed.pages * 1e6:.0f} µs, {fed.pages / fed.seconds:.0f} pages/s by the clock;"
        f" a core feeds {1 / fed.cost:.0f} pages/s; {fed.urls:,} URLs known: {fed.memory / 1e6:.0f} MB of"
        f" memory, {fed.disk / 1e6:.1f} MB on disk, {fed.disk / fed.urls:.0f} bytes a URL"
    )
    if order == "breadth":
        assert 1 / fed.cost >= 1_000


@pytest.mark.parametrize("order", ["breadth", "harvest"])
@pytest.mark.timeout(900)
def test_where_a_service_saturates(tmp_path: Path, order: str) -> None:
    """The pace grows with the workers until the service wants a whole core; a page costs no more then."""
    pace = PACES[order]
    print(f"\n{order}, each worker at most {pace} pages/s")
    print("workers  pages/s  core wanted  µs a page  worker's  load")
    rows = {}
    for size in SIZES:
        pages = size * pace * SECONDS
        fed = rows[size] = feed(tmp_path / str(size), order, size, pages, pace)
        print(
            f"{size:7}  {pages / fed.seconds:7.0f}  {fed.wanted / fed.seconds:11.0%}"
            f"  {fed.cost * 1e6:9.0f}  {fed.workers / pages * 1e6:8.0f}  {os.getloadavg()[0]:4.1f}",
            flush=True,
        )
    assert rows[8].cost <= 1.5 * rows[1].cost


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), float((*sys.argv, "inf")[4]))
