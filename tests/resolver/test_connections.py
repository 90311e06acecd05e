"""Servers that answer what nobody asked, on a connection that is kept; real sockets, whole crawls."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Thread
from time import sleep
from typing import TYPE_CHECKING

import pytest

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
def serving(manner: Manner) -> Iterator[tuple[str, list[Thread]]]:
    """Serve pages in some manner; the values are the origin, and a thread for each connection."""
    listener = socket.create_server(("127.0.0.1", 0))
    origin = f"http://127.0.0.1:{listener.getsockname()[1]}"

    def talk(connection: socket.socket) -> None:
        with connection, suppress(OSError):
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
            POLITENESS_DELAY=0.3,
            FRONTIER_RETRIES=0,
        )
    assert result.returncode == 0, result.stderr
    items = [json.loads(line) for line in (tmp_path / "items.jl").read_text().splitlines()]
    titles = {item["url"].removeprefix(origin): item["title"] for item in items}
    assert titles == {path: f"Page {path}" for path in ("/", *PATHS)}
    # A connection is used again unless something came on it.
    assert len(connections) == (1 if manner is plainly else len(titles))
