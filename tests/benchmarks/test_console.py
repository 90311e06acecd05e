"""What the console costs a crawl of 20,000 hosts and a million URLs.

    pytest tests/benchmarks/test_console.py -s

The frontier is filled first, then a crawl resumes it. CPU time is that of the whole process, so it includes
reading the request and sending the answer. Each answer is asked for while the crawl is paused. Then the crawl
runs, in turns without anybody watching and with requests as of fifty browsers, so that what one takes is not
lost in the noise. CONSOLE_HOSTS=2000 is a short run.

`scrapy console` is measured over a crawl of 60,000 URLs that was stopped, and over one that was killed, whose
last writes are only in RocksDB's log. The first answer opens the frontier and begins to count how URLs have
ended; that is printed too.
"""

from __future__ import annotations

import os
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from itertools import count
from pathlib import Path

import pytest

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.pages.row import Row, pack
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.conftest import PROJECT
from tests.console.crawls import Console, crawling
from tests.console.test_outside import watching

pytestmark = pytest.mark.timeout(1800)

HOSTS = int(os.environ.get("CONSOLE_HOSTS", "20_000"))
WEB = Parameters(hosts=HOSTS, levels=2, pages=7, missing=0.1, triples=20)
PAGES = 1 + 7 + 49
BROWSERS = 50
ANSWER = 0.1  # seconds of CPU time
WATCHING = 0.01  # of the crawl's

_TICK = os.sysconf("SC_CLK_TCK")


def cpu(console: Console) -> float:
    """Return the CPU seconds of the crawl's process so far."""
    fields = Path(f"/proc/{console.process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICK


def fill(path: Path) -> None:
    """Take in the pages of all hosts; some have failed already."""
    web = Web(WEB)
    with LocalFrontier(str(path), now=time.time()) as frontier:
        for host in range(HOSTS):
            frontier.put([web.url(host, page) for page in range(PAGES)])
        print(f"\n{frontier.counts().seen:,} URLs of {HOSTS:,} hosts")


def test_what_the_console_costs(tmp_path: Path) -> None:
    (tmp_path / "crawl").mkdir()
    fill(tmp_path / "crawl" / "frontier")
    with (
        running(WEB) as proxy,
        crawling(
            tmp_path,
            *("-a", "scope=all"),
            proxy=proxy,
            POLITENESS_DELAY=0.5,
            POLITENESS_SERVER_DELAY=0,
            ROBOTS_OBEY=0,
            EXTRACT_PROCESSES=1,
        ) as console,
    ):
        console.until(lambda: console.counts()["failed"] > 50, 300)
        console.use("pause")
        time.sleep(10)  # what is being fetched ends; what waits for a connection stays in flight
        _measure_answers(console)
        console.use("resume")
        _measure_watching(console)


def _measure_answers(console: Console) -> None:
    fresh = count()
    ask: dict[str, Callable[[], object]] = {
        "crawl": lambda: console.get("crawl"),
        "curves": lambda: console.get("curves"),
        "log": lambda: console.get("log"),
        "hosts, kept": lambda: console.get("hosts"),
        "hosts, sorted": lambda: console.get("hosts", search=f"w{next(fresh)}"),
        "host": lambda: console.get("host", name=f"w{next(fresh)}.{WEB.domain}"),
        "tree": lambda: console.get("tree", under=f"http://w{next(fresh)}.{WEB.domain}/"),
        "urls": lambda: console.get("urls", state="failed", reason="404"),
        "metrics": lambda: console.request(
            "GET", "/metrics", authorization=f"Bearer {console.token}"
        ),
    }
    idle = _at_rest(console)
    print(f"the paused crawl alone: {idle:.1%} of a core")
    begin, then = cpu(console), time.monotonic()
    console.get("hosts", search="first")
    scanned = cpu(console) - begin - idle * (time.monotonic() - then)
    print(f"{'hosts, scanned':16} {1000 * scanned:8.2f} ms of CPU")
    for name, call in ask.items():
        call()
        times = 10 if "sorted" in name else 50
        begin, then = cpu(console), time.monotonic()
        for _ in range(times):
            call()
        spent = (cpu(console) - begin - idle * (time.monotonic() - then)) / times
        print(f"{name:16} {1000 * spent:8.2f} ms of CPU")
        assert spent < ANSWER, name
    assert scanned < ANSWER, "hosts, scanned"


def _at_rest(console: Console) -> float:
    """Wait until RocksDB has merged what the crawl wrote; return the share of a core that is used then."""
    for _ in range(30):
        begin, then = cpu(console), time.monotonic()
        time.sleep(3)
        share = (cpu(console) - begin) / (time.monotonic() - then)
        if share < 0.05:
            break
    return share


def _measure_watching(console: Console) -> None:
    """Compare what a page costs with and without browsers that watch."""
    alone: list[float] = []
    watched: list[float] = []
    for _ in range(4):
        alone.append(_cost(console, lambda second: None))
        watched.append(_cost(console, lambda second: _watch(console, second)))
    before, after = statistics.median(alone), statistics.median(watched)
    share = (after - before) / before / BROWSERS
    print(
        f"a page: {1000 * before:.2f} ms of CPU alone, {1000 * after:.2f} with {BROWSERS} browsers"
    )
    print(f"one browser: {share:.2%} of the crawl's CPU")
    assert share <= WATCHING


def _cost(console: Console, do: Callable[[int], None], seconds: int = 5) -> float:
    """Return the CPU seconds for a page, over some seconds in each of which something is done."""
    time.sleep(1.2)
    begin, pages = cpu(console), console.get("crawl")["pages"]
    for second in range(seconds):
        then = time.monotonic()
        do(second)
        time.sleep(max(0.0, 1 - (time.monotonic() - then)))
    grown: int = console.get("crawl")["pages"] - pages
    return (cpu(console) - begin) / grown


def _watch(console: Console, second: int) -> None:
    """Ask as browsers do in a second: both pages are open in each."""
    asked = [
        name
        for name, every in (("crawl", 1), ("curves", 3), ("log", 2), ("hosts", 5))
        if second % every == 0
    ]

    def look(_: int) -> None:
        connection = HTTPConnection("127.0.0.1", console.port)
        for name in asked:
            headers = {"Authorization": f"Bearer {console.token}"}
            connection.request("GET", f"/api/{name}", headers=headers)
            assert connection.getresponse().read()
        connection.close()

    with ThreadPoolExecutor(BROWSERS) as browsers:  # none waits for another
        list(browsers.map(look, range(BROWSERS)))


STORED = 60_000  # URLs
_ROW = pack(Row(200, "page", 1_700_000_000, title="A page of the web", links=20, triples=30))

# Fills a frontier, and waits to be killed if it is told so.
_FILL = """
import os, signal, sys
from tests.benchmarks.test_console import fill_stored
fill_stored(sys.argv[1], sys.argv[2] == "killed")
"""


def fill_stored(path: str, is_killed: bool) -> None:
    """Take in URLs and end most of them; then close the frontier, or die."""
    urls = [f"http://h{number % 1000}.test/folder/{number}" for number in range(STORED)]
    with LocalFrontier(path, now=0.0, politeness=Politeness(delay=0.0)) as frontier:
        frontier.put(urls)
        now = 1.0
        for number in range(STORED * 3 // 4):
            while (taken := frontier.take(now)) is None:
                now += 1.0
            links = [f"http://h{number % 900}.test/new/{number}/{each}" for each in range(3)]
            if number % 20:
                frontier.finish(taken, "done", now, links if number % 10 == 1 else (), row=_ROW)
            else:
                frontier.finish(taken, "failed", now, reason="404", status=404)
        if is_killed:
            os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("end", ["stopped", "killed"])
def test_what_a_look_at_a_crawl_costs_that_does_not_run(tmp_path: Path, end: str) -> None:
    (tmp_path / "crawl").mkdir()
    filled = [sys.executable, "-c", _FILL, str(tmp_path / "crawl" / "frontier"), end]
    subprocess.run(filled, cwd=PROJECT, check=end == "stopped")
    with watching(tmp_path, "-s", "JOBDIR=crawl") as console:
        before = cpu(console)
        shown = console.get("crawl")
        print(f"\n{end}, {shown['counts']['seen']:,} URLs")
        print(f"first answer     {1000 * (cpu(console) - before):8.2f} ms of CPU")
        console.until(lambda: console.get("crawl")["outcomes"] is not None)
        print(f"all is known     {1000 * (cpu(console) - before):8.2f} ms of CPU")
        time.sleep(1)
        for name in ("crawl", "curves", "log", "hosts"):
            console.get(name)
            begin = cpu(console)
            for _ in range(20):
                time.sleep(0.2)  # counts are kept for a second
                console.get(name)
            spent = (cpu(console) - begin) / 20
            print(f"{name:16} {1000 * spent:8.2f} ms of CPU")
            assert spent < ANSWER, name
