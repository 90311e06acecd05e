"""Pages per second of the generated web, which must not be what limits a crawler under test.

    pytest tests/benchmarks/test_site.py -s

The server is timed over loopback by a client that does next to nothing with what it gets. Pages per
CPU second of the server tell how much of a core it takes, whatever else the machine does.
"""

from __future__ import annotations

import asyncio
import re
import resource
import time
from dataclasses import replace
from functools import partial

import pytest

from rdfaspider.site.answers import answer
from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web

PAGES = 6000
CONNECTIONS = 16
FULL = Parameters(
    hosts=1000, levels=4, pages=10, links_inside=28, links_across=9, triples=20, sentences=5
)
SHAPES = {
    "small, mixed formats": Parameters(hosts=1000),
    "full, RDFa": replace(FULL, rdfa=1.0, jsonld=0.0, microdata=0.0),
    "full, JSON-LD": replace(FULL, rdfa=0.0, jsonld=1.0, microdata=0.0),
    "full, Microdata": replace(FULL, rdfa=0.0, jsonld=0.0, microdata=1.0),
    "full, with faults": replace(
        FULL, missing=0.05, redirected=0.05, duplicated=0.1, unavailable=0.05, changing=0.5
    ),
}


def urls(web: Web, count: int) -> list[str]:
    """Return pages of all levels and of 100 hosts, in no order that a cache would like."""
    return [web.url(i % 100, i * 7919 % web.tree.count) for i in range(count)]


class Client(asyncio.Protocol):
    """Asks for one URL after another over one connection, through the server as a proxy."""

    def __init__(self, waiting: list[str]) -> None:
        self.waiting = waiting
        self.bytes = self.missing = 0
        self.done = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.ask()

    def ask(self) -> None:
        if not self.waiting:
            self.transport.close()
            self.done.set()
            return
        self.transport.write(f"GET {self.waiting.pop()} HTTP/1.1\r\nHost: x\r\n\r\n".encode())

    def data_received(self, data: bytes) -> None:
        if not self.missing:
            head, _, body = data.partition(b"\r\n\r\n")
            length = re.search(rb"Content-Length: ([0-9]+)", head)
            assert length
            self.missing = int(length[1])
            data = body
        self.bytes += len(data)
        self.missing -= len(data)
        if not self.missing:
            self.ask()


def _same(client: Client) -> Client:
    return client


async def fetch(server: str, waiting: list[str]) -> int:
    """Fetch all URLs and return the bytes of their bodies."""
    loop = asyncio.get_running_loop()
    address = server.removeprefix("http://").split(":")
    clients = [Client(waiting) for _ in range(CONNECTIONS)]
    for client in clients:
        await loop.create_connection(partial(_same, client), address[0], int(address[1]))
    for client in clients:
        await client.done.wait()
    return sum(client.bytes for client in clients)


def processor_seconds() -> float:
    """Return the processor time of the servers that have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.mark.parametrize("shape", SHAPES)
def test_pages_per_second(shape: str, capsys: pytest.CaptureFixture[str]) -> None:
    web = Web(SHAPES[shape])
    asked = urls(web, PAGES)
    oracle = Oracle(web)
    links = sum(len(oracle.links(url)) for url in asked[:200]) / 200

    start = time.process_time()
    for url in asked:
        answer(web, url)
    made = PAGES / (time.process_time() - start)

    before = processor_seconds()
    with running(SHAPES[shape]):
        pass
    idle, before = processor_seconds() - before, processor_seconds()
    with running(SHAPES[shape]) as server:
        start = time.perf_counter()
        size = asyncio.run(fetch(server, asked)) / PAGES
        served = PAGES / (time.perf_counter() - start)
    cpu = PAGES / (processor_seconds() - before - idle)

    with capsys.disabled():
        print(
            f"\n{shape:24} {size:6,.0f} bytes {links:3.0f} links: made {made:6,.0f}/s,"
            f" served {served:6,.0f}/s, {cpu:6,.0f} per CPU second"
        )
    assert served > 500  # several times what Scrapy fetches, on any machine
