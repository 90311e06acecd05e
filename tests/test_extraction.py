"""Whole crawls whose extraction workers are killed, cannot start, or are held up by a page."""

from __future__ import annotations

import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest
from scrapy.crawler import Crawler as ScrapyCrawler
from scrapy.settings import Settings
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.request import RequestFingerprinter

from rdfaspider.items import Page
from rdfaspider.scheduler import Scheduler
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from rdfaspider.spiders.rdfa import RdfaSpider
from tests.extract.samples import BOMB
from tests.losses import fetched
from tests.test_kills import DELAY, PROJECT, check_result, waiting

if TYPE_CHECKING:
    from tests.conftest import Crawler, Scrapy

WEB = Parameters(seed=11, hosts=12, levels=2, pages=4, links_across=3, missing=0.05, latency=0.1)
LARGER = replace(WEB, pages=6)
SEED = Web(WEB).url(0, 0)  # of both

# Two seconds of work.
SLOW = b'<b property="dc:x" datatype="rdf:XMLLiteral">' * 128 + b"<i>a</i>" * 600_000


@contextmanager
def crawling(
    directory: Path, proxy: str, *program: str, seeds: str = SEED, **settings: object
) -> Iterator[subprocess.Popen[str]]:
    """Run a crawl in a directory; it ends with the block, if not by itself."""
    settings = {
        "POLITENESS_DELAY": DELAY,
        "POLITENESS_SERVER_DELAY": 0,
        "FRONTIER_RETRIES": 0,
        "FRONTIER_DYNAMIC_DEPTH": 15,
        "STATS_DUMP": 1,
        **settings,
    }
    options = [word for k, v in settings.items() for word in ("-s", f"{k}={v}")]
    arguments = ["crawl", "rdfa", "-a", f"seeds={seeds}", "-a", "scope=all", *options]
    with subprocess.Popen(
        [*(program or (sys.executable, "-m", "rdfaspider")), *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "http_proxy": proxy},
        stderr=subprocess.PIPE,
        text=True,
    ) as crawl:
        try:
            yield crawl
        finally:
            crawl.kill()


def cpu_seconds(process: int) -> float:
    """Return the CPU time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def workers(crawl: subprocess.Popen[str]) -> list[int]:
    """Return the processes that a crawl has started, as the system knows them."""
    found = []
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = status.read_text().rpartition(")")[2].split()
        except OSError:  # it has just ended
            continue
        if fields[0] != "Z" and int(fields[1]) == crawl.pid:
            found.append(int(status.parent.name))
    return found


def signal_all(workers: Iterable[int], number: int) -> None:
    for worker in workers:
        with suppress(ProcessLookupError):  # the crawl has ended
            os.kill(worker, number)


def kill_with_its_page(workers: list[int], victim: int, log: Path) -> None:
    """Kill a worker when it has got a page: while all stand still, those that come are not read."""
    signal_all(workers, signal.SIGSTOP)
    size, end = log.stat().st_size, time.monotonic() + 2
    while log.stat().st_size < size + 1000 and time.monotonic() < end:
        time.sleep(0.01)
    signal_all([victim], signal.SIGKILL)
    signal_all(workers, signal.SIGCONT)


def wait_for_lines(log: Path, count: int) -> None:
    end = time.monotonic() + 60
    while len(log.read_text().splitlines()) < count:
        assert time.monotonic() < end
        time.sleep(0.01)


needs_proc = pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="no /proc")


@pytest.mark.slow
@needs_proc
def test_nothing_is_lost_when_workers_are_killed(tmp_path: Path) -> None:
    chance = random.Random(3)
    log = tmp_path / "access.log"
    log.touch()
    seen: dict[int, float] = {}
    kills = 0
    with (
        running(LARGER, log=log) as proxy,
        crawling(tmp_path, proxy, EXTRACT_PROCESSES=4) as crawl,
    ):
        while kills < 20 and crawl.poll() is None:
            time.sleep(0.05)
            now = time.monotonic()
            alive = {worker: seen.get(worker, now) for worker in workers(crawl)}
            seen |= alive
            # A younger one may have a page that was killed before, which is its second and last chance.
            if old := [worker for worker, since in alive.items() if now - since > 2.0]:
                victim = chance.choice(old)
                if kills % 2:
                    kill_with_its_page(old, victim, log)
                else:
                    signal_all([victim], signal.SIGKILL)
                kills += 1
        output = crawl.communicate(timeout=240)[1]
    assert crawl.returncode == 0, output
    assert kills >= 10  # a crawl may end before there were more
    assert "extract-crash" not in output
    retried = re.search(r"'extract/retried/crash': (\d+)", output)
    assert retried, output
    assert int(retried[1]) >= 1  # one that stands still for long is replaced before it is killed
    check_result(tmp_path, Web(LARGER), log, 0)


@pytest.mark.slow
@needs_proc
def test_a_crawl_that_runs_out_of_workers_stops_and_resumes(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.touch()
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    code = (
        f"import sys; sys.executable = {str(python)!r}; import rdfaspider.__main__ as m; m.main()"
    )
    with running(WEB, log=log) as proxy:
        with crawling(tmp_path, proxy, sys.executable, "-c", code) as crawl:
            wait_for_lines(log, 20)
            python.unlink()
            for worker in workers(crawl):
                os.kill(worker, signal.SIGKILL)
            output = crawl.communicate(timeout=120)[1]
        assert crawl.returncode == 1, output
        assert re.search(r"The crawl stops: No process .* \(.*No such file or directory", output)
        assert "as no extraction worker could be started, after" in output
        assert "extract-" not in output
        assert "Traceback" not in output
        in_flight = len(fetched(log).keys() & waiting(tmp_path))
        assert in_flight
        with crawling(tmp_path, proxy) as crawl:
            output = crawl.communicate(timeout=240)[1]
        assert crawl.returncode == 0, output
    check_result(tmp_path, Web(WEB), log, in_flight)


@pytest.mark.slow
def test_too_little_memory_is_told_before_anything_is_fetched(
    scrapy: Scrapy, tmp_path: Path
) -> None:
    log = tmp_path / "access.log"
    log.touch()
    with running(Parameters(levels=1, pages=3), log=log) as origin:
        arguments = ("crawl", "rdfa", "-a", f"seeds={origin}/")
        refused = scrapy(*arguments, EXTRACT_MEMORY_MB=10)
        assert refused.returncode == 1
        assert "EXTRACT_MEMORY_MB=10 leaves no room for a page" in refused.stderr
        assert "run the same command to resume" in refused.stderr
        assert "Traceback" not in refused.stderr
        assert log.read_text() == ""
        resumed = scrapy(*arguments, POLITENESS_DELAY=0)
        assert resumed.returncode == 0
        assert re.search(r"done in this run: \d+ pages?$", resumed.stderr, re.MULTILINE)


@pytest.mark.slow
def test_a_limit_that_cannot_be_set_is_told(tmp_path: Path) -> None:
    # Who may raise limits must give that up first: CAP_SYS_RESOURCE, by PR_CAPBSET_DROP.
    code = (
        "import ctypes, os, resource, sys; ctypes.CDLL(None).prctl(24, 24, 0, 0, 0);"
        "resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30));"
        "os.execv(sys.executable, [sys.executable, '-m', 'rdfaspider', *sys.argv[1:]])"
    )
    program = (sys.executable, "-c", code)
    with (
        running(WEB) as proxy,
        crawling(tmp_path, proxy, *program, EXTRACT_MEMORY_MB=9000) as crawl,
    ):
        output = crawl.communicate(timeout=60)[1]
    assert crawl.returncode == 1, output
    assert "EXTRACT_MEMORY_MB=9000 is more than the 8192 MB of ulimit -v" in output
    assert "Traceback" not in output


class Pages:
    """Serves pages by path, and keeps when each was asked for; `held` wait until a big one is sent."""

    def __init__(self, pages: dict[str, bytes], held: str = "") -> None:
        self.times: dict[str, float] = {}
        big = Event()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.times.setdefault(self.path, time.monotonic())
                body = pages.get(self.path, b"")
                if self.path == held:
                    big.wait(30)
                self.send_response(200 if self.path in pages else 404)
                self.send_header("Content-Type", "text/html")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                with suppress(ConnectionError):  # no more is read of a page than is wanted
                    self.wfile.write(body)
                if len(body) > 1_000_000:
                    time.sleep(0.5)
                    big.set()

            def log_message(self, *arguments: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.port = self.server.server_port


@contextmanager
def serving(pages: Pages) -> Iterator[Pages]:
    thread = Thread(target=pages.server.serve_forever)
    thread.start()
    try:
        yield pages
    finally:
        pages.server.shutdown()
        thread.join()
        pages.server.server_close()


@pytest.mark.slow
def test_a_page_with_an_endless_tree_is_one_page_that_fails(crawl: Crawler) -> None:
    seed = b"<a href=/bomb></a><a href=/good></a>"
    with serving(Pages({"/": seed, "/bomb": BOMB, "/good": b'<p property="dc:title">x'})) as pages:
        origin = f"http://127.0.0.1:{pages.port}"
        found = crawl(f"{origin}/", POLITENESS_BACKOFF=0.1)
    assert found.fates[f"{origin}/bomb"] == "failed/extract-memory"
    assert found.fates[f"{origin}/good"] == "done/page"
    assert len(found.quads) == 1
    assert "1 extract-memory" in found.output


@pytest.mark.slow
def test_a_host_whose_pages_time_out_is_left_alone_longer_each_time(crawl: Crawler) -> None:
    names = ["/1", "/2", "/3"]
    with serving(Pages(dict.fromkeys(names, SLOW))) as pages:
        seeds = ",".join(f"http://127.0.0.1:{pages.port}{name}" for name in names)
        found = crawl(
            seeds,
            EXTRACT_TIMEOUT=0.5,
            EXTRACT_MAX_BYTES=16_000_000,
            POLITENESS_AT_ONCE=1,
            POLITENESS_BACKOFF=1,
        )
    assert set(found.fates.values()) == {"failed/extract-timeout"}
    first, second, third = sorted(pages.times[name] for name in names)
    assert second - first >= 1.5
    assert third - second >= 2.5


@pytest.mark.slow
@needs_proc
def test_a_large_page_that_stalls_does_not_hold_up_other_hosts(tmp_path: Path) -> None:
    chain = {f"/{n}": b"<a href=/%d>next</a>" % (n + 1) for n in range(12)}
    with serving(Pages({"/slow": SLOW, **chain}, held="/0")) as pages:
        seeds = f"http://localhost:{pages.port}/slow,http://127.0.0.1:{pages.port}/0"
        settings = {"POLITENESS_DELAY": 0, "EXTRACT_TIMEOUT": 8}
        with crawling(tmp_path, "", seeds=seeds, **settings) as crawl:
            while not (first := workers(crawl)):
                time.sleep(0.001)
            # A large page has a worker of its own.
            while not (others := set(workers(crawl)) - set(first)):
                assert crawl.poll() is None, crawl.communicate()
                time.sleep(0.001)
            stalled = others.pop()
            while (
                cpu_seconds(stalled) < 0.7
            ):  # more than it takes to start, less than the page does
                time.sleep(0.001)
            os.kill(stalled, signal.SIGSTOP)
            output = crawl.communicate(timeout=60)[1]
    assert "1 extract-timeout" in output
    assert "12 page" in output
    assert pages.times["/11"] - pages.times["/slow"] < 6


@pytest.mark.slow
@needs_proc
def test_a_time_limit_is_kept_though_pages_are_not_read(tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    log.touch()
    settings: dict[str, Any] = {"CLOSESPIDER_TIMEOUT": 6, "EXTRACT_TIMEOUT": 100}
    seen: dict[int, float] = {}
    with running(LARGER, log=log) as proxy, crawling(tmp_path, proxy, **settings) as crawl:
        wait_for_lines(log, 20)
        start = time.monotonic()
        # Also those that come instead of the others, when they have started.
        while time.monotonic() < start + 6:
            for worker in workers(crawl):
                if time.monotonic() - seen.setdefault(worker, time.monotonic()) > 1:
                    signal_all([worker], signal.SIGSTOP)
            time.sleep(0.05)
        output = crawl.communicate(timeout=90)[1]
        seconds = time.monotonic() - start
    assert crawl.returncode == 0, output
    # A worker that was stopped before it was ready has a minute to start.
    assert seconds < 90, "with EXTRACT_TIMEOUT it would be 100"
    assert "stopped by CLOSESPIDER_TIMEOUT" in output
    assert "extract-" not in output.partition("Dumping")[0]
    assert "Traceback" not in output


@pytest.mark.parametrize(
    ("strikes", "off", "seconds"),
    [(1, False, 60), (3, False, 240), (99, False, 86_400), (1, True, 0)],
)
def test_strikes_leave_the_host_alone_and_a_page_put_off_waits(
    strikes: int, off: bool, seconds: float, tmp_path: Path
) -> None:
    given = {"POLITENESS_OFF_FOR_OWN_SERVERS": off, "POLITENESS_SERVER_DELAY": 0}
    settings = Settings({"JOBDIR": str(tmp_path), **given})
    settings.setmodule("rdfaspider.settings", priority="default")
    crawler = ScrapyCrawler(RdfaSpider, settings)
    crawler.spider = RdfaSpider(seeds="http://127.0.0.1/")
    crawler.stats = MemoryStatsCollector(crawler)
    crawler.request_fingerprinter = RequestFingerprinter(crawler)
    crawler.engine = cast(
        "Any",
        SimpleNamespace(
            _slot=None, running=False, downloader=SimpleNamespace(active=set(), slots={})
        ),
    )
    scheduler = Scheduler.from_crawler(crawler)
    with scheduler.frontier as frontier:
        scheduler.spider = crawler.spider
        scheduler._own.open(crawler.spider)
        frontier.put(["http://127.0.0.1/a"])
        request = scheduler.next_request()
        assert request is not None
        page = Page(request.url, 0, request.meta["number"], "postponed", "extract-busy")
        page.strikes = strikes
        scheduler.item_scraped(page)
        assert frontier.counts().waiting == 1
        assert frontier.wait(time.time()) == pytest.approx(seconds, abs=5)
