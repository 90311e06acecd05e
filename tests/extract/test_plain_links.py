"""Pages whose links nobody follows: plain links are not listed, and no statement is lost by that."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from rdfaspider.extract import Extraction, Limits, Options, extract
from rdfaspider.extract.document.html import HtmlDocument
from rdfaspider.extract.rdfa import ATTRIBUTES

URL = "http://example.org/page"
UNFOLLOWED = Options(limits=replace(Limits(), links=0))

_NAMES = ["a", "b c", "schema:name", "http://example.org/x", ""]
_PLAIN = st.sampled_from([{"href": "/1"}, {"src": "2"}, {"rel": "see"}])
_ATTRIBUTES = _PLAIN | st.fixed_dictionaries(
    {},
    optional={
        "href": st.sampled_from(["/1", "2", "http://other.example/3", "", "#here"]),
        "src": st.sampled_from(["/i.png", "j"]),
        "rel": st.sampled_from([*_NAMES, "license", "nofollow"]),
        "rev": st.sampled_from(_NAMES),
        "property": st.sampled_from(_NAMES),
        "typeof": st.sampled_from(_NAMES),
        "about": st.sampled_from(["", "#a", "/b"]),
        "resource": st.sampled_from(["#r", "/s"]),
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


def assert_same(body: bytes, content_type: str = "text/html") -> Extraction:
    followed, unfollowed = (
        extract(body, URL, content_type, options) for options in (Options(), UNFOLLOWED)
    )
    assert unfollowed.nquads == followed.nquads, body
    assert unfollowed.facts.quads == followed.facts.quads
    assert unfollowed.facts.base == followed.facts.base
    assert not unfollowed.links
    return followed


@given(st.lists(_PAGES, min_size=1, max_size=4))
@settings(max_examples=400)
def test_no_statement_depends_on_whether_links_are_followed(trees: list[object]) -> None:
    assert_same(f'<html vocab="http://example.org/v#"><body>{"".join(map(html, trees))}'.encode())


def test_real_pages_have_the_same_statements(vectors: Path) -> None:
    found = [assert_same(path.read_bytes()) for path in sorted((vectors / "pages").rglob("*.html"))]
    assert sum(extraction.nquads.count(b"\n") for extraction in found) > 100


def test_a_link_that_ends_a_relation_speaks() -> None:
    page = (
        '<html vocab="http://v/"><p><a href="1">x</a><div rel="see"><b><a href="2">y</a></b></div>'
    )
    assert assert_same(page.encode()).nquads.count(b"\n") >= 1


def test_a_link_that_others_speak_of_is_listed_before_them() -> None:
    page = (
        b'<p><a href="1">x</a><a href="2"><i><b property="name">y</b></i><b property="z">w</b></a>'
    )
    document = HtmlDocument(page, ATTRIBUTES, 100, plain_links=False)
    tags = [(parent, tag) for parent, tag, _, _ in document.elements]
    assert tags == [(-1, "html"), (0, "a"), (1, "b"), (1, "b")]
    assert document.elements[1][2] == {"href": "2"}
    assert len(HtmlDocument(page, ATTRIBUTES, 100).elements) == 5


def test_what_is_left_out_counts_towards_the_limit() -> None:
    page = b'<a href="1">x</a>' * 20 + b'<b property="p">y</b>'
    assert HtmlDocument(page, ATTRIBUTES, 20, plain_links=False).is_cut
    assert not HtmlDocument(page, ATTRIBUTES, 24, plain_links=False).is_cut
