from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.extract import Limits, extract
from rdfaspider.extract.document.html import HtmlDocument
from rdfaspider.extract.rdfa import Processor, is_worth
from rdfaspider.extract.rdfa.vocabulary import bundled
from rdfaspider.extract.reading import _ATTRIBUTES
from rdfaspider.extract.triples.graph import Graph

Triples = Callable[..., set[str]]

URL = "http://site.example/dir/page.html"
PAGE = f"<{URL}>"
DC = "<http://purl.org/dc/terms/"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XHTML = "http://www.w3.org/1999/xhtml"


@pytest.mark.parametrize(
    ("text", "datatype"),
    [
        ("2012-03-18", "date"),
        ("2012-03-18Z", "date"),
        ("12:30:00", "time"),
        ("2012-03-18T00:00:00.5+01:00", "dateTime"),
        ("2012-03", "gYearMonth"),
        ("2012", "gYear"),
        ("P1Y2M3DT4H5M6S", "duration"),
        ("-PT1H", "duration"),
        ("P", ""),
        ("P1DT", ""),
        ("2012-03-18T00:00", ""),
        ("\u0662\u0660\u0661\u0662", ""),
        ("soon", ""),
    ],
)
def test_times_have_the_datatype_of_their_form(text: str, datatype: str, triples: Triples) -> None:
    suffix = f"^^<http://www.w3.org/2001/XMLSchema#{datatype}>" if datatype else ""
    expected = {f'{PAGE} {DC}date> "{text}"{suffix}'}
    assert triples(f'<time property="dc:date">{text}</time>') == expected
    assert triples(f'<time property="dc:date" datetime="{text}">x</time>') == expected


def test_content_beats_datetime_beats_text(triples: Triples) -> None:
    page = '<time property="dc:date" datetime="2012" content="c">t</time>'
    assert triples(page) == {f'{PAGE} {DC}date> "c"'}


def test_siblings_hand_down_no_more_than_their_parent(triples: Triples) -> None:
    page = """<div about="#a" rel="dc:relation" resource="#b" lang="en">
        <p property="dc:title">x<b property="dc:type">y</b></p>
        <p property="dc:title" lang="de">u<b property="dc:type">v</b></p>
        <p property="dc:title" about="#c">z<b property="dc:type">w</b></p></div>"""
    a, b, c = (f"<{URL}#{name}>" for name in "abc")
    assert triples(page) == {
        f"{a} {DC}relation> {b}",
        f'{b} {DC}title> "xy"@en',
        f'{b} {DC}type> "y"@en',
        f'{b} {DC}title> "uv"@de',
        f'{b} {DC}type> "v"@de',
        f'{c} {DC}title> "zw"@en',
        f'{c} {DC}type> "w"@en',
    }


def test_siblings_within_a_relation_have_scopes_of_their_own(triples: Triples) -> None:
    page = """<div about="#a" rel="dc:relation"><p property="dc:title">1<b property="dc:type">2</b></p>
        <p property="dc:title" prefix="dc: http://z/">3<b property="dc:type">4</b></p></div>"""
    found = triples(page)
    assert {line.split(" ", 1)[1] for line in found if line.startswith("_:")} == {
        f'{DC}title> "12"',
        f'{DC}type> "2"',
        '<http://z/title> "34"',
        '<http://z/type> "4"',
    }
    assert sum(f"{DC}relation> _:" in line for line in found) == 1


def test_xml_literal_in_html_carries_its_namespaces(triples: Triples) -> None:
    page = (
        '<p prefix="x: http://x/" property="x:y" datatype="rdf:XMLLiteral">a<b>&amp;<br>c</b></p>'
    )
    expected = f'a<b xmlns=\\"{XHTML}\\" xmlns:x=\\"http://x/\\">&amp;<br></br>c</b>'
    assert triples(page) == {f'{PAGE} <http://x/y> "{expected}"^^<{RDF}XMLLiteral>'}


def test_xml_literal_in_xml_carries_its_namespaces(triples: Triples) -> None:
    page = (
        '<r xmlns="http://r/" xmlns:s="http://s/"><p property="s:y" datatype="rdf:XMLLiteral">'
        '<!-- no --><s:b z="1" s:a="2"><c xmlns="" xml:lang="en">d</c>e</s:b> f</p></r>'
    )
    inner = '<c xmlns=\\"\\" xml:lang=\\"en\\">d</c>e'
    start = '<s:b xmlns=\\"http://r/\\" xmlns:s=\\"http://s/\\" z=\\"1\\" s:a=\\"2\\">'
    expected = f'{PAGE} <http://s/y> "{start}{inner}</s:b> f"^^<{RDF}XMLLiteral>'
    assert triples(page, "application/xml") == {expected}


def test_html_literal_is_html(triples: Triples) -> None:
    page = '<p property="dc:x" datatype="rdf:HTML">a<br>&lt;</p>'
    assert triples(page) == {f'{PAGE} {DC}x> "a<br>&lt;"^^<{RDF}HTML>'}


def test_malformed_language_is_dropped(triples: Triples) -> None:
    assert triples('<p lang="en_US" property="dc:x">a</p>') == {f'{PAGE} {DC}x> "a"'}


def test_roles_are_an_option(triples: Triples) -> None:
    page = '<p id="i" role="note">a</p>'
    vocabulary = "http://www.w3.org/1999/xhtml/vocab#"
    assert triples(page, role=False) == set()
    expected = {f"<{URL}#i> <{vocabulary}role> <{vocabulary}note>"}
    assert triples(page) == expected


def test_roles_mean_what_their_scope_says(triples: Triples) -> None:
    page = """<p id="a" role="x:r">1</p><p id="b" role="x:r" prefix="x: http://x/">2</p>
        <div prefix="x: http://y/"><p id="c" role="x:r">3</p><p id="d" role="main x:r">4</p></div>"""
    role = "<http://www.w3.org/1999/xhtml/vocab#role>"
    assert triples(page) == {
        f"<{URL}#a> {role} <x:r>",
        f"<{URL}#b> {role} <http://x/r>",
        f"<{URL}#c> {role} <http://y/r>",
        f"<{URL}#d> {role} <http://y/r>",
        f"<{URL}#d> {role} <http://www.w3.org/1999/xhtml/vocab#main>",
    }


def test_named_characters_of_xhtml_survive(triples: Triples) -> None:
    page = f'<html xmlns="{XHTML}"><p property="dc:x">caf&eacute;&nbsp;&amp;</p></html>'
    expected = {f'{PAGE} {DC}x> "caf\u00e9\u00a0&"'}
    assert triples(page, "application/xhtml+xml") == expected
    broken = page.replace("</p>", "<br></p>")
    assert triples(broken, "application/xhtml+xml") == expected
    assert extract(broken.encode(), URL, "application/xhtml+xml").facts.warnings["DocumentError"]


def test_unresolved_names_are_counted() -> None:
    page = b'<p property="nope" about="[no:pe]"><b rel="no/colon(" resource="#x">'
    assert extract(page, URL).facts.warnings == {"UnresolvedTerm": 1, "UnresolvedCURIE": 2}


def test_properties_that_copy_in_a_circle(triples: Triples) -> None:
    page = """<p resource="#a" typeof="rdfa:Pattern"><b property="rdfa:copy" resource="#b"></b>
      <i property="dc:x">1</i></p><p resource="#b" typeof="rdfa:Pattern"><b property="rdfa:copy"
      resource="#a"></b><i property="dc:y">2</i></p><p about="#s"><b property="rdfa:copy"
      resource="#a"></b></p>"""
    assert triples(page) == {f'<{URL}#s> {DC}x> "1"', f'<{URL}#s> {DC}y> "2"'}


def test_expansion_follows_chains_and_circles(triples: Triples) -> None:
    rdfs = (
        "prefix='rdfs: http://www.w3.org/2000/01/rdf-schema# owl: http://www.w3.org/2002/07/owl#'"
    )
    vocabulary = f"""<p {rdfs} about="http://v/a" rel="rdfs:subPropertyOf" resource="http://v/b"></p>
      <p about="http://v/b" rel="rdfs:subPropertyOf" resource="http://v/c"></p>
      <p about="http://v/C" rel="owl:equivalentClass" resource="http://v/D"></p>"""
    page = '<p vocab="http://v/" typeof="D" resource="#x"><b property="a">1</b></p>'
    quads = extract(vocabulary.encode(), "http://v/").quads
    plain = triples(page)
    found = triples(page, vocabularies={"http://v/": quads}) - plain
    assert found == {
        f'<{URL}#x> <http://v/b> "1"',
        f'<{URL}#x> <http://v/c> "1"',
        f"<{URL}#x> <{RDF}type> <http://v/C>",
    }
    assert triples(page, vocabularies={"http://other/": quads}) == plain


def test_bundled_vocabularies_expand(triples: Triples) -> None:
    page = '<p vocab="http://xmlns.com/foaf/0.1/" typeof="Person" resource="#x"></p>'
    found = triples(page, vocabularies=bundled())
    assert f"<{URL}#x> <{RDF}type> <http://xmlns.com/foaf/0.1/Agent>" in found
    assert f"<{URL}#x> <{RDF}type> <http://schema.org/Person>" in found


MARKUP = st.sampled_from(
    [
        "<p>",
        "</p>",
        "<a href='/x'>",
        "</a>",
        "<a rel='nofollow' href=y>",
        "<a rel='license' href=y>",
        "<a rev='ex:z' href=y>",
        "<div prefix='ex: http://e/'>",
        "</div>",
        "<div vocab='http://v/'>",
        "<b about='#b'>",
        "<i property='dc:title'>",
        "<i typeof='Q'>",
        "<img src=z>",
        "<A REL=LICENSE HREF=q>",
        "<p xmlns:ex='http://e/' rel='nope' resource='#r'>",
        "text",
    ]
)


@given(st.lists(MARKUP, max_size=8))
def test_the_cheap_test_never_loses_a_triple(parts: list[str]) -> None:
    body = "".join(parts).encode()
    document = HtmlDocument(body, _ATTRIBUTES, 1000)
    graph = Graph(Limits(), Counter(), Counter())
    Processor(document, graph).run(URL, URL, False, {})
    assert is_worth(document) or not graph.triples


def test_the_cheap_test_saves_the_walk() -> None:
    page = (
        b"<a href=x rel='nofollow noopener'>y</a><link rel=preload href=z><meta name=a content=b>"
    )
    assert not is_worth(HtmlDocument(page, _ATTRIBUTES, 1000))
