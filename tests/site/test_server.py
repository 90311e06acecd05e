from __future__ import annotations

import asyncio
import io
import re
import socket
import time
from collections.abc import Awaitable, Callable

import pytest

from rdfaspider.site.answers import answer
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.server import MAX_HEAD, serve
from rdfaspider.site.web import Web

HOST = b"Host: 127.0.0.1\r\n"


async def exchange(server: str, request: bytes) -> bytes:
    """Send bytes over one connection, close our half of it, and return all that comes back."""
    host, port = server.removeprefix("http://").split(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    try:
        writer.write(request)
        writer.write_eof()
        return await asyncio.wait_for(reader.read(), 60)
    finally:
        writer.close()
        await writer.wait_closed()


def talk(parameters: Parameters, *requests: bytes) -> list[bytes]:
    """Serve a web and return what each request gets, over connections of their own."""

    async def run() -> list[bytes]:
        async with serve(Web(parameters)) as server:
            return [await exchange(server, request) for request in requests]

    return asyncio.run(run())


def get(target: str, headers: bytes = HOST, method: str = "GET") -> bytes:
    """Return a request after which the connection closes."""
    return f"{method} {target} HTTP/1.1\r\n".encode() + headers + b"Connection: close\r\n\r\n"


def status(response: bytes) -> int:
    match = re.match(rb"HTTP/1.1 ([0-9]{3}) [A-Z]", response)
    assert match, response[:200]
    return int(match[1])


def test_a_page_comes_as_it_was_made() -> None:
    [response] = talk(Parameters(), get("/books"))
    head, _, body = response.partition(b"\r\n\r\n")
    assert body == answer(Web(Parameters()), "http://127.0.0.1/books").body
    assert f"Content-Length: {len(body)}".encode() in head
    assert b"Content-Type: text/html; charset=utf-8" in head
    assert b"ETag: " in head


def test_requests_in_absolute_form_are_answered_for_any_host() -> None:
    parameters = Parameters(hosts=1000)
    responses = talk(
        parameters,
        get("http://w777.site.test/books"),
        get("http://W777.Site.Test:80/books"),
        get("/books", b"Host: w777.site.test\r\n"),
        get("http://w777.site.test"),
        get("http://w1000.site.test/"),
    )
    page = answer(Web(parameters), "http://w777.site.test/books").body
    assert all(response.endswith(page) for response in responses[:3])
    assert [status(response) for response in responses[3:]] == [200, 404]


def test_head_has_no_body() -> None:
    get_, head = talk(Parameters(), get("/books"), get("/books", method="HEAD"))
    assert head == get_.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"


def test_known_pages_are_not_sent_again() -> None:
    parameters = Parameters()
    headers = dict(answer(Web(parameters), "http://127.0.0.1/books").headers)
    for line in (
        f"If-None-Match: {headers['ETag']}\r\n",
        f"if-modified-since: {headers['Last-Modified']}\r\n",
    ):
        [response] = talk(parameters, get("/books", HOST + line.encode()))
        assert status(response) == 304
        assert response.endswith(b"\r\n\r\n")
        assert b"Content-Length" not in response


@pytest.mark.parametrize("latency", [0.0, 0.01])
def test_many_requests_on_one_connection_are_answered_in_order(latency: float) -> None:
    paths = ["/", "/books", "/none", "/people", "/books/a1"] * 20
    requests = [f"GET {path} HTTP/1.1\r\n".encode() + HOST + b"\r\n" for path in paths]
    parameters = Parameters(latency=latency)
    [response] = talk(parameters, b"".join(requests) + get("/robots.txt"))
    web = Web(parameters)
    wanted = [answer(web, f"http://127.0.0.1{path}").body for path in [*paths, "/robots.txt"]]
    assert re.sub(rb"HTTP/1.1 .*?\r\n\r\n", b"", response, flags=re.DOTALL) == b"".join(wanted)


def test_requests_may_come_in_pieces() -> None:
    async def run() -> bytes:
        async with serve(Web(Parameters())) as server:
            host, port = server.removeprefix("http://").split(":")
            reader, writer = await asyncio.open_connection(host, int(port))
            for byte in get("/books"):
                writer.write(bytes([byte]))
                await writer.drain()
                await asyncio.sleep(0)
            response = await reader.read()
            writer.close()
            await writer.wait_closed()
            return response

    assert status(asyncio.run(run())) == 200


def test_old_clients_get_one_answer() -> None:
    request = b"GET /books HTTP/1.0\r\n\r\n"
    [response] = talk(Parameters(), request + request)
    assert response.count(b"HTTP/1.1 200 OK") == 1
    assert b"Connection: close" in response


@pytest.mark.parametrize(
    ("request_", "wanted"),
    [
        (b"CONNECT w1.site.test:443 HTTP/1.1\r\n\r\n", 501),
        (b"POST / HTTP/1.1\r\nHost: a\r\n\r\n", 405),
        (b"GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc", 400),
        (b"GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"GET /\r\n\r\n", 400),
        (b"GET / HTTP/2.0\r\n\r\n", 400),
        (b"GET /a b HTTP/1.1\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", 400),
        (b"GET /" + b"a" * MAX_HEAD, 431),
        (b"GET / HTTP/1.1\r\nHost: a b\r\nConnection: close\r\n\r\n", 404),
        (b"GET ftp://a/ HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n", 404),
        (b"GET /\xff HTTP/1.1\r\nHost: a\r\n\r\n", 400),
    ],
)
def test_strange_requests_are_refused(request_: bytes, wanted: int) -> None:
    refused, sound = talk(Parameters(), request_, get("/"))
    assert status(refused) == wanted
    assert status(sound) == 200


def test_bodies_are_cut_in_the_middle() -> None:
    parameters = Parameters(dropped=1.0)
    [response] = talk(parameters, get("/books"))
    body = answer(Web(parameters), "http://127.0.0.1/books").body
    assert status(response) == 200
    assert response.partition(b"\r\n\r\n")[2] == body[: len(body) // 2]


def test_slow_bodies_trickle_and_are_whole() -> None:
    parameters = Parameters(slow=1.0, slow_seconds=0.3)
    start = time.monotonic()
    [response] = talk(parameters, get("/books"))
    assert time.monotonic() - start > 0.25
    assert response.endswith(answer(Web(parameters), "http://127.0.0.1/books").body)


def test_answers_wait_for_the_latency_of_the_host() -> None:
    parameters = Parameters(latency=0.1, seed=1)
    wait = answer(Web(parameters), "http://127.0.0.1/").delay
    start = time.monotonic()
    talk(parameters, get("/"))
    assert time.monotonic() - start >= wait > 0.01


def test_time_begins_where_it_is_told_to() -> None:
    web = Web(Parameters(changing=1.0, period=1000.0))

    async def fetch(start: float) -> bytes:
        async with serve(web, start=start) as server:
            return await exchange(server, get("/books"))

    for start in (0.0, 5000.0):
        body = answer(web, "http://127.0.0.1/books", start + 1).body
        assert asyncio.run(fetch(start)).endswith(body)


def test_the_log_has_a_line_for_each_request() -> None:
    log = io.StringIO()

    async def run() -> None:
        async with serve(Web(Parameters(hosts=3)), log=log) as server:
            await exchange(server, get("http://w2.site.test/books"))
            await exchange(server, get("/none", method="HEAD"))

    before = time.time()
    asyncio.run(run())
    lines = [line.split() for line in log.getvalue().splitlines()]
    assert [line[1:] for line in lines] == [
        ["127.0.0.1", "GET", "http://w2.site.test/books", "200"],
        ["127.0.0.1", "HEAD", "http://127.0.0.1/none", "404"],
    ]
    assert all(before <= float(line[0]) <= time.time() for line in lines)


def run_with(parameters: Parameters, use: Callable[[str], Awaitable[bytes]]) -> bytes:
    async def run() -> bytes:
        async with serve(Web(parameters)) as server:
            return await use(server)

    return asyncio.run(run())


def test_hosts_are_served_at_their_addresses() -> None:
    web = Web(Parameters(hosts=9, addresses=3))
    if not _bindable(web.address(2)):
        pytest.skip("this system has no loopback address but 127.0.0.1")

    async def use(server: str) -> bytes:
        other = server.replace("127.0.0.1", web.address(5))
        return await exchange(other, get("/", b"Host: w5.site.test\r\n"))

    response = run_with(web.parameters, use)
    assert response.endswith(answer(web, "http://w5.site.test/").body)


def _bindable(address: str) -> bool:
    with socket.socket() as probe:
        try:
            probe.bind((address, 0))
        except OSError:
            return False
        return True


def test_a_port_that_is_taken_is_an_error() -> None:
    async def again(server: str) -> bytes:
        async with serve(Web(Parameters()), port=int(server.rpartition(":")[2])):
            return b""

    with pytest.raises(OSError, match="address already in use"):
        run_with(Parameters(), again)


def test_a_client_that_never_reads_does_not_fill_the_memory() -> None:
    """Ask for 100 MB without reading: the server stops answering, and serves others meanwhile."""
    log = io.StringIO()
    web = Web(Parameters(sentences=100))
    size = len(answer(web, "http://a/books").body)
    request = b"GET /books HTTP/1.1\r\nHost: a\r\n\r\n" * 100

    async def run() -> None:
        async with serve(web, log=log) as server:
            host, port = server.removeprefix("http://").split(":")
            with socket.create_connection((host, int(port))) as greedy:
                for _ in range(100_000_000 // size // 100):
                    greedy.send(request)
                    assert status(await exchange(server, get("/robots.txt"))) == 200

    asyncio.run(run())
    answered = log.getvalue().count("/books")
    assert 0 < answered * size < 30_000_000  # what the buffers of the system take


def test_all_connections_share_a_line() -> None:
    parameters = Parameters(hosts=8, bandwidth=100_000, sentences=100)
    requests = [get("/", b"Host: w%d.site.test\r\n" % host) for host in range(8)]

    async def run() -> tuple[int, float]:
        async with serve(Web(parameters)) as server:
            begin = time.perf_counter()
            found = await asyncio.gather(*(exchange(server, request) for request in requests))
            return sum(map(len, found)), time.perf_counter() - begin

    size, seconds = asyncio.run(run())
    assert 100_000 * 0.5 < size / seconds <= 100_000
    assert seconds > 0.5
