"""A web of good and bad hosts on loopback addresses: each answers in its manner, and visits are noted."""

from __future__ import annotations

import asyncio
import gzip
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Thread

import brotli  # type: ignore[import-untyped]
from backports import zstd

from rdfaspider.resolver import Resolver
from rdfaspider.site.web import loopback

PROJECT = Path(__file__).parents[1]

HTML = b"Content-Type: text/html\r\n"
OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\n" + HTML
MOVED = b"HTTP/1.1 301 Moved\r\nLocation: %b\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
NONE = b"HTTP/1.1 404 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
MEGABYTE = 1 << 20

# How a host answers for a path: by what is written to it, until it is closed.
Manner = Callable[[asyncio.StreamWriter, str], Awaitable[None]]


def with_robots(manner: Manner) -> Manner:
    """Answer well when asked for robots.txt, so that pages are asked for too."""

    async def answer(client: asyncio.StreamWriter, path: str) -> None:
        if path == "/robots.txt":
            client.write(NONE)
        else:
            await manner(client, path)

    return answer


def pages(number: int, latency: float = 0.0) -> Manner:
    """Answer with pages that are a chain of so many links."""

    async def answer(client: asyncio.StreamWriter, path: str) -> None:
        await asyncio.sleep(latency)
        step = int(path.strip("/") or 0) + 1
        link = f"<a href='/{step}'>on</a>" if step < number else ""
        body = f"<!DOCTYPE html><title>{path}</title>{link}".encode()
        client.write(OK + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    return with_robots(answer)


async def silent(client: asyncio.StreamWriter, path: str) -> None:
    """Never answer."""
    await asyncio.sleep(3600)


async def drip(client: asyncio.StreamWriter, path: str) -> None:
    """Answer, a byte a second."""
    client.write(OK + b"\r\n")
    while True:
        client.write(b"x")
        await client.drain()
        await asyncio.sleep(1)


async def drip_head(client: asyncio.StreamWriter, path: str) -> None:
    """Begin a header that goes on, a byte a second."""
    client.write(OK + b"X-Slow: ")
    while True:
        client.write(b"x")
        await client.drain()
        await asyncio.sleep(1)


def flood(head: bytes, piece: bytes, size: int = 1 << 40, taken: list[int] | None = None) -> Manner:
    """Answer by a head and then by the same piece, as fast as it is taken; note how much was."""
    block = piece * (1 + 65_536 // len(piece))

    async def answer(client: asyncio.StreamWriter, path: str) -> None:
        sent = 0
        client.write(head)
        try:
            while sent < size:
                client.write(block)
                await client.drain()
                sent += len(block)
        finally:
            if taken is not None:
                taken.append(sent)

    return answer


def huge(megabytes: int, taken: list[int] | None = None) -> Manner:
    """Answer by a page of so many megabytes, whose length is not announced."""
    head = OK + b"\r\n<!DOCTYPE html><title>Much</title>"
    return flood(head, b"ado about nothing. ", megabytes * MEGABYTE, taken)


hints = flood(b"", b"HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n")
endless_head = flood(OK, b"X-Header: value\r\n")


async def reset(client: asyncio.StreamWriter, path: str) -> None:
    """Hang up in the rudest way."""
    client.transport.abort()


def answering(head: bytes, body: bytes = b"<!DOCTYPE html><title>A page</title>") -> Manner:
    """Answer by these bytes, whatever they are, and hang up."""

    async def answer(client: asyncio.StreamWriter, path: str) -> None:
        client.write(head + b"\r\n" + body)

    return answer


def moved(url: bytes) -> Manner:
    """Redirect to a URL."""

    async def answer(client: asyncio.StreamWriter, path: str) -> None:
        client.write(MOVED % url)

    return answer


async def circle(client: asyncio.StreamWriter, path: str) -> None:
    """Redirect, and redirect, and redirect."""
    step = int(path.strip("/") or 0) + 1
    client.write(MOVED % f"/{step}".encode())


async def stray(client: asyncio.StreamWriter, path: str) -> None:
    """Answer, and once more when nobody has asked."""
    body = b"<!DOCTYPE html><title>Mine</title>"
    page = b"HTTP/1.1 200 OK\r\n" + HTML + b"Content-Length: %d\r\n\r\n" % len(body) + body
    client.write(page)
    await client.drain()
    await asyncio.sleep(0.1)
    client.write(page.replace(b"Mine", b"Evil"))
    await client.drain()
    await asyncio.sleep(1)


def robots_at(url: str) -> Manner:
    """Send whoever asks for robots.txt to somebody else."""

    async def answer(client: asyncio.StreamWriter, path: str) -> None:
        if path == "/robots.txt":
            client.write(MOVED % url.encode())
        else:
            await answering(OK)(client, path)

    return answer


# More than a second of work, and 130 MB.
RICH = b"<!DOCTYPE html>" + b'<i property="dc:title">x</i>' * 170_000
# Depth, and elements that are left open, that a short look at the tags does not see: with these a tree
# builder may need minutes, and gigabytes.
DEEP = b"<!DOCTYPE html>" + b"<div><!--</div>-->" * 250_000
GROWING = (
    b"<!DOCTYPE html><div>"
    + b"".join(b"<b id=%d><!--</b>-->" % n for n in range(6_000))
    + b"</div>"
    + b"<p>x<!--</p>-->" * 6_000
)


def packed(encoding: bytes, body: bytes) -> Manner:
    return answering(OK + b"Content-Encoding: %b\r\n" % encoding, body)


def hostile(victim: str) -> dict[str, Manner]:
    """Return hosts that are hostile, each in another way; one sends us to a victim for its robots.txt."""
    nothing = bytes(64 * MEGABYTE)
    on_pages = {
        "silent": silent,
        "drip": drip,
        "drip in the head": drip_head,
        "16 MB": huge(16),
        "1 GB": huge(1000),
        "hints without end": hints,
        "headers without end": endless_head,
        "a header without end": flood(OK + b"X-Header: ", b"value "),
        "reset": reset,
        "bytes that are not UTF-8": answering(
            b"HTTP/1.1 200 caf\xe9\r\nX-Odd: \xff\r\nContent-Type: text/html; charset=\xe9\r\n"
        ),
        "packed 500 times": packed(b", ".join([b"gzip"] * 500), gzip.compress(b"x")),
        "a bomb of gzip": packed(b"gzip", gzip.compress(nothing)),
        "a bomb of brotli": packed(b"br", brotli.compress(nothing, quality=1)),
        "a bomb of zstd": packed(b"zstd", zstd.compress(nothing)),
        "shorter than announced": answering(OK + b"Content-Length: 1000\r\n"),
        "longer than announced": answering(OK + b"Content-Length: 3\r\n"),
        "a transfer of no kind": answering(OK + b"Transfer-Encoding: rot13\xff\r\n"),
        "chunks of no size": answering(OK + b"Transfer-Encoding: chunked\r\n", b"-1\r\nzz\r\n"),
        "nonsense": answering(b"\0\xff" * 1000),
        "an answer that nobody asked for": stray,
        "redirects without end": circle,
        "a redirect to a port of others": moved(b"http://127.0.0.1:25/"),
        "a redirect with a password": moved(b"http://me:secret@127.0.0.1:25/"),
        "links with passwords, and to ports": answering(
            OK, b"<a href='http://me:secret@127.0.0.1:25/'>x</a><a href='//x:6667/'>y</a>"
        ),
        "escapes": answering(
            b"HTTP/1.1 404 \x1b[2J\r\nX-Odd: \x1b[2J\r\n", b"<title>\x1b]0;owned\x07</title>"
        ),
        "much to read": answering(OK, RICH),
        "depth": answering(OK, DEEP),
        "elements without end": answering(OK, GROWING),
    }
    on_all: dict[str, Manner] = {
        "silent at once": silent,
        "drip at once": drip,
        "drip in the head at once": drip_head,
        "reset at once": reset,
        "hints at once": hints,
        "nonsense at once": answering(b"\0\xff" * 1000),
        "robots.txt without end": huge(1000),
        "robots.txt elsewhere": robots_at(victim),
    }
    return {name: with_robots(manner) for name, manner in on_pages.items()} | on_all


@dataclass
class Visit:
    """A request, by the clock of this machine."""

    moment: float
    address: str
    path: str


@dataclass
class Web:
    """The servers, by address, and who came."""

    hosts: Mapping[str, Manner]
    port: int = 0
    visits: list[Visit] = field(default_factory=list)

    async def talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        address = writer.get_extra_info("sockname")[0]
        with suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            head = await reader.readuntil(b"\r\n\r\n")
            path = head.split()[1].decode()
            self.visits.append(Visit(time.time(), address, path))
            await self.hosts[address](writer, path)
            await writer.drain()
        writer.close()

    def pages_of(self, addresses: set[str]) -> list[Visit]:
        """Return the pages that were asked for at some addresses."""
        return [v for v in self.visits if v.address in addresses and v.path != "/robots.txt"]


async def _serve(web: Web, ready: Event, done: asyncio.Event) -> None:
    servers = []
    for address in web.hosts:
        server = await asyncio.start_server(web.talk, address, web.port, backlog=128)
        web.port = server.sockets[0].getsockname()[1]
        servers.append(server)
    ready.set()
    await done.wait()
    for server in servers:
        server.close()
    while talks := asyncio.all_tasks() - {asyncio.current_task()}:
        for talk in talks:
            talk.cancel()
        await asyncio.wait(talks)


@contextmanager
def serving(hosts: Mapping[str, Manner]) -> Iterator[Web]:
    """Serve a web from a thread of its own."""
    web, ready, done = Web(hosts), Event(), asyncio.Event()
    loop = asyncio.new_event_loop()
    thread = Thread(target=loop.run_until_complete, args=(_serve(web, ready, done),))
    thread.start()
    assert ready.wait(30)
    try:
        yield web
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join()
        loop.close()


class Names(Resolver):
    """Looks up h127-1-0-17.zone.com, in as many seconds as its zone says: slow20.com takes 20.

    Hosts of a generated web have an address each.
    """

    @staticmethod
    def look_up(name: str) -> list[str]:
        if found := re.search(r"slow(\d+)", name):
            time.sleep(int(found[1]))
            raise OSError(f"{name} has no address.")
        if found := re.fullmatch(r"w(\d+)\.site\.test", name):
            return [loopback(int(found[1]))]
        return [name.partition(".")[0].removeprefix("h").replace("-", ".")]


def name_of(address: str, zone: str) -> str:
    return f"h{address.replace('.', '-')}.{zone}"


def addresses(second: int, count: int) -> list[str]:
    """Return so many addresses of this machine."""
    return [f"127.{second}.{number // 250}.{number % 250 + 1}" for number in range(count)]


@dataclass(frozen=True)
class Crawled:
    """What a crawl said, the most memory that its process had, in megabytes, when it began, its end."""

    output: str
    megabytes: float
    opened: float
    code: int

    def stat(self, name: str) -> float:
        found = re.search(rf"'{re.escape(name)}': ([\d.]+)", self.output)
        return float(found[1]) if found else 0.0


def crawl(
    directory: Path,
    seeds: list[str],
    *arguments: str,
    until: Callable[[], bool] = lambda: False,
    most_seconds: float = 60,
    **settings: object,
) -> Crawled:
    """Crawl in a process of its own until something is so, the crawl ends, or time is up."""
    (directory / "seeds.txt").write_text("\n".join(seeds))
    options = {
        "TWISTED_DNS_RESOLVER": "tests.hostile.Names",
        "RESOLVER_ALLOW": "127.0.0.0/8",
        "POLITENESS_CONTACT": "mailto:crawler@example.org",
        "FRONTIER_RETRIES": 0,
        "FRONTIER_DEPTH": 250,
        "EXTRACT_PROCESSES": 1,
        "STATS_DUMP": 1,
        **settings,
    }
    words = [word for name, value in options.items() for word in ("-s", f"{name}={value}")]
    command = [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", "-a", "seeds=seeds.txt"]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [*command, *arguments, *words],
            cwd=directory,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            stderr=log,
        )
        opened = _wait_for(b"Spider opened", directory / "log", process)
        peak = _watch(process, until, most_seconds)
    output = (directory / "log").read_text()
    assert "Traceback" not in output, output
    return Crawled(output, peak, opened, process.returncode)


def _wait_for(line: bytes, log: Path, process: subprocess.Popen[bytes]) -> float:
    while process.poll() is None and line not in log.read_bytes():
        time.sleep(0.05)
    return time.time()


def _watch(
    process: subprocess.Popen[bytes], until: Callable[[], bool], most_seconds: float
) -> float:
    """Wait for a process, and stop it in time; return the most memory it had, in megabytes."""
    peak, end = 0.0, time.monotonic() + most_seconds
    while process.poll() is None:
        with suppress(FileNotFoundError, ProcessLookupError):
            status = Path(f"/proc/{process.pid}/status").read_text()
            if found := re.search(r"VmHWM:\s+(\d+)", status):
                peak = int(found[1]) / 1024
        if until() or time.monotonic() > end:
            process.send_signal(signal.SIGINT)  # the second one waits for nobody
            time.sleep(1)
        time.sleep(0.05)
    return peak
