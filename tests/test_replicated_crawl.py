"""Four workers crawl one web with a replicated frontier, and lose workers, leaders, disks and Redis."""

from __future__ import annotations

import os
import random
import shutil
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from rdfaspider.frontier import Counts
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.replica.logged import LoggedFrontier
from rdfaspider.frontier.replica.registry import View, place_of
from rdfaspider.site.parameters import Parameters
from tests.frontier import redis_servers
from tests.frontier.replicas import url_of, view_of
from tests.test_workers import Workers, crawl_through

PARAMETERS = Parameters(
    seed=11, hosts=24, addresses=8, levels=2, pages=4, links_across=3, missing=0.05, latency=0.1
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
    crew.kill(victim)
    if wiped:
        shutil.rmtree(job / "frontier")
    crew.start()
    return True


def await_pair(url: str, seconds: float = 40.0) -> View | None:
    """Return what Redis knows as soon as there is a leader, and a standby with a copy; None if that is not
    to be, because the crawl is over."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        view = view_of(url)
        leads = view.nodes.get(view.leader, {}).get("address")
        if leads and any(
            node.get("role") == "standby" and "position" in node for node in view.nodes.values()
        ):
            return view
        time.sleep(0.05)
    return None


def stop_redis(server: redis_servers.Server, seconds: float) -> None:
    """Have Redis answer nobody for some time."""
    server.process.send_signal(signal.SIGSTOP)
    time.sleep(seconds)
    server.process.send_signal(signal.SIGCONT)


def count_best_copy(directory: Path) -> Counts:
    """Return the counts of the copy that is furthest of those that nodes have left behind."""
    found = []
    for path in directory.glob("worker*/frontier"):
        limits = FrontierLimits(depth=15, dynamic_depth=15, as_begun=True)
        with LoggedFrontier(str(path), limits=limits, now=time.time()) as frontier:
            if (standing := frontier.standing) is not None:
                place = (standing.number, place_of(standing.position))
                found.append((place, frontier.counts()))
    return max(found, key=lambda each: each[0])[1]


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


def test_nothing_is_lost_with_the_machine_of_the_leader(tmp_path: Path) -> None:
    with redis_servers.server(tmp_path / "redis") as server:
        url = url_of(server, "crawl")
        makes = trouble(server, leaders=1, workers=1, seed=3, pause=1.0)
        crawl_through(tmp_path, PARAMETERS, url, makes, count=partial(count_best_copy, tmp_path))
