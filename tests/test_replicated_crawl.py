"""Four workers crawl one web with a replicated frontier, and lose workers, leaders, disks and Redis."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from rdfaspider.service.replica.client import ReplicatedFrontier
from rdfaspider.service.replica.registry import View
from rdfaspider.site.parameters import Parameters
from tests.frontier import redis_servers
from tests.frontier.replicas import url_of, view_of
from tests.test_workers import PROJECT, Workers, crawl_through

PARAMETERS = Parameters(
    seed=11, hosts=16, addresses=8, levels=2, pages=4, links_across=3, missing=0.05, latency=0.1
)


def kill_host_of_leader(crew: Workers, *, wiped: bool) -> bool:
    """Kill the node that leads and the worker that has started it, as the loss of their machine does; tell
    whether there was one. A new worker takes their place."""
    view = await_pair(crew.url)
    if view is None:
        return False
    about = view.nodes[view.leader]
    job = Path(about["path"]).parent
    victim = crew.of_job(job.name)
    with suppress(ProcessLookupError):
        os.kill(about["pid"], signal.SIGKILL)
    if victim is not None:
        crew.kill(victim)
        crew.start()
    if wiped:
        shutil.rmtree(job / "frontier", ignore_errors=True)
    return True


def await_pair(url: str, seconds: float = 120.0) -> View | None:
    """Return what Redis knows as soon as there is a leader, and a standby with a copy; None if that is not
    to be, because the crawl is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        view = view_of(url)
        leads = view.nodes.get(view.leader, {}).get("address")
        if leads and any(is_alive(node) and "position" in node for node in standbys(view)):
            return view
        time.sleep(0.05)
    return None


def standbys(view: View) -> list[dict[str, Any]]:
    return [node for node in view.nodes.values() if node.get("role") == "standby"]


def is_alive(node: dict[str, Any]) -> bool:
    """Tell whether the process of a node is there, and not about to end with its worker."""
    try:
        status = Path(f"/proc/{node['pid']}/status").read_text()
    except OSError:
        return False
    return "PPid:\t1\n" not in status and "State:\tZ" not in status


def stop_redis(server: redis_servers.Server, seconds: float) -> None:
    """Have Redis answer nobody for some time."""
    server.process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    server.process.send_signal(signal.SIGCONT)


def trouble(
    server: redis_servers.Server, leaders: int, workers: int, seed: int, pause: float
) -> Callable[[Workers, Path], None]:
    """Return trouble: the machine of the leader is lost, every second time with its disk, workers are killed,
    and Redis is away for some seconds."""
    chance = random.Random(seed)

    def make(crew: Workers, log: Path) -> None:
        turns = ["leader"] * leaders + ["worker"] * workers + ["redis"]
        chance.shuffle(turns)
        wiped = True
        for turn in turns:
            time.sleep(chance.uniform(0.5, 1.5) * pause)
            if turn == "leader":
                kill_host_of_leader(crew, wiped=wiped)
                wiped = not wiped
            elif turn == "redis":
                stop_redis(server, 3.0)
            elif crew.kill_one(chance):
                crew.start()

    return make


@pytest.mark.slow
def test_nothing_is_lost_with_the_machine_of_the_leader(tmp_path: Path) -> None:
    with redis_servers.server(tmp_path / "redis") as server:
        url = url_of(server, "crawl")
        makes = trouble(server, leaders=1, workers=1, seed=3, pause=1.0)
        crawl_through(tmp_path, PARAMETERS, url, makes)


def scrapy(directory: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "rdfaspider", *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


@pytest.mark.slow
def test_a_node_needs_no_worker_and_people_can_look(tmp_path: Path) -> None:
    with redis_servers.server(tmp_path / "redis") as server:
        url = url_of(server, "crawl")
        given = ("-s", f"FRONTIER_URL={url}", "-s", "JOBDIR=node")
        node = scrapy(tmp_path, "frontier", "serve", *given, "-s", "FRONTIER_ORDER=harvest")
        try:
            with ReplicatedFrontier(url, nodes=0, worker="worker", read_ahead=4) as frontier:
                frontier.put(["http://a.test/", "http://b.test/"])
                frontier.watch("scope", lambda value: None)  # so that it is told
                assert frontier.order == "harvest"
                shown, _ = scrapy(tmp_path, "frontier", *given).communicate(timeout=60)
                assert "2 waiting" in " ".join(shown.split()), shown
                assert "harvest" in shown
                assert [each.name for each in frontier.workers()] == ["worker"]
            other = (*given, "-s", "FRONTIER_ORDER=breadth", "-a", "seeds=http://c.test/")
            said, _ = scrapy(tmp_path, "crawl", "rdfa", *other).communicate(timeout=60)
            assert "in the order harvest, not breadth" in said
        finally:
            node.send_signal(signal.SIGINT)
            said, _ = node.communicate(timeout=60)
        assert node.returncode == 0, said
        assert (tmp_path / "node" / "frontier" / "CURRENT").exists()
