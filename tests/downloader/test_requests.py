"""What is sent for a request, byte by byte."""

from __future__ import annotations

import ssl
from base64 import b64encode
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import Request

from rdfaspider.compat import DownloadCancelledError
from rdfaspider.downloader.request import wanted
from rdfaspider.downloader.transfer import Transfer
from tests.downloader.conftest import Client as Visitor
from tests.downloader.conftest import lead_to, run, serving

if TYPE_CHECKING:
    from tests.downloader.conftest import Open

Sent = Any  # a function of a URL and the arguments of a request


@pytest.fixture
def sent(fetching: Open, tls: ssl.SSLContext, monkeypatch: pytest.MonkeyPatch) -> Sent:
    """Return what sends a request to a server on this machine, whatever its URL, and returns its bytes."""

    async def talk(visitor: Visitor) -> None:
        await visitor.read_request()
        await visitor.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async def look_up(self: Transfer, resolver: object) -> None:
        self._admitted.add(ip_address("127.0.0.1"))

    async def send(url: str, **arguments: Any) -> bytes:
        options: dict[str, Any] = {"ssl": tls} if url.startswith("https:") else {}
        async with serving(talk, **options) as server, fetching() as fetch:
            lead_to(server, monkeypatch)
            monkeypatch.setattr(Transfer, "look_up", look_up)
            await fetch(url, **arguments)
            return server.requests[0]

    return lambda url, **arguments: run(send(url, **arguments))


def test_the_host_comes_first_and_headers_as_given(sent: Sent) -> None:
    headers = {"User-Agent": "bot", "Accept": "*/*", "X-Two": ["1", "2"]}
    assert sent("http://example.org/a?b=c#d", headers=headers) == (
        b"GET /a?b=c HTTP/1.1\r\nHost: example.org\r\nUser-Agent: bot\r\nAccept: */*\r\n"
        b"X-Two: 1\r\nX-Two: 2\r\n\r\n"
    )


def test_the_archive_has_the_headers_as_sent(sent: Sent) -> None:
    headers = {"Accept": "text/html;", "X-A": "see:", "X-Empty": ""}
    lines = sent("http://example.org/", headers=headers).split(b"\r\n")
    assert lines[2:5] == [b"Accept: text/html;", b"X-A: see:", b"X-Empty:"]
    told = wanted(Request("http://example.org/", headers=headers)).headers
    assert tuple(told[1:]) == ((b"Accept", b"text/html;"), (b"X-A", b"see:"), (b"X-Empty", b""))


def test_a_login_with_a_zero_is_refused() -> None:
    with pytest.raises(ValueError, match="a zero in it") as refused:
        wanted(Request("http://u%00:secret@example.org/"))
    assert "secret" not in str(refused.value)


def test_the_head_of_a_large_file_comes(fetching: Open) -> None:
    async def talk(client: Visitor) -> None:
        await client.read_request()
        await client.send(b"HTTP/1.1 200 OK\r\nContent-Length: 99999999\r\n\r\n")

    async def main() -> None:
        async with serving(talk) as server, fetching() as fetch:
            meta = {"download_maxsize": 1000}
            response = await fetch(f"{server.origin}/", method="HEAD", meta=meta)
            assert response.headers["Content-Length"] == b"99999999"
            with pytest.raises(DownloadCancelledError):
                await fetch(f"{server.origin}/", meta=meta)

    run(main())


def test_a_host_that_would_be_decoded_is_refused() -> None:
    """By a proxy, this would be an address of the network that the guard has not seen."""
    with pytest.raises(ValueError, match="no name of a host"):
        wanted(Request("http://%31%32%37.0.0.1/", meta={"proxy": "http://127.0.0.1:3128"}))


def test_a_body_has_a_length(sent: Sent) -> None:
    assert sent("http://example.org/", method="POST", body=b"a=b") == (
        b"POST / HTTP/1.1\r\nHost: example.org\r\nContent-Length: 3\r\n\r\na=b"
    )
    assert sent("http://example.org/", method="POST").endswith(b"\r\nContent-Length: 0\r\n\r\n")
    framing = {"Content-Length": "99", "Transfer-Encoding": "chunked", "Expect": "100-continue"}
    assert sent("http://example.org/", method="PUT", body=b"x", headers=framing) == (
        b"PUT / HTTP/1.1\r\nHost: example.org\r\nContent-Length: 1\r\n\r\nx"
    )


@pytest.mark.parametrize(
    ("url", "line", "host"),
    [
        ("http://example.org", "/", "example.org"),
        ("http://example.org?q", "/?q", "example.org"),
        ("http://example.org:80/", "/", "example.org"),
        ("https://example.org:443/", "/", "example.org"),
        ("https://example.org:80/", "/", "example.org:80"),
        ("http://example.org.:8080/x", "/x", "example.org:8080"),
        ("http://[::1]:8080/", "/", "[::1]:8080"),
        ("http://[::1]/", "/", "[::1]"),
        ("http://example.org/%7Ea//b/../c", "/%7Ea//b/../c", "example.org"),
    ],
)
def test_urls_are_sent_as_they_are(sent: Sent, url: str, line: str, host: str) -> None:
    head = sent(url, meta={"verbatim_url": True})
    assert head == f"GET {line} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()


def test_a_password_is_sent_as_a_header_alone(sent: Sent) -> None:
    head = sent("http://ann:p%40ss@example.org/", headers={"Authorization": "mine"})
    pair = b64encode(b"ann:p@ss")
    assert head == (
        b"GET / HTTP/1.1\r\nHost: example.org\r\nAuthorization: Basic " + pair + b"\r\n\r\n"
    )


def test_another_host_may_be_named(sent: Sent) -> None:
    head = sent("http://example.org/", headers={"Host": "other.example"})
    assert head == b"GET / HTTP/1.1\r\nHost: other.example\r\n\r\n"


@pytest.mark.parametrize("value", ["a\r\nX: y", "a\nX: y", "a\rX: y", "a\0b"])
def test_nobody_can_add_a_line(sent: Sent, value: str) -> None:
    with pytest.raises(ValueError, match="line end"):
        sent("http://example.org/", headers={"X": value})
    with pytest.raises(ValueError):
        sent("http://example.org/", headers={value: "x"})
    with pytest.raises(ValueError):
        sent(f"http://example.org/{value}", meta={"verbatim_url": True})


def test_a_server_gets_what_was_written(fetching: Open) -> None:
    async def talk(client: Visitor) -> None:
        while await client.read_request():
            await client.send(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")

    async def main() -> list[bytes]:
        async with serving(talk) as server, fetching() as fetch:
            place = server.origin.removeprefix("http://")
            await fetch(f"http://a:b@{place}/x?y=%7E#z", headers={"User-Agent": "bot", "X": "1"})
            await fetch(f"http://{place}/form", method="POST", body=b"a=b")
            await fetch(f"http://{place}/", method="HEAD")
            await fetch(f"http://{place}/", headers={"Connection": "close"})
            assert len(server.clients) == 2
            return [each.replace(place.encode(), b"PLACE") for each in server.requests]

    assert sorted(run(main())) == [
        b"GET / HTTP/1.1\r\nHost: PLACE\r\nConnection: close\r\n\r\n",
        b"GET /x?y=%7E HTTP/1.1\r\nHost: PLACE\r\nAuthorization: Basic YTpi\r\n"
        b"User-Agent: bot\r\nX: 1\r\n\r\n",
        b"HEAD / HTTP/1.1\r\nHost: PLACE\r\n\r\n",
        b"POST /form HTTP/1.1\r\nHost: PLACE\r\nContent-Length: 3\r\n\r\na=b",
    ]
