"""What this crawler and stock Scrapy do to the same badly behaved servers, as the servers see it.

pytest tests/benchmarks/test_fetching.py -s     prints the table of docs/results.md
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread

PROJECT = Path(__file__).parent.parent.parent

Answer = tuple[int, dict[str, str], bytes]
CLOSED = b"User-agent: *\nDisallow: /"
LINKS = 10
ENDLESS = 64 << 20  # bytes after which even an endless page ends

# Stock Scrapy with its own defaults, told to obey robots.txt and to follow all links.
STOCK = """
import sys
from scrapy.crawler import AsyncCrawlerProcess
from scrapy.linkextractors import LinkExtractor
from scrapy.spiders import CrawlSpider, Rule

class Stock(CrawlSpider):
    name = "stock"
    start_urls = sys.argv[1].split(",")
    allowed_domains = [url.split("/")[2].split(":")[0] for url in start_urls]
    rules = [Rule(LinkExtractor(), follow=True)]

process = AsyncCrawlerProcess({"ROBOTSTXT_OBEY": True, "TELNETCONSOLE_ENABLED": False})
process.crawl(Stock)
process.start()
"""


class Server:
    """One service: what it answers by path and count, and what it saw."""

    def __init__(self, address: str, rules: dict[str, Callable[[int], Answer]]) -> None:
        self.times: dict[str, list[float]] = defaultdict(list)
        self.bytes = 0
        self.open = self.most = 0
        self._lock = Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                with outer.counted(self.path) as count, suppress(OSError):
                    rule = rules.get(self.path) or (lambda count: (404, {}, b""))
                    self.answer(*rule(count))

            def answer(self, status: int, headers: dict[str, str], body: bytes) -> None:
                self.close_connection = not status or "Endless" in headers
                if not status:
                    return
                self.send_response(status)
                for name, value in {"Content-Type": "text/html", **headers}.items():
                    self.send_header(name, value)
                if "Endless" not in headers:
                    self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
                while "Endless" in headers and outer.bytes < ENDLESS:
                    outer.bytes += self.wfile.write(bytes(65_536))

            def log_message(self, *arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer((address, 0), Handler)
        self.url = f"http://{address}:{self._server.server_port}/"
        self._thread = Thread(target=self._server.serve_forever)
        self._thread.start()

    @contextmanager
    def counted(self, path: str) -> Iterator[int]:
        with self._lock:
            self.times[path].append(time.monotonic())
            self.open += 1
            self.most = max(self.most, self.open)
            count = len(self.times[path])
        try:
            yield count
        finally:
            with self._lock:
                self.open -= 1

    @property
    def pages(self) -> int:
        """Return how many requests there were for pages."""
        return sum(len(times) for path, times in self.times.items() if "robots" not in path)

    @property
    def gap(self) -> float:
        """Return the shortest time between two requests, whatever they were for."""
        times = sorted(itertools.chain.from_iterable(self.times.values()))
        return min((b - a for a, b in itertools.pairwise(times)), default=0.0)

    def close(self) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()


def page(text: str, **headers: str) -> Callable[[int], Answer]:
    return lambda count: (200, headers, f"<!DOCTYPE html>{text}".encode())


def slow(count: int) -> Answer:
    time.sleep(0.05)  # so that requests at once are seen at once
    return 200, {}, b"<!DOCTYPE html>"


def links(number: int = LINKS) -> str:
    return "".join(f"<a href='/{link}'>x</a>" for link in range(number))


def answering(status: int, body: bytes = b"", **headers: str) -> Callable[[int], Answer]:
    return lambda count: (status, headers, body)


def busy(count: int) -> Answer:
    return (503, {"Retry-After": "4"}, b"") if count == 1 else (200, {}, b"<!DOCTYPE html>")


def visited(server: Server) -> str:
    return f"{server.pages} pages fetched" if server.pages else "nothing fetched"


def linked(server: Server) -> str:
    return "links followed" if "/0" in server.times else "links left alone"


@dataclass
class Case:
    """A rule, a service that puts it to the test, and what is to be seen there."""

    rule: str
    robots: Callable[[int], Answer]
    front: Callable[[int], Answer] = field(default_factory=lambda: page(links()))
    more: dict[str, Callable[[int], Answer]] = field(default_factory=dict)
    see: Callable[[Server], str] = visited

    def serve(self, number: int) -> Server:
        """Serve from an address of its own: a crawler may take one address for one host."""
        pages = {f"/{link}": slow for link in range(LINKS)}
        rules = {"/robots.txt": self.robots, "/": self.front, **pages, **self.more}
        return Server(f"127.0.1.{number}", rules)


def hops(count: int) -> Case:
    chain = ["/robots.txt", *(f"/robots-{number}" for number in range(count))]
    moved = {a: answering(301, Location=b) for a, b in itertools.pairwise(chain)}
    rule = f"robots.txt behind {count} redirects forbids all"
    return Case(rule, moved["/robots.txt"], more={**moved, chain[-1]: answering(200, CLOSED)})


MISSING = answering(404)


def patience(server: Server) -> str:
    first, *again = server.times["/"]
    return f"asked again after {again[0] - first:.1f} s" if again else "not asked again"


CASES = [
    Case("robots.txt forbids all", answering(200, CLOSED)),
    Case("404 whose body forbids all", answering(404, CLOSED)),
    Case("403 whose body forbids all", answering(403, CLOSED)),
    *(Case(f"robots.txt answers {status}", answering(status)) for status in (429, 500, 503)),
    Case("robots.txt is not answered", lambda count: (0, {}, b"")),
    hops(5),
    hops(6),
    Case("rules behind 600 KiB", answering(200, (b"#" * 99 + b"\n") * 6_144 + CLOSED)),
    Case(
        "`User-agent: *`, `Crawl-delay`, `User-agent: other`, `Disallow: /`",
        answering(200, b"User-agent: *\nCrawl-delay: 0.1\nUser-agent: other\nDisallow: /"),
    ),
    Case(
        "fetches of robots.txt for eleven pages",
        answering(200, b""),
        see=lambda server: str(len(server.times["/robots.txt"])),
    ),
    Case(
        "shortest gap between requests under `Crawl-delay: 2`",
        answering(200, b"User-agent: *\nCrawl-delay: 2"),
        page(links(2)),
        see=lambda server: f"{server.gap:.1f} s",
    ),
    Case("requests at once", MISSING, see=lambda server: str(server.most)),
    Case("503 with `Retry-After: 4`", MISSING, busy, see=patience),
    Case(
        "`<meta name=robots content=nofollow>`",
        MISSING,
        page(f"<meta name=robots content=nofollow>{links(1)}"),
        see=linked,
    ),
    Case(
        "`X-Robots-Tag: nofollow`",
        MISSING,
        page(links(1), **{"X-Robots-Tag": "nofollow"}),
        see=linked,
    ),
    Case(
        "bytes taken of an endless film of 64 MB",
        MISSING,
        page("", **{"Content-Type": "video/mp4", "Endless": "1"}),
        see=lambda server: f"{server.bytes / 1e6:.0f} MB",
    ),
    Case(
        "bytes taken of an endless page of 64 MB",
        MISSING,
        page("", Endless="1"),
        see=lambda server: f"{server.bytes / 1e6:.0f} MB",
    ),
]


@contextmanager
def serving() -> Iterator[list[Server]]:
    servers = [case.serve(number) for number, case in enumerate(CASES, 1)]
    try:
        yield servers
    finally:
        for server in servers:
            server.close()


def observed(command: list[str], directory: Path, seeds: Callable[[str], str]) -> list[str]:
    """Run a crawler over all services and return what each of them saw."""
    directory.mkdir()
    with serving() as servers, (directory / "log").open("wb") as log:
        urls = ",".join(server.url for server in servers)
        subprocess.run(
            [*command, seeds(urls)],
            cwd=directory,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            stderr=log,
            check=True,
            timeout=240,
        )
        return [case.see(server) for case, server in zip(CASES, servers, strict=True)]


def restarts(command: list[str], directory: Path, seeds: Callable[[str], str]) -> str:
    """Run a crawler twice and return how often robots.txt was asked for."""
    directory.mkdir()
    server = Case("", answering(200)).serve(1)
    try:
        for _ in range(2):
            subprocess.run(
                [*command, seeds(server.url)],
                cwd=directory,
                env={**os.environ, "PYTHONPATH": str(PROJECT)},
                stderr=subprocess.DEVNULL,
                check=True,
                timeout=240,
            )
        return str(len(server.times["/robots.txt"]))
    finally:
        server.close()


def test_the_table(tmp_path: Path) -> None:
    # The defaults, but it does not wait an hour for services that are out of reach.
    ours = [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", "-s", "FRONTIER_PATIENCE=40", "-a"]
    stock = [sys.executable, "-c", STOCK]
    here = observed(ours, tmp_path / "ours", lambda urls: f"seeds={urls}")
    there = observed(stock, tmp_path / "stock", lambda urls: urls)
    rows = list(zip((case.rule for case in CASES), here, there, strict=True))
    rows.append(
        (
            "fetches of robots.txt in two runs",
            restarts(ours, tmp_path / "ours-again", lambda urls: f"seeds={urls}"),
            restarts(stock, tmp_path / "stock-again", lambda urls: urls),
        )
    )
    print("\n| what a server says or asks | rdfaspider | Scrapy 2.19 |\n|---|---|---|")
    for row in rows:
        print("| " + " | ".join(row) + " |")
    seen = {rule: us for rule, us, _ in rows}
    assert seen["robots.txt forbids all"] == "nothing fetched"
    assert seen["robots.txt answers 500"] == "nothing fetched"
    assert seen["404 whose body forbids all"] == f"{1 + LINKS} pages fetched"
