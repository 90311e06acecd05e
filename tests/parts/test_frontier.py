"""The frontier as the scheduler of spiders that know nothing of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from pathlib import Path
from typing import ClassVar

import pytest
from scrapy import FormRequest, Request, Spider

from rdfaspider.parts.requests import Requests, again, first, written
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.stores import open_store
from rdfaspider.stores.selection import Selection
from rdfaspider.urls import normalise

PROJECT = Path(__file__).parents[2]
EXAMPLE = PROJECT / "examples" / "books"
SPIDER = """
from scrapy import FormRequest, Request, Spider

class Shop(Spider):
    name = "shop"
    custom_settings = {{
        "ADDONS": {{"rdfaspider.Addon": 300}},
        "ADDON_PARTS": ["robots", "frontier"],
        "POLITENESS_DELAY": 0.2,
        "POLITENESS_BACKOFF": 0.1,
        "RETRY_PRIORITY_ADJUST": 0,
    }}

    async def start(self):
        yield Request("{url}/start", cb_kwargs={{"step": (1, b"x")}}, meta={{"mine": {{2: "two"}}}},
                      callback=self.first, dont_filter=True)

    def first(self, response, step):
        print("GOT", "first", step, response.meta["mine"], flush=True)
        for number in range(2):
            yield FormRequest("{url}/form", formdata={{"n": str(number)}}, callback=self.form,
                              meta=response.meta)
        yield Request("{url}/form", callback=self.plain)
        yield Request("{url}/form", callback=self.plain)  # known
        yield Request("{url}/form", callback=self.plain, dont_filter=True)
        yield Request("{url}/busy", callback=self.plain)
        yield Request("{url}/moved", callback=self.plain)
        yield Request("{url}/gone", callback=self.plain, errback=self.failed)
        yield Request("{url}/lambda", callback=lambda response: self.plain(response))
        yield {{"an": "item"}}

    def form(self, response):
        print("GOT", "form", response.request.method, response.text, response.meta["mine"], flush=True)

    def plain(self, response):
        print("GOT", "plain", response.url.rpartition("/")[2], flush=True)

    def failed(self, failure):
        print("GOT", "failed", failure.value.response.status, flush=True)
"""


class Shop(BaseHTTPRequestHandler):
    """Answers forms with what was sent, is busy once, and moves a page."""

    asked: ClassVar[list[tuple[str, float]]] = []

    def do_GET(self) -> None:
        is_first = not any(path == self.path for path, _ in self.asked)
        self.asked.append((self.path, time.monotonic()))
        size = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(size) or b"nothing"
        status = {"/gone": 404, "/robots.txt": 404, "/moved": 302}.get(self.path, 200)
        self.send_response(503 if self.path == "/busy" and is_first else status)
        if status == 302:
            self.send_header("Location", "/there")
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def shop() -> Iterator[str]:
    Shop.asked.clear()
    with ThreadingHTTPServer(("127.0.0.1", 0), Shop) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def environment(*path: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if "SCRAPY" not in name}
    return {**kept, "PYTHONPATH": os.pathsep.join(map(str, (*path, PROJECT)))}


@pytest.mark.slow
def test_requests_keep_all_that_they_have(shop: str, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text(SPIDER.format(url=shop))
    command = [sys.executable, "-m", "scrapy", "runspider", "shop.py", "-s", "JOBDIR=job"]

    def run() -> tuple[Counter[str], str]:
        done = subprocess.run(
            command, cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=120
        )
        lines = [line[4:] for line in done.stdout.splitlines() if line.startswith("GOT ")]
        return Counter(lines), done.stderr

    got, log = run()
    assert got == {
        "first (1, b'x') {2: 'two'}": 1,
        "form POST n=0 {2: 'two'}": 1,
        "form POST n=1 {2: 'two'}": 1,
        "plain form": 2,
        "plain busy": 1,
        "plain there": 1,
        "failed 404": 1,
        "plain lambda": 1,
    }, log
    assert "Traceback" not in log
    assert "'scheduler/frontier/filtered': 1" in log
    assert "'scheduler/frontier/memory': 1" in log
    assert "'finish_reason': 'finished'" in log
    # Polite: also for forms and retries, which are the frontier's.
    times = [when for path, when in Shop.asked if path not in ("/robots.txt", "/lambda")]
    assert len(times) == 10
    assert all(later - earlier > 0.19 for earlier, later in pairwise(times))
    # Nothing is left, and the next start makes nothing again.
    again_, log = run()
    assert not again_, log


KEPT = """
class Kept:
    def process_item(self, item):
        with open("items", "a") as file:
            file.write(item["url"] + "\\n")
        return item
"""


def books(directory: Path, url: str, parts: str, delay: float = 0.05) -> subprocess.Popen[bytes]:
    """Start the example, with a pipeline that writes each item at once."""
    directory.mkdir(exist_ok=True)
    (directory / "scrapy.cfg").write_text((EXAMPLE / "scrapy.cfg").read_text())
    (directory / "kept.py").write_text(KEPT)
    settings = (
        *("JOBDIR=job", f"ADDON_PARTS={parts}", f"POLITENESS_DELAY={delay}"),
        'ITEM_PIPELINES={"kept.Kept": 1}',
    )
    options = [word for setting in settings for word in ("-s", setting)]
    with (directory / "log").open("ab") as log:
        return subprocess.Popen(
            [
                *(sys.executable, "-m", "scrapy", "crawl", "books"),
                *("-a", f"start={url}", "-a", "most=1000", *options),
            ],
            cwd=directory,
            env=environment(EXAMPLE, directory),
            stderr=log,
        )


@pytest.mark.slow
def test_a_killed_crawl_goes_on_with_its_callbacks(tmp_path: Path) -> None:
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    with running(Parameters(seed=3, levels=2, pages=5, links_inside=6)) as url:
        assert books(whole, url, "triples").wait(120) == 0
        for most in (4, 12):
            crawl = books(
                killed, url, "triples,frontier", delay=0.5
            )  # so that it is killed in time
            wait_for_items(killed, most)
            crawl.send_signal(signal.SIGKILL)
            assert crawl.wait(30) == -signal.SIGKILL
        assert books(killed, url, "triples,frontier").wait(120) == 0
    log = (killed / "log").read_text()
    assert log.count("Resuming: ") == 2, log
    expected, found = items(whole), items(killed)
    assert len(expected) > 25
    assert set(found) == set(expected)
    # Only what was under way when the crawl was killed was made again.
    assert len(found) <= len(expected) + 2 * 8
    assert pages(killed) == pages(whole)


def items(directory: Path) -> list[str]:
    path = directory / "items"
    return [normalise(line) for line in path.read_text().split()] if path.exists() else []


def pages(directory: Path) -> dict[str, int]:
    with open_store(str(directory / "job" / "store"), read_only=True) as store:
        return dict(store.sizes(Selection()))


def wait_for_items(directory: Path, most: int) -> None:
    end = time.monotonic() + 60
    while len(items(directory)) <= most:
        assert time.monotonic() < end, (directory / "log").read_text()
        time.sleep(0.02)


class Known(Spider):
    name = "known"

    def parse(self, response):  # type: ignore[no-untyped-def]
        pass


def test_a_table_of_requests_gives_back_what_it_was_given(tmp_path: Path) -> None:
    spider = Known()
    request = FormRequest(
        "http://a.test/ü?b=%20#c",
        formdata={"x": "ä"},
        callback=spider.parse,
        headers={"X-A": ["1", "2"]},
        cookies={"a": "b"},
        meta={"tuple": (1, (2,)), "bytes": b"\xff", "none": None},
        cb_kwargs={"a": {1: {2}}},
        priority=3,
    )
    table = Requests(tmp_path / "requests")
    table.add("key", written(request, spider))
    table.close()
    table = Requests(tmp_path / "requests")
    found = table.find("key", spider)
    assert found is not None
    assert found.to_dict(spider=spider) == request.to_dict(spider=spider)
    assert type(found) is FormRequest
    table.remove("key")
    assert "key" not in table and not list(table.keys())
    table.close()


@pytest.mark.parametrize(
    "request_",
    [
        Request("http://a.test/", meta={"object": object()}),
        Request("http://a.test/", callback=print),
        Request("http://a.test/", cb_kwargs={"nan": float("nan")}),
    ],
)
def test_what_cannot_be_kept_says_so(request_: Request) -> None:
    with pytest.raises(ValueError):
        written(request_, Known())


def test_what_is_made_again_has_another_key() -> None:
    for key in ("http://a.test/x!3", "http://a.test/#abcd"):
        assert first(key) == key
        assert again(key, 7) != key
        assert first(again(key, 7)) == key
