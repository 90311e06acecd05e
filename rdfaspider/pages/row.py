"""The row of a page: what is known of it when its URL ends, in about a hundred bytes.

Layout: version (1 byte), length of the digest (1 byte: 20, or 0 if there was no body), the SHA-1 of the body,
then the other fields as a msgpack array. Readers take rows with fewer fields, and ignore fields that they do
not know, so a new field needs no new version.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from rdfaspider.items import Page

VERSION = 1
# Bytes of a digest by which bodies are compared: among ten million, two different ones agree once in 2e10
# crawls.
KEY = 10

# Characters that are kept; real language tags have 35 at most.
_TITLE, _WORD = 200, 100
# Topics of a page that are kept.
_TOPICS = 5
# An address is kept whole or not at all.
_IRI = 500
# Bytes of a row: more than any that this module packs.
MOST = 16_384


class Row(msgspec.Struct, array_like=True, frozen=True):
    """What is known of a page; empty or 0 where nothing is.

    `reason` is that of its end (`page`, `redirect`, `404`), `fetched` in seconds since the epoch,
    `milliseconds` the time to the headers of the answer, `size` the bytes of the body, unpacked.
    `language` is what the page declares. `links` are those on the page, `triples` those stored; the next four
    count what was found, by format. `detected` and `certainty` (percent), `words` and `sketch` are there if
    the page was analysed during the crawl. `modified` is the Last-Modified of the answer, in seconds since
    the epoch. `problems` counts statements that are not written as they should be. `signals` are what the
    page reserves (pipelines/rights.py), between spaces; `license` and `policy` are addresses. `own` are
    the values of the user's columns (own.py). `topics` are the names of what it is about, the best first,
    between spaces.
    """

    status: int = 0
    reason: str = ""
    fetched: int = 0
    milliseconds: int = 0
    content_type: str = ""
    encoding: str = ""
    size: int = 0
    title: str = ""
    language: str = ""
    links: int = 0
    triples: int = 0
    rdfa: int = 0
    jsonld: int = 0
    microdata: int = 0
    rdf: int = 0
    detected: str = ""
    certainty: int = 0
    words: int = 0
    sketch: bytes = b""
    modified: int = 0
    problems: int = 0
    signals: str = ""
    license: str = ""
    policy: str = ""
    own: dict[str, int | float | str] = {}
    topics: str = ""


class Glance(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """The beginning of a row, for those who look at all of them."""

    status: int = 0
    reason: str = ""
    fetched: int = 0


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Row).decode
_glance = msgspec.msgpack.Decoder(Glance).decode
_HEADS = {size: bytes((VERSION, size)) for size in (0, 20)}


def pack(row: Row, digest: bytes = b"") -> bytes:
    """Return a row as it is stored, with the SHA-1 of the body or without."""
    return _HEADS[len(digest)] + digest + _encode(row)


def unpack(data: bytes) -> tuple[Row, bytes]:
    """Return a row and the digest of the body; ValueError if it is none."""
    start = _start(data)
    return _decode(data[start:]), data[2:start]  # a DecodeError is a ValueError


def glance(data: bytes) -> Glance:
    """Return the beginning of a row; ValueError if it is none."""
    return _glance(data[_start(data) :])


def _start(data: bytes) -> int:
    """Return where the fields begin."""
    if len(data) < 2 or data[0] != VERSION or data[1] not in _HEADS:
        raise ValueError("This is no row of a page that this version can read.")
    return 2 + data[1]


def digest_of(data: bytes) -> bytes:
    """Return the digest in a packed row, b"" if it has none."""
    return data[2 : 2 + data[1]] if len(data) > 2 else b""


def topic_in(data: bytes) -> str:
    """Return the best topic in a packed row, "" if it has none."""
    try:
        return unpack(data)[0].topics.partition(" ")[0]
    except ValueError:
        return ""


def row_of(page: Page, own: dict[str, int | float | str] | None = None) -> bytes:
    """Return the packed row of a page with the values of the user's columns."""
    count = page.found.get
    row = Row(
        page.status,
        page.reason[:_WORD],
        int(page.fetched),
        round(page.latency * 1000),
        page.content_type.partition(";")[0].strip().lower()[:_WORD],
        page.encoding[:_WORD],
        len(page.body),
        page.title[:_TITLE],
        page.language[:_WORD],
        len(page.links),
        page.quad_count,
        count("rdfa", 0),
        count("jsonld", 0),
        count("microdata", 0),
        count("rdf", 0),
        *(page.analysis or ("", 0, 0, b"")),
        page.modified,
        page.problems,
        " ".join(page.signals),
        page.license if len(page.license) <= _IRI else "",
        page.policy if len(page.policy) <= _IRI else "",
        own or {},
        " ".join(page.topics[:_TOPICS]),
    )
    try:
        return pack(row, page.digest)
    except UnicodeEncodeError:  # half of a surrogate pair, which UTF-8 cannot express
        return pack(_encodable(row), page.digest)


def _encodable(row: Row) -> Row:
    fields = msgspec.structs.asdict(row)
    texts = {name: value for name, value in fields.items() if isinstance(value, str)}
    known = {name: text.encode("utf-8", "replace").decode() for name, text in texts.items()}
    return msgspec.structs.replace(row, **known)
