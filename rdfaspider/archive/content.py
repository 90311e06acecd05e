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
    body = (
        _original(archive, capture, record).payload if record.kind == "revisit" else record.payload
    )
    for coding in reversed(_codings(head)):
        body = _unpacked(body, coding)
    return head, body


def _original(archive: Path, capture: Capture, revisit: Record) -> Record:
    """Return the record that has the body of a revisit."""
    date = digits(revisit.text(b"warc-refers-to-date"))
    for other in look_up(archive, revisit.text(b"warc-refers-to-target-uri")):
        if other.mime != REVISIT and other.digest == capture.digest and other.date == date:
            return read(archive, other)
    raise ValueError(f"The body of {capture.url} is in a record that is not in this archive.")


def _codings(head: bytes) -> list[str]:
    codings: list[str] = []
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-encoding":
            codings += (each.strip() for each in value.decode("latin-1").lower().split(","))
    return [coding for coding in codings if coding not in ("", "identity")]


def _unpacked(body: bytes, coding: str) -> bytes:
    if coding == "br":
        return _unpacked_brotli(body)
    for window in _WINDOWS.get(coding, ()):
        unpacker = zlib.decompressobj(window)
        try:
            unpacked = unpacker.decompress(body, _MOST + 1)
        except zlib.error:
            continue
        return _bounded(unpacked)
    raise ValueError(f"The body cannot be unpacked ({coding[:20]}).")


def _unpacked_brotli(body: bytes) -> bytes:
    brotli: Any = import_module("brotli")  # Scrapy brings it
    try:
        return _bounded(brotli.Decompressor().process(body, output_buffer_limit=_MOST + 1))
    except brotli.error as error:
        raise ValueError("The body cannot be unpacked (br).") from error


def _bounded(body: bytes) -> bytes:
    if len(body) > _MOST:
        raise ValueError(f"The body has more than {_MOST:,} bytes.")
    return body
