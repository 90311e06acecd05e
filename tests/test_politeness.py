"""Politeness of whole crawls, read off the log of a server that behaves badly."""

from __future__ import annotations

import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Crawler

Answer = tuple[int, dict[str, str], bytes]
Rules = dict[str, Callable[[int], Answer]]


def missing(count: int) -> Answer:
    return 404, {}, b""


class Server:
    """Answers each path by a function of how often it was asked for; keeps the times."""

    def __init__(self, rules: Rules) -> None:
        self.times: dict[str, list[float]] = defaultdict(list)
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                outer.times[self.path].append(time.monotonic())
                rule = rules.get(self.path, missing)
                status, headers, body = rule(len(outer.times[self.path]))
                self.send_response(status)
                for name, value in {"Content-Type": "text/html", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.origin = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


@pytest.fixture
def serve() -> Iterator[Callable[[Rules], Server]]:
    servers: list[Server] = []

    def start(rules: Rules) -> Server:
        servers.append(Server(rules))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


def page(*links: str) -> Callable[[int], Answer]:
    body = "".join(f"<a href='{link}'>x</a>" for link in links).encode()
    return lambda count: (200, {}, b"<!DOCTYPE html>" + body)


def robots(text: str, status: int = 200) -> Callable[[int], Answer]:
    return lambda count: (status, {"Content-Type": "text/plain"}, text.encode())


def redirect(target: str) -> Callable[[int], Answer]:
    return lambda count: (301, {"Location": target}, b"")


Serve = Callable[[Rules], Server]


def test_robots_is_asked_for_once_and_obeyed(crawl: Crawler, serve: Serve) -> None:
    server = serve(
        {
            "/robots.txt": robots("User-agent: *\nDisallow: /private\nAllow: /private/open"),
            "/": page("/private/a", "/private/open", "/b"),
            "/b": page(),
            "/private/open": page(),
        }
    )
    found = crawl(f"{server.origin}/")
    assert found.fates == {
        f"{server.origin}/": "done/page",
        f"{server.origin}/b": "done/page",
        f"{server.origin}/private/open": "done/page",
        f"{server.origin}/private/a": "denied/robots",
    }
    assert len(server.times["/robots.txt"]) == 1
    assert "/private/a" not in server.times


def test_robots_is_not_asked_for_again_after_a_restart(crawl: Crawler, serve: Serve) -> None:
    server = serve({"/robots.txt": robots(""), "/": page("/b"), "/b": page()})
    crawl(f"{server.origin}/", CLOSESPIDER_ITEMCOUNT=2)
    crawl(f"{server.origin}/")
    assert len(server.times["/robots.txt"]) == 1
    assert len(server.times["/b"]) == 1


def test_a_404_whose_body_forbids_all_forbids_nothing(crawl: Crawler, serve: Serve) -> None:
    server = serve({"/robots.txt": robots("User-agent: *\nDisallow: /", 404), "/": page()})
    assert crawl(f"{server.origin}/").pages == {f"{server.origin}/"}


def test_redirects_of_robots_are_followed_to_another_host(crawl: Crawler, serve: Serve) -> None:
    elsewhere = serve({"/rules": robots("User-agent: *\nDisallow: /a")})
    hops: Rules = {f"/hop{n}": redirect(f"/hop{n + 1}") for n in range(4)}
    server = serve(
        {
            **hops,
            "/robots.txt": redirect("/hop1"),
            "/hop4": redirect(f"{elsewhere.origin}/rules"),
            "/": page("/a"),
        }
    )
    found = crawl(f"{server.origin}/", RESOLVER_ALLOW="127.0.0.1")
    assert found.fates[f"{server.origin}/a"] == "denied/robots"


def test_a_server_without_robots_for_errors_is_left_alone(crawl: Crawler, serve: Serve) -> None:
    server = serve({"/robots.txt": robots("", 503), "/": page()})
    found = crawl(f"{server.origin}/", FRONTIER_PATIENCE=1)
    assert "/" not in server.times
    assert "1 waiting" in found.output, "it will be tried when the crawl is resumed"
    denied = crawl(f"{server.origin}/", ROBOTS_RETRIES=0, JOBDIR="other")
    assert denied.fates == {f"{server.origin}/": "denied/unreachable"}


def test_crawl_delay_is_kept_by_pages_and_robots_alike(crawl: Crawler, serve: Serve) -> None:
    server = serve(
        {
            "/robots.txt": robots("User-agent: *\nCrawl-delay: 0.5"),
            "/": page("/b", "/c"),
            "/b": page(),
            "/c": page(),
        }
    )
    crawl(f"{server.origin}/", POLITENESS_DELAY=0.3, POLITENESS_AT_ONCE=1)
    times = sorted(moment for moments in server.times.values() for moment in moments)
    gaps = [b - a for a, b in itertools.pairwise(times)]
    assert len(gaps) == 3
    assert min(gaps) >= 0.5
    assert max(gaps) < 2.0, "the engine is woken when the host is ready, not at its heartbeat"


def test_retry_after_is_waited_for(crawl: Crawler, serve: Serve) -> None:
    def busy(count: int) -> Answer:
        return (429, {"Retry-After": "2"}, b"") if count == 1 else page()(count)

    server = serve({"/": busy})
    found = crawl(f"{server.origin}/", FRONTIER_RETRIES=1, FRONTIER_RETRY_DELAY=0)
    assert found.output.count("1 done") == 1
    first, second = server.times["/"]
    assert 2.0 <= second - first < 6.0


def test_a_page_that_fails_is_tried_again_later(crawl: Crawler, serve: Serve) -> None:
    def flaky(count: int) -> Answer:
        return (500, {}, b"") if count <= 2 else page()(count)

    server = serve({"/": flaky})
    options = {"FRONTIER_RETRIES": 2, "FRONTIER_RETRY_DELAY": 0.4}
    found = crawl(f"{server.origin}/", STATS_DUMP=True, **options)
    assert "1 URLs = 1 done" in found.output
    first, second, third = server.times["/"]
    assert second - first >= 0.4
    assert third - second >= 0.8
