"""The row of a page is short, and is read again as it was."""

from __future__ import annotations

from hashlib import sha1

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.items import Page
from rdfaspider.pages.row import MOST, VERSION, Row, digest_of, pack, row_of, unpack

whole = st.integers(0, 2**62)
rows = st.builds(
    Row,
    **dict.fromkeys(("status", "fetched", "milliseconds", "size", "links", "triples"), whole),
    **dict.fromkeys(("rdfa", "jsonld", "microdata", "rdf", "certainty", "words"), whole),
    **dict.fromkeys(("reason", "content_type", "title", "language", "detected"), st.text()),
    sketch=st.binary(),
)


@given(rows, st.sampled_from([b"", b"d" * 20]))
def test_a_row_is_read_as_it_was_written(row: Row, digest: bytes) -> None:
    packed = pack(row, digest)
    assert unpack(packed) == (row, digest)
    assert digest_of(packed) == digest


@given(st.binary(max_size=60))
def test_what_is_no_row_is_refused(data: bytes) -> None:
    digest_of(data)
    try:
        unpack(data)
    except ValueError:
        return
    assert data[0] == VERSION


def page(**fields: object) -> Page:
    body = b"<title>A</title>" * 300
    given = {"status": 200, "fetched": 1_790_000_000.7, "latency": 0.0128, "body": body}
    given |= {"content_type": "Text/HTML; charset=utf-8", "encoding": "utf-8", "language": "de-AT"}
    given |= {"title": "The old library by the river", "links": ["http://a.test/"] * 40}
    given |= {"digest": sha1(body).digest(), "found": {"rdfa": 3, "jsonld": 2}}
    given |= {"nquads": b"x\n" * 5}
    return Page("http://a.test/", 2, **(given | fields))  # type: ignore[arg-type]


def test_the_row_of_a_page() -> None:
    packed = row_of(page())
    row, digest = unpack(packed)
    assert digest == page().digest
    assert (row.status, row.reason, row.fetched, row.milliseconds) == (200, "page", 1790000000, 13)
    assert (row.content_type, row.encoding, row.size) == ("text/html", "utf-8", 4800)
    assert (row.title, row.language) == ("The old library by the river", "de-AT")
    assert (row.links, row.triples, row.rdfa, row.jsonld, row.rdf) == (40, 5, 3, 2, 0)
    assert row.sketch == b""
    assert 60 <= len(packed) <= 150


@pytest.mark.parametrize(
    "fields",
    [
        {"title": "\ud800 lonely"},
        {"title": "x" * 100_000, "language": "y" * 9_999, "reason": "z" * 9_999},
        {"title": "\U0001f600" * 9_999, "encoding": "e" * 9_999, "content_type": "t" * 9_999},
        {"analysis": ("en", 99, 1234, b"s" * 128)},
    ],
)
def test_hostile_fields_make_a_short_row(fields: dict[str, object]) -> None:
    packed = row_of(page(**fields))
    assert len(packed) <= MOST
    assert unpack(packed)[0].status == 200


def test_rows_of_other_versions() -> None:
    fewer = bytes((VERSION, 0)) + msgspec.msgpack.encode([404, "404"])
    assert unpack(fewer) == (Row(404, "404"), b"")
    more = pack(Row(200))[:2] + msgspec.msgpack.encode([*msgspec.structs.astuple(Row(200)), "new"])
    assert unpack(more)[0].status == 200
    with pytest.raises(ValueError, match="no row"):
        unpack(bytes((VERSION + 1, 0)) + fewer[2:])
