from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.extract import Limits, Options, extract
from rdfaspider.extract.document.html import HtmlDocument
from rdfaspider.extract.rdfa import is_worth
from rdfaspider.extract.rdfa.rdfa10 import Processor10
from rdfaspider.extract.reading import _ATTRIBUTES
from rdfaspider.extract.triples.graph import Graph

Triples = Callable[..., set[str]]

URL = "http://site.example/dir/page.html"
PAGE = f"<{URL}>"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XHTML = "http://www.w3.org/1999/xhtml"
XHTML_TYPE = "application/xhtml+xml"
VOCABULARY = f"<{XHTML}/vocab#"
DOCTYPE = (
    '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML+RDFa 1.0//EN"\n'
    '  "http://www.w3.org/MarkUp/DTD/xhtml-rdfa-1.dtd">'
)
OTHER_DTD = DOCTYPE.replace("www.w3.org/MarkUp/DTD", "site.example")


def page(body: str, doctype: str = DOCTYPE, root: str = 'version="XHTML+RDFa 1.0"') -> str:
    return (
        f'{doctype}<html xmlns="{XHTML}" xmlns:ex="http://e/" {root}>'
        f"<head><title>T</title></head><body>{body}</body></html>"
    )


@pytest.mark.parametrize("content_type", ["text/html", XHTML_TYPE])
@pytest.mark.parametrize(
    ("doctype", "root", "version"),
    [
        ("", 'version="XHTML+RDFa 1.0"', "1.0"),
        ("", 'version="HTML+RDFa1.0"', "1.0"),
        (DOCTYPE, "", "1.0"),
        (f"<?xml version='1.0'?>\n<!-- a > b -->{DOCTYPE}", "", "1.0"),
        (DOCTYPE, 'version="XHTML+RDFa 1.1"', "1.1"),
        (DOCTYPE.replace("1.0", "1.1"), "", "1.1"),
        (OTHER_DTD, "", "1.1"),
        (OTHER_DTD, 'version="XHTML+RDFa 1.0"', "1.0"),
        (f"<!-- {DOCTYPE} --><!DOCTYPE html>", "", "1.1"),
        ("<!DOCTYPE html>", "", "1.1"),
        ("", 'version="1.0"', "1.1"),
    ],
)
def test_a_document_is_read_by_the_version_that_it_declares(
    doctype: str, root: str, version: str, content_type: str
) -> None:
    body = page('<p property="ex:p">a</p>', doctype, root).encode()
    extraction = extract(body, URL, content_type)
    assert extraction.facts.rdfa == version
    assert len(extraction.quads) == 1


def test_the_document_type_of_html_that_is_no_xml_declares_nothing() -> None:
    soup = page('<meta property="og:title" content="a">', root="").encode()
    extraction = extract(soup, URL)
    assert extraction.facts.rdfa == "1.1"
    assert len(extraction.quads) == 1
    assert extract(soup.replace(b'"a">', b'"a"/>'), URL).quads == []


@pytest.mark.parametrize(
    ("content", "version"),
    [
        ("a&nbsp;b&amp;c", "1.0"),  # the named characters are the document type's
        ("a & b", "1.1"),
        ("<x:b/>", "1.1"),
        ('<b id="1" id="2"/>', "1.1"),
        ("<b><i></b></i>", "1.1"),
    ],
)
def test_the_document_type_counts_if_html_is_well_formed(content: str, version: str) -> None:
    body = page(f'<p property="ex:p">a</p>{content}', root="").encode()
    assert extract(body, URL).facts.rdfa == version


def test_whether_html_is_xml_is_told_in_time() -> None:
    """expat takes hours for such a page: it copies the name of a namespace for each attribute."""
    name, attributes = "x" * 2_000_000, '<b p:a=""/>' * 150_000
    hostile = f'<p property="ex:p">a</p><div xmlns:p="{name}">{attributes}</div>'
    start = time.process_time()
    assert len(extract(page(hostile, root="").encode(), URL).quads) == 1
    assert time.process_time() - start < 20.0


@pytest.mark.parametrize("media_type", ["image/svg+xml", "application/xml"])
def test_other_xml_declares_by_its_root(media_type: str) -> None:
    body = b'<svg version="SVG+RDFa 1.0"><g property="foaf:name">a</g></svg>'
    assert extract(body, URL, media_type).quads == []
    assert len(extract(body.replace(b"1.0", b"1.1"), URL, media_type).quads) == 1


@pytest.mark.parametrize("version", ["1.0", "1.1"])
def test_the_version_is_an_option(version: str) -> None:
    body = page('<img src="/s" rel="ex:r" resource="/o" />').encode()
    (quad,) = extract(body, URL, options=Options(rdfa=version)).quads
    subject = {"1.0": "http://site.example/s", "1.1": URL}[version]
    assert str(quad.subject) == f"<{subject}>"


def test_a_drupal_7_page_has_the_subjects_that_it_means(triples: Triples) -> None:
    body = page(
        '<div about="/node/1" typeof="ex:Item"><h2 property="ex:title" datatype="">'
        '<a href="/node/1">T</a></h2><span property="ex:date" content="2011" datatype="ex:d"'
        ' rel="ex:creator">by <a href="/user/1" typeof="ex:User" property="ex:name">Ada</a></span>'
        '<div property="ex:body"><p>x</p></div></div>'
    )
    node, user = "<http://site.example/node/1>", "<http://site.example/user/1>"
    markup = f'<p xmlns=\\"{XHTML}\\" xmlns:ex=\\"http://e/\\">x</p>'
    assert triples(body) == {
        f"{node} <{RDF}type> <http://e/Item>",
        f'{node} <http://e/title> "T"',
        f'{node} <http://e/date> "2011"^^<http://e/d>',
        f"{node} <http://e/creator> {user}",
        f"{user} <{RDF}type> <http://e/User>",
        f'{user} <http://e/name> "Ada"',
        f'{node} <http://e/body> "{markup}"^^<{RDF}XMLLiteral>',
    }


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ('<p property="ex:p"><!-- c -->a</p>', f'{PAGE} <http://e/p> "a"'),
        ('<p property="ex:p" content="c"><b>a</b></p>', f'{PAGE} <http://e/p> "c"'),
        ('<p property="ex:p" datatype=""><b>a</b></p>', f'{PAGE} <http://e/p> "a"'),
        (
            '<p property="ex:p" datatype="ex:d"><b>a</b></p>',
            f'{PAGE} <http://e/p> "a"^^<http://e/d>',
        ),
        ('<a rel="NEXT" href="/b"></a>', f"{PAGE} {VOCABULARY}next> <http://site.example/b>"),
        ('<a rel=":next" href="/b"></a>', f"{PAGE} {VOCABULARY}next> <http://site.example/b>"),
        ('<p rel="ex:r" resource="[ex:o]"></p>', f"{PAGE} <http://e/r> <http://e/o>"),
        ('<p rel="ex:r" resource="ex:o"></p>', f"{PAGE} <http://e/r> <ex:o>"),
    ],
)
@pytest.mark.parametrize("content_type", ["text/html", XHTML_TYPE])
def test_values_and_names(body: str, expected: str, content_type: str, triples: Triples) -> None:
    assert triples(page(body), content_type) == {expected}


@pytest.mark.parametrize(
    "body",
    [
        '<p property="foaf:name">a</p>',
        '<p prefix="x: http://x/" property="x:p">a</p>',
        '<p vocab="http://x/" property="p">a</p>',
        '<p property="http://x/p">a</p>',
        '<a rel="describedby" href="/b"></a>',
    ],
)
def test_names_without_a_declaration_mean_nothing(body: str, triples: Triples) -> None:
    assert triples(page(body)) == set()


def test_a_type_alone_is_that_of_a_blank_node(triples: Triples) -> None:
    (triple,) = triples(page('<p typeof="ex:T">a</p>'))
    assert triple.startswith("_:")
    (triple,) = triples(page('<p rel="foaf:none" typeof="ex:T" resource="/o">a</p>'))
    assert triple.startswith("_:")


@pytest.mark.parametrize("content_type", ["text/html", XHTML_TYPE])
def test_what_is_inside_an_xml_literal_is_not_read(content_type: str, triples: Triples) -> None:
    inner = (
        '<b xmlns:f="http://f/" property="f:q" rel="ex:r" typeof="ex:T" role="note">'
        '<i about="/x" property="ex:q">a</i></b>'
    )
    body = page(f'<div property="ex:p">{inner}</div><p property="ex:z">z</p>')
    found = triples(body, content_type)
    assert sorted(line.split()[1] for line in found) == ["<http://e/p>", "<http://e/z>"]
    hanging = triples(page('<p rel="ex:r" property="ex:p">a <a href="/b">b</a></p>'), content_type)
    assert [line.split()[1] for line in hanging] == ["<http://e/p>"]
    kept = triples(page(f'<div property="foaf:none">{inner}</div>'), content_type)
    assert len(kept) >= 3


def test_literals_inside_literals_cost_no_square() -> None:
    depth, count = 200, 200
    body = page(('<div property="ex:p">' * depth + "<b/>" + "</div>" * depth) * count)
    extraction = extract(body.encode(), URL)
    assert len(extraction.nquads) < 20_000_000
    assert extraction.facts.cuts["output"] == 0


MARKUP = st.sampled_from(
    [
        "<p>",
        "</p>",
        "<a href='/x'>",
        "</a>",
        "<a rel='nofollow' href=y>",
        "<a rel='TOP' href=y>",
        "<a rev='ex:z' href=y>",
        "<div xmlns:ex='http://e/'>",
        "</div>",
        "<b about='#b'>",
        "<i property='ex:p'>",
        "<i typeof='ex:Q'>",
        "<img src=z>",
        "text",
    ]
)


@given(st.lists(MARKUP, max_size=8))
def test_the_cheap_test_never_loses_a_triple(parts: list[str]) -> None:
    body = "".join(parts).encode()
    document = HtmlDocument(body, _ATTRIBUTES, 1000)
    graph = Graph(Limits(), Counter(), Counter())
    Processor10(document, graph).run(URL, URL, False, {})
    assert is_worth(document) or not graph.triples
