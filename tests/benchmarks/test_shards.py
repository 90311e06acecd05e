"""What shards cost, and how many pages a second so many cores can feed. Run by name with -s.

Synthetic workers only take and finish, as in test_service.py, from one service or from two, each of which has
a shard. Where servers matter, each host is at an address of its own, so that half of the pages need a turn
that the other shard keeps. What is told is the CPU time of the services.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path

import pytest

from rdfaspider.frontier import open_frontier
from tests.benchmarks.test_service import cpu_of, links
from tests.frontier.served import PROJECT, ServiceProcess

PAGES = int(os.environ.get("SERVICE_PAGES", "20_000"))
WORKERS = 4
SETTINGS = {
    "POLITENESS_DELAY": 0,
    "FRONTIER_DEPTH": 250,
    "FRONTIER_HOST_URLS": 1_000_000,
    "FRONTIER_HOST_WAITING": 1_000_000,
    "POLITENESS_AT_ONCE": 64,
}


def run(directory: Path, total: int, server_delay: float) -> list[float]:
    """Have workers take and finish pages; print what it costs, and return the CPU seconds of each service."""
    settings = {**SETTINGS, "POLITENESS_SERVER_DELAY": server_delay}
    with ExitStack() as stack:
        services = []
        for number in range(total):
            place = directory / f"{total}-{number}-{server_delay}"
            place.mkdir()
            shard = f"{number + 1}/{total}"
            services.append(stack.enter_context(ServiceProcess(place, "breadth", settings, shard)))
        url = ",".join(service.url for service in services)
        with open_frontier(url, worker="seeds", read_ahead=0) as frontier:
            frontier.put(links(0, random.Random(0)))
        before, began = [cpu_of(service.pid) for service in services], time.monotonic()
        program = [sys.executable, "-m", "tests.benchmarks.test_service", url]
        running = [
            subprocess.Popen(
                [*program, str(PAGES // WORKERS), str(number)],
                cwd=PROJECT,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(WORKERS)
        ]
        workers = sum(float(process.communicate()[0].split()[0]) for process in running)
        seconds = time.monotonic() - began
        spent = [cpu_of(each.pid) - earlier for each, earlier in zip(services, before, strict=True)]
    print(
        f"\n{total} shards{', with servers' if server_delay else ''}: services"
        f" {sum(spent) / PAGES * 1e6:.0f} µs of CPU a page, worker {workers / PAGES * 1e6:.0f} µs,"
        f" {PAGES / seconds:.0f} pages/s by the clock; a core each feeds {PAGES / max(spent):.0f} pages/s"
    )
    return spent


@pytest.mark.parametrize("server_delay", [0, 0.000001])
@pytest.mark.timeout(900)
def test_two_shards_feed_more_than_one(tmp_path: Path, server_delay: float) -> None:
    one, two = run(tmp_path, 1, server_delay), run(tmp_path, 2, server_delay)
    assert max(one) / max(two) > (1.2 if server_delay else 1.5)
