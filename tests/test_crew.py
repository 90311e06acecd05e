"""A crawl on many cores by one command: complete, whoever is killed, and stopped as a whole."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyoxigraph import Quad

from rdfaspider.extensions.history.samples import read
from rdfaspider.frontier.views.reader import FrontierReader
from rdfaspider.service.worker.client import ServedFrontier
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from rdfaspider.stores.provenance import crawl_graph
from tests.losses import DEPTH, fetched, losses, stored

PROJECT = Path(__file__).parent.parent
DELAY = 0.2
PARAMETERS = Parameters(
    seed=5, hosts=24, addresses=4, levels=2, pages=2, links_across=3, missing=0.05, latency=0.05
)


class Crawl:
    """A crawl with two workers in a directory of its own, as a user starts it."""

    def __init__(self, directory: Path, proxy: str) -> None:
        self.directory = directory
        self.log = directory / "crawl.log"
        self._proxy = proxy

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        settings = {
            "WORKERS": 2,
            "POLITENESS_DELAY": DELAY,
            "POLITENESS_SERVER_DELAY": 0,
            "FRONTIER_DYNAMIC_DEPTH": DEPTH,
            "FRONTIER_RETRIES": 0,
            "EXTRACT_PROCESSES": 0,
        }
        options = [word for name in settings for word in ("-s", f"{name}={settings[name]}")]
        url = Web(PARAMETERS).url(0, 0)
        program = [sys.executable, "-m", "rdfaspider", "crawl", "rdfa"]
        with self.log.open("ab") as log:
            return subprocess.Popen(
                [*program, "-a", f"seeds={url}", "-a", "scope=all", *options, *words],
                cwd=self.directory,
                env={**os.environ, "PYTHONPATH": str(PROJECT), "http_proxy": self._proxy},
                stderr=log,
            )

    def run(self, *words: str) -> int:
        return self.start(*words).wait(120)

    @property
    def text(self) -> str:
        return self.log.read_text()

    def pages(self) -> set[str]:
        return set(fetched(self.directory / "access.log"))

    def quads(self) -> set[Quad]:
        return stored(self.directory / "crawl" / "store")

    def check(self) -> None:
        """Compare what was fetched and stored with the oracle."""
        found = losses(Web(PARAMETERS), self.directory / "access.log", self.quads(), DELAY)
        assert not (found.lost_pages or found.lost_triples or found.strange or found.breaches), (
            found
        )
        with FrontierReader(str(self.directory / "crawl" / "frontier"), delay=DELAY) as reader:
            counts = reader.counts()
        assert (counts.waiting, counts.seen) == (0, found.urls)


def children(process: subprocess.Popen[bytes]) -> list[int]:
    """Return the workers of a crawl."""
    text = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
    return [int(pid) for pid in text.split()]


def is_running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def wait_for_pages(crawl: Crawl, count: int) -> None:
    end = time.monotonic() + 60
    while len(crawl.pages()) < count:
        assert time.monotonic() < end, crawl.text
        time.sleep(0.05)


@pytest.fixture
def crawl(tmp_path: Path) -> Iterator[Crawl]:
    log = tmp_path / "access.log"
    log.touch()
    with running(PARAMETERS, log=log) as proxy:
        yield Crawl(tmp_path, proxy)


@pytest.mark.slow
def test_a_crew_finds_everything_and_sums_up_as_one(crawl: Crawl) -> None:
    assert crawl.run() == 0, crawl.text
    crawl.check()
    pages = len(crawl.quads() and {quad.graph_name for quad in crawl.quads()})
    assert f"done in this run: {pages:,} pages" in crawl.text
    assert f"{len(crawl.quads()):,} triples from {pages:,} pages stored in this run" in crawl.text
    assert crawl.text.count("URLs = ") == 1
    assert "[1]" not in crawl.text, "nothing went wrong"


def test_what_is_known_of_fetches_is_that_of_one_crawl(crawl: Crawl) -> None:
    assert crawl.run("-s", "STORE_PROVENANCE=1", "-s", "CLOSESPIDER_PAGECOUNT=20") == 0, crawl.text
    graphs = {getattr(quad.graph_name, "value", "") for quad in crawl.quads()}
    name = crawl_graph(str((crawl.directory / "crawl").resolve()))
    assert {graph for graph in graphs if not graph.startswith("http")} <= {name}
    assert name in graphs


@pytest.mark.slow
def test_a_worker_that_is_killed_is_replaced_and_nothing_is_lost(crawl: Crawl) -> None:
    process = crawl.start()
    for number in range(3):
        wait_for_pages(crawl, 20 + 40 * number)
        os.kill(children(process)[0], signal.SIGKILL)
    assert process.wait(120) == 0, crawl.text
    assert len(re.findall("was ended by signal 9; another takes its place", crawl.text)) == 3
    crawl.check()
    graphs = {quad.graph_name for quad in crawl.quads()}
    assert f"done in this run: {len(graphs):,} pages" in crawl.text
    stored = f"{len(crawl.quads()):,} triples from {len(graphs):,} pages stored in this run"
    assert stored in crawl.text


@pytest.mark.slow
def test_the_workers_of_a_crawl_that_is_killed_end_with_it_and_the_next_run_goes_on(
    crawl: Crawl,
) -> None:
    for number in range(2):
        process = crawl.start()
        wait_for_pages(crawl, 30 + 50 * number)
        workers = children(process)
        assert len(workers) == 2
        process.kill()
        process.wait()
        end = time.monotonic() + 60
        while any(map(is_running, workers)):
            assert time.monotonic() < end, "a worker goes on without its crawl"
            time.sleep(0.05)
    assert crawl.run() == 0, crawl.text
    crawl.check()


@pytest.mark.slow
def test_ctrl_c_stops_all_and_the_same_command_resumes(crawl: Crawl) -> None:
    process = crawl.start()
    wait_for_pages(crawl, 30)
    workers = children(process)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0, crawl.text
    assert not any(map(is_running, workers))
    assert "Resume it: " in crawl.text
    before = crawl.pages()
    assert crawl.run() == 0, crawl.text
    crawl.check()
    assert len(before) < len(crawl.pages())


@pytest.mark.slow
def test_a_crew_can_be_paused_and_told_and_stopped(crawl: Crawl) -> None:
    process = crawl.start("-s", "POLITENESS_DELAY=2")
    wait_for_pages(crawl, 5)

    def tell(*words: str) -> str:
        return subprocess.run(
            [sys.executable, "-m", "rdfaspider", "frontier", *words],
            cwd=crawl.directory,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout

    assert "The workers are paused" in tell("--pause")
    time.sleep(1.5)
    before = crawl.pages()
    time.sleep(1.0)
    assert crawl.pages() == before
    told = tell("--tell", "CONCURRENT_REQUESTS=3", "--resume")
    assert "The workers run, with CONCURRENT_REQUESTS=3" in told
    wait_for_pages(crawl, len(before) + 10)
    tell("--stop")
    assert process.wait(30) == 0, crawl.text
    assert "another takes its place" not in crawl.text
    assert crawl.run() == 0, crawl.text
    crawl.check()


def test_workers_of_an_order_that_learns_have_nothing_at_hand(crawl: Crawl) -> None:
    """Each holds what it fetches, and what it stores just now, and no more."""
    options = ("FRONTIER_ORDER=harvest", "CONCURRENT_REQUESTS=2", "POLITENESS_DELAY=0.01")
    lanes = "FETCH_UNPROVEN_SHARE=1"  # or they would keep URLs of new hosts
    process = crawl.start(*(word for option in (*options, lanes) for word in ("-s", option)))
    wait_for_pages(crawl, 30)
    held: list[int] = []
    with ServedFrontier(
        f"unix:{crawl.directory / 'crawl' / 'frontier.sock'}", onlooks=True, read_ahead=0
    ) as service:
        while len(held) < 100:
            held += [worker.held for worker in service.workers()]
            time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 0, crawl.text
    assert max(held) >= 2
    assert sorted(held)[len(held) // 2] <= 3


def test_the_limit_of_pages_is_that_of_all_workers(crawl: Crawl) -> None:
    assert crawl.run("-s", "CLOSESPIDER_PAGECOUNT=25") == 0, crawl.text
    done = re.search(r"done in this run: (\d+) pages?", crawl.text)
    failed = re.search(r"failed in this run: (\d+) with status 404", crawl.text)
    assert sum(int(found[1]) for found in (done, failed) if found) == 25
    assert "stopped by CLOSESPIDER_PAGECOUNT" in crawl.text
    received = read(crawl.directory / "crawl" / "history.jsonl")[-1].received
    assert received > 25 * 200, "the bytes of workers count"


@pytest.mark.slow
def test_workers_that_cannot_run_stop_the_crawl(crawl: Crawl) -> None:
    assert crawl.run("-s", "EXTRACT_PROCESSES=1", "-s", "EXTRACT_MEMORY_MB=10") == 1
    assert "EXTRACT_MEMORY_MB" in crawl.text
    assert "Crawl stopped, as its workers kept ending" in crawl.text
    assert "Traceback" not in crawl.text
    assert not crawl.pages()


def test_limits_of_one_process_are_refused(crawl: Crawl) -> None:
    assert crawl.run("-s", "CLOSESPIDER_ERRORCOUNT=1") == 1
    assert "CLOSESPIDER_ERRORCOUNT is not for a crawl with WORKERS" in crawl.text


def test_feeds_are_refused(crawl: Crawl) -> None:
    assert crawl.run("-o", "pages.jl") == 1
    assert "scrapy export" in crawl.text
    assert not crawl.pages()
