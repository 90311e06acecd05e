"""A real crawl of a generated web of many hosts, killed again and again, loses nothing."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.tables.trie import WAITING
from rdfaspider.frontier.views.reader import FrontierReader
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from rdfaspider.urls.keys import to_url
from tests.losses import DEPTH, fetched, losses, stored

PROJECT = Path(__file__).parent.parent
DELAY = 0.3


def crawl_through_kills(directory: Path, parameters: Parameters, kills: int, seed: int) -> None:
    """Kill a crawl at random instants until it has suffered enough, then let it end; compare."""
    chance = random.Random(seed)
    log = directory / "access.log"
    log.touch()
    web = Web(parameters)
    in_flight_at_kills = 0
    with running(parameters, log=log) as proxy:
        for _ in range(kills):
            before = log.stat().st_size
            process = start(directory, proxy, web.url(0, 0))
            # The instant is random among those at which it does something.
            while log.stat().st_size == before and process.poll() is None:
                time.sleep(0.005)
            time.sleep(chance.uniform(0.0, 1.0))
            ended = process.poll() is not None
            process.send_signal(signal.SIGKILL)
            process.wait()
            in_flight_at_kills += len(fetched(log).keys() & waiting(directory))
            if ended:
                break
        last = start(directory, proxy, web.url(0, 0))
        assert last.wait(240) == 0
    check_result(directory, web, log, in_flight_at_kills)


def start(directory: Path, proxy: str, seed: str) -> subprocess.Popen[bytes]:
    settings = {"POLITENESS_DELAY": DELAY, "FRONTIER_RETRIES": 0, "EXTRACT_PROCESSES": 0}
    settings |= {"FRONTIER_DYNAMIC_DEPTH": DEPTH}
    settings |= {"POLITENESS_SERVER_DELAY": 0}  # they are all on this machine
    options = [word for k, v in settings.items() for word in ("-s", f"{k}={v}")]
    arguments = ["crawl", "rdfa", "-a", f"seeds={seed}", "-a", "scope=all", *options]
    return subprocess.Popen(
        [sys.executable, "-m", "rdfaspider", *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "http_proxy": proxy},
        stderr=subprocess.DEVNULL,
    )


def waiting(directory: Path) -> set[str]:
    """Return the URLs that a dead crawl has not finished."""
    with FrontierReader(str(directory / "crawl" / "frontier"), delay=DELAY) as reader:
        return {to_url(k) for k, record in reader.trie.subtree() if record.state == WAITING}


def check_result(directory: Path, web: Web, log: Path, in_flight_at_kills: int) -> None:
    found = losses(web, log, stored(directory / "crawl" / "store"), DELAY)
    print(f"\n{found}, {in_flight_at_kills:,} in flight at kills")
    assert not (found.lost_pages or found.lost_triples or found.strange)
    with LocalFrontier(str(directory / "crawl" / "frontier")) as frontier:
        counts = frontier.counts()
        assert counts.waiting == 0
        assert counts.done + counts.failed == counts.seen == found.urls
    assert found.refetches <= in_flight_at_kills
    assert found.breaches == 0


@pytest.mark.slow
def test_nothing_is_lost_and_politeness_kept_through_kills(tmp_path: Path) -> None:
    parameters = Parameters(
        seed=11, hosts=12, levels=2, pages=4, links_across=3, missing=0.05, latency=0.1
    )
    crawl_through_kills(tmp_path, parameters, kills=5, seed=1)
