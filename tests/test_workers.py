"""Four workers crawl one web, are killed and replaced, and so is what they share; nothing is lost."""

from __future__ import annotations

import math
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Quad

from rdfaspider.frontier import Counts, is_replicated, open_frontier
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.service.replica.logged import LoggedFrontier
from rdfaspider.service.replica.registry import place_of
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web, loopback
from tests.frontier.served import ServiceProcess
from tests.losses import DEPTH, fetched, losses, stored

PROJECT = Path(__file__).parent.parent
DELAY = 0.3


class Workers:
    """Processes of one crawl, each with a directory, and so a store, of its own.

    Where the web has several addresses, each worker asks another one, so that the server's log tells them
    apart. `ends` has when workers were killed, by their numbers.
    """

    def __init__(
        self,
        directory: Path,
        proxy: str,
        url: str,
        seed: str,
        addresses: int = 1,
    ) -> None:
        self.directory, self.proxy, self.url, self.seed = directory, proxy, url, seed
        self.addresses = addresses
        self.settings: dict[str, object] = {}
        self.started = 0
        self.running: list[subprocess.Popen[bytes]] = []
        self.ends: dict[int, float] = {}
        self._numbers: dict[int, int] = {}

    def start(self) -> subprocess.Popen[bytes]:
        number, job = self.started, f"worker{self.started}"
        self.started += 1
        proxy = self.proxy.replace("127.0.0.1", loopback(number % self.addresses))
        settings = {
            "JOBDIR": job,
            "FRONTIER_URL": self.url,
            "FRONTIER_RETRIES": 0,
            "FRONTIER_DYNAMIC_DEPTH": DEPTH,
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
                env={**os.environ, "PYTHONPATH": str(PROJECT), "http_proxy": proxy},
                stderr=log,
            )
        self.running.append(process)
        self._numbers[process.pid] = number
        return process

    def kill_one(self, chance: random.Random) -> bool:
        """Kill one that is at work; tell whether there was any."""
        alive = [process for process in self.running if process.poll() is None]
        if not alive:
            return False
        self.kill(chance.choice(alive))
        return True

    def of_job(self, name: str) -> subprocess.Popen[bytes] | None:
        """Return the worker with a directory of this name, None if it has been killed."""
        named = {f"worker{self._numbers[each.pid]}": each for each in self.running}
        return named.get(name)

    def kill(self, victim: subprocess.Popen[bytes]) -> None:
        victim.send_signal(signal.SIGKILL)
        self.ends[self._numbers[victim.pid]] = time.time()
        victim.wait()
        self.running.remove(victim)

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
            found.append(stored(path))
        return found


def loads(log: Path, crew: Workers) -> list[tuple[int, float]]:
    """Return of each worker how many pages it fetched, and what would have been its even share.

    Of each page, whoever was at work then has an equal share. A worker is at work from its first fetch
    until it is killed, or all is done.
    """
    if crew.started > crew.addresses:
        return []  # nobody can tell
    numbers = {loopback(number): number for number in range(crew.started)}
    rows = [line.split() for line in log.read_text().splitlines()]
    fetches = [(float(row[0]), numbers[row[1]]) for row in rows]
    begins: dict[int, float] = {}
    for moment, number in sorted(fetches):
        begins.setdefault(number, moment)
    even: dict[int, float] = dict.fromkeys(begins, 0.0)
    for moment, _ in fetches:
        at_work = [n for n in begins if begins[n] <= moment <= crew.ends.get(n, math.inf)]
        for number in at_work:
            even[number] += 1 / len(at_work)
    pages = Counter(number for _, number in fetches)
    return [(pages[number], even[number]) for number in sorted(even)]


def crawl_through(
    directory: Path,
    parameters: Parameters,
    url: str,
    trouble: Callable[[Workers, Path], None],
    *,
    workers: int = 4,
    delay: float = DELAY,
    count: Callable[[Path], Counts] | None = None,
) -> list[tuple[int, float]]:
    """Have workers crawl a web, make trouble, let them end; compare with the oracle.

    Returns the pages of each worker, and what would have been its even share. `count` tells the counts in
    the end of what is in the directory, if that is more than one frontier.
    """
    log = directory / "access.log"
    log.touch()
    web = Web(parameters)
    with running(parameters, log=log) as proxy:
        crew = Workers(directory, proxy, url, web.url(0, 0), parameters.addresses)
        crew.settings = {"POLITENESS_DELAY": delay}
        try:
            for _ in range(workers):
                crew.start()
            while not log.stat().st_size:
                time.sleep(0.05)
            trouble(crew, log)
            crew.finish(250)
        finally:
            crew.end()
    if count is None:
        count = count_best_copy if is_replicated(url) else lambda _: _counts(url)
    counts = count(directory)
    found = losses(web, log, set().union(*crew.quads()), delay)
    print(f"\n{found}, {len(crew.ends)} kills; {counts}")
    assert not (found.lost_pages or found.lost_triples or found.strange)
    assert counts.waiting == counts.in_flight == 0
    assert counts.done + counts.failed == counts.seen == found.urls
    assert found.breaches == 0
    return loads(log, crew)


def _counts(url: str) -> Counts:
    with open_frontier(url, read_ahead=0, now=time.time()) as frontier:
        return frontier.counts()


def count_best_copy(directory: Path, name: str = "frontier", **options: Any) -> Counts:
    """Return the counts of the copy that is furthest of those that nodes have left behind."""
    found = []
    for path in directory.glob(f"worker*/{name}"):
        limits = FrontierLimits(depth=DEPTH, dynamic_depth=DEPTH, as_begun=True)
        with LoggedFrontier(str(path), limits=limits, now=time.time(), **options) as frontier:
            if (standing := frontier.standing) is not None:
                place = (standing.number, place_of(standing.position))
                found.append((place, frontier.counts()))
    return max(found, key=lambda each: each[0])[1]


def kill_workers(kills: int, pause: float, seed: int) -> Callable[[Workers, Path], None]:
    """Return trouble: workers are killed at random instants, and new ones join."""
    chance = random.Random(seed)

    def trouble(crew: Workers, log: Path) -> None:
        for _ in range(kills):
            time.sleep(chance.uniform(0.5, 1.5) * pause)
            if not crew.kill_one(chance):
                break
            crew.start()

    return trouble


def kill_service(service: ServiceProcess, kills: int, seed: int) -> Callable[[Workers, Path], None]:
    """Return trouble: the service is killed at random instants, is away for a while and comes back, and in
    between a worker is killed and replaced."""
    chance = random.Random(seed)

    def trouble(crew: Workers, log: Path) -> None:
        for _ in range(kills):
            time.sleep(chance.uniform(0.5, 2.0))
            service.kill()
            time.sleep(chance.uniform(0.0, 1.0))
            service.start()
            time.sleep(chance.uniform(0.0, 2.0))
            if crew.kill_one(chance):
                crew.start()

    return trouble


def all_is_well(crew: Workers, log: Path) -> None:
    """Make no trouble."""


PARAMETERS = Parameters(
    seed=11, hosts=30, addresses=8, levels=2, pages=4, links_across=3, missing=0.05, latency=0.1
)


def test_two_workers_share_a_crawl(tmp_path: Path) -> None:
    web = Parameters(seed=11, hosts=6, addresses=2, levels=1, pages=3, links_across=2, missing=0.05)
    settings = {"POLITENESS_DELAY": 0.05, "FRONTIER_DYNAMIC_DEPTH": DEPTH}
    with ServiceProcess(tmp_path, "breadth", settings) as service:
        crawl_through(tmp_path, web, service.url, all_is_well, workers=2, delay=0.05)
    assert all(len(times) == 1 for times in fetched(tmp_path / "access.log").values())


@pytest.mark.slow
def test_nothing_is_lost_when_the_service_and_its_workers_are_killed(tmp_path: Path) -> None:
    settings = {"POLITENESS_DELAY": DELAY, "FRONTIER_DYNAMIC_DEPTH": 15}
    with ServiceProcess(tmp_path, "breadth", settings) as service:
        crawl_through(tmp_path, PARAMETERS, service.url, kill_service(service, 3, seed=1))
