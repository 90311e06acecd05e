"""Records of WARC/1.1, as bytes before they are packed.

Our own rather than warcio's: that takes four times as long for a page of 5 KB (docs/archive.md).
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha1
from random import Random
from time import gmtime, strftime
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfaspider.archive.exchange import Exchange, Headers

_SAME_PAYLOAD = b"http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"
# Say how the body went over the line; it is kept without chunks, and maybe not to its end.
_FRAMING = {
    b"transfer-encoding": b"X-Crawl-Transfer-Encoding",
    b"content-length": b"X-Crawl-Content-Length",
}
# Would let whoever reads the archive in where the crawl was let in.
_SECRET = frozenset((b"authorization", b"cookie", b"proxy-authorization"))

_random = Random()  # seeded by the system


class Original(NamedTuple):
    """The capture that has the payload of a revisit."""

    url: str
    date: str


# Python's own function takes four times as long as this table of ten bits.
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS = [bytes((one, two)) for one in _LETTERS for two in _LETTERS]
_SHIFTS = tuple(range(150, -1, -10))


def digest(data: bytes) -> bytes:
    """Return a digest as archives write it."""
    number = int.from_bytes(sha1(data, usedforsecurity=False).digest())
    return b"sha1:" + b"".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])


@lru_cache(64)
def _date(seconds: int) -> str:
    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(seconds))


def date_of(seconds: float) -> str:
    """Return a time as WARC writes it."""
    return _date(int(seconds))


def warcinfo(name: str, fields: Iterable[tuple[str, str]], now: float) -> bytes:
    """Return the first record of a file."""
    head = [b"WARC-Filename: " + name.encode()]
    return _record(
        b"warcinfo",
        _identities()[0],
        date_of(now),
        head,
        b"application/warc-fields",
        _fields(fields),
    )


def records_of(
    exchange: Exchange,
    payload: bytes,
    original: Original | None,
    notes: Iterable[tuple[str, str]],
    *,
    request: bool,
) -> list[bytes]:
    """Return the records of an exchange; the last is the response or revisit, so if that is whole, all are.

    payload   the digest of the body
    original  the capture that has the same body, which is then left out
    notes     what is known besides, for the metadata record
    """
    (identity, first, second), date = _identities(), date_of(exchange.began)
    target = b"WARC-Target-URI: " + exchange.url.encode("utf-8", "surrogatepass")
    with_address = [target]
    if exchange.address:
        with_address.append(b"WARC-IP-Address: " + exchange.address.encode())
    concurrent = b"WARC-Concurrent-To: " + identity
    notes = [("fetchTimeMs", f"{exchange.seconds * 1000:.0f}"), *notes]
    fields = [target, concurrent]
    records = [
        _record(b"metadata", first, date, fields, b"application/warc-fields", _fields(notes))
    ]
    if request:
        fields = [*with_address, concurrent]
        block = _request(exchange)
        kind = b"application/http; msgtype=request"
        records.append(_record(b"request", second, date, fields, kind, block))
    records.append(_answer(exchange, identity, with_address, payload, original))
    return records


def _answer(
    exchange: Exchange,
    identity: bytes,
    fields: list[bytes],
    payload: bytes,
    original: Original | None,
) -> bytes:
    fields = [*fields, b"WARC-Payload-Digest: " + payload]
    date, kind = date_of(exchange.began), b"application/http; msgtype=response"
    if original is None:
        if exchange.truncated:
            fields.append(b"WARC-Truncated: " + exchange.truncated.encode())
        block = _response(exchange) + exchange.body
        return _record(b"response", identity, date, fields, kind, block)
    fields += (
        b"WARC-Profile: " + _SAME_PAYLOAD,
        b"WARC-Refers-To-Target-URI: " + original.url.encode("utf-8", "surrogatepass"),
        b"WARC-Refers-To-Date: " + original.date.encode(),
    )
    return _record(b"revisit", identity, date, fields, kind, _response(exchange))


def _record(
    kind: bytes, identity: bytes, date: str, fields: list[bytes], content: bytes, block: bytes
) -> bytes:
    return b"WARC/1.1\r\nWARC-Type: %b\r\nWARC-Record-ID: %b\r\nWARC-Date: %b\r\n%b\r\n" % (
        kind,
        identity,
        date.encode(),
        b"\r\n".join(fields),
    ) + b"WARC-Block-Digest: %b\r\nContent-Type: %b\r\nContent-Length: %d\r\n\r\n%b\r\n\r\n" % (
        digest(block),
        content,
        len(block),
        block,
    )


def _identities() -> tuple[bytes, bytes, bytes]:
    """Return the names of three records, which are random UUIDs but for their last digits."""
    digits = b"%032x" % _random.getrandbits(128)
    begin = b"<urn:uuid:%b-%b-4%b-a%b-%b" % (
        digits[:8],
        digits[8:12],
        digits[13:16],
        digits[17:20],
        digits[20:31],
    )
    return begin + b"0>", begin + b"1>", begin + b"2>"


def _fields(fields: Iterable[tuple[str, str]]) -> bytes:
    return b"".join(
        f"{name}: {' '.join(value.split())}\r\n".encode("utf-8", "backslashreplace")
        for name, value in fields
    )


def _request(exchange: Exchange) -> bytes:
    _, _, rest = exchange.url.partition("://")
    _, _, path = rest.partition("#")[0].partition("/")
    first = f"{exchange.method} /{path} HTTP/1.1".encode("utf-8", "surrogatepass")
    headers = ((name, value) for name, value in exchange.asked if name.lower() not in _SECRET)
    return _head(first, headers) + exchange.sent


def _response(exchange: Exchange) -> bytes:
    first = b"HTTP/%b %d %b" % (exchange.version.encode(), exchange.status, exchange.reason)
    return _head(first, _as_kept(exchange.headers, len(exchange.body)))


def _as_kept(headers: Headers, size: int) -> Headers:
    """Return the headers as they came, but those that the body as it is kept belies under other names."""
    length = b"%d" % size
    kept = []
    has_length = False
    for name, value in headers:
        lower = name.lower()
        if lower == b"content-length" and value == length and not has_length:
            has_length = True
        elif lower in _FRAMING:
            name = _FRAMING[lower]
        kept.append((name, value))
    if not has_length:
        kept.append((b"Content-Length", length))
    return tuple(kept)


def _head(first: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    lines = [first, *(b"%b: %b" % pair for pair in headers)]
    text = b"\r\n".join(lines)
    # A server that got a line feed into a value would write headers of its own.
    if text.count(b"\n") >= len(lines) or text.count(b"\r") >= len(lines):
        text = b"\r\n".join(b" ".join(line.splitlines()) for line in lines)
    return text + b"\r\n\r\n"
