"""Four workers crawl one generated web over Redis, are killed and replaced, and lose nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import defaultdict
from itertools import pairwise
from pathlib import Path

from pyoxigraph import Quad

from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.shared import SharedFrontier
from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from rdfaspider.stores.oxigraph import OxigraphStore
from tests.frontier import redis_servers

PROJECT = Path(__file__).parent.parent
DELAY = 0.3


class Workers:
    """Processes of one crawl, each with a directory, and so a store, of its own."""

    def __init__(self, directory: Path, proxy: str, redis: str, seed: str, **settings: object):
        self.directory, self.proxy, self.redis, self.seed = directory, proxy, redis, seed
        self.settings = settings
        self.started = 0
        self.running: list[subprocess.Popen[bytes]] = []

    def start(self) -> subprocess.Popen[bytes]:
        job = f"worker{self.started}"
        self.started += 1
        settings = {
            "JOBDIR": job,
            "FRONTIER_URL": self.redis,
            "FRONTIER_RETRIES": 0,
            "FRONTIER_DYNAMIC_DEPTH": 15,  # as deep as the oracle looks
            "POLITENESS_DELAY": DELAY,
            "EXTRACT_PROCESSES": 0,
            **self.settings,
        }
        options = [word for k, v in settings.items() for word in ("-s", f"{k}={v}")]
        arguments = ["crawl", "rdfa", "-a", f"seeds={self.seed}", "-a", "scope=all", *options]
        with (self.directory / f"{job}.log").open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "rdfaspider", *arguments],
                cwd=self.directory,
                env={**os.environ, "PYTHONPATH": str(PROJECT), "http_proxy": self.proxy},
                stderr=log,
            )
        self.running.append(process)
        return process

    def kill_one(self, chance: random.Random) -> bool:
        """Kill one that is at work; tell whether there was any."""
        alive = [process for process in self.running if process.poll() is None]
        if not alive:
            return False
        victim = chance.choice(alive)
        victim.send_signal(signal.SIGKILL)
        victim.wait()
        self.running.remove(victim)
        return True

    def finish(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        for process in self.running:
            assert process.wait(max(end - time.monotonic(), 1)) == 0, self.logs()

    def end(self) -> None:
        for process in self.running:
            process.kill()
            process.wait()

    def logs(self) -> str:
        return "\n".join(path.read_text()[-3000:] for path in self.directory.glob("*.log"))

    def quads(self) -> list[set[Quad]]:
        """Return the quads in the store of each worker."""
        found = []
        for number in range(self.started):
            path = self.directory / f"worker{number}" / "store"
            if not path.exists():
                continue
            with OxigraphStore(str(path), read_only=True) as store:
                rows = store.query("SELECT ?s ?p ?o ?g { GRAPH ?g { ?s ?p ?o } }")
                found.append({Quad(row["s"], row["p"], row["o"], row["g"]) for row in rows})
        return found


def fetched(log: Path) -> dict[str, list[float]]:
    """Return when each page was asked for, by the server's own log."""
    times = defaultdict(list)
    for line in log.read_text().splitlines():
        moment, _, _, url, _ = line.split()
        if not url.endswith("/robots.txt"):
            times[url].append(float(moment))
    return times


def check_politeness(log: Path, delay: float) -> None:
    """Check that no host was asked twice within its delay, robots.txt included."""
    hosts: dict[str, list[float]] = defaultdict(list)
    for line in log.read_text().splitlines():
        moment, _, _, url, _ = line.split()
        hosts[url.split("/")[2]].append(float(moment))
    gaps = [b - a for moments in hosts.values() for a, b in pairwise(sorted(moments))]
    assert min(gaps) >= delay, f"two fetches of one host {min(gaps):.3f} s apart"


def crawl_through_kills(
    directory: Path, parameters: Parameters, *, workers: int, kills: int, pause: float, seed: int
) -> None:
    """Kill workers at random instants, have new ones join, let them end; compare with the oracle."""
    chance = random.Random(seed)
    log = directory / "access.log"
    log.touch()
    web = Web(parameters)
    with (
        redis_servers.server(directory / "redis") as redis,
        running(parameters, log=log) as proxy,
    ):
        crew = Workers(directory, proxy, redis.url, web.url(0, 0))
        try:
            for _ in range(workers):
                crew.start()
            while not log.stat().st_size:
                time.sleep(0.05)
            killed = 0
            for _ in range(kills):
                time.sleep(chance.uniform(0.5, 1.5) * pause)
                if not crew.kill_one(chance):
                    break
                killed += 1
                crew.start()
            crew.finish(200)
        finally:
            crew.end()
        limits = FrontierLimits(depth=0, dynamic_depth=0)
        with SharedFrontier(redis.url, limits=limits, read_ahead=0, now=time.time()) as frontier:
            counts = frontier.counts()
    oracle = Oracle(web)
    reach = oracle.reachable([web.url(0, 0)], 15)
    expected = {quad for url in reach.pages for quad in oracle.triples(url)}
    times = fetched(log)
    refetches = sum(len(moments) - 1 for moments in times.values())
    print(f"\n{len(times):,} URLs, {killed} kills, {refetches:,} refetches; {counts}")
    assert times.keys() == reach.fetched.keys()
    assert set().union(*crew.quads()) == expected
    assert counts.waiting == counts.in_flight == 0
    assert counts.done + counts.failed == counts.seen == len(reach.fetched)
    check_politeness(log, DELAY)


def test_nothing_is_lost_when_workers_are_killed(tmp_path: Path) -> None:
    parameters = Parameters(
        seed=11, hosts=30, levels=2, pages=4, links_across=3, missing=0.05, latency=0.1
    )
    crawl_through_kills(tmp_path, parameters, workers=4, kills=4, pause=2.0, seed=1)
