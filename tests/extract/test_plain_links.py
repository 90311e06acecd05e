"""Plain links have no place in the list unless it matters, and no statement is lost by that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import patch

from hypothesis import example, given, settings
from hypothesis import strategies as st
from pyoxigraph import CanonicalizationAlgorithm, Dataset

from rdfaspider.extract import Extraction, extract
from rdfaspider.extract.document import parse
from rdfaspider.extract.document.html import HtmlDocument
from rdfaspider.extract.document.tree import UNPLACED
from rdfaspider.extract.rdfa import ATTRIBUTES

URL = "http://example.org/page"

_NAMES = ["a", "b c", "schema:name", "http://example.org/x", ""]
_PLAIN = st.sampled_from([{"href": "/1"}, {"src": "2"}, {"rel": "see"}])
_ATTRIBUTES = _PLAIN | st.fixed_dictionaries(
    {},
    optional={
        "href": st.sampled_from(["/1", "2", "http://other.example/3", "", "#here", "http://["]),
        "src": st.sampled_from(["/i.png", "j"]),
        "rel": st.sampled_from([*_NAMES, "license", "nofollow"]),
        "rev": st.sampled_from(_NAMES),
        "property": st.sampled_from(_NAMES),
        "typeof": st.sampled_from(_NAMES),
        "about": st.sampled_from(["", "#a", "/b"]),
        "resource": st.sampled_from(["#r", "/s", "[]"]),
        "inlist": st.just(""),
        "vocab": st.sampled_from(["http://schema.org/", ""]),
        "itemscope": st.just(""),
        "itemprop": st.sampled_from(["name", "url"]),
        "itemtype": st.just("http://schema.org/Thing"),
        "id": st.sampled_from("xy"),
        "itemref": st.sampled_from("xy"),
        "lang": st.sampled_from(["de", "en"]),
        "class": st.just("c"),
    },
)
_PAGES = st.recursive(
    st.text("ab <&", max_size=3),
    lambda inner: st.tuples(
        st.sampled_from(["a", "div", "span", "img", "li", "p", "base", "time"]),
        _ATTRIBUTES,
        st.lists(inner, max_size=4),
    ),
    max_leaves=25,
)


def html(tree: object) -> str:
    if not isinstance(tree, tuple):
        return str(tree).replace("<", "&lt;")
    tag, attributes, children = tree
    words = "".join(f' {name}="{value}"' for name, value in attributes.items())
    return f"<{tag}{words}>{''.join(map(html, children))}</{tag}>"


def placed(*given: Any) -> HtmlDocument:
    """Return a document all elements of which have their place."""
    document = HtmlDocument(*given)
    for index, element in enumerate(document.elements):
        if element[0] == UNPLACED:
            document.place(index)
    assert all(element[0] < index for index, element in enumerate(document.elements))
    assert not any(element[0] == UNPLACED for element in document.elements)
    return document


def assert_same(body: bytes) -> Extraction:
    found = extract(body, URL)
    with patch.object(parse, "HtmlDocument", placed):
        expected = extract(body, URL)
    assert statements(found) == statements(expected), body
    assert replace(found, nquads=b"") == replace(expected, nquads=b""), body
    return found


def statements(extraction: Extraction) -> set[str]:
    """Return the statements, whatever the numbers of their blank nodes.

    A relation that leads nowhere takes a number if something inside it asks for its place.
    """
    dataset = Dataset(extraction.quads)
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return {str(quad) for quad in dataset}


_NOWHERE: object = (
    "div",
    {"vocab": "", "itemscope": "", "itemtype": "http://schema.org/Thing"},
    [("p", {"rel": "a"}, [("a", {"href": "/1"}, [])])],
)


@given(st.lists(_PAGES, min_size=1, max_size=4))
@example([_NOWHERE])
@settings(max_examples=400)
def test_no_statement_depends_on_whether_links_have_places(trees: list[object]) -> None:
    assert_same(f'<html vocab="http://example.org/v#"><body>{"".join(map(html, trees))}'.encode())


def test_real_pages_have_the_same_statements(vectors: Path) -> None:
    found = [assert_same(path.read_bytes()) for path in sorted((vectors / "pages").rglob("*.html"))]
    assert sum(extraction.nquads.count(b"\n") for extraction in found) > 100


def test_a_link_that_ends_a_relation_speaks() -> None:
    page = (
        '<html vocab="http://v/"><p><a href="1">x</a><div rel="see"><b><a href="2">y</a></b></div>'
    )
    assert b"<http://v/see> <http://example.org/2>" in assert_same(page.encode()).nquads


def test_a_relation_whose_own_target_is_nothing_leads_to_the_link_inside() -> None:
    page = '<html vocab="http://v/"><div rel="see" resource="[]"><a href="2">y</a></div>'
    assert b"<http://v/see> <http://example.org/2>" in assert_same(page.encode()).nquads


def test_a_link_that_something_listed_is_inside_of_has_a_place() -> None:
    page = (
        b'<p><a href="1">x</a><a href="2"><i><b property="name">y</b></i><b property="z">w</b></a>'
    )
    document = HtmlDocument(page, ATTRIBUTES, 100)
    tags = [(parent, tag) for parent, tag, _, _ in document.elements]
    assert tags == [(-1, "html"), (UNPLACED, "a"), (0, "a"), (2, "b"), (2, "b")]
    assert document.place(1) == 0
    assert document.elements[1][:3] == (0, "a", {"href": "1"})


def test_plain_links_count_towards_the_limit() -> None:
    page = b'<a href="1">x</a>' * 20 + b'<b property="p">y</b>'
    assert HtmlDocument(page, ATTRIBUTES, 21).is_cut
    assert not HtmlDocument(page, ATTRIBUTES, 22).is_cut
