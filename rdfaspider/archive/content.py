"""The answer of a capture: of a revisit, the body of the first; unpacked."""

from __future__ import annotations

import zlib
from importlib import import_module
from typing import TYPE_CHECKING, Any

from rdfaspider.archive.captures import REVISIT, digits
from rdfaspider.archive.index import look_up
from rdfaspider.archive.reader import read

if TYPE_CHECKING:
    from pathlib import Path

    from rdfaspider.archive.captures import Capture
    from rdfaspider.archive.reader import Record

# Bytes that a body may unpack to.
_MOST = 1 << 28
# What zlib calls gzip; both forms of deflate are tried, since servers differ.
_WINDOWS = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15)}


def answer(archive: Path, capture: Capture) -> tuple[bytes, bytes]:
    """Return the head of an answer and its body, unpacked; ValueError if that cannot be had."""
    record = read(archive, capture)
    head = record.block.partition(b"\r\n\r\n")[0]
    body = original_of(archive, record).payload if record.kind == "revisit" else record.payload
    return head, unpacked_body(head, body)


def original_of(archive: Path, revisit: Record) -> Record:
    """Return the record that has the body of a revisit; ValueError if it is not in the index."""
    date = digits(revisit.text(b"warc-refers-to-date"))
    digest = revisit.text(b"warc-payload-digest")
    for other in look_up(archive, revisit.text(b"warc-refers-to-target-uri")):
        if other.mime != REVISIT and other.digest == digest and other.date == date:
            return read(archive, other)
    url = revisit.text(b"warc-target-uri")
    raise ValueError(f"The body of {url} is in a record that is not in this archive.")


def unpacked_body(head: bytes, body: bytes, most: int = 0) -> bytes:
    """Return a body as its server had it before it packed it; ValueError if that cannot be had.

    With `most`, what is beyond so many bytes is left out; else a body that is far too long is refused.
    """
    for coding in reversed(_codings(head)):
        body = _unpacked(body, coding, most or _MOST + 1)
    return body[:most] if most else _bounded(body)


def _codings(head: bytes) -> list[str]:
    codings: list[str] = []
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-encoding":
            codings += (each.strip() for each in value.decode("latin-1").lower().split(","))
    return [coding for coding in codings if coding not in ("", "identity")]


def _unpacked(body: bytes, coding: str, most: int) -> bytes:
    if coding == "br":
        return _unpacked_brotli(body, most)
    for window in _WINDOWS.get(coding, ()):
        try:
            return zlib.decompressobj(window).decompress(body, most)
        except zlib.error:
            continue
    raise ValueError(f"The body cannot be unpacked ({coding[:20]}).")


def _unpacked_brotli(body: bytes, most: int) -> bytes:
    brotli: Any = import_module("brotli")  # Scrapy brings it
    try:
        unpacked: bytes = brotli.Decompressor().process(body, output_buffer_limit=most)
    except brotli.error as error:
        raise ValueError("The body cannot be unpacked (br).") from error
    return unpacked


def _bounded(body: bytes) -> bytes:
    if len(body) > _MOST:
        raise ValueError(f"The body has more than {_MOST:,} bytes.")
    return body
