"""Records of WARC/1.1, as bytes before they are packed.

Our own rather than warcio's: that takes four times as long for a page of 5 KB (docs/archive.md).
"""

from __future__ import annotations

from functools import lru_cache
from hashlib import sha1
from random import Random
from time import gmtime, strftime
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.items import RENDERED_TYPE
from rdfaspider.secrets import is_secret

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rdfaspider.archive.exchange import Exchange, Headers

# No record has a digest of its block beside that of the payload: the checksum of its gzip member covers it,
# and digests cannot be packed. Heritrix writes none either (WARCWriter.java in webarchive-commons).
_BEGIN = b"WARC/1.1\r\nWARC-Type: %b\r\nWARC-Record-ID: %%b\r\nWARC-Date: %%b\r\n"
_END = b"Content-Type: %b\r\nContent-Length: %%d\r\n\r\n%%b\r\n\r\n"
_INFO = _BEGIN % b"warcinfo" + b"WARC-Filename: %b\r\n" + _END % b"application/warc-fields"
_METADATA = (
    _BEGIN % b"metadata"
    + b"WARC-Target-URI: %b\r\nWARC-Concurrent-To: %b\r\n"
    + _END % b"application/warc-fields"
)
_REQUEST = (
    _BEGIN % b"request"
    + b"WARC-Target-URI: %b\r\n%bWARC-Concurrent-To: %b\r\n"
    + _END % b"application/http; msgtype=request"
)
_CONVERSION = (
    _BEGIN % b"conversion"
    + b"WARC-Target-URI: %b\r\nWARC-Refers-To: %b\r\n"
    + _END % RENDERED_TYPE.encode()
)
_ANSWER = (
    _BEGIN % b"%b" + b"WARC-Target-URI: %b\r\n%b" + _END % b"application/http; msgtype=response"
)
_REFERENCE = (
    b"WARC-Payload-Digest: %b\r\n"
    b"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/identical-payload-digest\r\n"
    b"WARC-Refers-To-Target-URI: %b\r\nWARC-Refers-To-Date: %b\r\n"
)
_NOT_MODIFIED = (
    b"WARC-Profile: http://netpreserve.org/warc/1.1/revisit/server-not-modified\r\n"
    b"WARC-Refers-To-Target-URI: %b\r\n"
)
# Say how the body went over the line; it is kept without chunks, and maybe not to its end.
_FRAMING = {
    b"transfer-encoding": b"X-Crawl-Transfer-Encoding",
    b"content-length": b"X-Crawl-Content-Length",
}
# How many bytes of the file a conversion has, in the record after it.
CONVERSION_LENGTH = b"X-Crawl-Conversion-Length"
# Would let whoever reads the archive in where the crawl was let in.
_SECRET = frozenset((b"authorization", b"cookie", b"proxy-authorization"))

_random = Random()  # seeded by the system


class Original(NamedTuple):
    """The capture that has the payload of a revisit."""

    url: str
    date: bytes


# Python's own function takes four times as long as this table of ten bits.
_LETTERS = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
_PAIRS = [bytes((one, two)) for one in _LETTERS for two in _LETTERS]
_SHIFTS = tuple(range(150, -1, -10))


def digest(data: bytes) -> bytes:
    """Return a digest as archives write it."""
    return written(sha1(data, usedforsecurity=False).digest())


def written(sha1_digest: bytes) -> bytes:
    number = int.from_bytes(sha1_digest)
    return b"sha1:" + b"".join([_PAIRS[number >> shift & 1023] for shift in _SHIFTS])


@lru_cache(64)
def date_of(seconds: int) -> bytes:
    """Return a time as WARC writes it."""
    return strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(seconds)).encode()


def warcinfo(name: str, fields: Iterable[tuple[str, str]], now: float) -> bytes:
    """Return the first record of a file."""
    return _INFO % (
        _identities()[0],
        date_of(int(now)),
        name.encode(),
        *_sized(_fields(fields)),
    )


def records_of(
    exchange: Exchange,
    payload: bytes,
    original: Original | None,
    notes: Iterable[tuple[str, str]],
    *,
    request: bool,
    rendered: bytes = b"",
) -> tuple[str, list[bytes]]:
    """Return the records of an exchange, and the name of the last.

    That is the response or revisit, so if it is whole, all are.

    payload   the digest of the body
    original  the capture that has the same body, which is then left out
    notes     what is known besides, for the metadata record
    rendered  the document that scripts made of the body, for a record just before the last
    """
    (identity, first, second, third), date = _identities(), date_of(int(exchange.began))
    target = exchange.url.encode("utf-8", "surrogatepass")
    address = b"WARC-IP-Address: %b\r\n" % exchange.address.encode() if exchange.address else b""
    if exchange.version == "2":
        address += b"WARC-Protocol: h2\r\n"
    notes = (("fetchTimeMs", f"{exchange.seconds * 1000:.0f}"), *notes)
    records = [_METADATA % (first, date, target, identity, *_sized(_fields(notes)))]
    if request:
        block = _request(exchange)
        records.append(_REQUEST % (second, date, target, address, identity, *_sized(block)))
    fields = address + _about_payload(exchange, payload, original)
    if rendered:
        records.append(_CONVERSION % (third, date, target, identity, *_sized(rendered)))
        fields += _with_length(0)
    block = _response(exchange)
    if original is None:
        block += exchange.body
    kind = b"revisit" if original or exchange.is_not_modified else b"response"
    records.append(_ANSWER % (kind, identity, date, target, fields, *_sized(block)))
    return identity[1:-1].decode(), records


def _with_length(length: int) -> bytes:
    """Return the field of a response that says how long the member before it is, its conversion."""
    return b"%b: %010d\r\n" % (CONVERSION_LENGTH, length)


def set_length(record: bytes, length: int) -> bytes:
    """Return a response that knows the length of its conversion."""
    return record.replace(_with_length(0), _with_length(length), 1)


def _about_payload(exchange: Exchange, payload: bytes, original: Original | None) -> bytes:
    """Return the fields that say what became of a body."""
    if exchange.is_not_modified:
        return _NOT_MODIFIED % exchange.url.encode("utf-8", "surrogatepass")
    if original is not None:
        return _REFERENCE % (payload, original.url.encode("utf-8", "surrogatepass"), original.date)
    truncated = exchange.truncated.encode()
    cut = b"WARC-Truncated: %b\r\n" % truncated if truncated else b""
    return b"WARC-Payload-Digest: %b\r\n%b" % (payload, cut)


def _sized(block: bytes) -> tuple[int, bytes]:
    return len(block), block


def _identities() -> tuple[bytes, bytes, bytes, bytes]:
    """Return the names of four records, which are random UUIDs but for their last digits."""
    digits = b"%032x" % _random.getrandbits(128)
    begin = b"<urn:uuid:%b-%b-4%b-a%b-%b" % (
        digits[:8],
        digits[8:12],
        digits[13:16],
        digits[17:20],
        digits[20:31],
    )
    return begin + b"0>", begin + b"1>", begin + b"2>", begin + b"3>"


def _fields(fields: Iterable[tuple[str, str]]) -> bytes:
    lines = [f"{name}: {' '.join(value.split())}\r\n" for name, value in fields]
    return "".join(lines).encode("utf-8", "backslashreplace")


def _request(exchange: Exchange) -> bytes:
    _, _, rest = exchange.url.partition("://")
    _, _, path = rest.partition("#")[0].partition("/")
    first = f"{exchange.method} /{path} HTTP/1.1".encode("utf-8", "surrogatepass")
    lines = [
        b"%b: %b" % (name if exchange.sent else _FRAMING.get(name.lower(), name), value)
        for name, value in exchange.asked
        if not _is_secret(name)
    ]
    return _head(first, lines) + exchange.sent


@lru_cache(256)
def _is_secret(name: bytes) -> bool:
    """Tell whether a header of a request is left out; its name may be one that a user has made up."""
    lower = name.lower()
    return lower in _SECRET or is_secret(lower.replace(b"-", b"_").decode("latin-1"))


def _response(exchange: Exchange) -> bytes:
    # Replay tools know no first line of HTTP/2, which has none.
    version = b"1.1" if exchange.version == "2" else exchange.version.encode()
    first = b"HTTP/%b %d %b" % (version, exchange.status, exchange.reason)
    return _head(first, _as_kept(exchange.headers, b"%d" % len(exchange.body)))


def _as_kept(headers: Headers, length: bytes) -> list[bytes]:
    """Return the headers as they came, but those that the body as it is kept belies under other names."""
    lines = []
    has_length = False
    for name, value in headers:
        lower = name.lower()
        if lower in _FRAMING:
            if lower == b"content-length" and value == length and not has_length:
                has_length = True
            else:
                name = _FRAMING[lower]
        lines.append(b"%b: %b" % (name, value))
    if not has_length:
        lines.append(b"Content-Length: " + length)
    return lines


def _head(first: bytes, lines: list[bytes]) -> bytes:
    text = b"\r\n".join((first, *lines, b"", b""))
    # A server that got a line feed into a value would write headers of its own.
    most = len(lines) + 2
    if text.count(b"\n") > most or text.count(b"\r") > most:
        whole = (b" ".join(line.splitlines()) for line in (first, *lines))
        text = b"\r\n".join((*whole, b"", b""))
    return text
