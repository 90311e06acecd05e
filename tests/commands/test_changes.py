"""`scrapy changes` over two crawls of a generated web that has changed in between."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, parse

from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from rdfaspider.stores import open_sink
from rdfaspider.stores.changes import Change
from rdfaspider.stores.stream import Recorder
from rdfaspider.stores.stream.patch import date, patches_in
from tests.commands.conftest import AtTerminal
from tests.stores.conftest import free_port

pytestmark = pytest.mark.slow

Scrapy = Callable[..., subprocess.CompletedProcess[str]]

WEB = Parameters(levels=1, pages=3, changing=1.0, period=1000.0)
LATER = 5000.0


@dataclass
class Crawled:
    """A crawl of two runs; `between` is a time after the first and before the second."""

    url: str
    between: float
    oracle: Oracle


@pytest.fixture
def crawled(scrapy: Scrapy, tmp_path: Path) -> Crawled:
    port, between = free_port(), 0.0
    for run, start in enumerate((0.0, LATER)):
        with running(WEB, port=port, start=start) as url:
            options = {
                "STORE_CHANGES": 1,
                "ARCHIVE": 1,
                "POLITENESS_DELAY": 0,
                "FRONTIER_URL": f"crawl/frontier{run}",
                "RESOLVER_ALLOW": "127.0.0.1",
                "POLITENESS_CONTACT": "a@site.test",
            }
            settings = [word for item in options.items() for word in ("-s", "{}={}".format(*item))]
            done = scrapy("crawl", "rdfa", "-a", f"seeds={url}/", *settings)
            assert done.returncode == 0, done.stderr
        between = between or time.time()
        time.sleep(0.01)
    return Crawled(url, between, Oracle(Web(WEB)))


def test_changes_are_shown_written_queried_and_undone(crawled: Crawled, scrapy: Scrapy) -> None:
    oracle, page = crawled.oracle, f"{crawled.url}/books"
    lines = scrapy("changes").stdout.splitlines()
    assert len(lines) == 8
    assert sum(" new " in line for line in lines) == 4
    assert all(re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  \+\d+ -\d+ ", line) for line in lines)

    since = scrapy("changes", "--since", date(crawled.between), "--page", page).stdout.splitlines()
    assert since[0].endswith(page)
    was, is_ = oracle.triples(page, at=0.0), oracle.triples(page, at=LATER)
    assert sorted(line[:4] for line in since[1:]) == sorted(
        [*("  - " for _ in was - is_), *("  + " for _ in is_ - was)]
    )
    until = scrapy("changes", "--until", date(crawled.between), "--patch").stdout
    assert len([*patches_in(until.encode())]) == 4

    for at, expected in ((crawled.between, was), (time.time(), is_)):
        shown = scrapy("changes", "--page", page, "--at", date(at)).stdout
        assert set(parse(shown.encode(), RdfFormat.N_QUADS)) == expected

    graph = scrapy("changes", "--graph").stdout
    assert len({quad.graph_name for quad in parse(graph.encode(), RdfFormat.N_QUADS)}) == 1 + 4 + 8
    query = (
        "SELECT (COUNT(?c) AS ?changes) WHERE { GRAPH <urn:rdfaspider:changes>"
        f" {{ ?c <http://purl.org/dc/terms/subject> <{page}> }} }}"
    )
    assert scrapy("changes", "--sparql", query).stdout.split()[2] == "2"  # below a head


def test_the_archive_helps_where_the_changes_do_not_reach(
    crawled: Crawled, scrapy: Scrapy, tmp_path: Path
) -> None:
    page = f"{crawled.url}/books"
    for path in (tmp_path / "crawl/changes").iterdir():
        path.unlink()
    done = scrapy("changes", "--page", page, "--at", "1s")
    found = set(parse(done.stdout.encode(), RdfFormat.N_QUADS))
    assert found == crawled.oracle.triples(page, at=LATER)
    assert "This is from the archive." in done.stderr


def recorder(tmp_path: Path) -> Recorder:
    jobdir = tmp_path / "crawl"
    jobdir.mkdir(exist_ok=True)
    return Recorder(
        open_sink(str(jobdir / "store"), str(jobdir / "outbox")), jobdir / "changes", 1 << 20
    )


def change(number: int, cause: str = "") -> Change:
    graph = f"http://site.test/{number}"
    triple = f'<{graph}> <http://schema.org/name> "\\u001B]0;{"long " * 30}" .\n'.encode()
    return Change(graph, b"" if cause else triple, 0 if cause else 1, cause=cause)


def test_a_running_crawl_is_followed(tmp_path: Path) -> None:
    with recorder(tmp_path) as sink:
        sink.put([change(0)])
        command = [sys.executable, "-m", "rdfaspider", "changes", "--follow"]
        with subprocess.Popen(
            command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout and process.stderr
            for number in range(1, 5):
                assert process.stdout.readline().rstrip().endswith(f"http://site.test/{number - 1}")
                sink.put([change(number)])
            sink.put([change(2, "410")])
            assert process.stdout.readline().rstrip().endswith("http://site.test/4")
            assert "+0 -1     410 http://site.test/2" in process.stdout.readline()
            process.send_signal(signal.SIGINT)
            assert process.stderr.read() == ""
            assert process.wait(10) == 0


def test_a_terminal_is_not_steered_and_not_overrun(at_terminal: AtTerminal, tmp_path: Path) -> None:
    with recorder(tmp_path) as sink:
        sink.put([change(1)])
    shown = at_terminal("changes", "--page", "http://site.test/1", columns=80)
    assert shown.code == 0
    assert "\x1b" not in shown.text
    assert max(map(len, shown.lines)) <= 80
    assert at_terminal("changes", "-h").code == 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--since", "yesterday"), "yesterday is no date"),
        (("--at", "1h"), "needs the page"),
        (("--page", "http://site.test/9", "--at", "1h"), "has no page http://site.test/9"),
        (("--page", "http://site.test/1", "--at", "1h"), "had not visited http://site.test/1"),
        (("--page", "http://site.test/1", "--at", "999999999w"), "by 1970-01-01 00:00:00"),
        (("--sparql", "ASK {}", "--follow"), "without --follow"),
        (("--page", "nonsense"), "nonsense"),
        (("-s", "JOBDIR=elsewhere"), "There is no stream of changes in elsewhere"),
    ],
)
def test_a_mistake_is_answered_by_a_sentence(
    scrapy: Scrapy, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    with recorder(tmp_path) as sink:
        sink.put([change(1)])
    done = scrapy("changes", *arguments)
    assert done.returncode == 1
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not done.stdout
