"""The answer of a capture: of a revisit, the body of the first; unpacked as in a crawl."""

from __future__ import annotations

import struct
import sys
import zlib
from collections.abc import Callable
from gzip import GzipFile
from importlib import import_module
from io import BytesIO
from typing import TYPE_CHECKING, Any

from rdfaspider.archive.index.captures import REVISIT, digits
from rdfaspider.archive.index.index import look_up
from rdfaspider.archive.warc.reader import read
from rdfaspider.archive.warc.records import CONVERSION_LENGTH

if TYPE_CHECKING:
    from pathlib import Path

    from rdfaspider.archive.index.captures import Capture
    from rdfaspider.archive.warc.reader import Record

# Bytes that a body may unpack to.
_MOST = 1 << 28
# Bytes that are unpacked at a time where that takes care.
_PIECE = 1 << 16
# What zlib calls gzip; both forms of deflate are tried, since servers differ.
_GZIP, _DEFLATES = 31, (15, -15)


def answer(archive: Path, capture: Capture) -> tuple[bytes, bytes]:
    """Return the head of an answer and its body, unpacked; ValueError if that cannot be had."""
    record = read(archive, capture)
    head = record.block.partition(b"\r\n\r\n")[0]
    body = original_of(archive, record).payload if record.kind == "revisit" else record.payload
    return head, unpacked_body(head, body)


def rendered_of(archive: Path, capture: Capture, record: Record) -> bytes:
    """Return the document that a crawl read instead of what was answered, b"" if it read that.

    Raise ValueError if it is not where the record says.
    """
    if not (length := int(record.text(CONVERSION_LENGTH.lower()) or 0)):
        return b""
    place = capture._replace(offset=capture.offset - length, length=length)
    conversion = read(archive, place)
    refers_to = conversion.text(b"warc-refers-to")
    if conversion.kind != "conversion" or refers_to != record.text(b"warc-record-id"):
        raise ValueError(f"The rendered document of {capture.url} is not before its answer.")
    return conversion.block


def original_of(archive: Path, revisit: Record) -> Record:
    """Return the record that has the body of a revisit; ValueError if it is not in the index."""
    if revisit.text(b"warc-profile").endswith("/server-not-modified"):
        return _last_before(archive, revisit)
    date = digits(revisit.text(b"warc-refers-to-date"))
    digest = revisit.text(b"warc-payload-digest")
    for other in look_up(archive, revisit.text(b"warc-refers-to-target-uri")):
        if other.mime != REVISIT and other.digest == digest and other.date == date:
            return read(archive, other)
    url = revisit.text(b"warc-target-uri")
    raise ValueError(f"The body of {url} is in a record that is not in this archive.")


def _last_before(archive: Path, revisit: Record) -> Record:
    """Return the record with the body that a server said it had not modified since."""
    url, date = revisit.text(b"warc-target-uri"), digits(revisit.text(b"warc-date"))
    for other in reversed(look_up(archive, url)):
        if other.status == "200" and other.date <= date:
            record = read(archive, other)
            return original_of(archive, record) if record.kind == "revisit" else record
    raise ValueError(f"The body of {url} is in a record that is not in this archive.")


def unpacked_body(head: bytes, body: bytes, most: int = 0) -> bytes:
    """Return a body as its server had it before it packed it; ValueError if that cannot be had.

    With `most`, what is beyond so many bytes is left out; else a body that is far too long is refused.
    """
    for coding in reversed(_codings(head)):
        if (unpack := _UNPACKERS.get(coding)) is None:
            break  # many servers say none or utf-8 here; the crawl leaves such a body as it is
        body = unpack(body, most or _MOST + 1)
    return body[:most] if most else _bounded(body)


def _codings(head: bytes) -> list[str]:
    codings: list[str] = []
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-encoding":
            codings += (each.strip() for each in value.decode("latin-1").lower().split(","))
    return codings


def _from_gzip(body: bytes, most: int) -> bytes:
    unpacker = zlib.decompressobj(_GZIP)
    try:
        unpacked = unpacker.decompress(body, most)
    except zlib.error:
        return _from_odd_gzip(body, most)
    is_all = len(unpacked) >= most or (unpacker.eof and not unpacker.unused_data)
    return unpacked if is_all else _from_odd_gzip(body, most)


def _from_odd_gzip(body: bytes, most: int) -> bytes:
    """Unpack several members, or what comes before a wrong checksum, other bytes, or an early end."""
    whole = bytearray()
    reader = GzipFile(fileobj=BytesIO(body))
    try:
        while piece := reader.read1(min(_PIECE, most - len(whole))):
            whole += piece
    except zlib.error as error:
        raise ValueError("The body cannot be unpacked (gzip).") from error
    except (OSError, EOFError, struct.error) as error:
        if not whole:
            raise ValueError("The body cannot be unpacked (gzip).") from error
    return bytes(whole)


def _from_deflate(body: bytes, most: int) -> bytes:
    for window in _DEFLATES:
        try:
            return zlib.decompressobj(window).decompress(body, most)
        except zlib.error:
            continue
    raise ValueError("The body cannot be unpacked (deflate).")


def _from_brotli(body: bytes, most: int) -> bytes:
    brotli: Any = import_module("brotli")  # Scrapy brings it
    try:
        unpacked: bytes = brotli.Decompressor().process(body, output_buffer_limit=most)
    except brotli.error as error:
        raise ValueError("The body cannot be unpacked (br).") from error
    return unpacked


def _from_zstd(body: bytes, most: int) -> bytes:
    name = "compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd"
    zstd: Any = import_module(name)  # Scrapy brings it
    whole = bytearray()
    try:
        with zstd.ZstdFile(BytesIO(body)) as reader:
            while piece := reader.read(min(_PIECE, most - len(whole))):
                whole += piece
    except zstd.ZstdError as error:
        raise ValueError("The body cannot be unpacked (zstd).") from error
    except EOFError:  # it is cut
        pass
    return bytes(whole)


_UNPACKERS: dict[str, Callable[[bytes, int], bytes]] = {
    "gzip": _from_gzip,
    "x-gzip": _from_gzip,
    "deflate": _from_deflate,
    "br": _from_brotli,
    "zstd": _from_zstd,
}


def _bounded(body: bytes) -> bytes:
    if len(body) > _MOST:
        raise ValueError(f"The body has more than {_MOST:,} bytes.")
    return body
