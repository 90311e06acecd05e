"""What the tdmrep.json of a service reserves is kept with its pages, if a setting asks for it."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from rdfaspider.robots.reservations import LIMIT, PLACE, Reservations
from tests.conftest import Scrapy

FILE = [
    {"location": "/closed/open$", "tdm-reservation": 0, "tdm-policy": "http://a.test/p"},
    {"location": "/closed/", "tdm-reservation": 1, "tdm-policy": "http://a.test/p"},
    {"location": "/closed/hidden/by/the/rule/before", "tdm-reservation": 0},
    {"location": "*.pdf$", "tdm-reservation": 1},
    {"location": "/price-%24%7e", "tdm-reservation": True},
]


@pytest.mark.parametrize(
    ("path", "reserved"),
    [
        ("/", ("", "")),
        ("/closed", ("", "")),
        ("/closed/a?b=%2F", ("1", "http://a.test/p")),
        ("/closed/open", ("", "")),
        ("/closed/open/x", ("1", "http://a.test/p")),
        ("/closed/hidden/by/the/rule/before", ("1", "http://a.test/p")),
        ("/Closed/a", ("", "")),
        ("/price-$~", ("1", "")),
        ("/x/a.pdf", ("1", "")),
        ("/x/a.pdf?x", ("", "")),
    ],
)
def test_the_first_location_that_matches_decides(path: str, reserved: tuple[str, str]) -> None:
    rules = Reservations.read(json.dumps(FILE).encode())
    for each in (rules, Reservations.from_bytes(rules.to_bytes())):
        assert each.of(f"http://a.test{path}") == reserved


@pytest.mark.parametrize("body", [b"", b"{}", b"<html>", b"\xff\xfe", b"[" * 60_000, b"9" * 5_000])
def test_what_is_no_array_is_refused(body: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        Reservations.read(body)


def test_rules_that_are_not_well_formed_are_passed_over() -> None:
    bad: list[Any] = [
        *(None, 1, [], {}, {"location": 3, "tdm-reservation": 1}),
        {"location": "/", "tdm-reservation": [1]},
        {"location": "/" + "x" * 3_000, "tdm-reservation": 1},
        {"location": "", "tdm-reservation": 1},
        {"location": "/", "tdm-reservation": "1"},
        {"location": "/"},
    ]
    good = {"location": "/ü*\ud800", "tdm-reservation": 1, "tdm-policy": {"a": 1}}
    rules = Reservations.read(json.dumps([*bad, good]).encode())
    assert Reservations.from_bytes(rules.to_bytes()).of("http://a.test/%C3%BCx") == ("", "")
    assert rules.of("http://a.test/%C3%BCx%ED%A0%80") == ("1", "")
    many = [{"location": f"/{number}", "tdm-reservation": 1} for number in range(1_000)]
    assert Reservations.read(json.dumps(many).encode()).of("http://a.test/999") == ("1", "")
    assert len(Reservations.read(json.dumps(many).encode()).to_bytes()) < 20_000


class Service(ThreadingHTTPServer):
    """Five pages, a robots.txt and a tdmrep.json; it remembers what it was asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[str] = []
        self.robots = b""
        self.file = json.dumps(FILE).encode()
        self.status = 200
        self.target = "/elsewhere.json"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        status, kind, body = 200, "text/html", b"<a href=/closed/a>a</a><a href=/closed/open>o</a>"
        if self.path == "/robots.txt":
            kind, body = "text/plain", self.server.robots
        elif self.path == PLACE:
            status, kind, body = self.server.status, "application/json", self.server.file
        elif self.path == "/elsewhere.json":
            kind, body = "application/json", json.dumps(FILE).encode()
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if status == 302:
            self.send_header("Location", self.server.target)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[Service]:
    with Service() as server:
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield server
        server.shutdown()


def crawl(scrapy: Scrapy, service: Service, **settings: object) -> str:
    done = scrapy(
        *("crawl", "rdfa", "-a", f"seeds={service.url}/"),
        **{"POLITENESS_DELAY": 0.05, "STATS_DUMP": 1, "ROBOTS_TDMREP": 1, **settings},
    )
    assert done.returncode == 0, done.stderr
    assert "ERROR" not in done.stderr
    assert "3 URLs = 3 done" in done.stderr
    return done.stderr


def signals(scrapy: Scrapy, directory: Path, service: Service) -> dict[str, tuple[str, str]]:
    assert scrapy("pages", "-o", "pages.jsonl").returncode == 0
    rows = map(json.loads, (directory / "pages.jsonl").read_text().splitlines())
    return {
        row["url"].removeprefix(service.url): (row["signals"], row.get("policy", ""))
        for row in rows
        if row.get("signals")
    }


@pytest.mark.slow
@pytest.mark.parametrize("more", [{}, {"WORKERS": 2}], ids=["one process", "workers"])
def test_it_is_asked_once_and_kept_with_pages(
    scrapy: Scrapy, service: Service, tmp_path: Path, more: dict[str, object]
) -> None:
    crawl(scrapy, service, **more)
    assert service.asked.count(PLACE) == 1
    assert sorted(service.asked) == sorted(["/robots.txt", PLACE, "/", "/closed/a", "/closed/open"])
    found = signals(scrapy, tmp_path, service)
    assert found == {"/closed/a": ("tdm-reservation", "http://a.test/p")}


@pytest.mark.slow
@pytest.mark.parametrize("where", ["here", "elsewhere"])
def test_redirects_are_followed(
    scrapy: Scrapy, service: Service, tmp_path: Path, where: str
) -> None:
    service.status = 302
    with Service() as other:
        threading.Thread(target=other.serve_forever, args=(0.05,), daemon=True).start()
        if where == "elsewhere":
            service.target = f"http://localhost:{other.server_port}/elsewhere.json"
        crawl(scrapy, service, RESOLVER_ALLOW="localhost")
        other.shutdown()
    assert service.asked.count(PLACE) == 1
    asked = service if where == "here" else other
    assert asked.asked.count("/elsewhere.json") == 1
    found = signals(scrapy, tmp_path, service)
    assert found == {"/closed/a": ("tdm-reservation", "http://a.test/p")}


@pytest.mark.slow
def test_it_is_kept_with_the_frontier(scrapy: Scrapy, service: Service, tmp_path: Path) -> None:
    first = scrapy(
        *("crawl", "rdfa", "-a", f"seeds={service.url}/"),
        **{"POLITENESS_DELAY": 0.3, "ROBOTS_TDMREP": 1, "CLOSESPIDER_PAGECOUNT": 1},
    )
    assert first.returncode == 0, first.stderr
    crawl(scrapy, service)
    assert service.asked.count(PLACE) == 1
    assert "/closed/a" in signals(scrapy, tmp_path, service)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("settings", "changes", "asked", "counted"),
    [
        ({"ROBOTS_TDMREP": 0}, {}, 0, ""),
        ({}, {"robots": b"User-agent: *\nDisallow: /.well-known/"}, 0, ""),
        ({}, {"file": b"<html>"}, 1, "'robots/tdmrep/bad': 1"),
        ({}, {"file": b" " * LIMIT + b"[]"}, 1, "'robots/tdmrep/failed/"),
        ({}, {"status": 404}, 1, "'robots/tdmrep/fetched/404': 1"),
        ({}, {"status": 302, "target": PLACE}, 6, "'robots/tdmrep/fetched/302': 1"),
        (
            {},
            {"status": 302, "robots": b"User-agent: *\nDisallow: /elsewhere.json"},
            1,
            "",
        ),
        ({}, {"status": 500}, 1, "'robots/tdmrep/fetched/500': 1"),
    ],
    ids=["off", "forbidden", "bad", "large", "missing", "endless", "moved", "failing"],
)
def test_pages_are_fetched_whatever_becomes_of_it(
    scrapy: Scrapy,
    service: Service,
    tmp_path: Path,
    settings: dict[str, object],
    changes: dict[str, Any],
    asked: int,
    counted: str,
) -> None:
    for name, value in changes.items():
        setattr(service, name, value)
    log = crawl(scrapy, service, **settings)
    assert service.asked.count(PLACE) == asked
    assert counted in log
    assert signals(scrapy, tmp_path, service) == {}
