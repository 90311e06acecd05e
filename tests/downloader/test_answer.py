"""Our reader of heads: any lines that libcurl may hand over."""

from __future__ import annotations

from contextlib import suppress
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.compat import DownloadFailedError
from rdfaspider.downloader.answer import MAX_HEAD_BYTES, head_of

OK = b"HTTP/1.1 200 OK\r\n"
LINES = st.sampled_from(
    [
        OK,
        b"HTTP/2 200 \r\n",
        b"HTTP/1.1 103 Hints\r\n",
        b"\r\n",
        b"\n",
        b"Content-Length: 5\r\n",
        b"Transfer-Encoding: chunked\r\n",
        b"X: y\n",
        b"X: \xff \t\r\n",
        b" folded\r\n",
        b"bad\r\n",
    ]
)


@given(st.lists(LINES | st.binary(max_size=20)))
def test_any_lines_are_a_head_or_none_or_fail(lines: list[bytes]) -> None:
    with suppress(DownloadFailedError):
        head = head_of(lines)
        assert (head is None) == (head_of([*lines, b"X: y\r\n"]) is None)


def test_headers_are_kept_in_their_order_and_as_they_came() -> None:
    head = head_of([OK, b"b: 1\r\n", b"A:2 \r\n", b"b: caf\xe9\r\n", b" more\r\n", b"\r\n"])
    assert head is not None
    assert (head.version, head.status, head.reason, head.length) == ("1.1", 200, b"OK", None)
    assert head.headers == [(b"b", b"1"), (b"A", b"2"), (b"b", b"caf\xe9 more")]


def test_the_last_head_counts_and_trailers_do_not() -> None:
    hints = [b"HTTP/1.1 103 Hints\r\n", b"X: hint\r\n", b"\r\n"]
    assert head_of(hints) is None
    head = head_of([*hints, b"HTTP/2 404 \r\n", b"x: y\r\n", b"\r\n", b"x: trailer\r\n"])
    assert head is not None
    assert (head.version, head.status, head.headers) == ("2", 404, [(b"x", b"y")])


@pytest.mark.parametrize(
    "framing",
    [
        [b"Content-Length: 5\r\n", b"Content-Length: 6\r\n"],
        [b"Content-Length: 5\r\n", b"Transfer-Encoding: chunked\r\n"],
        [b"Transfer-Encoding: chunked\r\n"] * 2,
        [b"Transfer-Encoding: gzip\r\n", b"Transfer-Encoding: chunked\r\n"],
        [b"Content-Length: -5\r\n"],
        [b"Content-Length: " + b"9" * 30 + b"\r\n"],
    ],
)
def test_an_end_that_may_be_in_two_places_fails(framing: list[bytes]) -> None:
    with pytest.raises(DownloadFailedError):
        head_of([OK, *framing, b"\r\n"])


@pytest.mark.parametrize(
    "line",
    [
        b"X: " + b" " * 60_000 + b"x\r\n",
        b"X: " + b"\t " * 30_000 + b"\r\n",
        b"x" * 60_000 + b"\r\n",
        b"X" + b" " * 60_000 + b"\r\n",
        b"Connection: " + b"," * 60_000 + b"\r\n",
    ],
)
def test_no_head_takes_long(line: bytes) -> None:
    assert len(line) < MAX_HEAD_BYTES
    began = process_time()
    with suppress(DownloadFailedError):
        head_of([OK, line, b"\r\n"])
    assert process_time() - began < 0.2
