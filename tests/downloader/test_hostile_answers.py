"""Servers that break HTTP, over raw connections: each gives a page or a clear failure.

What is an answer is libcurl's judgement. Of a length and chunks the chunks count, as RFC 9112 says.
"""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Any

import pytest
from scrapy import signals
from scrapy.exceptions import StopDownload

from rdfaspider.compat import (
    DownloadCancelledError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
)
from rdfaspider.downloader.failures import FirstByteTimeoutError
from tests.downloader.conftest import Client, run, serving

if TYPE_CHECKING:
    import ssl

    from tests.downloader.conftest import Open

OK = b"HTTP/1.1 200 OK\r\n"
CHUNKED = OK + b"Transfer-Encoding: chunked\r\n\r\n"
PAGE = b"Content-Length: 5\r\n\r\nhello"
STRAY = OK + PAGE.replace(b"hello", b"stray")
# Seconds after which libcurl looks again at idle connections.
SOON = 1.1
HINTS = b"HTTP/1.1 103 Hints\r\nLink: </a>\r\n\r\n"

READ = "hello"
BROKEN = DownloadFailedError.__name__
CUT = ResponseDataLossError.__name__
LARGE = DownloadCancelledError.__name__

# What a server sends before it hangs up, and what becomes of it.
ANSWERS: dict[str, tuple[bytes, str]] = {
    # line ends, and the first line
    "line ends without CR": (b"HTTP/1.1 200 OK\nContent-Length: 5\n\nhello", READ),
    "empty lines first": (b"\r\n\n\r\n" + OK + PAGE, BROKEN),
    "no reason": (b"HTTP/1.1 200\r\n" + PAGE, READ),
    "HTTP/1.0": (b"HTTP/1.0 200 OK\r\n\r\nhello", READ),
    "HTTP/3.0": (b"HTTP/3.0 200 OK\r\n" + PAGE, READ),
    "a status of two digits": (b"HTTP/1.1 20 OK\r\n" + PAGE, BROKEN),
    "a status of five digits": (b"HTTP/1.1 99999 OK\r\n" + PAGE, READ),
    "a status below 100": (b"HTTP/1.1 099 OK\r\n" + PAGE, BROKEN),
    "status 999": (b"HTTP/1.1 999 No\r\n" + PAGE, READ),
    "no HTTP at all": (b"<html>hello</html>\r\n\r\n", BROKEN),
    "TLS": (b"\x15\x03\x01\x00\x02\x02\x46", BROKEN),
    "nothing": (b"", BROKEN),
    "half a head": (OK + b"X: y\r\n", BROKEN),
    # headers
    "a folded header": (OK + b"X: a\r\n  b\r\n" + PAGE, READ),
    "space before a colon": (OK + b"X : a\r\n" + PAGE, READ),
    "no colon": (OK + b"garbage\r\n" + PAGE, BROKEN),
    "no name": (OK + b": x\r\n" + PAGE, READ),
    "NUL in a value": (OK + b"X: a\0b\r\n" + PAGE, BROKEN),
    "NUL in a name": (OK + b"X\0: a\r\n" + PAGE, BROKEN),
    "a bare CR": (OK + b"X: a\rb\r\n" + PAGE, BROKEN),
    "CR CR LF": (OK + b"X: a\r\r\n" + PAGE, BROKEN),
    "no UTF-8": (OK + b"X: caf\xe9\xff\r\n" + PAGE, READ),
    "1,000 headers": (OK + b"X: y\r\n" * 1_000 + PAGE, READ),
    "5,001 headers": (OK + b"X: y\r\n" * 5_000 + PAGE, BROKEN),
    "a header of 9 kB": (OK + b"X: " + b"y" * 9_000 + b"\r\n" + PAGE, READ),
    "headers of 400 kB": (OK + (b"X: " + b"y" * 2_000 + b"\r\n") * 200 + PAGE, BROKEN),
    # lengths
    "two lengths": (OK + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello!", BROKEN),
    "one length twice": (OK + b"Content-Length: 5\r\n" + PAGE, READ),
    "a list of lengths": (OK + b"Content-Length: 5, 6\r\n\r\nhello!", BROKEN),
    "a length below zero": (OK + b"Content-Length: -5\r\n\r\nhello", BROKEN),
    "a length with a sign": (OK + b"Content-Length: +5\r\n\r\nhello", BROKEN),
    "a length in hex": (OK + b"Content-Length: 0x5\r\n\r\nhello", BROKEN),
    "an endless length": (OK + b"Content-Length: " + b"9" * 30 + b"\r\n\r\nhello", LARGE),
    "an empty length": (OK + b"Content-Length:\r\n\r\nhello", BROKEN),
    "a length and chunks": (
        OK + b"Content-Length: 9\r\n" + CHUNKED[17:] + b"5\r\nhello\r\n0\r\n\r\n",
        READ,
    ),
    "less than the length": (OK + b"Content-Length: 50\r\n\r\nhello", CUT),
    "more than the length": (OK + PAGE + b" and more", READ),
    # chunks
    "chunks": (CHUNKED + b"2\r\nhe\r\n3\r\nllo\r\n0\r\n\r\n", READ),
    "chunks with trailers": (CHUNKED + b"5\r\nhello\r\n0\r\nX: y\r\nZ: w\r\n\r\n", READ),
    "chunks with extensions": (CHUNKED + b"5;a=b\r\nhello\r\n0;c\r\n\r\n", READ),
    "chunks without CR": (CHUNKED + b"5\nhello\n0\n\n", READ),
    "chunks without an end": (CHUNKED + b"5\r\nhello\r\n", CUT),
    "half a chunk": (CHUNKED + b"5\r\nhel", CUT),
    "a chunk below zero": (CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n", CUT),
    "a chunk of 2**68 bytes": (CHUNKED + b"FFFFFFFFFFFFFFFFF\r\nhello\r\n", CUT),
    "a chunk longer than it says": (CHUNKED + b"5\r\nhello!\r\n0\r\n\r\n", CUT),
    "another coding": (OK + b"Transfer-Encoding: rot13\r\n\r\nhello", BROKEN),
    "chunks that are not last": (OK + b"Transfer-Encoding: chunked, x\r\n\r\nhello", BROKEN),
    # more than one head
    "hints": (HINTS * 9 + OK + PAGE, READ),
    "another answer": ((OK + PAGE) * 2, READ),
    # no body
    "204 with a length": (b"HTTP/1.1 204 No\r\nContent-Length: 5\r\n\r\n", ""),
    "304 with a length": (b"HTTP/1.1 304 No\r\nContent-Length: 5\r\n\r\n", ""),
    "an upgrade": (
        b"HTTP/1.1 101 Go\r\nUpgrade: websocket\r\nConnection: upgrade\r\n\r\n\x81\x00",
        "",
    ),
}


async def outcome(fetch: Any, url: str, **arguments: Any) -> str:
    """Return the body of an answer, or the name of what went wrong."""
    try:
        response = await fetch(url, **arguments)
    except DownloadFailedError as error:
        assert str(error), "the failure has a reason"
        return type(error).__name__
    except (DownloadCancelledError, DownloadTimeoutError, ResponseDataLossError) as error:
        return type(error).__name__
    return str(response.body.decode())


@pytest.mark.parametrize("name", ANSWERS)
def test_each_answer_is_a_page_or_fails(fetching: Open, name: str) -> None:
    answer, expected = ANSWERS[name]

    async def talk(client: Client) -> None:
        await client.read_request()
        await client.send(answer)

    async def main() -> str:
        async with serving(talk) as server, fetching() as fetch:
            return await outcome(fetch, f"{server.origin}/")

    assert run(main()) == expected


@pytest.mark.parametrize("name", [name for name in ANSWERS if len(ANSWERS[name][0]) < 2_000])
def test_an_answer_may_come_a_byte_at_a_time(fetching: Open, name: str) -> None:
    answer, expected = ANSWERS[name]

    async def talk(client: Client) -> None:
        await client.read_request()
        for place in range(len(answer)):
            await client.send(answer[place : place + 1])
            await asyncio.sleep(0)

    async def main() -> str:
        async with serving(talk) as server, fetching() as fetch:
            return await outcome(fetch, f"{server.origin}/")

    assert run(main()) == expected


ENDLESS = {
    "headers": (OK, b"X-Header: value\r\n"),
    "a header": (OK + b"X-Header: ", b"value "),
    "a folded header": (OK + b"X-Header: ", b"value\r\n  "),
    "hints": (b"", HINTS),
    "a line": (b"", b"HTTP/1.1 200 OK "),
    "the size of a chunk": (CHUNKED, b"F"),
    "trailers": (CHUNKED + b"0\r\n", b"X: y\r\n"),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_what_has_no_end_fails_early(fetching: Open, name: str) -> None:
    head, piece = ENDLESS[name]
    sent = 0

    async def talk(client: Client) -> None:
        nonlocal sent
        await client.read_request()
        await client.send(head)
        while True:
            await client.send(piece * (1 + 65_536 // len(piece)))
            sent += 65_536

    async def main() -> str:
        async with serving(talk) as server, fetching() as fetch:
            return await outcome(fetch, f"{server.origin}/", seconds=100)

    began = monotonic()
    assert run(main()) in (BROKEN, CUT)
    assert monotonic() - began < 60, "it is cut, and its time does not run out"
    assert sent < 32 << 20, "what the system keeps on the way"


def test_the_extension_of_a_chunk_that_has_no_end_ends_with_the_time_of_the_page(
    fetching: Open,
) -> None:
    async def talk(client: Client) -> None:
        await client.read_request()
        await client.send(CHUNKED + b"5;")
        await client.flood(b"x")

    async def main() -> str:
        async with serving(talk) as server, fetching() as fetch:
            return await outcome(fetch, f"{server.origin}/", seconds=0.5)

    assert run(main()) == DownloadTimeoutError.__name__


SLOW = {
    "nothing": b"",
    "a head": OK + b"X-Slow: ",
    "hints": HINTS,
}


@pytest.mark.parametrize("name", SLOW)
def test_a_head_has_its_time(fetching: Open, name: str) -> None:
    async def talk(client: Client) -> None:
        await client.read_request()
        await client.send(SLOW[name])
        if name == "nothing":
            await asyncio.sleep(30)
        await client.drip(b"x" if name == "a head" else b"")

    async def main() -> str:
        async with (
            serving(talk) as server,
            fetching(FETCH_FIRST_BYTE_TIMEOUT=0.3) as fetch,
        ):
            return await outcome(fetch, f"{server.origin}/")

    assert run(main()) == FirstByteTimeoutError.__name__


@pytest.mark.parametrize(
    "head",
    [OK + b"\r\n", CHUNKED, OK + b"Content-Length: 9999\r\n\r\n"],
    ids=["", "chunks", "length"],
)
def test_a_body_has_its_time(fetching: Open, head: bytes) -> None:
    async def talk(client: Client) -> None:
        await client.read_request()
        await client.send(head)
        await client.drip(b"1\r\nx\r\n")

    async def main() -> str:
        async with serving(talk) as server, fetching() as fetch:
            return await outcome(fetch, f"{server.origin}/", seconds=0.5)

    assert run(main()) == DownloadTimeoutError.__name__


@pytest.mark.parametrize("when", ["before", "in the head", "in the body"])
def test_a_reset_fails(fetching: Open, when: str) -> None:
    async def talk(client: Client) -> None:
        await client.read_request()
        if when != "before":
            await client.send(OK + b"Content-Length: 5000\r\n")
        if when == "in the body":
            await client.send(b"\r\nhello")
        await asyncio.sleep(0.1)
        client.reset()

    async def main() -> str:
        async with serving(talk) as server, fetching() as fetch:
            return await outcome(fetch, f"{server.origin}/")

    assert run(main()) == (CUT if when == "in the body" else BROKEN)


def test_what_came_of_a_cut_body_is_kept_where_that_is_wanted(fetching: Open) -> None:
    async def talk(client: Client) -> None:
        await client.read_request()
        await client.send(CHUNKED + b"5\r\nhello\r\n")
        await asyncio.sleep(0.1)

    async def main() -> Any:
        async with (
            serving(talk) as server,
            fetching(DOWNLOAD_FAIL_ON_DATALOSS=False) as fetch,
        ):
            return await fetch(f"{server.origin}/")

    response = run(main())
    assert response.body == b"hello"
    assert response.flags == ["dataloss"]


@pytest.mark.parametrize(
    "first",
    [OK + PAGE, CHUNKED + b"5\r\nhello\r\n0\r\n\r\n", b"HTTP/1.1 304 No\r\n\r\n"],
    ids=["length", "chunks", "304"],
)
@pytest.mark.parametrize("stray", [STRAY, b"</html>\n"], ids=["answer", "rest"])
def test_more_than_an_answer_is_never_the_next_one(
    fetching: Open, first: bytes, stray: bytes
) -> None:
    """A response that is split in two by its own server, or by somebody before it.

    libcurl looks once in a second at what came on idle connections; a polite crawl waits as long.
    """

    async def talk(client: Client) -> None:
        while request := await client.read_request():
            client.writer.write(first if b"GET /first" in request else OK + PAGE)
            await client.send(stray)

    async def main() -> None:
        async with serving(talk) as server, fetching() as fetch:
            await outcome(fetch, f"{server.origin}/first")
            await asyncio.sleep(SOON)
            assert await outcome(fetch, f"{server.origin}/second") == READ
            if b"chunked" not in first:  # what is after the last chunk is dropped
                assert len(server.clients) == 2, "the first connection is not used again"

    run(main())


def test_an_answer_is_of_its_own_request_among_many(fetching: Open) -> None:
    async def talk(client: Client) -> None:
        while request := await client.read_request():
            client.writer.write(OK + PAGE.replace(b"hello", request[5:10]))
            await client.send(STRAY)

    async def main() -> None:
        async with serving(talk) as server, fetching() as fetch:

            async def some(first: int) -> None:
                for path in map(str, range(first, first + 3)):
                    assert await outcome(fetch, f"{server.origin}/{path}") == path
                    await asyncio.sleep(SOON)

            await asyncio.gather(*map(some, range(10_000, 10_100, 10)))

    run(main())


@pytest.mark.parametrize("last", ["close", "HTTP/1.0", "no length"])
def test_a_connection_that_ends_is_not_used_again(fetching: Open, last: str) -> None:
    answers = {
        "close": OK + b"Connection: Close\r\n" + PAGE,
        "HTTP/1.0": b"HTTP/1.0 200 OK\r\n" + PAGE,
        "no length": OK + b"\r\nhello",
    }

    async def talk(client: Client) -> None:
        await client.read_request()
        await client.send(answers[last])
        if last == "no length":
            return
        assert await client.until_closed()

    async def main() -> None:
        async with serving(talk) as server, fetching() as fetch:
            assert [await outcome(fetch, f"{server.origin}/") for _ in range(2)] == [READ] * 2
            assert len(server.clients) == 2

    run(main())


def test_an_answer_may_come_before_the_request_was_sent(fetching: Open) -> None:
    """The rest of the request must not be taken for the next one by anybody."""

    async def talk(client: Client) -> None:
        await client.reader.readuntil(b"\r\n\r\n")
        await client.send(b"HTTP/1.1 413 Much\r\n" + PAGE)
        await asyncio.sleep(5)

    async def main() -> None:
        async with serving(talk) as server, fetching() as fetch:
            for _ in range(2):
                response = await fetch(f"{server.origin}/", method="POST", body=bytes(32 << 20))
                assert (response.status, response.body) == (413, b"hello")
            assert len(server.clients) == 2

    run(main())


@pytest.mark.parametrize("is_tls", [False, True], ids=["plain", "TLS"])
def test_a_server_that_hangs_up_is_not_asked_again(
    fetching: Open, tls: ssl.SSLContext, is_tls: bool
) -> None:
    """The frontier decides when to try again. Only a GET whose kept connection ends goes over a new one."""

    async def talk(client: Client) -> None:
        while b" /1" in await client.read_request():
            await client.send(OK + PAGE)

    async def main() -> None:
        options: dict[str, Any] = {"ssl": tls} if is_tls else {}
        async with serving(talk, **options) as server, fetching() as fetch:
            assert await outcome(fetch, f"{server.origin}/1") == READ
            assert await outcome(fetch, f"{server.origin}/2") == BROKEN
            assert len(server.requests) == 3
            assert await outcome(fetch, f"{server.origin}/1") == READ
            with pytest.raises(DownloadFailedError):
                await fetch(f"{server.origin}/2", method="POST", body=b"once")
            assert sum(b"once" in each for each in server.requests) == 1

    run(main())


@pytest.mark.parametrize("head", [OK + b"\r\n", CHUNKED, OK + b"Content-Length: 99999999\r\n\r\n"])
def test_the_size_is_limited(fetching: Open, head: bytes) -> None:
    async def talk(client: Client) -> None:
        await client.read_request()
        await client.send(head)
        await client.flood(b"400\r\n" + b"x" * 1024 + b"\r\n")

    async def main() -> None:
        async with serving(talk) as server, fetching(DOWNLOAD_MAXSIZE=100_000) as fetch:
            with pytest.raises(DownloadCancelledError):
                await fetch(f"{server.origin}/")
            assert await server.clients[0].until_closed()

    run(main())


def test_no_more_of_a_page_is_read_than_is_wanted(fetching: Open) -> None:
    async def talk(client: Client) -> None:
        await client.read_request()
        await client.send(OK + b"\r\n")
        await client.flood(b"x")

    async def main() -> None:
        async with serving(talk) as server, fetching(EXTRACT_MAX_BYTES=200_000) as fetch:
            response = await fetch(f"{server.origin}/", meta={"depth": 0})
            assert len(response.body) == 200_001

    run(main())


@pytest.mark.parametrize("length", [5, 99_999], ids=["all there", "more to come"])
@pytest.mark.parametrize("signal", [signals.headers_received, signals.bytes_received])
def test_a_signal_can_stop_a_download(fetching: Open, signal: object, length: int) -> None:
    async def talk(client: Client) -> None:
        await client.read_request()
        await client.send(OK + b"Content-Length: %d\r\n\r\nhello" % length)
        await asyncio.sleep(5)

    def stop() -> None:
        raise StopDownload(fail=False)

    async def main() -> None:
        async with serving(talk) as server, fetching() as fetch:
            fetch.crawler.signals.connect(stop, signal)
            response = await fetch(f"{server.origin}/")
            assert response.flags == ["download_stopped"]
            assert response.body == (b"" if signal is signals.headers_received else b"hello")

    run(main())


@pytest.mark.parametrize(
    "head", [OK + b"Content-Length: 5\r\n\r\n", b"HTTP/1.1 101 Go\r\nUpgrade: websocket\r\n\r\n"]
)
def test_a_head_is_read_before_a_body_comes(fetching: Open, head: bytes) -> None:
    async def talk(client: Client) -> None:
        await client.read_request()
        await client.send(head)
        await asyncio.sleep(30)

    def stop() -> None:
        raise StopDownload(fail=False)

    async def main() -> str:
        async with serving(talk) as server, fetching() as fetch:
            fetch.crawler.signals.connect(stop, signals.headers_received)
            return await outcome(fetch, f"{server.origin}/", seconds=3)

    assert run(main()) == ""


def test_a_body_that_nobody_reads_is_held_back_until_its_time_is_over(fetching: Open) -> None:
    """A download that waits for memory does not read, and may be late by then."""
    taken = 0

    async def talk(client: Client) -> None:
        nonlocal taken
        await client.read_request()
        await client.send(OK + b"\r\n")
        while True:
            await client.send(b"x" * 65_536)
            taken += 65_536

    class Memory:
        def admits(self, request: object, size: int) -> bool:
            return False

        async def hold(self, request: object, size: int) -> None:
            await asyncio.sleep(1)

    async def main() -> str:
        async with serving(talk) as server, fetching() as fetch:
            fetch.handler.memory = Memory()
            return await outcome(fetch, f"{server.origin}/", seconds=0.5)

    assert run(main()) == DownloadTimeoutError.__name__
    assert taken < 32 << 20


AT_ONCE = {
    "a length": OK + b"Content-Type: text/html\r\nX-TWO: 1\r\nx-two: 2\r\n" + PAGE,
    "chunks": OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
    "no body": b"HTTP/1.1 301 Moved\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n",
}


@pytest.mark.parametrize("name", AT_ONCE)
def test_an_answer_that_comes_at_once_is_the_same(fetching: Open, name: str) -> None:
    """It goes a shorter way through the handler than one that comes in pieces."""

    async def talk(client: Client) -> None:
        while request := await client.read_request():
            head, blank, body = AT_ONCE[name].partition(b"\r\n\r\n")
            for part in (head + blank, body) if b"/pieces" in request else (AT_ONCE[name],):
                await client.send(part)
                await asyncio.sleep(0.05)

    async def main() -> None:
        heard: list[Any] = []

        def received(headers: Any, body_length: int | None) -> None:
            heard.append((dict(headers), body_length))

        async with serving(talk) as server, fetching() as fetch:
            fetch.crawler.signals.connect(received, signals.headers_received)
            once, pieces = [await fetch(f"{server.origin}/{how}") for how in ("once", "pieces")]
            assert type(once) is type(pieces)
            for each in ("status", "headers", "body", "flags", "ip_address", "protocol"):
                assert getattr(once, each) == getattr(pieces, each)
            assert once.body == (b"" if name == "no body" else b"hello")
            assert heard[0] == heard[1]

    run(main())
