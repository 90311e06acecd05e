"""Mining: pages that nobody links to are found by guessing, and guessing stops where it does not pay."""

from __future__ import annotations

import http.server
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from tests.conftest import Crawler


@contextmanager
def serving(pages: dict[str, str]) -> Iterator[tuple[str, Counter[str]]]:
    """Serve some pages on loopback; yield the origin and how often each path was asked for."""
    asked: Counter[str] = Counter()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked[self.path] += 1
            found = self.path in pages
            self.send_response(200 if found else 404)
            body = pages.get(self.path, "").encode()
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
    pages |= {f"/pics1/Page{number}.html": "a page" for number in range(1, 8)}
    numbers = range(1, 40)
    others = {"/": " ".join(f"<a href=/x/{number}00>x</a>" for number in numbers)}
    others |= {f"/x/{number}00": "a page" for number in numbers}
    with serving(pages) as (rich, _), serving(others) as (poor, asked):
        found = crawl(f"{rich}/,{poor}/", FRONTIER_GUESSES=12).pages
    assert found == {rich + path for path in pages} | {poor + path for path in others}
    missed = sum(
        count for path, count in asked.items() if path not in others and path != "/robots.txt"
    )
    assert 1 <= missed <= 12, "the budget of the host"
