"""Other Scrapy projects use the add-on, and parts of it alone."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import ClassVar

import pytest

from rdfaspider.compat import STEADY
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.stores import open_store
from rdfaspider.urls import normalise

PROJECT = Path(__file__).parents[2]
EXAMPLE = PROJECT / "examples" / "books"
PLAIN = """
from scrapy import Spider

class Plain(Spider):
    name = "plain"

    def __init__(self, urls, **kwargs):
        super().__init__(**kwargs)
        self.start_urls = urls.split()

    def parse(self, response):
        page = response.meta.get("rdfaspider")
        print("GOT", response.url, None if page is None else page.quad_count, flush=True)
"""
WEB = Parameters(seed=3, levels=2, pages=4, links_inside=6)


@pytest.fixture(scope="module")
def web() -> Iterator[str]:
    with running(WEB) as url:
        yield url


def scrapy(directory: Path, *arguments: str, project: Path = EXAMPLE) -> str:
    """Run Scrapy in a directory with a project; return what it logged."""
    environment = {name: value for name, value in os.environ.items() if "SCRAPY" not in name}
    (directory / "scrapy.cfg").write_text((project / "scrapy.cfg").read_text())
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", *arguments],
        cwd=directory,
        env={**environment, "PYTHONPATH": f"{project}{os.pathsep}{PROJECT}"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stderr


Plain = Callable[..., tuple[list[list[str]], str]]

QUICK = ("-s", "POLITENESS_DELAY=0", "-s", "POLITENESS_AT_ONCE=8")


def test_the_example_has_items_and_triples(web: str, tmp_path: Path) -> None:
    log = scrapy(tmp_path, "crawl", "books", "-a", f"start={web}", "-O", "books.csv", *QUICK)
    with (tmp_path / "books.csv").open() as file:
        items = list(csv.DictReader(file))
    assert len(items) > 10, log
    with open_store(str(tmp_path / "store"), read_only=True) as store:
        found = {
            row["page"].value: int(row["triples"].value)
            for row in store.query(
                "SELECT ?page (COUNT(*) AS ?triples) { GRAPH ?page { ?s ?p ?o } } GROUP BY ?page"
            )
        }
    for item in items:
        assert found.get(normalise(item["url"]), 0) == int(item["triples"])
    assert sum(found.values()) > 30
    pages = (
        f"{len(items)} pages were read; {sum(found.values())} triples of them are new, in ./store"
    )
    assert pages in log
    assert "ERROR" not in log


def test_a_second_crawl_of_a_project_gets_a_sentence(web: str, tmp_path: Path) -> None:
    with open_store(str(tmp_path / "store")):
        log = scrapy(tmp_path, "crawl", "books", "-a", f"start={web}")
    sentence = (
        "The store ./store is in use by another crawl of this project: wait until that one ends"
    )
    assert log.count(sentence) == 1
    assert not any(word in log for word in ("Traceback", "never retrieved", "JOBDIR"))


CHECKED = """
from scrapy import Spider

class Checked(Spider):
    name = "checked"

    def parse(self, response):
        \"\"\"
        @url {url}/
        @returns items 1
        \"\"\"
        yield {{"triples": response.meta["rdfaspider"].quad_count}}
"""


TRIALS = {
    "shell": ("{url}/", "-c", "response.meta['rdfaspider'].quad_count"),
    "parse": ("{url}/", "--spider=checked", "-s", "ADDON_PARTS=triples,frontier"),
    "fetch": ("{url}/",),
    "check": (),
}


def tried(directory: Path, web: str, command: str) -> bool:
    """Try a page by a command of Scrapy; tell whether that went well."""
    (directory / "checked.py").write_text(CHECKED.format(url=web))
    words = [word.format(url=web) for word in TRIALS[command]]
    log = scrapy(directory, command, *words, "-s", "SPIDER_MODULES=checked")
    return "ERROR" not in log and (f"Crawled (200) <GET {web}/>" in log or "Ran 1 contract" in log)


@pytest.mark.parametrize(
    "command", ["shell", *(pytest.param(each, marks=pytest.mark.slow) for each in [*TRIALS][1:])]
)
def test_while_a_crawl_writes_a_page_can_be_tried(web: str, tmp_path: Path, command: str) -> None:
    with open_store(str(tmp_path / "store")) as store:
        assert tried(tmp_path, web, command)
        assert store.count() == 0


@pytest.mark.parametrize(
    "command",
    [
        "parse",
        *(pytest.param(each, marks=pytest.mark.slow) for each in ("shell", "fetch", "check")),
    ],
)
def test_what_tries_a_page_stores_nothing(web: str, tmp_path: Path, command: str) -> None:
    assert tried(tmp_path, web, command)
    assert {path.name for path in tmp_path.iterdir()} <= {"checked.py", "scrapy.cfg", "__pycache__"}


@pytest.fixture
def plain(tmp_path: Path) -> Plain:
    """Run a spider outside of any project; return the pages that it got, and the log."""
    (tmp_path / "plain.py").write_text(PLAIN)

    def run(*urls: str, **settings: object) -> tuple[list[list[str]], str]:
        options = [
            word
            for name, value in settings.items()
            for word in ("-s", f"{name}={value if isinstance(value, str) else json.dumps(value)}")
        ]
        environment = {name: value for name, value in os.environ.items() if "SCRAPY" not in name}
        command = [sys.executable, "-m", "scrapy", "runspider", "plain.py"]
        done = subprocess.run(
            [*command, "-a", f"urls={' '.join(urls)}", *options],
            cwd=tmp_path,
            env={**environment, "PYTHONPATH": str(PROJECT)},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        got = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("GOT")]
        return got, done.stderr

    return run


AWKWARD = """
from scrapy import Request, Spider

class Awkward(Spider):
    name = "awkward"
    custom_settings = {{"STORE_URI": "this project's own", **{settings!r}}}

    async def start(self):
        yield Request("{url}/a")

    def parse(self, response):
        print("GOT", response.url, "rdfaspider" in response.meta, flush=True)
        if response.url.endswith("/a") and response.request.method == "GET":
            again = {{"callback": self.parse, "meta": response.meta, "dont_filter": True}}
            yield Request("{url}/a", method="HEAD", **again)
            yield Request("{url}/x.pdf", **again)
            yield Request("{url}/private", meta={{"rdfaspider": False}}, callback=self.parse)
"""


def awkward(directory: Path, url: str, **settings: object) -> tuple[set[tuple[str, ...]], str]:
    """Run a spider that uses the meta of one response for the next requests."""
    all_settings = {"ADDONS": ADDON, "POLITENESS_DELAY": 0, **settings}
    (directory / "awkward.py").write_text(AWKWARD.format(url=url, settings=all_settings))
    environment = {name: value for name, value in os.environ.items() if "SCRAPY" not in name}
    done = subprocess.run(
        [sys.executable, "-m", "scrapy", "runspider", "awkward.py"],
        cwd=directory,
        env={**environment, "PYTHONPATH": f"{directory}{os.pathsep}{PROJECT}"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    lines = [line.split()[1:] for line in done.stdout.splitlines() if line.startswith("GOT")]
    return {(got.removeprefix(url), has) for got, has in lines}, done.stderr


TRIPLES = "rdfaspider.parts.triples.TriplesMiddleware"
ADDON = {"rdfaspider.Addon": 300}


def test_triples_alone(web: str, plain: Plain, tmp_path: Path) -> None:
    got, log = plain(f"{web}/", f"{web}/places", DOWNLOADER_MIDDLEWARES={TRIPLES: 10})
    assert [count for *_, count in got] == ["3", "3"], log
    with open_store(str(tmp_path / "store"), read_only=True) as store:
        assert store.count() >= 6


def test_parts_that_were_not_asked_for(web: str, plain: Plain, tmp_path: Path) -> None:
    got, log = plain(f"{web}/", ADDONS=ADDON, ADDON_PARTS="robots")
    assert got[0][-1] == "None"
    assert not (tmp_path / "store").exists()
    assert "robotstxt/response_count" in log


def test_a_store_that_cannot_be_opened_says_so(web: str, plain: Plain, tmp_path: Path) -> None:
    (tmp_path / "store").write_text("no directory")
    got, log = plain(f"{web}/", ADDONS=ADDON)
    assert got == []
    assert "store is wrong: it is not a directory." in log


@pytest.mark.parametrize("part", ["robots.RobotsMiddleware", "politeness.PolitenessMiddleware"])
def test_a_part_without_the_frontier_that_it_needs_says_so(
    web: str, plain: Plain, part: str
) -> None:
    got, log = plain(f"{web}/", DOWNLOADER_MIDDLEWARES={f"rdfaspider.middlewares.{part}": 100})
    assert got == []
    assert "needs a frontier" in log
    assert "rdfaspider.Addon" in log


def test_a_scheduler_without_its_settings_says_so(web: str, plain: Plain) -> None:
    got, log = plain(f"{web}/", SCHEDULER="rdfaspider.scheduler.Scheduler", JOBDIR="crawl")
    assert got == []
    assert "Scheduler needs the settings of rdfaspider" in log


def test_what_the_project_has_set_stays(web: str, plain: Plain) -> None:
    _, log = plain(f"{web}/", ADDONS=ADDON, DOWNLOAD_DELAY="0.125", ROBOTSTXT_OBEY="0")
    assert "'robotstxt/" not in log
    assert "'DOWNLOAD_DELAY': 0.125" in log


class Busy(BaseHTTPRequestHandler):
    """A server with a Crawl-delay and forbidden pages, that has too much to do at first."""

    asked: ClassVar[list[tuple[str, float]]] = []

    def do_GET(self) -> None:
        is_first = not any(path == self.path for path, _ in self.asked)
        self.asked.append((self.path, time.monotonic()))
        if self.path == "/robots.txt":
            self.answer(200, b"User-agent: *\nCrawl-delay: 0.5\nDisallow: /secret*.html$\n")
        elif self.path == "/busy" and is_first:
            self.answer(503, b"", {"Retry-After": "2"})
        elif self.path == "/x.pdf":
            self.answer(200, b"%PDF", {"Content-Type": "application/pdf"})
        else:
            self.answer(200, b"<p vocab='http://schema.org/' property='name'>a</p>")

    def do_HEAD(self) -> None:
        self.answer(200, b"")

    def answer(
        self, status: int, body: bytes, headers: Mapping[str, str] = MappingProxyType({})
    ) -> None:
        self.send_response(status)
        for name, value in {"Content-Type": "text/html", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def busy() -> Iterator[str]:
    Busy.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Busy) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def test_robots_and_delays_are_kept(busy: str, plain: Plain) -> None:
    urls = [f"{busy}/{name}" for name in ("a", "secret1.html", "b", "secret.html?x", "c")]
    got, log = plain(*urls, ADDONS=ADDON, POLITENESS_DELAY="0")
    # Scrapy asks first for what came last, so the order tells how busy the machine is.
    assert sorted(url for url, *_ in got) == sorted({*urls} - {urls[1]}), log
    times = [when for path, when in Busy.asked if path != "/robots.txt"]
    assert all(later - earlier > 0.3 for earlier, later in pairwise(times)), log


def test_a_server_with_too_much_to_do_is_left_alone(busy: str, plain: Plain) -> None:
    got, log = plain(f"{busy}/busy", ADDONS=ADDON, POLITENESS_DELAY="0")
    assert len(got) == 1, log
    assert "'politeness/refused/503': 1" in log
    # Scrapy asks again, but not before it may.
    first, second = (when for path, when in Busy.asked if path == "/busy")
    assert second - first > 1.9


def test_a_page_belongs_to_its_response_alone(busy: str, tmp_path: Path) -> None:
    got, log = awkward(tmp_path, busy, JOBDIR="job")
    assert got == {("/a", "True"), ("/a", "False"), ("/x.pdf", "False"), ("/private", "True")}, log
    with open_store(str(tmp_path / "job" / "store"), read_only=True) as store:
        pages = {
            row["g"].value for row in store.query("SELECT DISTINCT ?g { GRAPH ?g { ?s ?p ?o } }")
        }
    # HEAD has no body, which would have cleared the page.
    assert {page for page in pages if page.startswith("http")} == {f"{busy}/a"}


def test_a_store_that_fails_stops_the_crawl(busy: str, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "from rdfaspider.parts.triples import TriplesMiddleware\n"
        "class Broken(TriplesMiddleware):\n"
        "    @classmethod\n"
        "    def from_crawler(cls, crawler):\n"
        "        middleware = super().from_crawler(crawler)\n"
        "        async def fail(page):\n"
        "            raise OSError(28, 'No space left on device')\n"
        "        middleware.pipelines[-1].process_item = fail\n"
        "        return middleware\n"
    )
    middlewares = {"broken.Broken": 10}
    _, log = awkward(tmp_path, busy, ADDONS={}, DOWNLOADER_MIDDLEWARES=middlewares)
    assert "The crawl stops, because triples cannot be stored: [Errno 28]" in log
    assert "Spider closed (store)" in log
    assert "'triples/lost'" in log
    assert "'triples/pages/done'" not in log


def test_delays_of_the_project_are_not_shortened(busy: str, plain: Plain) -> None:
    urls = [f"{busy}/{name}" for name in "abc"]
    slots = {"127.0.0.1": {"delay": 1.5, **STEADY}}
    got, log = plain(*urls, ADDONS=ADDON, POLITENESS_DELAY="0", DOWNLOAD_SLOTS=slots)
    assert len(got) == 3, log
    times = [when for path, when in Busy.asked if path != "/robots.txt"]
    # A busy server notices a request late.
    assert all(later - earlier > 1.0 for earlier, later in pairwise(times)), times
