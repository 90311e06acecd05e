from __future__ import annotations

import gzip

import pytest

from rdfaspider.commands.trials._pagefile import type_of, unpacked
from rdfaspider.extract.mediatypes import MEDIA_TYPES


@pytest.mark.parametrize("more", ["", ".gz", ".GZ"])
@pytest.mark.parametrize(
    ("suffix", "media_type"),
    [
        (".html", "text/html"),
        (".HTM", "text/html"),
        (".xhtml", "application/xhtml+xml"),
        (".xml", "application/xml"),
        (".svg", "image/svg+xml"),
        (".rdf", "application/rdf+xml"),
        (".owl", "application/rdf+xml"),
        (".json", "application/ld+json"),
        (".jsonld", "application/ld+json"),
        (".ttl", "text/turtle"),
        (".n3", "text/n3"),
        (".nt", "application/n-triples"),
        (".nq", "application/n-quads"),
        (".trig", "application/trig"),
        (".png", "image/png"),
        (".unheard", ""),
        ("", ""),
    ],
)
def test_a_name_tells_the_type(suffix: str, media_type: str, more: str) -> None:
    assert type_of(f"/a.b/page{suffix}{more}") == media_type


def test_rdf_is_named_as_it_is_read() -> None:
    suffixes = (".rdf", ".owl", ".json", ".jsonld", ".ttl", ".n3", ".nt", ".nq", ".trig")
    assert {type_of(f"x{suffix}") for suffix in suffixes} <= MEDIA_TYPES.keys()


def test_gzip_is_unpacked_as_far_as_asked() -> None:
    packed = gzip.compress(b"one ") + gzip.compress(b"two")
    assert unpacked(packed) == b"one two"
    assert unpacked(packed, 5) == b"one t"
    assert unpacked(b"plain") == b"plain"


@pytest.mark.parametrize("cut", [slice(-1), slice(5), slice(2)])
def test_damaged_gzip_is_a_value_error(cut: slice) -> None:
    with pytest.raises(ValueError, match="damaged gzip data"):
        unpacked(gzip.compress(b"x" * 1000)[cut])
    broken = bytearray(gzip.compress(bytes(range(256))))
    broken[20] ^= 255
    with pytest.raises(ValueError, match="damaged gzip data"):
        unpacked(bytes(broken))
