from __future__ import annotations

import builtins
import json
import pickle
import socket
from collections import Counter
from typing import NoReturn

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.extract import Extraction, Facts, Limits, Options, extract

URL = "http://site.example/dir/page.html"
NAME = '<p property="http://schema.org/name">Ada</p>'


def test_quads_are_in_the_graph_of_the_page() -> None:
    (quad,) = extract(NAME.encode(), URL).quads
    assert str(quad) == f'<{URL}> <http://schema.org/name> "Ada" <{URL}>'


PROTECTED = b"""<base href="x/"><a href="b" property="schema:url">b</a>
<script type="application/ld+json">{"@id": "#me", "http://schema.org/name": "Ada"}</script>
<div itemscope itemtype="http://schema.org/Person" itemid="#you"><a itemprop=url href="c">c</a></div>
<p typeof="foaf:Person">"""


@pytest.mark.parametrize(
    ("body", "content_type"), [(PROTECTED, "text/html"), (b"<#me> <b> <c> .", "text/turtle")]
)
def test_a_password_is_in_the_links_and_not_in_the_triples(body: bytes, content_type: str) -> None:
    secret = URL.replace("//", "//me:secret@")
    protected, public = (extract(body, url, content_type) for url in (secret, URL))
    assert public.nquads
    assert protected.nquads == public.nquads
    assert all(link.startswith("http://me:secret@site.example/dir/") for link in protected.links)


def test_lexical_forms_stay_as_written() -> None:
    page = b'<p property="schema:price" content="01.50" datatype="xsd:decimal">'
    assert extract(page, URL).quads[0].object.value == "01.50"  # type: ignore[union-attr]


def test_blank_nodes_are_the_same_on_every_run_and_differ_between_pages() -> None:
    page = b'<p typeof="foaf:Person"><b about="_:x" property="foaf:name">y</b></p>'
    labels = [{str(q.subject) for q in extract(page, url).quads} for url in (URL, URL, URL + "2")]
    assert labels[0] == labels[1]
    assert len(labels[0] | labels[2]) == 4


def test_facts_of_the_head() -> None:
    page = b"""<html lang=en><title> A
      title </title><base href="/root/"><link rel="canonical" href="this">
      <meta name=robots content="NoIndex, follow"><meta name=otherbot content=nofollow>"""
    facts = extract(page, URL).facts
    assert (facts.title, facts.language) == ("A title", "en")
    assert facts.base == "http://site.example/root/"
    assert facts.canonical == "http://site.example/root/this"
    assert (facts.noindex, facts.nofollow) == (True, False)


@pytest.mark.parametrize("name", ["robots", "RDFaSpider", "rdfaspider"])
def test_nofollow_page_has_no_links_but_its_quads(name: str) -> None:
    extraction = extract(f'<meta name={name} content=none><a href="/x">x</a>{NAME}'.encode(), URL)
    assert extraction.links == []
    assert extraction.facts.nofollow
    assert len(extraction.quads) == 1


def test_title_of_a_picture_is_not_the_title_of_the_page() -> None:
    page = b"<body><svg><title>icon</title></svg>"
    assert extract(b"<title>page</title>" + page, URL).facts.title == "page"


def test_formats_can_be_left_out() -> None:
    assert extract(NAME.encode(), URL, options=Options(formats=frozenset())).quads == []


def test_one_bad_reference_does_not_lose_the_page() -> None:
    page = f'<base href="http://[bad/"><a rel="dc:x" href="http://[bad/">x</a>{NAME}'
    assert len(extract(page.encode(), URL).quads) == 1


def test_extraction_travels_between_processes() -> None:
    extraction = extract(f'<a href="/x">x</a>{NAME}'.encode(), URL)
    assert pickle.loads(pickle.dumps(extraction)) == extraction
    assert pickle.loads(pickle.dumps(Options(limits=Limits(links=1)))).limits.links == 1


def test_nothing_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    def deny(*_: object, **__: object) -> NoReturn:
        raise AssertionError("extract opened something")

    monkeypatch.setattr(socket, "socket", deny)
    monkeypatch.setattr(builtins, "open", deny)
    page = b"""<!DOCTYPE html [<!ENTITY x SYSTEM "file:///etc/hostname">
      <!ENTITY % p SYSTEM "http://127.0.0.1:9/"> %p;]><html xmlns="http://www.w3.org/1999/xhtml"
      vocab="http://127.0.0.1:9/v#"><p property="t">a&x;b</p></html>"""
    quads = extract(page, URL, "application/xhtml+xml").quads
    assert {q.object.value for q in quads} == {"http://127.0.0.1:9/v#", "ab"}  # type: ignore[union-attr]


@given(
    st.binary(max_size=300), st.sampled_from(["text/html", "application/xml", "image/svg+xml", ""])
)
def test_no_bytes_raise(body: bytes, content_type: str) -> None:
    extract(body, URL, content_type)


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_url_and_no_content_type_raise(url: str, content_type: str) -> None:
    extract(f'<base href="x"><a href="y" rel="dc:z">z</a>{NAME}'.encode(), url, content_type)


VALUES = st.text(alphabet='ab:/_[]#?%. \n\t-<>\\"é\ue000\x00', max_size=12)
ATTRIBUTES = st.sampled_from(
    [
        "about",
        "resource",
        "href",
        "src",
        "property",
        "rel",
        "rev",
        "typeof",
        "vocab",
        "prefix",
        "datatype",
        "content",
        "inlist",
        "lang",
    ]
)


@given(st.lists(st.tuples(ATTRIBUTES, VALUES), max_size=12))
def test_no_attribute_raises(pairs: list[tuple[str, str]]) -> None:
    escaped = [(n, v.replace("&", "&amp;").replace('"', "&quot;")) for n, v in pairs]
    page = "".join(f'<div {name}="{value}">x' for name, value in escaped)
    extract(page.encode(), URL)


def test_rdf_that_comes_as_xml_is_read() -> None:
    body = b"""<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"
    xmlns:s="http://schema.org/"><s:Book rdf:about="#b" s:name="B"/></rdf:RDF>"""
    assert len(extract(body, "http://a.test/", "application/xml").quads) == 2
    assert len(extract(body, "http://a.test/", "application/rdf+xml").quads) == 2


def test_a_page_whose_url_is_no_iri_has_a_graph_all_the_same() -> None:
    body = b'<p property="schema:name">x</p>'
    (quad,) = extract(body, "http://a.test/100%?q={x}").quads
    assert quad.graph_name.value == "http://a.test/100%25?q=%7Bx%7D"  # type: ignore[union-attr]


def test_what_is_encoded_is_decoded() -> None:
    full = Extraction(
        nquads=b"<http://e/s> <http://e/p> <http://e/o> <http://e/g> .\n",
        links=["http://e/"],
        relations=["next"],
        texts=["e"],
        predicates=["http://e/p"],
        longest=12,
        nofollow=["http://f/"],
        canonical="http://e/",
        media={"image": 1},
        facts=Facts(
            title="half of a pair: \ud800",
            noindex=True,
            signals=["noai"],
            quads=Counter(rdfa=1, jsonld=0),
            cuts=Counter(links=2),
            warnings=Counter(UnresolvedTerm=1),
            errors={"page": "why"},
            reference=(0, 0),
            certainty=99,
        ),
    )
    for extraction in (Extraction(), full):
        line, _, nquads = extraction.encode().partition(b"\n")
        header = json.loads(line)
        assert header["size"] == len(nquads)
        decoded = Extraction.decode(header, nquads)
        assert decoded == extraction
        assert isinstance(decoded.facts.cuts, Counter)
    # Every field that is not empty is sent.
    facts = json.loads(full.encode().partition(b"\n")[0])["facts"]
    assert facts.keys() >= {"title", "noindex", "quads", "reference", "certainty"}
    assert Extraction().encode() == b'{"facts": {}, "size": 0}\n'


@pytest.mark.parametrize("page", ["http://a.test/", "file:///a.html"])
def test_links_reach_another_process_as_they_are(page: str) -> None:
    """They travel in lines, which none of them can break."""
    hrefs = [
        "b",
        "c&#10;d",
        "e%0Af",
        "g\nh",
        "/&#13;&#10;i",
        "?&#10;",
        "j&#x2028;k",
        "http://x&#10;y.test/",
    ]
    body = "".join(f'<a href="{href}">' for href in hrefs).encode()
    extraction = extract(body, page)
    line, _, nquads = extraction.encode().partition(b"\n")
    assert Extraction.decode(json.loads(line), nquads).links == extraction.links
    assert len(extraction.links) == len(hrefs)
