"""RDF documents: every format by its media type, faults that cost little, and hostile documents."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode

from rdfaspider.extract import Extraction, extract
from rdfaspider.extract.mediatypes import MEDIA_TYPES

URL = "http://site.example/dir/data"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
OPEN = f'<r:RDF xmlns:r="{RDF}" xmlns:e="http://e/">'.encode()
TURTLE = "text/turtle"
XML = "application/rdf+xml"
SECONDS = 10.0

SAME = {
    "text/turtle": '<s> <http://e/p> "é" .',
    "text/n3": '@prefix e: <http://e/> . <s> e:p "é" .',
    "application/n-triples": '<http://site.example/dir/s> <http://e/p> "é" .',
    "application/n-quads": '<http://site.example/dir/s> <http://e/p> "é" <http://e/g> .',
    "application/trig": '<http://e/g> { <s> <http://e/p> "é" }',
    "application/rdf+xml": f'{OPEN.decode()}<r:Description r:about="s"><e:p>é</e:p></r:Description></r:RDF>',
    "application/ld+json": '\ufeff{"@id": "s", "http://e/p": "é"}',
    "application/activity+json": '{"@id": "s", "http://e/p": "é"}',
}


def read(body: bytes, content_type: str) -> Extraction:
    return extract(body, URL, content_type)


@pytest.mark.parametrize("media_type", SAME)
def test_document_becomes_the_graph_of_its_url(media_type: str) -> None:
    extraction = read(SAME[media_type].encode(), f"{media_type}; charset=utf-8")
    statement = f'<http://site.example/dir/s> <http://e/p> "é" <{URL}>'
    assert [str(quad) for quad in extraction.quads] == [statement]
    assert extraction.links == []
    assert not extraction.facts.cuts


def test_media_types_are_plain() -> None:
    assert all(name == name.lower().strip() and ";" not in name for name in MEDIA_TYPES)


def test_rdf_xml_names_its_own_encoding_and_entities() -> None:
    start = '<?xml version="1.0" encoding="iso-8859-1"?><!DOCTYPE r [<!ENTITY e "http://x/">]>'
    text = (
        f'{start}{OPEN.decode()}<r:Description r:about="&e;s"><e:p>é</e:p></r:Description></r:RDF>'
    )
    assert [str(q.triple) for q in read(text.encode("latin-1"), XML).quads] == [
        '<http://x/s> <http://e/p> "é"'
    ]


FAULTY = {
    "turtle": (b"<s> <p> 1 .\n<s> <p> foo bar .\n<s> <p> 3 .\n", TURTLE, 2),
    "unfinished turtle": (b'<s> <p> 1 .\n<s> <p> "x', TURTLE, 1),
    "n-triples": (
        b"<http://e/s> <http://e/p> <b c> .\n_:a <http://e/p> _:b .\n",
        "application/n-triples",
        1,
    ),
    "rdf/xml": (OPEN + b"<r:Description><e:p>1</e:p></r:Description><r:Description><e:p>", XML, 1),
    "json-ld": (b'[{"http://e/p": 1}, {"@id": 5}]', "application/ld+json", 1),
}


@pytest.mark.parametrize(("body", "media_type", "kept"), FAULTY.values(), ids=FAULTY.keys())
def test_fault_costs_only_what_is_around_it(body: bytes, media_type: str, kept: int) -> None:
    extraction = read(body, media_type)
    assert len(extraction.quads) >= kept
    assert extraction.facts.cuts


def test_documents_are_not_repaired() -> None:
    extraction = read(b'{"http://e/p": 1,}', "application/ld+json")
    assert extraction.quads == []
    assert extraction.facts.cuts == {"jsonld syntax": 1}


def test_terms_of_rdf_12_are_left_out_or_made_plain() -> None:
    extraction = read(b'<s> <p> <<( <a> <b> <c> )>> ; <q> "x"@ar--rtl .', TURTLE)
    assert [str(quad.object) for quad in extraction.quads] == ['"x"@ar']
    assert extraction.facts.cuts == {"triple terms": 1, "base direction": 1}


def laughs() -> bytes:
    entities = "".join(f'<!ENTITY l{n + 1} "{f"&l{n};" * 10}">' for n in range(9))
    return f'<!DOCTYPE r [<!ENTITY l0 "ha">{entities}]>'.encode()


def test_xml_literals_have_exclusive_canonical_form() -> None:
    start = OPEN.replace(b"<r:RDF", b"<r:RDF xmlns='http://d/' xmlns:x='http://x/'")
    body = (
        b"<r:Description r:about='s'><e:p r:parseType='Literal' r:ID='i'>a &amp; <b/>"
        b"<x:c z='1' a='2'><i xmlns='http://w/' xmlns:q='http://q/' q:a=\"&lt;\">t</i></x:c> z</e:p>"
    )
    literal = (
        'a &amp; <b xmlns="http://d/"></b><x:c xmlns:x="http://x/" a="2" z="1">'
        '<i xmlns="http://w/" xmlns:q="http://q/" q:a="&lt;">t</i></x:c> z'
    )
    found = read(start + body + b"<e:q>1</e:q></r:Description></r:RDF>", XML).quads
    values = {quad.predicate.value: quad.object for quad in found}
    assert values["http://e/p"] == Literal(literal, datatype=NamedNode(f"{RDF}XMLLiteral"))
    assert values[f"{RDF}object"] == values["http://e/p"], "the statement has a name"
    assert values["http://e/q"] == Literal("1")


HOSTILE = {
    "blank nodes": (
        b"<s> <p> " + b"[<p> " * 100_000 + b"1" + b"]" * 100_000 + b".",
        TURTLE,
        "quads",
    ),
    "lists": (b"<s> <p> " + b"(" * 100_000 + b")" * 100_000 + b".", TURTLE, "quads"),
    "triple terms": (
        b"<s> <p> " + b"<<( <s> <p> " * 100_000 + b"1" + b")>>" * 100_000 + b".",
        TURTLE,
        "triple terms",
    ),
    "bases": (b"@base <abcdefghij/> .\n" * 100_000, TURTLE, "rdf bases"),
    "bases behind comments": (b"@base # <a>\n <abcdefghij/> .\n" * 100_000, TURTLE, "rdf bases"),
    "BASE behind comments": (b"BASE#\n<abcdefghij/>\n" * 100_000, TURTLE, "rdf bases"),
    "words that are no base": (b"base#" * 1_000_000, TURTLE, "rdf invalid"),
    "bases in XML": (
        OPEN
        + b"<r:Description xml:base='%s/'><e:p>" % (b"x" * 1_000) * 100
        + b"<r:Description r:about='y'><e:q>1</e:q></r:Description>" * 50_000,
        XML,
        "rdf bases",
    ),
    "namespaces": (
        OPEN.replace(b">", b" %s>" % b" ".join(b"xmlns:n%d='n:'" % n for n in range(5_000)))
        + b"<e:T e:p='1'/>" * 100_000,
        XML,
        "rdf namespaces",
    ),
    "namespaces in a literal": (
        OPEN.replace(b">", b" xmlns:x='http://x/%s'>" % (b"x" * 500_000))
        + b"<r:Description><e:p r:parseType='Literal'>%s</e:p>" % (b"<x:b/>" * 20_000),
        XML,
        "literal",
    ),
    "long names": (
        b"@prefix p: <http://e/%s> .\n" % (b"x" * 8_000) + b"p:a p:b p:c, p:d .\n" * 10_000,
        TURTLE,
        "output",
    ),
    "faults": (b"a .\n" * 1_000_000, TURTLE, "rdf invalid"),
    "deep XML": (OPEN + b"<r:Description><e:p>" * 100_000, XML, "rdf invalid"),
    "laughs": (laughs() + OPEN + b"<r:Description><e:p>&l9;", XML, "rdf invalid"),
    "external entity": (
        b'<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
        + OPEN
        + b"<e:T><e:p>&x;</e:p></e:T>",
        XML,
        "rdf invalid",
    ),
    "attributes": (
        OPEN + b"<e:T %s/></r:RDF>" % b" ".join(b'e:a%d="x"' % n for n in range(100_000)),
        XML,
        "attributes",
    ),
    "bytes": (bytes(range(256)) * 5_000, TURTLE, "rdf invalid"),
    "bytes as XML": (bytes(range(256)) * 5_000, XML, "rdf invalid"),
    "bytes as JSON": (bytes(range(256)) * 5_000, "application/ld+json", "jsonld syntax"),
}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("surrogate", [b"&#xD800;", b"&#55296;", b"&#xDFFF;&#x000dc00;"])
def test_half_a_character_in_xml_costs_no_more_than_itself(surrogate: bytes, encoding: str) -> None:
    body = OPEN + b"<r:Description e:p='1'/><e:T><e:p>a%sb</e:p></e:T></r:RDF>" % surrogate
    extraction = read(body.decode().encode(encoding), XML)
    assert extraction.facts.errors == {}
    assert extraction.facts.cuts["rdf invalid"]
    values = [quad.object.value for quad in extraction.quads]  # type: ignore[union-attr]
    assert "1" in values
    assert "a\ufffdb" in values or "a\ufffd\ufffdb" in values


@pytest.mark.parametrize("name", [b"e:q", b"r:parseType", b"xml:base", b"xml:lang"])
def test_half_a_character_in_an_attribute_costs_no_more_than_itself(name: bytes) -> None:
    body = OPEN + b"<e:T e:p='1'/><e:T><e:p %s='a&#xD800;b'>2</e:p></e:T></r:RDF>" % name
    extraction = read(body, XML)
    assert extraction.facts.errors == {}
    assert extraction.facts.cuts["rdf invalid"]
    assert "1" in [quad.object.value for quad in extraction.quads]  # type: ignore[union-attr]


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be", "utf-32-le"])
def test_half_a_character_is_no_error_of_ours_without_a_byte_order_mark(encoding: str) -> None:
    body = OPEN + b"<e:T><e:p r:parseType='a&#xD800;b'>2</e:p></e:T></r:RDF>"
    extraction = read(body.decode().encode(encoding), XML)
    assert extraction.facts.errors == {}
    assert extraction.facts.cuts["rdf invalid"]


@pytest.mark.parametrize(("body", "media_type", "cut"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_document_ends_and_says_what_was_cut(
    body: bytes, media_type: str, cut: str
) -> None:
    start = time.process_time()
    extraction = read(body, media_type)
    assert time.process_time() - start < SECONDS
    assert extraction.facts.cuts[cut]
    assert not any("root:" in str(quad) for quad in extraction.quads)


@given(st.binary(), st.sampled_from(sorted(MEDIA_TYPES)))
def test_no_bytes_raise(body: bytes, media_type: str) -> None:
    read(body, media_type)


@pytest.mark.parametrize("media_type", SAME)
def test_a_bad_url_raises_nothing(media_type: str) -> None:
    assert extract(SAME[media_type].encode(), "not a url", media_type).quads == []
