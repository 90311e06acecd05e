"""What a replicated frontier costs, and what it survives. Run by name with -s.

Synthetic workers only take and finish, as in test_service.py, from a leader with a standby. What is told is
CPU time a page: of the leader, of the standby, of Redis.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.service.replica.client import ReplicatedFrontier
from rdfaspider.site.parameters import Parameters
from tests.benchmarks.test_service import cpu_of, links
from tests.frontier import redis_servers
from tests.frontier.replicas import NodeProcess, await_leader, await_standby, url_of, view_of
from tests.frontier.served import PROJECT
from tests.test_replicated_crawl import trouble
from tests.test_workers import crawl_through

PAGES = int(os.environ.get("SERVICE_PAGES", "20_000"))
WORKERS = 4


@pytest.mark.parametrize("order", ["breadth", "harvest"])
@pytest.mark.timeout(900)
def test_what_the_log_costs(tmp_path: Path, order: str) -> None:
    pages = PAGES if order == "breadth" else PAGES // 4
    options = {
        "order": order,
        "politeness": Politeness(delay=0.0, at_once=64),
        "limits": FrontierLimits(depth=250, host_urls=1_000_000, host_waiting=1_000_000),
    }
    with redis_servers.server(tmp_path / "redis", "--appendonly", "yes") as server:
        url = url_of(server)
        one, two = (NodeProcess(url, tmp_path / name, **options) for name in ("one", "two"))
        with one, two:
            leader = await_leader(url, one, two)
            standby = two if leader is one else one
            with ReplicatedFrontier(url, nodes=0, worker="seeds") as frontier:
                frontier.put(links(0, random.Random(0)))
            await_standby(url, standby)
            pids = (leader.process.pid, standby.process.pid, server.process.pid)
            before, began = [cpu_of(pid) for pid in pids], time.monotonic()
            address = str(view_of(url).nodes[leader.name]["address"])
            environment = {**os.environ, "FRONTIER_SECRET": view_of(url).secret}
            program = [sys.executable, "-m", "tests.benchmarks.test_service", address]
            running = [
                subprocess.Popen(
                    [*program, str(pages // WORKERS), str(number)], cwd=PROJECT, env=environment
                )
                for number in range(WORKERS)
            ]
            assert [process.wait() for process in running] == [0] * WORKERS
            seconds = time.monotonic() - began
            await_standby(url, standby, 300)
            caught_up = time.monotonic() - began - seconds
            costs = [
                (cpu_of(pid) - earlier) / pages for pid, earlier in zip(pids, before, strict=True)
            ]
            with server.client() as client:
                kept = client.memory_usage("{test}:log") or 0
    told = ", ".join(
        f"{name} {cost * 1e6:.0f}"
        for name, cost in zip(("leader", "standby", "Redis"), costs, strict=True)
    )
    print(
        f"\n{order}: µs of CPU a page: {told}; {pages / seconds:.0f} pages/s by the clock; the standby was"
        f" there {caught_up:.1f} s later; {kept / 1e6:.1f} MB of log are left"
    )
    assert costs[2] < costs[0] / 4


@pytest.mark.timeout(900)
def test_a_crawl_that_loses_ten_workers_and_five_leaders(tmp_path: Path) -> None:
    parameters = Parameters(
        seed=13, hosts=60, addresses=24, levels=2, pages=6, links_across=3, latency=0.1
    )
    with redis_servers.server(tmp_path / "redis") as server:
        makes = trouble(server, leaders=5, workers=10, seed=5, pause=4.0)
        url = url_of(server, "crawl")
        crawl_through(tmp_path, parameters, url, makes, delay=1.0)
