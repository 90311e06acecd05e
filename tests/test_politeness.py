"""Politeness of whole crawls, read off the log of a server that behaves badly."""

from __future__ import annotations

import gzip
import itertools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from statistics import median
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

import pytest

from rdfaspider.frontier import open_frontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.resolver import Resolver
from rdfaspider.robots import Robots
from rdfaspider.robots.record import DAY, RobotsRecord
from tests.console.crawls import crawling

if TYPE_CHECKING:
    from tests.conftest import Crawler, Scrapy

Answer = tuple[int, dict[str, str], bytes]
Rules = dict[str, Callable[[int], Answer]]


def missing(count: int) -> Answer:
    return 404, {}, b""


class Server:
    """Answers each path by a function of how often it was asked for; keeps the times.

    Status 0 is no answer at all. `connections` are those that were opened, `most` how many requests
    were open at once.
    """

    def __init__(self, rules: Rules, address: str = "127.0.0.1") -> None:
        self.times: dict[str, list[float]] = defaultdict(list)
        self.connections: set[tuple[str, int]] = set()
        self.open = self.most = 0
        self._lock = Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                with outer.request(self.path, self.client_address) as count:
                    self.answer(*rules.get(self.path, missing)(count))

            def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
                if not status:
                    self.close_connection = True
                    return
                self.send_response(status)
                for name, value in {"Content-Type": "text/html", **headers}.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer((address, 0), Handler)
        self.port = self._server.server_port
        self.origin = f"http://{address}:{self.port}"
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()

    @contextmanager
    def request(self, path: str, client: tuple[str, int]) -> Iterator[int]:
        with self._lock:
            self.times[path].append(time.monotonic())
            self.connections.add(client)
            self.open += 1
            self.most = max(self.most, self.open)
            count = len(self.times[path])
        try:
            yield count
        finally:
            with self._lock:
                self.open -= 1

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def gaps(self) -> list[float]:
        """The seconds between two requests, in their order."""
        times = sorted(moment for moments in self.times.values() for moment in moments)
        return [second - first for first, second in itertools.pairwise(times)]


@pytest.fixture
def serve() -> Iterator[Callable[..., Server]]:
    servers: list[Server] = []

    def start(rules: Rules, address: str = "127.0.0.1") -> Server:
        servers.append(Server(rules, address))
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


Serve = Callable[..., Server]


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


CLOSED = "User-agent: *\nDisallow: /"
PADDING = "#" * 99 + "\n"


def hops(count: int) -> Rules:
    """Redirect robots.txt so often, then forbid all."""
    chain = ["/robots.txt", *(f"/hop{number}" for number in range(count))]
    moved = {here: redirect(there) for here, there in itertools.pairwise(chain)}
    return {**moved, chain[-1]: robots(CLOSED)}


# What a service says when asked for robots.txt, and what RFC 9309 makes of it for its only page.
RFC: dict[str, tuple[Rules, str]] = {
    "2.3.1.1 rules are followed": ({"/robots.txt": robots(CLOSED)}, "denied/robots"),
    "2.3.1.1 no content": ({"/robots.txt": robots("", 204)}, "done/page"),
    "2.3.1.2 five redirects": (hops(5), "denied/robots"),
    "2.3.1.2 six redirects": (hops(6), "done/page"),
    "2.3.1.2 to nowhere": ({"/robots.txt": redirect("http://[/")}, "done/page"),
    **{
        f"2.3.1.3 {status}": ({"/robots.txt": robots(CLOSED, status)}, "done/page")
        for status in (400, 401, 403, 404, 410)
    },
    **{
        f"2.3.1.4 {status}": ({"/robots.txt": robots("", status)}, "denied/unreachable")
        for status in (429, 500, 503, 599)
    },
    "2.3.1.4 no answer": ({"/robots.txt": lambda count: (0, {}, b"")}, "denied/unreachable"),
    "2.3.1.4 moved where nobody is": (
        {"/robots.txt": redirect("http://127.0.0.1:1/")},
        "denied/unreachable",
    ),
    "2.3.1.4 moved where nobody may go": (
        {"/robots.txt": redirect("http://169.254.169.254/")},
        "denied/unreachable",
    ),
    "2.3.1.5 what can be parsed counts": (
        {"/robots.txt": robots(f"<html>\0\nnonsense\n{CLOSED}\n<<")},
        "denied/robots",
    ),
    "2.5 the first 500 KiB are read": (
        {"/robots.txt": robots(f"{PADDING * 5000}{CLOSED}")},
        "denied/robots",
    ),
    "2.5 what follows is not": ({"/robots.txt": robots(f"{PADDING * 5300}{CLOSED}")}, "done/page"),
    "2.5 an archive without end": (
        {
            "/robots.txt": lambda count: (
                200,
                {"Content-Encoding": "gzip"},
                gzip.compress(bytes(1 << 25), 1),
            )
        },
        "denied/unreachable",
    ),
    "2.5 more than DOWNLOAD_MAXSIZE": (
        {"/robots.txt": lambda count: (200, {}, b"#" * (17 << 20))},
        "denied/unreachable",
    ),
}


def test_each_answer_means_what_the_rfc_says(crawl: Crawler, serve: Serve) -> None:
    servers = {name: serve({"/": page(), **rules}) for name, (rules, _) in RFC.items()}
    seeds = ",".join(f"{server.origin}/" for server in servers.values())
    found = crawl(seeds, ROBOTS_RETRIES=0, RESOLVER_ALLOW="127.0.0.1")
    assert {name: found.fates[f"{server.origin}/"] for name, server in servers.items()} == {
        name: fate for name, (_, fate) in RFC.items()
    }
    asked = {name for name, server in servers.items() if "/" in server.times}
    assert asked == {name for name, (_, fate) in RFC.items() if fate == "done/page"}
    assert {len(server.times["/robots.txt"]) for server in servers.values()} == {1}


def known(rules: str = "User-agent: *\nDisallow: /a", **changes: float) -> RobotsRecord:
    """Return what was learned of a robots.txt some time ago."""
    return RobotsRecord(Robots(rules.encode(), "rdfaspider"), **{"expires": 0.0, **changes})  # type: ignore[arg-type]


def outage(days: float) -> RobotsRecord:
    """Return what is known of a robots.txt that was out of reach for so long."""
    return RobotsRecord(Robots.deny_all(), 0.0, 9, time.time() - days * DAY, reached=False)


# What is known when a crawl begins, what the server answers now, the fate of /a, and if it is asked.
KNOWN: dict[str, tuple[RobotsRecord, int, str, bool]] = {
    "2.4 rules of today": (known(expires=time.time() + DAY), 200, "denied/robots", False),
    "2.4 rules of yesterday": (known(), 200, "done/page", True),
    "2.3.1.4 old rules hold": (known(), 503, "denied/robots", True),
    "2.3.1.4 old rules hold for what they allow": (known(""), 503, "done/page", True),
    "2.3.1.4 out of reach for 29 days": (outage(29), 503, "denied/unreachable", True),
    "2.3.1.4 out of reach for 31 days": (outage(31), 503, "done/page", True),
}


def test_what_was_known_holds_as_long_as_the_rfc_says(
    crawl: Crawler, serve: Serve, tmp_path: Path
) -> None:
    servers = {
        name: serve({"/robots.txt": robots("", status), "/a": page()})
        for name, (_, status, _, _) in KNOWN.items()
    }
    with open_frontier(str(tmp_path / "crawl" / "frontier"), now=time.time()) as frontier:
        for name, server in servers.items():
            frontier.set_note(f"robots {server.origin}", KNOWN[name][0].to_bytes())
    seeds = ",".join(f"{server.origin}/a" for server in servers.values())
    found = crawl(seeds, ROBOTS_RETRIES=0)
    for name, server in servers.items():
        fate = found.fates[f"{server.origin}/a"]
        assert (fate, "/robots.txt" in server.times) == KNOWN[name][2:], name


def test_however_many_wait_robots_is_asked_for_once(crawl: Crawler, serve: Serve) -> None:
    server = serve({"/robots.txt": robots(""), **{f"/{number}": page() for number in range(40)}})
    found = crawl(",".join(f"{server.origin}/{number}" for number in range(40)))
    assert len(found.pages) == 40
    assert len(server.times["/robots.txt"]) == 1


def test_a_robots_that_asks_for_patience_gets_it(crawl: Crawler, serve: Serve) -> None:
    busy = {"/robots.txt": lambda count: (503, {"Retry-After": "7200"}, b"")}
    server = serve({**busy, "/": page()})
    found = crawl(f"{server.origin}/", FRONTIER_PATIENCE=3600)
    assert "1 waiting" in found.output, "an hour of patience is not enough"
    assert "/" not in server.times


# Where it is said, what is said, whether the page is stored, and whether it is followed.
DIRECTIVES = [
    ("header", "noindex", False, True),
    ("header", "nofollow", True, False),
    ("header", "none", False, False),
    ("header", "rdfaspider: noindex", False, True),
    ("header", "otherbot: none", True, True),
    ("robots", "noindex", False, True),
    ("robots", "nofollow", True, False),
    ("robots", "NONE", False, False),
    ("rdfaspider", "noindex, nofollow", False, False),
    ("otherbot", "none", True, True),
    ("robots", "all", True, True),
]


def test_pages_say_whether_they_are_stored_and_followed(crawl: Crawler, serve: Serve) -> None:
    def directed(number: int, place: str, content: str) -> Callable[[int], Answer]:
        headers = {"X-Robots-Tag": content} if place == "header" else {}
        meta = "" if place == "header" else f"<meta name={place} content='{content}'>"
        body = f"{meta}<p property='http://v.test/p'>x</p><a href='/linked{number}'>x</a>"
        return lambda count: (200, headers, b"<!DOCTYPE html>" + body.encode())

    rules: Rules = {
        f"/{number}": directed(number, place, content)
        for number, (place, content, _, _) in enumerate(DIRECTIVES)
    }
    server = serve(rules)
    found = crawl(",".join(server.origin + path for path in rules))
    graphs = {str(getattr(quad.graph_name, "value", "")) for quad in found.quads}
    for number, (place, content, stored, followed) in enumerate(DIRECTIVES):
        assert (f"{server.origin}/{number}" in graphs) is stored, (place, content)
        assert (f"/linked{number}" in server.times) is followed, (place, content)


class NamesOfAddresses(Resolver):
    """Looks up n7.a4.test, the seventh name of 127.0.0.4, for the crawls of these tests."""

    @staticmethod
    def look_up(name: str) -> list[str]:
        return [f"127.0.0.{name.split('.')[1].removeprefix('a')}"]


SITE = {f"/{number}": page() for number in range(4)}


def seeds_of(server: Server, names: int = 0, pages: int = 4) -> list[str]:
    """Return the pages of a server, by its address or by many names."""
    last = server.origin.split(":")[1].rpartition(".")[2]
    hosts = [f"http://n{n}.a{last}.test:{server.port}" for n in range(names)] or [server.origin]
    return [f"{host}/{number}" for number in range(pages) for host in hosts]


NAMED = {
    "TWISTED_DNS_RESOLVER": "tests.test_politeness.NamesOfAddresses",
    "RESOLVER_ALLOW": "127.0.0.0/8",
    "FRONTIER_RETRIES": 0,
}


ONE_AND_TWO = pytest.mark.parametrize("workers", [1, pytest.param(2, marks=pytest.mark.slow)])


@ONE_AND_TWO
def test_each_rule_shows_in_the_gaps_between_requests(
    scrapy: Scrapy, serve: Serve, workers: int
) -> None:
    """A delay of 0.8 s, and 0.2 s for hosts of two pages or more. Eight names at an address have an eighth,
    0.1 s, and four times as much once two of them were refused."""
    asks = robots("User-agent: *\nCrawl-delay: 0.9")
    refuses = {"/0": lambda count: (429, {}, b"") if count <= 2 else page()(count)}
    large = serve(SITE, "127.0.0.2")
    patient = serve({"/robots.txt": asks, **SITE}, "127.0.0.3")
    shared = serve(SITE, "127.0.0.4")
    refusing = serve(refuses, "127.0.0.5")
    seeds = [
        *(seed for server in (large, patient) for seed in seeds_of(server)),
        *(seed for server in (shared, refusing) for seed in seeds_of(server, names=8, pages=1)),
    ]
    found = scrapy(
        *("crawl", "rdfa", "-a", f"seeds={','.join(seeds)}"),
        WORKERS=workers,
        POLITENESS_DELAY=0.8,
        POLITENESS_LARGE_DELAY=0.2,
        POLITENESS_LARGE_PAGES=2,
        **NAMED,
    )
    assert found.returncode == 0, found.stderr
    before, after = large.gaps[:2], large.gaps[2:]
    assert min(before) > 0.79
    assert 0.19 < min(after) <= max(after) < 0.79
    assert 0.89 < min(patient.gaps) < 2.0
    assert 0.09 < min(shared.gaps) <= median(shared.gaps) < 0.4
    assert 0.09 < min(refusing.gaps) < 0.2
    assert min(refusing.gaps[-4:]) > 0.3


@ONE_AND_TWO
def test_a_delay_that_is_told_holds_for_what_waits_already(
    scrapy: Scrapy, serve: Serve, tmp_path: Path, workers: int
) -> None:
    """By the console of one process, and by a command to two, where names share a delay of their own."""
    alone, shared = serve(SITE, "127.0.0.2"), serve(SITE, "127.0.0.4")
    seeds = [*seeds_of(alone), *seeds_of(shared, names=3, pages=1)]
    settings: dict[str, Any] = {"POLITENESS_DELAY": 60, "WORKERS": workers, **NAMED}
    if workers == 2:
        settings["POLITENESS_SERVER_DELAY"] = 0.4
    with crawling(tmp_path, "-a", f"seeds={','.join(seeds)}", **settings) as console:
        console.until(lambda: alone.times and shared.times)
        if workers == 1:
            assert "is 0.6 seconds" in console.use("delay", seconds=0.6)
        else:
            told = scrapy("frontier", "--tell", "delay=0.6", JOBDIR="crawl")
            assert "delay=0.6" in told.stdout, told.stderr
        console.wait()
    assert len(alone.gaps) == 4
    assert 0.59 < min(alone.gaps[1:]) <= median(alone.gaps) < 2.0
    assert max(*alone.gaps, *shared.gaps) < 30.0
    least = 0.4 if workers == 2 else 0.6 / 8
    assert least - 0.01 < min(shared.gaps) < least + 0.2


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
    assert sorted(gaps)[1] < 4.0, "the engine is woken when a host is ready, not at its heartbeat"


def test_a_crawl_delay_that_is_gone_is_not_kept(
    crawl: Crawler, serve: Serve, tmp_path: Path
) -> None:
    rules = ["User-agent: *\nCrawl-delay: 1.5", "User-agent: *\nDisallow:"]
    answers = {path: page() for path in ("/a", "/b", "/c")}
    server = serve({"/robots.txt": lambda count: (200, {}, rules[count - 1].encode()), **answers})
    polite = {"POLITENESS_DELAY": 0.1, "POLITENESS_AT_ONCE": 1}
    path = str(tmp_path / "crawl" / "frontier")

    def delays() -> set[float]:
        with open_frontier(path, politeness=Politeness(delay=0.1), now=time.time()) as frontier:
            frontier.set_note(f"robots {server.origin}", known(rules[0]).to_bytes())  # of yesterday
            return {view.delay for view in frontier.hosts(0.0)}

    crawl(f"{server.origin}/a", **polite)
    assert server.times["/a"][0] - server.times["/robots.txt"][0] >= 1.5
    assert delays() == {1.5}
    crawl(f"{server.origin}/b,{server.origin}/c", **polite)
    assert len(server.times["/robots.txt"]) == 2
    assert delays() == {0.1}


def test_redirects_of_robots_keep_the_delay_too(crawl: Crawler, serve: Serve) -> None:
    moved: Rules = {"/robots.txt": redirect("/a"), "/a": redirect("/b"), "/b": robots("")}
    server = serve({**moved, "/": page()})
    found = crawl(f"{server.origin}/", POLITENESS_DELAY=0.4, POLITENESS_AT_ONCE=1)
    assert found.pages == {f"{server.origin}/"}
    times = [server.times[path][0] for path in ("/robots.txt", "/a", "/b", "/")]
    assert min(b - a for a, b in itertools.pairwise(times)) >= 0.4


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_is_waited_for(crawl: Crawler, serve: Serve, status: int) -> None:
    """The delay is given in seconds and as a date, which has no fractions of a second."""

    def busy(wait: Callable[[], str]) -> Callable[[int], Answer]:
        return lambda count: (status, {"Retry-After": wait()}, b"") if count == 1 else page()(count)

    servers = [
        serve({"/": busy(lambda: "2")}),
        serve({"/": busy(lambda: formatdate(time.time() + 3, usegmt=True))}),
    ]
    seeds = ",".join(f"{server.origin}/" for server in servers)
    found = crawl(seeds, FRONTIER_RETRIES=1, FRONTIER_RETRY_DELAY=0)
    assert "2 URLs = 2 done" in found.output
    for server in servers:
        first, second = server.times["/"]
        assert 1.9 <= second - first < 10.0


def test_a_refusal_without_a_time_is_answered_by_patience_that_doubles(
    crawl: Crawler, serve: Serve
) -> None:
    def busy(count: int) -> Answer:
        return (429, {}, b"") if count <= 3 else page()(count)

    server = serve({"/": busy})
    options = {"FRONTIER_RETRIES": 3, "FRONTIER_RETRY_DELAY": 0, "POLITENESS_BACKOFF": 0.4}
    found = crawl(f"{server.origin}/", **options)
    assert "1 URL = 1 done" in found.output
    gaps = [b - a for a, b in itertools.pairwise(server.times["/"])]
    for gap, least in zip(gaps, (0.4, 0.8, 1.6), strict=True):
        assert least <= gap < 10.0


def test_a_host_that_fails_again_and_again_is_left_alone(crawl: Crawler, serve: Serve) -> None:
    broken: Rules = {f"/{number}": lambda count: (500, {}, b"") for number in range(10)}
    server = serve(broken)
    seeds = ",".join(server.origin + path for path in broken)
    found = crawl(seeds, POLITENESS_AT_ONCE=1, FRONTIER_PATIENCE=1)
    assert sum(path in server.times for path in broken) == 4, "three may be bad luck"
    assert "6 waiting" in found.output


def test_one_request_at_a_time_and_one_connection_for_all(crawl: Crawler, serve: Serve) -> None:
    def slow(count: int) -> Answer:
        time.sleep(0.02)  # so that requests at once would be seen at once
        return page()(count)

    paths = [f"/{number}" for number in range(20)]
    server = serve(dict.fromkeys(paths, slow))
    found = crawl(",".join(server.origin + path for path in paths), POLITENESS_AT_ONCE=1)
    assert len(found.pages) == 20
    assert server.most == 1
    assert len(server.connections) == 1


def test_a_page_that_fails_is_tried_again_later(crawl: Crawler, serve: Serve) -> None:
    def flaky(count: int) -> Answer:
        return (500, {}, b"") if count <= 2 else page()(count)

    server = serve({"/": flaky})
    options = {"FRONTIER_RETRIES": 2, "FRONTIER_RETRY_DELAY": 0.4}
    found = crawl(f"{server.origin}/", STATS_DUMP=True, **options)
    assert "1 URL = 1 done" in found.output
    first, second, third = server.times["/"]
    assert second - first >= 0.4
    assert third - second >= 0.8
