"""Bodies that were kept are unpacked as the crawl unpacks them."""

from __future__ import annotations

import gzip
import zlib

import brotli  # type: ignore[import-untyped]
import pytest
from backports import zstd
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.archive.content import unpacked_body
from tests.middlewares.test_compression import unpack

TEXT = b"<p>Some words, and more of them.</p>" * 100
PACKED = gzip.compress(TEXT, mtime=0)
LARGE = gzip.compress(TEXT * 100, mtime=0)
RAW = zlib.compressobj(wbits=-15)


def by_crawl(body: bytes, encoding: str) -> bytes | None:
    try:
        return unpack(body, encoding).body
    except Exception:  # of many kinds: the page fails
        return None


def by_replay(body: bytes, encoding: str, most: int = 0) -> bytes | None:
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}".encode()
    try:
        return unpacked_body(head, body, most)
    except ValueError:
        return None


@pytest.mark.parametrize(
    ("encoding", "body", "expected"),
    [
        ("utf-8", TEXT, TEXT),
        ("none", TEXT, TEXT),
        ("identity", TEXT, TEXT),
        ("", TEXT, TEXT),
        ("gzip, utf-8", PACKED, PACKED),
        ("utf-8, gzip", PACKED, TEXT),
        ("gzip", PACKED * 3, TEXT * 3),
        ("gzip", PACKED + bytes(8), TEXT),
        ("gzip", PACKED + b"<!-- more -->", TEXT),
        ("gzip", PACKED[:-8] + b"01234567", TEXT),
        ("gzip", PACKED[:-8], TEXT),
        ("x-gzip", LARGE + PACKED, TEXT * 101),
        ("gzip", LARGE[:-8] + b"01234567", TEXT * 100),
        ("gzip", b"", b""),
        ("gzip", b"nonsense", None),
        ("gzip", PACKED[:5], None),
        ("gzip, gzip", gzip.compress(PACKED), TEXT),
        ("deflate", zlib.compress(TEXT), TEXT),
        ("deflate", RAW.compress(TEXT) + RAW.flush(), TEXT),
        ("deflate", b"nonsense", None),
        ("br", brotli.compress(TEXT), TEXT),
        ("br", b"nonsense", None),
        ("zstd", zstd.compress(TEXT), TEXT),
        ("zstd", b"nonsense", None),
    ],
)
def test_a_replay_unpacks_as_the_crawl_does(
    encoding: str, body: bytes, expected: bytes | None
) -> None:
    assert by_replay(body, encoding) == by_crawl(body, encoding) == expected


@given(st.integers(0, len(PACKED)), st.binary(max_size=10))
def test_torn_gzip_is_unpacked_as_in_the_crawl(end: int, tail: bytes) -> None:
    assert by_replay(PACKED[:end] + tail, "gzip") == by_crawl(PACKED[:end] + tail, "gzip")


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd"])
def test_bombs_are_bounded(encoding: str) -> None:
    bombs = {
        "gzip": gzip.compress(bytes(10**6)) * 50,
        "deflate": zlib.compress(bytes(5 * 10**7)),
        "br": brotli.compress(bytes(5 * 10**7), quality=1),
        "zstd": zstd.compress(bytes(5 * 10**7)),
    }
    assert by_replay(bombs[encoding], encoding, 1_500_000) == bytes(1_500_000)
