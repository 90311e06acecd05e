"""Our reader of answers, without a socket: any bytes in any pieces, and the same words as llhttp's."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from time import process_time
from typing import Any, NamedTuple

import pytest
from aiohttp.client_proto import ResponseHandler
from hypothesis import example, given
from hypothesis import strategies as st

from rdfaspider.downloader.http1.answer import MOST_HEAD, Answer, BadAnswer


class Read(NamedTuple):
    """What a reader made of an answer after which the server hung up; without a status it was none."""

    status: int = 0
    headers: tuple[tuple[bytes, bytes], ...] = ()
    body: bytes = b""
    is_complete: bool = False


def read(*pieces: bytes) -> Read:
    answer = Answer(has_body=True)
    body = b""
    try:
        for piece in pieces:
            body += answer.feed(piece)
        answer.feed_end()
    except BadAnswer as error:
        assert str(error)
        return Read()
    assert answer.head is not None
    assert answer.is_complete != bool(answer.fault)
    return Read(answer.head.status, tuple(answer.head.headers), body, answer.is_complete)


def read_by_llhttp(data: bytes) -> Read:
    """Read an answer as aiohttp does."""

    async def main() -> Read:
        connection: Any = ResponseHandler(asyncio.get_running_loop())
        connection.set_response_params(read_until_eof=True, auto_decompress=False)
        connection.data_received(data)
        connection.connection_lost(None)
        try:
            head, body = await connection.read()
            while 100 <= head.code < 200 and head.code != 101:
                head, body = await connection.read()
        except Exception:
            return Read()
        found = b""
        try:
            while piece := await body.readany():
                found += piece
        except Exception:
            return Read(head.code, head.raw_headers, found)
        return Read(head.code, head.raw_headers, found, True)

    return asyncio.run(main())


SIZES = st.sampled_from(["0", "1", "3", "5", "a", "0005"])
CHUNK = st.builds(
    lambda size, data, end: size.encode() + b"\r\n" + data + end,
    SIZES,
    st.binary(max_size=6),
    st.sampled_from([b"\r\n", b"", b"\r\n0\r\n\r\n"]),
)
HEADER = st.sampled_from(
    [
        b"Content-Length: 5\r\n",
        b"Content-Length: 0\r\n",
        b"content-length:3\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"transfer-encoding: gzip, Chunked\r\n",
        b"Transfer-Encoding: x\r\n",
        b"Connection: close\r\n",
        b"Connection: keep-alive\r\n",
        b"X: y\n",
        b"X: \xff \t\r\n",
        b"X:\r\n",
        b"bad\r\n",
        b"X: a\0\r\n",
        b"X: a\rb\r\n",
    ]
)
FIRST = st.sampled_from(
    [
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.0 200 OK\r\n",
        b"HTTP/1.1 404\n",
        b"HTTP/1.1 204 No\r\n",
        b"HTTP/1.1 304 No\r\n",
        b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\n",
        b"\r\nHTTP/1.1 200 OK\r\n",
        b"HTTP/1.2 200 OK\r\n",
    ]
)
ANSWERS = st.builds(
    lambda first, headers, body: first + b"".join(headers) + b"\r\n" + b"".join(body),
    FIRST,
    st.lists(HEADER, max_size=3),
    st.lists(CHUNK | st.binary(max_size=5), max_size=3),
)


@given(ANSWERS)
@example(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n")
def test_what_llhttp_reads_is_read_alike(data: bytes) -> None:
    """llhttp, in aiohttp, refuses some that we read; whatever it reads to the end we read to the same end."""
    theirs = read_by_llhttp(data)
    if theirs.is_complete:
        assert read(data) == theirs


@given(ANSWERS | st.binary(max_size=60), st.lists(st.integers(0, 200), max_size=5))
def test_pieces_make_no_difference(data: bytes, cuts: list[int]) -> None:
    places = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    pieces = [data[a:b] for a, b in pairwise(places)]
    assert read(*pieces) == read(data)


@given(st.lists(st.binary(max_size=200), max_size=5))
def test_no_bytes_raise_anything_else(pieces: list[bytes]) -> None:
    read(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", *pieces)
    read(*pieces)


@pytest.mark.parametrize(
    "data",
    [
        b"HTTP/1.1 200 OK\r\nX: " + b" " * 60_000 + b"x\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"\t \r\n " * 10_000,
        b"HTTP/1.1 200 OK\r\n" + b"x" * 60_000,
        b"HTTP/1.1 200 OK\r\nX" + b" " * 60_000,
        b"HTTP/1.1 200 " + b" " * 60_000,
        b"HTTP/1.1 200 OK\r\nConnection: " + b"," * 60_000 + b"\r\n",
    ],
)
def test_no_head_takes_long(data: bytes) -> None:
    assert len(data) < MOST_HEAD
    began = process_time()
    read(data + b"\r\n\r\n")
    assert process_time() - began < 0.2


def test_small_chunks_take_linear_time() -> None:
    data = b"1\r\nx\r\n" * 100_000
    answer = Answer(has_body=True)
    began = process_time()
    answer.feed(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
    body = b"".join(answer.feed(data[place : place + 999]) for place in range(0, len(data), 999))
    assert body == b"x" * 100_000
    assert process_time() - began < 2


@pytest.mark.parametrize("status", [200, 404])
def test_an_answer_to_head_has_no_body(status: int) -> None:
    answer = Answer(has_body=False)
    assert answer.feed(b"HTTP/1.1 %d OK\r\nContent-Length: 5\r\n\r\n" % status) == b""
    assert answer.is_complete and not answer.is_last
    assert answer.length == 5


@pytest.mark.parametrize(
    ("version", "connection", "is_last"),
    [
        (b"1.1", b"", False),
        (b"1.1", b"Keep-Alive", False),
        (b"1.1", b"close", True),
        (b"1.1", b"x, Close ,y", True),
        (b"1.1", b"closed", False),
        (b"1.0", b"", True),
        (b"1.0", b"Keep-Alive", False),
        (b"1.0", b"Keep-Alive, close", True),
    ],
)
def test_the_server_says_whether_a_connection_ends(
    version: bytes, connection: bytes, is_last: bool
) -> None:
    answer = Answer(has_body=True)
    head = b"HTTP/%b 200 OK\r\nConnection: %b\r\nContent-Length: 0\r\n\r\n"
    answer.feed(head % (version, connection))
    assert answer.is_complete
    assert answer.is_last == is_last
