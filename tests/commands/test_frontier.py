from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.shared import SharedFrontier
from tests.frontier import redis_servers

if TYPE_CHECKING:
    from tests.conftest import Scrapy


@pytest.fixture
def crawl_directory(tmp_path: Path) -> Path:
    """Leave a frontier with a URL in each state."""
    path = tmp_path / "crawl" / "frontier"
    with LocalFrontier(str(path), politeness=Politeness(delay=0.0)) as frontier:
        frontier.put([f"http://a.test/{n}" for n in range(5)] + ["http://b.test/"])
        for state in ("done", "failed", "failed", "denied"):
            taken = frontier.take(0.0)
            assert taken
            frontier.finish(taken, state, 0.0)
    return path


def test_states_add_up_and_hosts_are_listed(scrapy: Scrapy, crawl_directory: Path) -> None:
    result = scrapy("frontier")
    assert result.returncode == 0, result.stderr
    assert "6 URLs = 1 done + 2 failed + 1 denied + 2 waiting" in result.stdout
    assert "a.test: " in result.stdout
    assert "is ready" in result.stdout


def test_a_running_crawl_can_be_looked_at(scrapy: Scrapy, crawl_directory: Path) -> None:
    with LocalFrontier(str(crawl_directory)):
        result = scrapy("frontier")
    assert result.returncode == 0, result.stderr
    assert "6 URLs" in result.stdout


def test_one_url(scrapy: Scrapy, crawl_directory: Path) -> None:
    shown = scrapy("frontier", "--url", "HTTP://b.test")
    assert shown.stdout.startswith("http://b.test/\n  state     ")
    assert "not known" in scrapy("frontier", "--url", "http://c.test/").stdout


def test_failed_urls_can_be_tried_again(scrapy: Scrapy, crawl_directory: Path) -> None:
    failed = scrapy("frontier", "--failed", "").stdout.split()
    assert len(failed) == 2
    result = scrapy("frontier", "--requeue", "^" + failed[0] + "$")
    assert result.stdout.startswith("1 failed URLs wait again")
    assert "1 failed + 1 denied + 3 waiting" in scrapy("frontier").stdout
    with LocalFrontier(str(crawl_directory), politeness=Politeness(delay=0.0)) as frontier:
        taken = set()
        while (url := frontier.take(0.0)) is not None:
            taken.add(url.url)
            frontier.finish(url, "done", 0.0)
        assert failed[0] in taken
        assert failed[1] not in taken


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-s", "JOBDIR=nowhere"], "There is no frontier in nowhere/frontier"),
        (["--failed", "("], "not a regular expression"),
        (["--url", "nonsense"], "Not a URL"),
    ],
)
def test_a_mistake_is_answered_by_a_sentence(
    scrapy: Scrapy, crawl_directory: Path, arguments: list[str], sentence: str
) -> None:
    result = scrapy("frontier", *arguments)
    assert result.returncode == 1
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_a_running_crawl_is_not_requeued(scrapy: Scrapy, crawl_directory: Path) -> None:
    with LocalFrontier(str(crawl_directory)):
        result = scrapy("frontier", "--requeue", ".")
    assert result.returncode == 1
    assert "in use by another crawl" in result.stderr


def test_failed_urls_of_a_shared_crawl_can_be_tried_again(scrapy: Scrapy, tmp_path: Path) -> None:
    with redis_servers.server(tmp_path / "redis") as server:
        with SharedFrontier(server.url, read_ahead=0, politeness=Politeness(delay=0.0)) as frontier:
            frontier.put(["http://a.test/1", "http://b.test/2"])
            for _ in range(2):
                taken = frontier.take(0.0)
                assert taken
                frontier.finish(taken, "failed", 0.0)
        options = {"FRONTIER_URL": server.url}
        listed = scrapy("frontier", "--failed", "b.test", **options)
        assert listed.stdout == "http://b.test/2\n", listed.stderr
        result = scrapy("frontier", "--requeue", "b.test", **options)
        assert result.stdout.startswith("1 failed URLs wait again"), result.stderr
        assert "1 failed + 0 denied + 1 waiting" in scrapy("frontier", **options).stdout
        shown = scrapy("frontier", "--url", "http://b.test/2", **options)
        assert shown.stdout == "http://b.test/2\n  state     waiting\n  depth     0\n"
        assert "not known" in scrapy("frontier", "--url", "http://c.test/", **options).stdout


class Branching(BaseHTTPRequestHandler):
    """A root with 40 links, whose pages have ten links each that nobody else has."""

    def do_GET(self) -> None:
        depth = 0 if self.path == "/" else self.path.count("/")
        children = {0: 40, 1: 10}.get(depth, 0)
        path = self.path.rstrip("/")
        links = "".join(f'<a href="{path}/{number}">link</a>' for number in range(children))
        body = b"" if self.path == "/robots.txt" else f"<html><body>{links}".encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def branching_site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Branching) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()


SUM = r"(\d+) URLs = (\d+) done \+ 0 failed \+ 0 denied \+ (\d+) waiting"


def check_sum(output: str) -> None:
    """Check that all links of the pages that are done are counted."""
    found = re.search(SUM, output)
    assert found, output
    seen, done, waiting = map(int, found.groups())
    assert done > 3
    assert seen == 1 + 40 + 10 * (done - 1) == done + waiting


@pytest.mark.parametrize("kind", ["local", "shared"])
def test_a_crawl_that_was_stopped_says_how_much_is_left(
    scrapy: Scrapy, branching_site: str, tmp_path: Path, kind: str
) -> None:
    """Stop in the midst of a queue page, when new links are not looked up yet."""
    options: dict[str, object] = {"POLITENESS_DELAY": 0, "CLOSESPIDER_PAGECOUNT": 12}
    with contextlib.ExitStack() as stack:
        if kind == "shared":
            server = stack.enter_context(redis_servers.server(tmp_path / "redis"))
            options["FRONTIER_URL"] = server.url
        crawled = scrapy("crawl", "rdfa", "-a", f"seeds={branching_site}", **options)
        assert "closespider_pagecount" in crawled.stderr, crawled.stderr
        check_sum(crawled.stderr)
        check_sum(scrapy("frontier", **options).stdout)


def test_pages_in_flight_of_a_shared_crawl_are_in_the_sum(scrapy: Scrapy, tmp_path: Path) -> None:
    with (
        redis_servers.server(tmp_path / "redis") as server,
        SharedFrontier(server.url, read_ahead=0, worker="one", now=time.time()) as frontier,
    ):
        frontier.put(["http://a.test/1", "http://a.test/2", "http://b.test/"])
        assert frontier.take(time.time())
        shown = scrapy("frontier", FRONTIER_URL=server.url)
        assert "3 URLs = 0 done + 0 failed + 0 denied + 3 waiting" in shown.stdout, shown.stderr


def test_links_beyond_a_limit_name_it(scrapy: Scrapy, tmp_path: Path) -> None:
    path = tmp_path / "crawl" / "frontier"
    with LocalFrontier(str(path), limits=FrontierLimits(host_urls=3)) as frontier:
        frontier.put([f"http://a.test/{n}" for n in range(5)], depth=1)
    shown = scrapy("frontier", FRONTIER_HOST_URLS=9)
    assert "2 links beyond FRONTIER_HOST_URLS=3, not taken in\n" in shown.stdout, shown.stderr


def test_requeueing_keeps_links_that_were_not_looked_up(scrapy: Scrapy, tmp_path: Path) -> None:
    path = tmp_path / "crawl" / "frontier"
    frontier = LocalFrontier(str(path), order="roundrobin", limits=FrontierLimits(depth=2))
    frontier.put(["http://a.test/", "http://b.test/"])
    for state in ("failed", "done"):
        taken = frontier.take(0.0)
        assert taken
        frontier.finish(taken, state, 0.0, ["http://c.test/1", "http://c.test/2"])
    frontier._database.close()  # as after a kill
    assert scrapy("frontier", "--requeue", ".").stdout.startswith("1 failed URLs wait again")
    shown = scrapy("frontier").stdout
    assert "4 URLs = 1 done + 0 failed + 0 denied + 3 waiting" in shown
    assert "beyond" not in shown
