from __future__ import annotations

import time
from collections import Counter
from html import escape
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Quad, RdfFormat
from pyoxigraph import parse as parse_quads

from rdfaspider.extract import Limits, rdfa
from rdfaspider.extract.document.html import HtmlDocument
from rdfaspider.extract.document.parse import parse
from rdfaspider.extract.facts import Facts
from rdfaspider.extract.microdata import ATTRIBUTES, read
from rdfaspider.extract.microdata.registry import REGISTRY, MicrodataRegistry
from rdfaspider.extract.microdata.scopes import Scopes
from rdfaspider.extract.triples.graph import Graph
from rdfaspider.extract.triples.literals import number_suffix
from rdfaspider.site.answers import answer
from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.web import Web

URL = "http://site.example/dir/page.html"
SDO = "http://schema.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>"
THING = f'itemscope itemid="#i" itemtype="{SDO}Thing"'
SUBJECT = f"<{URL}#i>"
SECONDS = 5.0  # each hostile page takes under one on an idle core


def items(
    body: str | bytes, content_type: str = "text/html", limits: Limits | None = None
) -> tuple[set[str], Facts]:
    """Returns the triples of a page's items, and what is said about the run."""
    body = body.encode() if isinstance(body, str) else body
    limits = limits or Limits()
    facts = Facts()
    document = parse(body, content_type, ATTRIBUTES, limits, facts)
    graph = Graph(limits, facts.cuts, facts.warnings)
    read(document, URL, graph)
    return {
        str(quad.triple)
        for quad in parse_quads(graph.nquads(f"<{URL}>"), RdfFormat.N_QUADS, lenient=True)
    }, facts


def value(element: str) -> str:
    """Returns the one value of the property ``p`` that a thing has."""
    found, _ = items(f'<html lang="en"><div {THING}>{element}</div>')
    [only] = found - {f"{SUBJECT} {TYPE} <{SDO}Thing>"}
    return only.removeprefix(f"{SUBJECT} <{SDO}p> ")


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        ('<b itemprop="p">a <i>b</i></b>', '"a b"@en'),
        ('<b itemprop="p" lang="">a</b>', '"a"'),
        ('<b itemprop="p" lang="de-AT">a</b>', '"a"@de-at'),
        ('<b itemprop="p" lang="no such tag">a</b>', '"a"'),
        ('<meta itemprop="p" content="a">', '"a"@en'),
        ('<meta itemprop="p">', '""@en'),
        ('<span itemprop="p" content="9.99">$ 9.99</span>', '"9.99"@en'),
        ('<a itemprop="p" href="../x?y#z">a</a>', "<http://site.example/x?y#z>"),
        ('<a itemprop="p" href="">a</a>', f"<{URL}>"),
        ('<a itemprop="p" href="x y">a</a>', "<http://site.example/dir/x%20y>"),
        ('<a itemprop="p" href="/x" content="12.00" lang="">a</a>', '"12.00"'),
        ('<data itemprop="p" value="2" content="1">one</data>', '"1"@en'),
        ('<a itemprop="p" content="c">a</a>', '"c"@en'),
        ('<a itemprop="p">a</a>', '"a"@en'),
        ('<object itemprop="p" data="x"></object>', "<http://site.example/dir/x>"),
        ('<data itemprop="p" value="+1">one</data>', '"+1"'),
        ('<data itemprop="p">1</data>', f'"1"^^<{XSD}integer>'),
        ('<meter itemprop="p" value="01">one</meter>', f'"01"^^<{XSD}integer>'),
        ('<meter itemprop="p" value="one">1</meter>', '"one"'),
        ('<time itemprop="p" datetime="2012-03">March</time>', f'"2012-03"^^<{XSD}gYearMonth>'),
        ('<time itemprop="p">2012</time>', f'"2012"^^<{XSD}gYear>'),
        ('<time itemprop="p" content="09:00:00" datetime="10:00">9</time>', '"09:00:00"@en'),
        ('<time itemprop="p">then</time>', '"then"@en'),
        ('<b itemprop="p" itemscope itemid="#x"></b>', f"<{URL}#x>"),
    ],
)
def test_value_depends_on_the_element(element: str, expected: str) -> None:
    assert value(element) == expected


@pytest.mark.parametrize(
    ("text", "datatype"),
    [
        ("-12", "integer"),
        ("1.5", "double"),
        (".5e-3", "double"),
        ("1.", ""),
        ("1e", ""),
        ("\u0661", ""),
        (" 1", ""),
        ("INF", ""),
        ("", ""),
    ],
)
def test_numbers_have_the_datatype_of_their_form(text: str, datatype: str) -> None:
    assert number_suffix(text) == (f"^^<{XSD}{datatype}>" if datatype else "")


@pytest.mark.parametrize(
    ("kind", "namespace"),
    [
        ("http://schema.org/Person/Teacher", "http://schema.org/"),
        ("https://schema.org/Person", "https://schema.org/"),
        ("http://microformats.org/profile/hcard", "http://microformats.org/profile/hcard#"),
        ("http://v.example/a/B?c/d", "http://v.example/a/"),
        ("http://v.example/a#B/c", "http://v.example/a#"),
        ("http://v.example", "http://v.example#"),
        ("http://v.example?B", "http://v.example#"),
        ("urn:v:B", "urn:v:B#"),
    ],
)
def test_type_tells_where_names_come_from(kind: str, namespace: str) -> None:
    assert REGISTRY.namespace(kind) == namespace
    found, _ = items(f'<p itemscope itemid="#i" itemtype="{kind}"><b itemprop="n">v</b></p>')
    assert found == {f"{SUBJECT} {TYPE} <{kind}>", f'{SUBJECT} <{namespace}n> "v"'}


def test_registry_may_hold_lists_and_comments() -> None:
    registry = MicrodataRegistry.loads(
        '{"@comment": "", "http://v/": {"properties": {"a": {"subPropertyOf": ["urn:b", "urn:c"],'
        ' "equivalentProperty": "urn:d"}}}}'
    )
    assert registry.prefixes == ("http://v/",)
    assert registry.implied == {"<http://v/a>": ("<urn:b>", "<urn:c>", "<urn:d>")}


@pytest.mark.parametrize("name", ["additionalType", f"{SDO}additionalType"])
def test_additional_type_is_a_type(name: str) -> None:
    found, _ = items(f'<p {THING}><link itemprop="{name}" href="urn:x:T"></p>')
    assert f"{SUBJECT} {TYPE} <urn:x:T>" in found
    assert len(found) == 3


def test_shared_item_without_type_is_described_in_each_vocabulary() -> None:
    page = (
        '<p itemscope itemid="#a" itemtype="http://v/A" itemref="x"></p>'
        '<p itemscope itemid="#b" itemtype="http://w/B" itemref="x"></p>'
        '<p id="x" itemprop="has" itemscope itemid="#i"><b itemprop="n">v</b></p>'
    )
    found, facts = items(page)
    assert {f'{SUBJECT} <http://v/n> "v"', f'{SUBJECT} <http://w/n> "v"'} < found
    assert len(found) == 6
    assert not facts.warnings


def test_first_element_with_an_id_counts() -> None:
    page = f'<p {THING} itemref="x x"></p>' + "".join(
        f'<b id="x" itemprop="n">{n}</b>' for n in range(3)
    )
    found, _ = items(page)
    assert found == {f"{SUBJECT} {TYPE} <{SDO}Thing>", f'{SUBJECT} <{SDO}n> "0"'}


@pytest.mark.parametrize(
    ("page", "loops", "count"),
    [
        ('<p itemscope id="a" itemref="a"><b itemprop="n">v</b></p>', 0, 1),
        ('<p id="a" itemprop="p" itemscope itemref="a"></p>', 0, 0),
        ('<p itemscope itemref="a"></p><p id="a" itemprop="p" itemscope itemref="a"></p>', 0, 1),
        (
            '<p itemscope itemref="a"></p><p id="a" itemprop="p" itemscope itemref="b"></p>'
            '<p id="b" itemprop="p" itemscope itemref="a"></p>',
            1,
            3,
        ),
        ('<div id="a"><p itemscope itemref="a"></p><b itemprop="n">v</b></div>', 0, 1),
    ],
)
def test_items_that_refer_to_themselves(page: str, loops: int, count: int) -> None:
    found, facts = items(page)
    assert facts.warnings["ItemLoop"] == loops
    assert len(found) == count


@pytest.mark.parametrize(
    "markup",
    [
        '<a itemprop="p" href="http://[">x</a>',
        '<b itemprop="http://[">x</b>',
        '<b itemprop="p" itemscope itemid="http://["></b>',
        '<b itemprop="p" itemscope itemtype="http://["></b>',
    ],
)
def test_bad_iri_is_left_out_and_counted(markup: str) -> None:
    found, facts = items(f'<p {THING}>{markup}<i itemprop="q">v</i></p>')
    assert facts.cuts == {"iri": 1}
    assert f'{SUBJECT} <{SDO}q> "v"' in found
    assert not any("[" in triple for triple in found)


def test_link_without_address_and_text_is_left_out() -> None:
    found, facts = items(f'<p {THING}><img itemprop="p" data-src="x"></p>')
    assert len(found) == 1
    assert not facts.cuts


def test_xhtml_is_read_and_other_xml_is_not() -> None:
    inside = f'<p itemscope="" itemtype="{SDO}Thing"><b itemprop="n" xml:lang="fr">v</b></p>'
    page = f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{inside}</body></html>'
    found, _ = items(page, "application/xhtml+xml")
    assert any(triple.endswith('"v"@fr') for triple in found)
    assert items(f"<r>{inside}</r>", "application/xml")[0] == set()


@pytest.mark.parametrize(
    ("item", "limit", "listed", "cut"),
    [
        ("<p itemscope>", 100, ["html", "p"], 0),
        ("<p itemprop=n itemref=x>", 100, ["html", "p"], 0),
        ("<p itemscope itemref=x>", 100, ["html", "b", "p"], 0),
        ("<p itemscope itemref=x>", 3, ["html", "b", "p"], 0),
        ("<p itemscope itemref=x>", 2, ["html", "b"], 1),
    ],
)
def test_ids_matter_only_if_an_item_refers_to_others(
    item: str, limit: int, listed: list[str], cut: int
) -> None:
    document = HtmlDocument(f"<b id=x></b>{item}".encode(), ATTRIBUTES, limit)
    graph = Graph(Limits(), Counter(), Counter())
    read(document, URL, graph)
    assert [tag for _, tag, _, _ in document.elements] == listed
    assert graph.cuts["elements"] == cut


def test_labels_differ_from_those_of_rdfa() -> None:
    body = b'<p typeof="schema:A"></p><p itemscope itemtype="http://schema.org/B"></p>'
    document = HtmlDocument(body, rdfa.ATTRIBUTES | ATTRIBUTES, 100)
    graph = Graph(Limits(), Counter(), Counter(), "0")
    rdfa.Processor(document, graph).run(URL, URL, False, {})
    read(document, URL, graph)
    assert sorted(subject for subject, _, _ in graph.triples) == ["_:b0x1", "_:b0x2"]


@pytest.mark.parametrize("seed", range(3))
def test_generated_web_says_what_its_oracle_knows(seed: int) -> None:
    web = Web(Parameters(seed=seed, levels=4, pages=4, rdfa=0.0, jsonld=0.0, microdata=1.0))
    oracle = Oracle(web)
    pages = 0
    for url in list(oracle.urls())[:100]:
        body = answer(web, url).body
        document = HtmlDocument(body, ATTRIBUTES, 100_000)
        graph = Graph(Limits(), Counter(), Counter())
        read(document, url, graph)
        found: set[Quad] = set(
            parse_quads(graph.nquads(f"<{url}>"), RdfFormat.N_QUADS, lenient=True)
        )
        assert found
        assert found == oracle.triples(url)
        pages += 1
    assert pages == 100


TOKENS = st.sampled_from("abc")
ELEMENTS = st.recursive(
    st.just(""),
    lambda inner: st.builds(
        lambda children, item, prop, name, refs: (
            f"<div{' itemscope' * item}{' itemprop=p' * prop}"
            f'{f" id={name}" * (name != "c")} itemref="{" ".join(refs)}">{"".join(children)}</div>'
        ),
        st.lists(inner, max_size=4),
        st.booleans(),
        st.booleans(),
        TOKENS,
        st.lists(TOKENS, max_size=3),
    ),
    max_leaves=25,
)


@given(ELEMENTS)
def test_properties_are_those_of_the_crawl_that_html_defines(page: str) -> None:
    names = ATTRIBUTES | {"id", "itemref"}  # all elements are listed, so that none is overlooked
    document = HtmlDocument(f"<body>{page}".encode(), names, 1000)
    scopes = Scopes(document)
    for index, (_, _, attributes_, _) in enumerate(document.elements):
        if "itemscope" in attributes_:
            found = scopes.properties(index)
            assert len(found) == len(set(found))
            assert set(found) == crawled(document.elements, index)


def crawled(elements: list[Any], root: int) -> set[int]:
    """Returns the properties of an item as HTML finds them, element by element."""
    memory = {root}
    pending = [index for index, element in enumerate(elements) if element[0] == root]
    for name in elements[root][2].get("itemref", "").split():
        pending += [i for i, element in enumerate(elements) if element[2].get("id") == name][:1]
    results = set()
    while pending:
        current = pending.pop()
        if current in memory:
            continue
        memory.add(current)
        if "itemscope" not in elements[current][2]:
            pending += [index for index, element in enumerate(elements) if element[0] == current]
        if "itemprop" in elements[current][2]:
            results.add(current)
    return results


@given(ELEMENTS)
def test_any_nesting_ends_the_same_each_time(page: str) -> None:
    assert items(f"<p itemscope itemref=a></p>{page}") == items(
        f"<p itemscope itemref=a></p>{page}"
    )


NAMES = ("itemtype", "itemid", "itemprop", "itemprop-reverse", "itemref", "href", "lang")


@given(st.dictionaries(st.sampled_from(NAMES), st.text()), st.sampled_from(["a", "time", "data"]))
def test_any_text_in_any_attribute_is_read(values: dict[str, str], tag: str) -> None:
    written = " ".join(f'{name}="{escape(text)}"' for name, text in values.items())
    page = f"<p itemscope {written}><{tag} {written}>x</{tag}><b itemprop='urn:x:p'>v</b></p>"
    found, _ = items(f"<div {THING}><p itemprop=q itemscope {written}></p>{page}</div>")
    assert f"{SUBJECT} {TYPE} <{SDO}Thing>" in found


MANY = "".join(f'<b itemprop="p{n}">v</b>' for n in range(20_000))
HOSTILE: dict[str, tuple[str, str]] = {
    "nested items": ("<div itemscope>" + '<div itemscope itemprop="p">' * 20_000, "elements"),
    "nested texts": ("<div itemscope>" + '<b itemprop="p">' * 1_500 + "x" * 900_000, "output"),
    "one item inside the other": (
        "".join(f'<p itemscope itemprop=p id=i{n} itemref="i{n + 1}"></p>' for n in range(30_000))
        + '<p itemscope itemref="i0"></p>',
        "",
    ),
    "shared properties": (
        '<p itemscope itemref="x"></p>' * 20_000 + f'<div id="x">{MANY}</div>',
        "quads",
    ),
    "shared bad links": (
        '<p itemscope itemref="x"></p>' * 20_000
        + f'<div id="x">{"<a itemprop=p href=//[>x</a>" * 20_000}</div>',
        "output",
    ),
    "shared nothing": (
        '<p itemscope itemref="x"></p>' * 20_000
        + f'<div id="x">{"<i itemprop></i><i itemprop-reverse=p>x</i>" * 20_000}</div>',
        "output",
    ),
    "shared deserts": (
        '<p itemscope itemref="x"></p>' * 20_000 + f'<div id="x">{"<i id=y></i>" * 100_000}</div>',
        "",
    ),
    "everybody knows everybody": (
        '<div id="x">' + '<p itemscope itemprop="p" itemref="x"></p>' * 20_000 + "</div>"
        '<p itemscope itemref="x"></p>',
        "",
    ),
    "nested references": (
        f'<p itemscope itemref="{" ".join(f"i{n}" for n in range(1500))}"></p>' * 200
        + "".join(f"<div id=i{n}>" for n in range(1500))
        + '<b itemprop="p">v</b>' * 100,
        "",
    ),
    "names": (f'<p itemscope><b itemprop="{"n " * 100_000}">v</b></p>', ""),
    "different names": (
        f'<p itemscope><b itemprop="{" ".join(map(str, range(150_000)))}">v</b></p>',
        "quads",
    ),
    "names in a long vocabulary": (
        f'<p itemscope itemtype="http://v/{"x" * 8000}/T">'
        f'<b itemprop="{" ".join(map(str, range(100_000)))}">v</b></p>',
        "output",
    ),
    "names in many vocabularies": (
        "".join(f'<p itemscope itemtype="http://v{n}/T" itemref="x"></p>' for n in range(20_000))
        + f'<b id="x" itemprop="{"http://[ " * 100_000}">v</b>',
        "output",
    ),
    "types": (f'<p itemscope itemtype="{"http://v/T " * 200_000}">', ""),
    "duplicate ids": (
        f'<p itemscope itemref="{"x " * 100_000}"></p>' + '<b id="x" itemprop="p">v</b>' * 50_000,
        "",
    ),
    "long literal": ('<p itemscope><b itemprop="p">' + "x" * 1_000_001, "literal"),
}


@pytest.mark.parametrize(("page", "cut"), HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_page_ends_and_says_what_was_cut(page: str, cut: str) -> None:
    start = time.process_time()
    found, facts = items(page)
    assert time.process_time() - start < SECONDS
    assert not cut or facts.cuts[cut]
    limits = Limits()
    assert len(found) <= limits.quads
    assert sum(map(len, found)) < 2 * limits.output


def test_a_hundred_items_inside_each_other_are_read() -> None:
    found, facts = items("<div itemscope>" + '<div itemscope itemprop="p">' * 127)
    assert len(found) == 127
    assert not facts.cuts


def test_what_fits_is_kept_when_the_rest_is_cut() -> None:
    found, facts = items(f"<p {THING}>{MANY}</p>", limits=Limits(quads=7))
    assert len(found) == 7
    assert facts.cuts == {"quads": 1}
