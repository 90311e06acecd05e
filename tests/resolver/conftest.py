"""Servers that remember who came, and a crawl with made-up name servers."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

PROJECT = Path(__file__).parent.parent.parent

GUARDED = "rdfaspider.downloader.handler.GuardedHttpDownloadHandler"
UNGUARDED = "scrapy.core.downloader.handlers.http11.HTTP11DownloadHandler"


def guard_settings(path: str = GUARDED) -> dict[str, Any]:
    """Return the settings that put a crawl behind the guard, if its handler is."""
    return {
        "TWISTED_DNS_RESOLVER": "rdfaspider.resolver.Resolver",
        "DOWNLOAD_HANDLERS": {"http": path, "https": path, "ftp": None, "file": None, "s3": None},
        "RESOLVER_ALLOW": [],
        "RESOLVER_CACHE_NAMES": 1000,
        "RESOLVER_HIT_SECONDS": 300,
        "RESOLVER_MISS_SECONDS": 60,
        "RESOLVER_THREADS": 8,
    }


@pytest.fixture
def guarded() -> dict[str, Any]:
    """Return the settings that put a crawl behind the guard."""
    return guard_settings()


@dataclass
class Server:
    """A server in a thread: `pages` are its answers by path, `visits` the requests it got."""

    port: int
    pages: dict[str, bytes] = field(default_factory=dict)
    visits: list[str] = field(default_factory=list)

    def serve(self, path: str, text: str) -> None:
        self.pages[path] = answer("200 OK", "Content-Type: text/html; charset=utf-8", text)

    def redirect(self, path: str, location: str) -> None:
        self.pages[path] = answer("302 Found", f"Location: {location}", "")

    def talk(self, connection: socket.socket) -> None:
        with connection, suppress(OSError):
            self.visits.append("a connection")
            connection.settimeout(5)
            line = connection.recv(65536).split(b"\r\n")[0].decode("latin-1")
            self.visits[-1] = line
            path = line.split(" ")[1] if line.count(" ") == 2 else ""
            default = answer("200 OK", "Content-Type: text/html", f"You asked for {path}.")
            connection.sendall(self.pages.get(path, default))


def answer(status: str, header: str, text: str) -> bytes:
    """Return an HTTP response after which the connection ends, so that each visit is one."""
    body = text.encode()
    lines = [f"HTTP/1.1 {status}", header, f"Content-Length: {len(body)}", "Connection: close"]
    return "\r\n".join([*lines, "", ""]).encode() + body


def accept(server: Server, listener: socket.socket) -> None:
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:  # closed
            return
        Thread(target=server.talk, args=(connection,), daemon=True).start()


@contextmanager
def listening(*hosts: str, port: int = 0) -> Iterator[Server]:
    """Serve the same port on several addresses of this machine."""
    with ExitStack() as stack:
        threads = []
        server = Server(port)
        for host in hosts:
            family = socket.AF_INET6 if ":" in host else socket.AF_INET
            listener = stack.enter_context(socket.create_server((host, server.port), family=family))
            stack.callback(listener.shutdown, socket.SHUT_RDWR)
            server.port = listener.getsockname()[1]
            thread = Thread(target=accept, args=(server, listener), daemon=True)
            thread.start()
            threads.append(thread)
        yield server
    for thread in threads:
        thread.join(timeout=60)


@pytest.fixture
def canary() -> Iterator[Server]:
    """Listen where no page may send the crawler: on loopback, in both families."""
    with listening("127.0.0.1", "::1") as server:
        yield server


@pytest.fixture
def friend(canary: Server) -> Iterator[Server]:
    """Listen on another loopback address, which a test allows, at the canary's port."""
    with listening("127.0.0.2", port=canary.port) as server:
        yield server


# Fetches the URLs on standard input one after the other and writes what came of each. Names are
# resolved to their answers in turn, the last one for ever.
SPIDER = """
import json, sys
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess
from rdfaspider.resolver import Resolver, installed_resolver

task = json.load(sys.stdin)
outcomes = []

def look_up(name):
    answers = task["names"].get(name)
    if not answers:
        raise OSError(name)
    return answers.pop(0) if len(answers) > 1 else answers[0]

class Told(Resolver):
    look_up = staticmethod(look_up)

class Fetcher(Spider):
    name = "fetcher"

    async def start(self):
        if task["seeds"]:
            installed_resolver().allow_seeds(task["seeds"])
        for url in task["urls"]:
            meta = {"verbatim_url": True, "dont_retry": True}
            if task["proxy"]:
                meta["proxy"] = task["proxy"]
            try:
                request = Request(url, meta=meta, dont_filter=True)
                response = await self.crawler.engine.download_async(request)
                outcomes.append(str(response.status))
            except Exception as error:
                outcomes.append(type(error).__name__)
        return
        yield

if task["settings"]["TWISTED_DNS_RESOLVER"] == "rdfaspider.resolver.Resolver":
    task["settings"]["TWISTED_DNS_RESOLVER"] = Told
process = AsyncCrawlerProcess(task["settings"])
crawler = process.create_crawler(Fetcher)
crawl = process.crawl(crawler)
process.start()
print(json.dumps({
    "outcomes": outcomes,
    "stats": {k: v for k, v in crawler.stats.get_stats().items() if k.startswith("resolver/")},
    "error": repr(crawl.exception()) if crawl.exception() else "",
}))
"""


@dataclass(frozen=True)
class Fetched:
    """What a crawl printed: an outcome for each URL, its stats, and why it did not start."""

    outcomes: list[str]
    stats: dict[str, int]
    error: str


Fetch = Callable[..., Fetched]


@pytest.fixture
def fetch(tmp_path: Path) -> Fetch:
    """Fetch URLs in a Scrapy process of its own."""

    def run(
        urls: list[str],
        handler: str = GUARDED,
        *,
        names: dict[str, list[list[str]]] | None = None,
        seeds: tuple[str, ...] = (),
        proxy: str = "",
        **settings: object,
    ) -> Fetched:
        common = {
            "ROBOTSTXT_OBEY": False,
            "LOG_LEVEL": "ERROR",
            "DOWNLOAD_TIMEOUT": 5,
            "TELNETCONSOLE_ENABLED": False,
            "REMOTE_CONTROL_ENABLED": False,
            "EXTENSIONS": {"rdfaspider.resolver.extension.ResolverExtension": 1},
        }
        task = {
            "urls": urls,
            "names": names or {},
            "seeds": seeds,
            "proxy": proxy,
            "settings": {**common, **guard_settings(handler), **settings},
        }
        result = subprocess.run(
            [sys.executable, "-c", SPIDER],
            input=json.dumps(task),
            cwd=tmp_path,
            env={
                **{k: v for k, v in os.environ.items() if not k.lower().endswith("_proxy")},
                "PYTHONPATH": str(PROJECT),
            },
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        return Fetched(**json.loads(result.stdout))

    return run
