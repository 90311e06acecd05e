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

import pytest

from rdfaspider.frontier import Taken, open_frontier, services_of
from rdfaspider.frontier.service.client import ServedFrontier
from rdfaspider.frontier.service.wire import Security
from tests.frontier.served import PROJECT, ServiceProcess

PAGES = int(os.environ.get("SERVICE_PAGES", "20_000"))
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


def work(url: str, pages: int, seed: int) -> None:
    """Take and finish so many pages; print the CPU seconds. Hosts that wait for it get an address each."""
    chance, total = random.Random(seed), len(services_of(url))
    security = Security(os.environ.get("FRONTIER_SECRET", ""))
    with open_frontier(url, security=security, worker=f"worker{seed}", read_ahead=64) as frontier:
        flying: list[Taken] = []
        done = 0
        began = time.process_time()
        spent = 0.0
        while done < pages:
            now = time.time()
            for host, name in frontier.unplaced(100):
                frontier.place(host, name)
            while len(flying) < FLYING and (taken := frontier.take(now)) is not None:
                flying.append(taken)
            if not flying:
                time.sleep(0.001)
                continue
            ended = flying.pop(0)
            before = time.process_time()
            found = links(ended.number * total + ended.host % total, chance)
            spent += time.process_time() - before
            frontier.finish(ended, "done", now, found)
            done += 1
        print(time.process_time() - began - spent)


def cpu_of(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.parametrize("order", ["breadth", "harvest"])
@pytest.mark.timeout(900)
def test_a_core_feeds_many_workers(tmp_path: Path, order: str) -> None:
    settings = {
        "POLITENESS_DELAY": 0,
        "POLITENESS_SERVER_DELAY": 0,
        "FRONTIER_DEPTH": 250,
        "FRONTIER_HOST_URLS": 1_000_000,
        "FRONTIER_HOST_WAITING": 1_000_000,
        "POLITENESS_AT_ONCE": 64,
    }
    workers, pages = 4, PAGES if order == "breadth" else PAGES // 4
    with ServiceProcess(tmp_path, order, settings) as service:
        with ServedFrontier(service.url, worker="seeds", read_ahead=0) as frontier:
            frontier.put(links(0, random.Random(0)))
        before, began = cpu_of(service.pid), time.monotonic()
        program = [sys.executable, "-m", "tests.benchmarks.test_service"]
        running = [
            subprocess.Popen(
                [*program, service.url, str(pages // workers), str(number)],
                cwd=PROJECT,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(workers)
        ]
        spent = [float(process.communicate()[0]) for process in running]
        seconds = time.monotonic() - began
        cost = (cpu_of(service.pid) - before) / pages
    print(
        f"\n{order}: service {cost * 1e6:.0f} µs of CPU a page, worker"
        f" {sum(spent) / pages * 1e6:.0f} µs, {pages / seconds:.0f} pages/s by the clock;"
        f" a core feeds {1 / cost:.0f} pages/s"
    )
    if order == "breadth":
        assert 1 / cost >= 1_000


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
