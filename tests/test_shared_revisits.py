"""Workers share a crawl with revisits, in one frontier or two shards, and all of them are killed."""

from __future__ import annotations

import os
import random
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.tables.trie import DENIED, DONE, FAILED, KEPT, POSTPONED, WAITING
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.frontier.served import ServiceProcess
from tests.test_changing_web import SETTINGS, Result, parameters, start
from tests.test_crew import children, is_running
from tests.test_workers import Workers

pytestmark = pytest.mark.slow

TOTAL = 2


def wait_for(is_true: Callable[[], bool], seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end
        time.sleep(0.05)


def kept_in(path: Path, shard: tuple[int, int] = (0, 1)) -> int:
    """Return how many pages a frontier keeps, after a look whether its counts are those of its records."""
    with LocalFrontier(str(path), shard=shard) as frontier:
        counts = frontier.counts()
        states = Counter(record.state for _, record in frontier.trie.subtree())
        assert counts.kept == states[KEPT]
        assert (counts.done, counts.failed) == (states[DONE], states[FAILED])
        assert (counts.denied, counts.in_flight) == (states[DENIED], 0)
        assert counts.waiting == states[WAITING] + states[POSTPONED]
        assert counts.seen == states.total()
        return counts.kept


def check(result: Result) -> None:
    statuses = Counter(status for _, _, status in result.requests())
    visits = Counter(url for _, url, status in result.requests() if status in (200, 304))
    assert statuses[304] > 0
    assert sum(count > 1 for count in visits.values()) > 10, "pages are visited again"
    assert result.breaches() == 0


def test_workers_and_their_crawl_are_killed(tmp_path: Path) -> None:
    web, log, kills = parameters(), tmp_path / "access.log", list[float]()
    log.touch()
    seeds = ",".join(Web(web).url(number, 0) for number in range(web.hosts))
    with running(web, log=log) as proxy:
        crawl = start(tmp_path, proxy, seeds, WORKERS=2)
        try:
            wait_for(lambda: log.stat().st_size > 2_000)
            began = time.time()
            time.sleep(3.0)
            workers = children(crawl)
            os.kill(workers[0], signal.SIGKILL)
            kills.append(time.time())
            time.sleep(3.0)
            workers = children(crawl)
            crawl.kill()
            crawl.wait()
            kills.append(time.time())
            wait_for(lambda: not any(map(is_running, workers)))
            size = log.stat().st_size
            crawl = start(tmp_path, proxy, seeds, WORKERS=2)
            wait_for(lambda: log.stat().st_size > size)
            time.sleep(4.0)
            crawl.send_signal(signal.SIGINT)
            assert crawl.wait(60) == 0, (tmp_path / "crawl.log").read_text()[-3000:]
        finally:
            crawl.kill()
            crawl.wait()
    result = Result(Web(web), log, tmp_path / "crawl/changes", kills, began, time.time())
    check(result)
    assert result.ghosts() == []
    assert kept_in(tmp_path / "crawl/frontier") > 20


def test_a_shard_and_a_worker_are_killed(tmp_path: Path) -> None:
    web, log = parameters(hosts=8), tmp_path / "access.log"
    log.touch()
    seeds = ",".join(Web(web).url(number, 0) for number in range(web.hosts))
    settings = {name: value for name, value in SETTINGS.items() if name != "PROGRESS_INTERVAL"}
    with running(web, log=log) as proxy, ExitStack() as stack:
        services = []
        for number in range(TOTAL):
            place = tmp_path / f"service{number}"
            place.mkdir()
            service = ServiceProcess(place, "breadth", settings, f"{number + 1}/{TOTAL}")
            services.append(stack.enter_context(service))
        crew = Workers(tmp_path, proxy, ",".join(service.url for service in services), seeds)
        stack.callback(crew.end)
        crew.settings = dict(SETTINGS)
        for _ in range(2):
            crew.start()
        wait_for(lambda: log.stat().st_size > 4_000)
        began = time.time()
        time.sleep(2.0)
        services[1].kill()
        time.sleep(1.0)
        services[1].start()
        crew.kill_one(random.Random(1))
        crew.start()
        time.sleep(6.0)
        crew.end()
    check(Result(Web(web), log, tmp_path / "none", [], began, time.time()))
    kept = [
        kept_in(tmp_path / f"service{number}" / "frontier", (number, TOTAL))
        for number in range(TOTAL)
    ]
    assert min(kept) > 5, "both have worked"
