"""Whole crawls of a server that breaks every rule of HTTP: each bad page costs little and ends."""

from __future__ import annotations

import gzip
import os
import re
import socket
import struct
import subprocess
import sys
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Event, Thread

import brotli  # type: ignore[import-untyped]
import pytest
from backports import zstd

from tests.conftest import FATES, read_fates

PROJECT = Path(__file__).parent.parent

MEGABYTE = 1 << 20
# What a page may have here, and what the system keeps on the way between two sockets at most.
LARGEST = MEGABYTE
UNDERWAY = 16 * MEGABYTE
TIMEOUT = 5.0  # far more than any page here needs, on a busy machine too

HTML = b"Content-Type: text/html\r\n"
ODD = b"X-Odd: caf\xe9\r\n"  # Latin-1, which is not UTF-8
OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n"
PAGE = b"<!DOCTYPE html><title>A page</title>"


# These are found on the way.
ESCAPES = b"\x1b]0;owned\x07\x1b[2J"
ESCAPED = "/%1B]0;owned%07%1B[2J"
NO_SEEDS = ("/robots.txt", "/caf%C3%A9", "/linked", "/moved", "/loop-back", ESCAPED)

# What takes time to make, made before a crawl begins.
PACKED: list[Callable[[], bytes]] = []


class Client:
    """The crawler as a bad server sees it: how much it takes, and when it hangs up."""

    def __init__(self, connection: socket.socket, stopped: Event) -> None:
        self.connection = connection
        self.stopped = stopped
        self.taken = 0
        self.asked = b""

    @property
    def place(self) -> bytes:
        """Return the server that it asks, by name and port."""
        return self.asked.split(b"\nHost: ")[1].split(b"\r")[0]

    def send(self, data: bytes) -> None:
        self.connection.sendall(data)
        self.taken += len(data)

    def flood(self, piece: bytes) -> None:
        """Send without end, as fast as it is taken."""
        block = piece * (1 + 65_536 // len(piece))
        while not self.stopped.is_set():
            self.send(block)

    def drip(self, piece: bytes = b"x") -> None:
        """Send without end, so slowly that no single wait is long."""
        while not self.stopped.wait(0.1):
            self.send(piece)


def packed(encoding: bytes, pack: Callable[[], bytes]) -> Callable[[Client], None]:
    """Answer by a body that says it is packed."""
    pack = cache(pack)
    PACKED.append(pack)

    def answer(client: Client) -> None:
        body = pack()
        assert len(body) < LARGEST
        head = OK + HTML + b"Content-Encoding: %b\r\nContent-Length: %d\r\n\r\n"
        client.send(head % (encoding, len(body)) + body)

    return answer


def reset(client: Client) -> None:
    """Hang up in the rudest way."""
    linger = struct.pack("ii", 1, 0)
    client.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    client.connection.close()


def moved(location: bytes) -> Callable[[Client], None]:
    """Redirect; `%b` in the location is this server."""

    def answer(client: Client) -> None:
        target = location % client.place if b"%b" in location else location
        client.send(b"HTTP/1.1 301 Moved\r\nLocation: " + target + b"\r\nContent-Length: 0\r\n\r\n")

    return answer


def linking(client: Client) -> None:
    """Answer by a page that links to this server with a password, and to ports that are not the web's."""
    links = [b"http://me:secret@%b/linked" % client.place, b"http://127.0.0.1:25/", b"//x:6667/"]
    client.send(OK + HTML + b"\r\n" + PAGE + b"".join(b"<a href='%b'>x</a>" % to for to in links))


def beginning(head: bytes, then: Callable[[Client], None]) -> Callable[[Client], None]:
    """Answer by a head and then in some other way."""

    def answer(client: Client) -> None:
        client.send(head)
        then(client)

    return answer


@cache
def gigabyte() -> bytes:
    """Return a gigabyte of nothing as a small archive of many parts."""
    return gzip.compress(bytes(64 * MEGABYTE)) * 15


def packed_times(number: int) -> bytes:
    body = PAGE
    for _ in range(number):
        body = gzip.compress(body)
    return body


BAD: dict[str, Callable[[Client], None]] = {
    "/gzip": packed(b"gzip", gigabyte),
    "/gzip-twice": packed(b"gzip, gzip", lambda: gzip.compress(gigabyte())),
    "/deflate": packed(b"deflate", lambda: zlib.compress(bytes(64 * MEGABYTE))),
    "/brotli": packed(b"br", lambda: brotli.compress(bytes(64 * MEGABYTE), quality=1)),
    "/zstd": packed(b"zstd", lambda: zstd.compress(bytes(64 * MEGABYTE))),
    "/gzip-500-times": packed(b", ".join([b"gzip"] * 500), lambda: packed_times(1)),
    "/broken-gzip": packed(b"gzip", lambda: b"this is no archive"),
    "/unknown-packing": packed(b"rot13", lambda: b"Uryyb"),
    "/endless": beginning(OK + HTML + b"\r\n", lambda client: client.flood(b"<p>")),
    "/endless-chunks": beginning(
        OK + HTML + b"Transfer-Encoding: chunked\r\n\r\n",
        lambda client: client.flood(b"400\r\n" + b"x" * 1024 + b"\r\n"),
    ),
    "/announced": beginning(
        OK + HTML + b"Content-Length: 1000000000000\r\n\r\n", lambda client: client.flood(b"<p>")
    ),
    "/film": beginning(
        OK + b"Content-Type: video/mp4\r\n\r\n", lambda client: client.flood(bytes(1024))
    ),
    "/slow-body": beginning(OK + HTML + b"\r\n", Client.drip),
    "/slow-head": beginning(OK + b"X-Slow: ", Client.drip),
    "/silent": lambda client: client.drip(b""),
    "/endless-head": beginning(OK, lambda client: client.flood(b"X-Header: value\r\n")),
    "/endless-line": beginning(OK + b"X-Header: ", lambda client: client.flood(b"value ")),
    "/hangs-up": lambda client: None,
    "/reset": reset,
    "/longer": lambda client: client.send(
        OK + HTML + b"Content-Length: %d\r\n\r\n" % len(PAGE) + PAGE + b"<a href=/none>x</a>"
    ),
    "/odd-transfer": beginning(
        OK + HTML + b"Transfer-Encoding: rot13\xff, x\r\n\r\n", lambda client: client.send(PAGE)
    ),
    "/bad-chunks": beginning(
        OK + HTML + b"Transfer-Encoding: chunked\r\n\r\n",
        lambda client: client.send(b"-1\r\nzz\r\n" + PAGE),
    ),
    "/huge-chunk": beginning(
        OK + HTML + b"Transfer-Encoding: chunked\r\n\r\n",
        lambda client: client.flood(b"F" * 65_536),
    ),
    "/chunks-and-length": lambda client: client.send(
        OK
        + HTML
        + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n5\r\nabcde\r\n0\r\n\r\n"
    ),
    "/escapes": lambda client: client.send(
        b"HTTP/1.1 404 " + ESCAPES + b"\r\nX-Odd: " + ESCAPES + b"\r\nContent-Length: 0\r\n\r\n"
    ),
    "/escapes-in-title": lambda client: client.send(
        OK + HTML + b"\r\n<!DOCTYPE html><title>" + ESCAPES + b"</title>"
    ),
    "/escapes-in-location": moved(b"/" + ESCAPES),
    ESCAPED: lambda client: client.send(b"HTTP/1.1 500 " + ESCAPES + b"\r\n\r\n"),
    "/linking": linking,
    "/linked": lambda client: client.send(OK + HTML + b"\r\n" + PAGE),
    "/moved-with-password": moved(b"http://me:secret@%b/moved"),
    "/moved": lambda client: client.send(OK + HTML + b"\r\n" + PAGE),
    "/moved-to-a-port": moved(b"http://127.0.0.1:25/"),
    "/loop": moved(b"/loop"),
    "/loop-of-two": moved(b"/loop-back"),
    "/loop-back": moved(b"/loop-of-two"),
    "/cut": beginning(
        OK + HTML + b"Content-Length: 1000\r\n\r\n", lambda client: client.send(PAGE)
    ),
    "/nonsense": lambda client: client.send(b"\0\xff" * 1000 + b"\r\n\r\n"),
    "/status": lambda client: client.send(b"HTTP/1.1 99999 What\r\n\r\n"),
    "/lengths": beginning(
        OK + HTML + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
        lambda client: client.send(b"abcdef"),
    ),
    "/moved-nowhere": lambda client: client.send(
        b"HTTP/1.1 301 Moved\r\nLocation: http://[/\r\nContent-Length: 0\r\n\r\n"
    ),
    "/gzip-four-times": packed(b"gzip, gzip, gzip, gzip", lambda: packed_times(4)),
    "/gzip-three-times": packed(b"gzip, gzip\r\nContent-Encoding: gzip", lambda: packed_times(3)),
    "/informational": lambda client: client.flood(b"HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n"),
    "/some-hints": beginning(
        b"HTTP/1.1 103 Hints\r\n\r\n" * 3, lambda client: client.send(OK + HTML + b"\r\n" + PAGE)
    ),
    "/odd-header": lambda client: client.send(OK + HTML + ODD + b"\r\n" + PAGE),
    "/odd-type": lambda client: client.send(
        OK + b"Content-Type: text/html; charset=caf\xe9\r\n\r\n" + PAGE
    ),
    "/odd-location": lambda client: client.send(
        b"HTTP/1.1 301 Moved\r\nLocation: /caf\xe9\r\nContent-Length: 0\r\n\r\n"
    ),
    "/caf%C3%A9": lambda client: client.send(OK + HTML + b"\r\n" + PAGE),
    "/good": lambda client: client.send(OK + HTML + b"\r\n" + PAGE),
    "/robots.txt": lambda client: client.send(
        b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n" + ODD + b"\r\n"
    ),
}


class Server:
    """Answers each path in its own bad way, and remembers how much was taken and for how long."""

    def __init__(self) -> None:
        self.taken: Counter[str] = Counter()
        self.seconds: dict[str, float] = {}
        self.asked: list[bytes] = []
        self.stopped = Event()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.origin = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self._threads = [Thread(target=self._accept)]
        self._threads[0].start()

    def _accept(self) -> None:
        with suppress(OSError):  # closed
            while True:
                connection, _ = self._listener.accept()
                self._threads.append(Thread(target=self._talk, args=(connection,)))
                self._threads[-1].start()

    def _talk(self, connection: socket.socket) -> None:
        connection.settimeout(30)
        began, client, path = time.monotonic(), Client(connection, self.stopped), ""
        with connection, suppress(OSError):
            client.asked = connection.recv(65_536)
            self.asked.append(client.asked)
            path = client.asked.split(b" ")[1].decode()
            BAD[path](client)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(1)  # until the crawler hangs up too
        self.taken[path] += client.taken
        self.seconds[path] = time.monotonic() - began

    def close(self) -> None:
        self.stopped.set()
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join()


@contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    try:
        yield server
    finally:
        server.close()


@dataclass(frozen=True)
class Outcome:
    """What a crawl made of the bad server: fates by path, what it took, and its peak of memory."""

    fates: dict[str, str]
    server: Server
    megabytes: float
    output: str


def peak_while_running(process: subprocess.Popen[bytes]) -> float:
    """Wait for a process to end; return the most memory it had, in megabytes.

    What the system tells afterwards would include what this process had when it was forked.
    """
    peak = 0.0
    while process.poll() is None:
        status = Path(f"/proc/{process.pid}/status").read_text()
        if found := re.search(r"VmHWM:\s+(\d+)", status):
            peak = int(found[1]) / 1024
        time.sleep(0.05)
    return peak


def crawl(directory: Path) -> Outcome:
    settings = {
        "DOWNLOAD_MAXSIZE": LARGEST,
        "DOWNLOAD_TIMEOUT": TIMEOUT,
        "POLITENESS_DELAY": 0,
        "POLITENESS_AT_ONCE": 32,
        "POLITENESS_BACKOFF": 0,
        "FRONTIER_RETRIES": 0,
        "EXTRACT_PROCESSES": 0,
        "FEEDS": FATES,
    }
    options = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    command = [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", *options]
    for pack in PACKED:
        pack()
    with serving() as server:
        seeds = ",".join(server.origin + path for path in BAD if path not in NO_SEEDS)
        with (directory / "log").open("wb") as log:
            process = subprocess.Popen(
                [*command, "-a", f"seeds={seeds}"],
                cwd=directory,
                env={**os.environ, "PYTHONPATH": str(PROJECT)},
                stderr=log,
            )
            peak = peak_while_running(process)
    output = (directory / "log").read_text()
    assert process.returncode == 0, output
    fates = {
        url.removeprefix(server.origin): fate for url, fate in read_fates(directory / "fates.csv")
    }
    return Outcome(fates, server, peak, output)


@pytest.fixture(scope="module")
def outcome(tmp_path_factory: pytest.TempPathFactory) -> Outcome:
    return crawl(tmp_path_factory.mktemp("crawl"))


@pytest.mark.slow
def test_every_page_has_an_end_and_the_good_one_is_read(outcome: Outcome) -> None:
    assert outcome.fates.keys() == BAD.keys() - {"/robots.txt"}
    assert outcome.fates["/good"] == "done/page"
    assert "+ 0 waiting" in outcome.output


@pytest.mark.parametrize("path", ["/gzip", "/gzip-twice", "/deflate", "/brotli", "/zstd"])
def test_what_unpacks_to_too_much_is_cut(outcome: Outcome, path: str) -> None:
    assert outcome.fates[path] == "failed/size"


def test_a_page_may_be_packed_three_times_at_most(outcome: Outcome) -> None:
    assert outcome.fates["/gzip-three-times"] == "done/page"
    assert outcome.fates["/gzip-four-times"] == "failed/size"
    assert outcome.fates["/gzip-500-times"] == "failed/size"


def test_informational_answers_have_an_end(outcome: Outcome) -> None:
    assert outcome.fates["/some-hints"] == "done/page"
    assert outcome.fates["/informational"] == "failed/DownloadFailedError"
    assert outcome.server.taken["/informational"] < UNDERWAY
    assert outcome.server.seconds["/informational"] < TIMEOUT


def test_a_header_that_is_not_utf8_costs_no_page(outcome: Outcome) -> None:
    assert outcome.fates["/odd-header"] == "done/page"
    assert outcome.fates["/odd-type"] == "done/page"
    assert outcome.fates["/odd-location"] == "done/redirect"
    assert outcome.fates["/caf%C3%A9"] == "done/page"


@pytest.mark.parametrize("path", ["/endless", "/endless-chunks"])
def test_the_size_is_limited_while_reading(outcome: Outcome, path: str) -> None:
    assert outcome.fates[path] == "failed/size"
    assert outcome.server.taken[path] < LARGEST + UNDERWAY


@pytest.mark.parametrize(("path", "fate"), [("/announced", "failed/size"), ("/film", "done/type")])
def test_the_headers_are_enough_to_hang_up(outcome: Outcome, path: str, fate: str) -> None:
    assert outcome.fates[path] == fate
    assert outcome.server.taken[path] < UNDERWAY
    assert outcome.server.seconds[path] < TIMEOUT


@pytest.mark.parametrize("path", ["/slow-body", "/slow-head", "/silent"])
def test_the_time_is_limited_for_the_whole_page(outcome: Outcome, path: str) -> None:
    assert outcome.fates[path] == "failed/DownloadTimeoutError"
    assert outcome.server.seconds[path] < 2 * TIMEOUT


@pytest.mark.parametrize("path", ["/endless-head", "/endless-line"])
def test_the_head_is_limited_too(outcome: Outcome, path: str) -> None:
    assert outcome.fates[path] == "failed/DownloadFailedError"
    assert outcome.server.taken[path] < UNDERWAY


@pytest.mark.parametrize(
    "path",
    [
        "/bad-chunks",
        "/broken-gzip",
        "/cut",
        "/hangs-up",
        "/huge-chunk",
        "/moved-nowhere",
        "/nonsense",
        "/reset",
        "/status",
    ],
)
def test_what_is_broken_fails(outcome: Outcome, path: str) -> None:
    assert outcome.fates[path].startswith("failed/")


def test_what_is_too_much_is_not_read(outcome: Outcome) -> None:
    """A body longer than it was announced, and lengths and transfers that nobody understands."""
    asked = b"\n".join(outcome.server.asked)
    assert b"GET /none" not in asked
    for path in ("/longer", "/odd-transfer", "/chunks-and-length", "/lengths"):
        assert outcome.fates[path] in ("done/page", "failed/DownloadFailedError")
    assert outcome.server.taken["/huge-chunk"] < UNDERWAY


def test_redirects_in_a_circle_end(outcome: Outcome) -> None:
    ends = {
        "/loop": "failed/redirects",
        "/loop-of-two": "done/redirect",
        "/loop-back": "done/redirect",
    }
    for path, end in ends.items():
        assert outcome.fates[path] == end
        assert sum(b"GET %b " % path.encode() in asked for asked in outcome.server.asked) == 1


def test_pages_send_us_with_no_password_and_to_no_port_of_others(outcome: Outcome) -> None:
    assert outcome.fates["/linked"] == outcome.fates["/moved"] == "done/page"
    assert not any(b"authorization" in asked.lower() for asked in outcome.server.asked)
    # Two links and a redirect.
    assert "3 links to ports of services other than the web" in outcome.output


def test_nothing_that_a_server_says_steers_the_terminal(outcome: Outcome) -> None:
    assert outcome.fates["/escapes"] == "failed/404"
    assert outcome.fates["/escapes-in-title"] == "done/page"
    assert outcome.fates[ESCAPED] == "failed/500"
    assert not set("\x1b\x07") & set(outcome.output)


def test_a_server_does_not_choose_the_names_of_our_counters(outcome: Outcome) -> None:
    assert outcome.fates["/status"] in ("failed/status", "failed/DownloadFailedError")


def test_memory_stays_bounded(outcome: Outcome) -> None:
    assert outcome.megabytes < 500


def test_no_page_is_an_error_of_ours(outcome: Outcome) -> None:
    assert "Traceback" not in outcome.output
