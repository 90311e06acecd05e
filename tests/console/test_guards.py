"""Attacks on the console: by name, without a token, from other sites, by path, by number."""

from __future__ import annotations

import socket
import stat
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.console.crawls import Console

PATHS = ("/", "/hosts", "/metrics", "/api/crawl", "/api/hosts", "/api/log", "/static/page.html")


def bearer(console: Console) -> dict[str, str]:
    return {"authorization": f"Bearer {console.token}"}


def cookie(console: Console) -> dict[str, str]:
    """Return the cookie that the printed address sets."""
    response, _ = console.request("GET", f"/?token={console.token}")
    assert response.status == 303
    assert response.headers["Location"] == "/"
    said = response.headers["Set-Cookie"]
    assert "HttpOnly" in said
    assert "SameSite=Strict" in said
    return {"cookie": said.partition(";")[0]}


@pytest.mark.parametrize("path", PATHS)
def test_nothing_is_shown_without_the_token(console: Console, path: str) -> None:
    assert console.request("GET", path)[0].status == 401
    assert console.request("GET", f"{path}?token={console.token[:-1]}")[0].status == 401
    assert console.request("GET", path, authorization="Bearer x")[0].status == 401
    assert console.request("GET", path, authorization=f"Basic {console.token}")[0].status == 401
    name, _, value = cookie(console)["cookie"].partition("=")
    assert console.request("GET", path, cookie=f"{name}={value}x")[0].status == 401
    assert console.request("GET", path, cookie=f"other={value}")[0].status == 401
    assert console.request("GET", path, **bearer(console))[0].status == 200
    assert console.request("GET", path, **cookie(console))[0].status == 200


def test_the_token_of_an_address_opens_only_the_first_page(console: Console) -> None:
    assert console.request("GET", f"/api/crawl?token={console.token}")[0].status == 401


@pytest.mark.parametrize(
    "host",
    ["evil.example", "evil.example:80", "localhost.evil.example", "127.0.0.1.evil.example", "",
     "10.0.0.1", "[::2]", "localhost@evil.example", "127.0.0.1:80:80"],
)  # fmt: skip
def test_a_foreign_name_is_refused(console: Console, host: str) -> None:
    """A site may resolve to 127.0.0.1, and its scripts then talk to us: under its name."""
    for path in ("/", "/healthz", "/api/crawl"):
        response, _ = console.request("GET", path, host=host, **bearer(console))
        assert response.status in (400, 421)


@pytest.mark.parametrize(
    "host", ["localhost", "LOCALHOST:9000", "127.0.0.1", "127.1.2.3", "[::1]:7"]
)
def test_the_names_of_this_machine_are_accepted(console: Console, host: str) -> None:
    assert console.request("GET", "/api/crawl", host=host, **bearer(console))[0].status == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://127.0.0.1:1"},
        {"origin": "http://localhost"},
        {"origin": "OWN", "sec_fetch_site": "cross-site"},
        {"origin": "OWN", "sec_fetch_site": "same-site"},
    ],
)
def test_another_site_cannot_steer(console: Console, headers: dict[str, str]) -> None:
    own = f"http://127.0.0.1:{console.port}"
    named = {name: own if text == "OWN" else text for name, text in headers.items()}
    response, _ = console.request("POST", "/api/control/stop", b"{}", **named, **cookie(console))
    assert response.status == 403
    assert console.get("crawl")["state"] == "running"


def test_another_site_cannot_make_it_work(console: Console) -> None:
    """Not even by a request whose answer it cannot read."""
    for site in ("cross-site", "same-site"):
        headers = {"sec_fetch_site": site, "sec_fetch_mode": "no-cors", **cookie(console)}
        assert console.request("GET", "/api/hosts", **headers)[0].status == 403


def test_its_own_page_can_steer(console: Console) -> None:
    own = {"origin": f"http://127.0.0.1:{console.port}", "sec_fetch_site": "same-origin"}
    response, body = console.request(
        "POST", "/api/control/nothing", b"{}", **own, **cookie(console)
    )
    assert (response.status, body) == (400, b'{"error":"There is no control nothing."}')


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/%2e%2e/server.py",
        "/static/..%2fserver.py",
        "/static//etc/passwd",
        "/static/vendor/../../extension.py",
        "/static/..\\server.py",
        "/static/",
        "/static",
        "//etc/passwd",
        "/static/page.html%00.js",
    ],
)
def test_only_its_own_files_are_served(console: Console, path: str) -> None:
    response, body = console.request("GET", path, **bearer(console))
    assert response.status == 404
    assert b"import" not in body


@pytest.mark.parametrize("path", ["/", "/api/crawl", "/static/page.html", "/nothing", "/healthz"])
def test_a_page_may_load_nothing_from_elsewhere(console: Console, path: str) -> None:
    for headers in ({}, bearer(console)):
        response, _ = console.request("GET", path, **headers)
        policy = response.headers["Content-Security-Policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'; style-src 'self';")
        assert "frame-ancestors 'none'" in policy
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Referrer-Policy"] == "no-referrer"
        assert "Access-Control-Allow-Origin" not in response.headers


def test_health_is_open_and_says_nothing(console: Console) -> None:
    response, body = console.request("GET", "/healthz")
    assert (response.status, body) == (200, b"ok\n")


@pytest.mark.parametrize("body", [b"[]", b"nonsense", b"{", b"null", b"\xff", b"[" * 100_000])
def test_nonsense_gets_a_sentence(console: Console, body: bytes) -> None:
    response, said = console.request("POST", "/api/control/seeds", body, **bearer(console))
    assert response.status == 400, said
    assert b"error" in said


def test_a_large_request_is_refused(console: Console) -> None:
    response, _ = console.request("POST", "/api/control/seeds", b"x" * 3_000_000, **bearer(console))
    assert response.status == 413


@pytest.mark.parametrize(
    "lines",
    [b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 9_000, b"GET / HTTP/1.1\r\nHost: \x00"],
)
def test_a_broken_request_leaves_no_traceback(console: Console, lines: bytes) -> None:
    with socket.create_connection(("127.0.0.1", console.port), timeout=60) as each:
        each.sendall(lines + b"\r\n\r\n")
        assert b" 400 " in each.recv(20)
    console.request("GET", "/healthz")  # answered after what would have been logged
    log = console.log.read_text()
    assert "Traceback" not in log
    assert "Error handling request" not in log


def test_a_thousand_clients(console: Console) -> None:
    """The crawl goes on, and so does the console afterwards."""
    before = console.counts()["done"]
    sockets = []
    try:
        for _ in range(1_000):
            each = socket.create_connection(("127.0.0.1", console.port), timeout=60)
            each.sendall(b"GET /api/crawl HTTP/1.1\r\nHost: localhost\r\n")  # and never ends
            sockets.append(each)
        assert console.counts()["done"] >= before, "they shut out the others"
    finally:
        for each in sockets:
            each.close()
    console.until(lambda: console.counts()["done"] > before)

    def ask(_: int) -> int:
        try:
            return console.request("GET", "/api/crawl", **bearer(console))[0].status
        except OSError:
            return 503  # refused before it could be read

    with ThreadPoolExecutor(50) as pool:
        statuses = list(pool.map(ask, range(1_000)))
    assert set(statuses) <= {200, 503}
    assert statuses.count(200) > 900
    assert "Too many open files" not in console.log.read_text()


def test_the_file_of_the_address_is_private(console: Console) -> None:
    path = console.directory / "crawl" / "console"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_the_log_does_not_have_the_token(console: Console) -> None:
    log = console.log.read_text()
    assert console.token not in log
    address = console.url.partition("?")[0]
    assert f"The console: {address} (crawl/console has its token)" in log
    assert "The console listens at port" in log


def test_metrics_have_the_names_of_the_stats(console: Console) -> None:
    response, body = console.request("GET", "/metrics", **bearer(console))
    assert response.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
    lines = body.decode().splitlines()
    metrics = dict(line.split(" ") for line in lines if not line.startswith("#"))
    assert int(metrics["rdfaspider_frontier_done"]) > 20
    assert int(metrics["rdfaspider_frontier_done_page"]) > 10
    assert "rdfaspider_store_quads" in metrics
    assert "# TYPE rdfaspider_frontier_done gauge" in lines
    assert "# TYPE rdfaspider_frontier_done_page counter" in lines
