"""Servers that answer what nobody asked, on a connection that is kept; real sockets, whole crawls."""

from __future__ import annotations

import json
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING

import pytest

from tests.conftest import FATES, read_fates

if TYPE_CHECKING:
    from tests.conftest import Scrapy


def answer(title: str, links: tuple[str, ...] = ()) -> bytes:
    anchors = "".join(f"<a href='{link}'>x</a>" for link in links)
    body = f"<!DOCTYPE html><title>{title}</title>{anchors}".encode()
    head = f"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


STRAY = answer("Stray")
PATHS = tuple(f"/{number}" for number in range(5))


def soon_after(connection: socket.socket, page: bytes) -> None:
    """Answer, and then once more, when the connection is idle."""
    connection.sendall(page)
    sleep(0.1)
    connection.sendall(STRAY)


def together(connection: socket.socket, page: bytes) -> None:
    """Send a stray answer with the last byte of the page."""
    connection.sendall(page[:-1])
    sleep(0.1)
    connection.sendall(page[-1:] + STRAY)


def then_nothing(connection: socket.socket, page: bytes) -> None:
    """Answer, and hang up without a word when the connection is idle."""
    connection.sendall(page)
    sleep(0.1)
    connection.shutdown(socket.SHUT_RDWR)


def plainly(connection: socket.socket, page: bytes) -> None:
    connection.sendall(page)


Manner = Callable[[socket.socket, bytes], None]


@contextmanager
def serving(
    manner: Manner, context: ssl.SSLContext | None = None
) -> Iterator[tuple[str, list[Thread]]]:
    """Serve pages in some manner; the values are the origin, and a thread for each connection."""
    listener = socket.create_server(("127.0.0.1", 0))
    scheme = "https" if context else "http"
    origin = f"{scheme}://127.0.0.1:{listener.getsockname()[1]}"

    def wrapped(connection: socket.socket) -> socket.socket:
        return context.wrap_socket(connection, server_side=True) if context else connection

    def talk(connection: socket.socket) -> None:
        with suppress(OSError), wrapped(connection) as connection:
            connection.settimeout(30)
            while request := connection.recv(65_536):
                path = request.split()[1].decode()
                if path == "/robots.txt":
                    connection.sendall(b"HTTP/1.1 404 No\r\nContent-Length: 0\r\n\r\n")
                else:
                    manner(connection, answer(f"Page {path}", PATHS if path == "/" else ()))

    def accept() -> None:
        with suppress(OSError):  # closed
            while True:
                threads.append(Thread(target=talk, args=(listener.accept()[0],), daemon=True))
                threads[-1].start()

    threads: list[Thread] = []
    accepting = Thread(target=accept)
    accepting.start()
    try:
        yield origin, threads
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join()


@pytest.mark.parametrize("manner", [soon_after, together, then_nothing, plainly])
def test_every_page_is_its_own(scrapy: Scrapy, tmp_path: Path, manner: Manner) -> None:
    with serving(manner) as (origin, connections):
        result = scrapy(
            "crawl",
            "rdfa",
            "-a",
            f"seeds={origin}/",
            "-o",
            "items.jl",
            POLITENESS_DELAY=1.1,  # libcurl looks once in a second at idle connections
            FRONTIER_RETRIES=0,
        )
    assert result.returncode == 0, result.stderr
    items = [json.loads(line) for line in (tmp_path / "items.jl").read_text().splitlines()]
    titles = {item["url"].removeprefix(origin): item["title"] for item in items}
    assert titles == {path: f"Page {path}" for path in ("/", *PATHS)}
    # A connection is used again unless something came on it.
    assert len(connections) == (1 if manner is plainly else len(titles))


@contextmanager
def tunnelling() -> Iterator[tuple[str, list[str]]]:
    """Run a proxy that connects whom it is asked to; the values are its URL and what it was asked."""
    listener = socket.create_server(("127.0.0.1", 0))
    asked: list[str] = []

    def copy(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def talk(client: socket.socket) -> None:
        with client, suppress(OSError):
            method, place, _ = client.recv(65_536).split(maxsplit=2)
            asked.append(f"{method.decode()} {place.decode()}")
            host, port = place.decode().split(":")
            with socket.create_connection((host, int(port))) as server:
                client.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
                Thread(target=copy, args=(server, client), daemon=True).start()
                copy(client, server)

    def accept() -> None:
        with suppress(OSError):  # closed
            while True:
                Thread(target=talk, args=(listener.accept()[0],), daemon=True).start()

    accepting = Thread(target=accept)
    accepting.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}", asked
    finally:
        listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        accepting.join()


@pytest.mark.parametrize("is_proxied", [False, True])
def test_pages_by_tls(
    scrapy: Scrapy,
    tmp_path: Path,
    tls: ssl.SSLContext,
    monkeypatch: pytest.MonkeyPatch,
    is_proxied: bool,
) -> None:
    with serving(plainly, tls) as (origin, connections), tunnelling() as (proxy, asked):
        if is_proxied:
            monkeypatch.setenv("https_proxy", proxy)
        crawl = ["crawl", "rdfa", "-a", f"seeds={origin}/", "-o", "items.jl"]
        result = scrapy(*crawl, POLITENESS_DELAY=0.1, FRONTIER_RETRIES=0)
    assert result.returncode == 0, result.stderr
    items = [json.loads(line) for line in (tmp_path / "items.jl").read_text().splitlines()]
    assert {item["title"] for item in items} == {f"Page {path}" for path in ("/", *PATHS)}
    assert len(connections) == 1
    connect = f"CONNECT {origin.removeprefix('https://')}"
    assert asked == ([connect] if is_proxied else [])


@pytest.mark.parametrize("is_trusted", [False, True])
def test_a_certificate_must_be_valid_where_that_is_demanded(
    scrapy: Scrapy,
    tmp_path: Path,
    tls: ssl.SSLContext,
    certificate: Path,
    monkeypatch: pytest.MonkeyPatch,
    is_trusted: bool,
) -> None:
    if is_trusted:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    with serving(plainly, tls) as (origin, _):
        result = scrapy(
            *("crawl", "rdfa", "-a", f"seeds={origin}/", "-a", "depth=0"),
            DOWNLOAD_VERIFY_CERTIFICATES=1,
            POLITENESS_DELAY=0.1,
            FRONTIER_RETRIES=0,
            FEEDS=FATES,
        )
    fate = "done/page" if is_trusted else "failed/CertificateError"
    assert read_fates(tmp_path / "fates.csv") == [(f"{origin}/", fate)]
    if not is_trusted:
        assert result.returncode == 1, "nothing has answered"
        assert "cannot be fetched: its certificate is not valid" in result.stderr
        assert "failed in this run: 1 with a certificate that is not valid" in result.stderr
    assert "Traceback" not in result.stderr
