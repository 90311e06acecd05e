"""Mining: pages that nobody links to are found by guessing, and guessing stops where it does not pay."""

from __future__ import annotations

import http.server
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.conftest import Crawler


@contextmanager
def serving(pages: dict[str, str], apology: str = "") -> Iterator[tuple[str, Counter[str]]]:
    """Serve some pages on loopback; yield the origin and how often each path was asked for.

    With an apology, in which {0} is a path, missing pages are answered by 200.
    """
    asked: Counter[str] = Counter()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked[self.path] += 1
            found = self.path in pages
            self.send_response(200 if found or apology else 404)
            body = pages.get(self.path, apology.format(self.path)).encode()
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", asked
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_guesses_find_neighbours_and_folders_and_stop_where_they_do_not_pay(crawl: Crawler) -> None:
    pages = {"/": "<a href=/pics1/Page1.html>one</a>", "/pics1/": "a folder"}
    pages |= {f"/pics1/Page{number}.html": f"page {number}" for number in range(1, 8)}
    numbers = range(1, 40)
    others = {"/": " ".join(f"<a href=/x/{number}00>x</a>" for number in numbers)}
    others |= {f"/x/{number}00": f"page {number}" for number in numbers}
    with serving(pages) as (rich, _), serving(others) as (poor, asked):
        found = crawl(f"{rich}/,{poor}/", FRONTIER_GUESSES=12).pages
    assert found == {rich + path for path in pages} | {poor + path for path in others}
    missed = sum(
        count for path, count in asked.items() if path not in others and path != "/robots.txt"
    )
    assert 1 <= missed <= 12, "the budget of the host"


@pytest.mark.parametrize("apology", ["No such page.", "<title>{0}</title>There is no {0}."])
def test_a_missing_page_is_no_hit_even_if_the_server_says_200(crawl: Crawler, apology: str) -> None:
    pages = {"/": "<a href=/pics1/Page5.html>five</a>", "/pics1/Page5.html": "a page"}
    with serving(pages, apology) as (origin, asked):
        crawl(origin + "/", FRONTIER_GUESSES=20, CLOSESPIDER_PAGECOUNT=200, POLITENESS_AT_ONCE=1)
    assert asked.total() - asked["/robots.txt"] <= 9, "two pages, a wrong name, and six guesses"
