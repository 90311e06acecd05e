"""Names resolved per second, what the cache holds, and what a page costs behind the guard.

    pytest tests/benchmarks/test_resolver.py -s

Machines differ and are shared, so ratios within one run are asserted. No name server is asked: a
look-up waits as long as one would take.
"""

from __future__ import annotations

import subprocess
import sys
import time
import tracemalloc
from collections.abc import Callable
from ipaddress import IPv4Address, ip_address
from queue import SimpleQueue
from typing import Any

from rdfaspider.resolver.addresses import Address
from rdfaspider.resolver.cache import Cache
from rdfaspider.resolver.directory import Directory
from rdfaspider.resolver.guard import Guard

NAMES = 50_000
LATENCY = 0.02  # seconds of a look-up, as of a name that the name server has to ask for
LOOK_UPS = 640
ROUNDS = 5  # of which the best counts


def best(work: Callable[[], object], count: int) -> float:
    """Return the seconds that one of `count` pieces of work takes."""
    seconds = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - start)
    return min(seconds) / count


class Loop:
    """An event loop that only runs what threads hand to it."""

    def __init__(self) -> None:
        self._calls: SimpleQueue[tuple[Callable[..., None], Any]] = SimpleQueue()

    def call_from_thread(self, function: Callable[..., None], *arguments: Any) -> None:
        self._calls.put((function, arguments))

    def run_until(self, done: Callable[[], bool]) -> None:
        while not done():
            function, arguments = self._calls.get(timeout=30)
            function(*arguments)


def slow_look_up(name: str) -> list[str]:
    time.sleep(LATENCY)
    return ["8.8.8.8"]


def directory(loop: Loop, threads: int) -> Directory:
    return Directory(
        Guard(["10.0.0.0/8", "127.0.0.1:8080", "wiki.intranet"]),
        Cache(NAMES, 300, 60),
        threads=threads,
        look_up=slow_look_up,
        clock=time.monotonic,
        call_from_thread=loop.call_from_thread,
    )


def test_known_names() -> None:
    """A name in the cache, and the guard's word on its address, cost far less than a request."""
    names = [f"www.site-{number}.example" for number in range(10_000)]
    resolver = directory(Loop(), threads=1)
    for number, name in enumerate(names):
        resolver.cache.put(name, (IPv4Address(0x08000000 + number),), time.monotonic())

    def resolve() -> None:
        told: list[tuple[Address, ...]] = []
        for name in names:
            resolver.find(name, told.append)
            resolver.admit(name, 80, told.pop())

    seconds = best(resolve, len(names))
    print(f"\n  a known name {seconds * 1e6:.1f} µs, {1 / seconds:,.0f} a second")
    assert seconds < 200e-6


def test_look_ups_at_once() -> None:
    rates = {}
    for threads in (10, 32, 64):
        loop = Loop()
        resolver = directory(loop, threads)
        told: list[tuple[Address, ...]] = []
        start = time.perf_counter()
        for number in range(LOOK_UPS):
            resolver.find(f"{number}.example", told.append)
        loop.run_until(lambda told=told: len(told) == LOOK_UPS)  # type: ignore[misc]
        rates[threads] = LOOK_UPS / (time.perf_counter() - start)
        print(
            f"\n  {threads} threads: {rates[threads]:,.0f} look-ups of 20 ms a second"
            f" ({rates[threads] * LATENCY / threads:.0%} of the most possible)",
            end="",
        )
    assert rates[32] > 2 * rates[10]


def test_memory() -> None:
    """Fifty thousand names, two addresses each."""
    tracemalloc.start()
    cache = Cache(NAMES, 300, 60)
    for number in range(2 * NAMES):  # half of them push the other half out
        found = (ip_address(0x08000000 + number), ip_address(0x2A00 << 112 | number))
        cache.put(f"www.site-{number}.example", found, now=0.0)
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    print(f"\n  {NAMES:,} names in {used / 1e6:.1f} MB, {used / NAMES:.0f} bytes a name")
    assert len(cache) == NAMES
    assert used < 50e6


CRAWL = """
import sys, time
from scrapy import Request, Spider
from scrapy.crawler import AsyncCrawlerProcess

kind, pages = sys.argv[1], int(sys.argv[2])
path = {
    "stock": "scrapy.core.downloader.handlers._aiohttp.AiohttpDownloadHandler",
    "guarded": "rdfaspider.downloader.handler.GuardedHttpDownloadHandler",
}[kind]

class Fetcher(Spider):
    name = "fetcher"

    async def start(self):
        from twisted.internet import reactor
        from twisted.web.resource import Resource
        from twisted.web.server import Site

        class Page(Resource):
            isLeaf = True

            def render_GET(self, request):
                return b"<p>A page.</p>"

        port = reactor.listenTCP(0, Site(Page()), interface="127.0.0.1").getHost().port
        self.began = time.process_time()
        for number in range(pages):
            yield Request(f"http://127.0.0.1:{port}/{number}", dont_filter=True)

    def parse(self, response):
        pass

    def closed(self, reason):
        self.seconds = time.process_time() - self.began

process = AsyncCrawlerProcess({
    "TWISTED_DNS_RESOLVER": "scrapy.resolver.CachingHostnameResolver" if kind == "stock" else
        "rdfaspider.resolver.Resolver",
    "DOWNLOAD_HANDLERS": {"http": path, "https": path},
    "RESOLVER_ALLOW": "127.0.0.1", "RESOLVER_CACHE_NAMES": 1000, "RESOLVER_HIT_SECONDS": 300,
    "RESOLVER_MISS_SECONDS": 60, "RESOLVER_THREADS": 8, "LOG_LEVEL": "ERROR",
    "CONCURRENT_REQUESTS_PER_DOMAIN": 16, "TELNETCONSOLE_ENABLED": False,
    "REMOTE_CONTROL_ENABLED": False, "CONCURRENT_ITEMS": 1, "DOWNLOAD_DELAY": 0,
    "EXTRACT_MAX_BYTES": 5_000_000,
})
crawler = process.create_crawler(Fetcher)
process.crawl(crawler)
process.start()
assert crawler.stats.get_value("response_received_count") == pages
print(crawler.spider.seconds)
"""


def test_a_page_behind_the_guard() -> None:
    """Small pages by our client behind the guard, and by Scrapy's over aiohttp without one; the processor's
    time, server included."""
    pages = 1500
    seconds = {"stock": 1e9, "guarded": 1e9}
    for _ in range(2):
        for kind in seconds:
            command = [sys.executable, "-c", CRAWL, kind, str(pages)]
            result = subprocess.run(
                command, capture_output=True, text=True, check=True, timeout=120
            )
            seconds[kind] = min(seconds[kind], float(result.stdout) / pages)
    print(
        f"\n  a page: {seconds['stock'] * 1e3:.2f} ms by Scrapy's client,"
        f" {seconds['guarded'] * 1e3:.2f} ms by ours behind the guard"
    )
    assert seconds["guarded"] < seconds["stock"]
