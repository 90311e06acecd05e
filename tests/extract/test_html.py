"""HTML as a list of elements: which are there, with which attributes, and what is inside them."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from turbohtml import Element, parse

from rdfaspider.extract import extract, facts, jsonld, links, microdata, rdfa
from rdfaspider.extract.document.html import HtmlDocument
from rdfaspider.extract.document.limits import without_roots, without_tags
from rdfaspider.extract.document.tree import UNPLACED, without_unread

URL = "http://site.example/"
NAMES = (
    rdfa.ATTRIBUTES | facts.ATTRIBUTES | links.ATTRIBUTES | jsonld.ATTRIBUTES | microdata.ATTRIBUTES
)


def document(body: str, names: frozenset[str] = NAMES, limit: int = 10_000) -> HtmlDocument:
    return HtmlDocument(body.encode(), names, limit)


def listed(body: str) -> list[tuple[int, str, dict[str, str]]]:
    return [element[:3] for element in document(body).elements]


def test_elements_with_an_attribute_that_is_asked_for_are_listed() -> None:
    assert listed("<html lang=en><p>a<b property=c class=d>e</b><i rel>f</i><u class=g>h") == [
        (-1, "html", {"lang": "en"}),
        (0, "b", {"property": "c", "class": ["d"]}),
        (0, "i", {"rel": ""}),
    ]


def test_relations_come_as_they_are_written() -> None:
    (_, element) = listed("<link rel='  Next\tstylesheet' rev=' up' href=x>")
    assert element[2] == {"rel": "  Next\tstylesheet", "rev": " up", "href": "x"}


def test_what_is_inside_a_template_is_not_on_the_page() -> None:
    page = document(
        "<p property=a>b<template property=c><i property=d>e</i><template>f</template></template>g"
        "<svg><template property=h>i</template></svg>"
    )
    assert [attributes["property"] for _, _, attributes, _ in page.elements[1:]] == ["a", "c", "h"]
    assert [page.text(node) for *_, node in page.elements[1:]] == ["bgi", "", "i"]


def test_declared_prefixes_make_an_element_worth_listing() -> None:
    page = document("<p XMLNS:Ex='http://e/'><b xmlns:a\"]\\:*='http://f/'><i xmlns=x>")
    assert page.namespaces == {"xmlns:ex", 'xmlns:a"]\\:*'}
    assert [tag for _, tag, _, _ in page.elements] == ["html", "p", "b"]


@given(st.text())
def test_any_name_of_a_prefix_can_be_listed(name: str) -> None:
    document(f"<p xmlns:{name}=x>")


def test_elements_that_are_listed_later_have_their_content_too() -> None:
    page = document("<p property=b>c<b>d</b></p><p id=e>f<i>g</i>")
    spent: list[int] = []
    assert [page.html(node, spent.append) for *_, node in page.elements[1:]] == ["c<b>d</b>"]
    page.list_also("id")
    assert [page.html(node, spent.append) for *_, node in page.elements[1:]] == [
        "c<b>d</b>",
        "f<i>g</i>",
    ]
    assert [page.has_elements(node) for *_, node in page.elements[1:]] == [True, True]


def test_of_an_element_with_very_many_attributes_those_are_listed_that_are_read() -> None:
    noise = " ".join(f"a{n}=x" for n in range(100))
    assert listed(f"<p {noise} property=b xmlns:c=d>")[1][2] == {"property": "b", "xmlns:c": "d"}
    read = NAMES | {"id", "role", "version", "xmlns:x"}
    assert without_unread(dict.fromkeys(read | {"class"}, "")).keys() == read


ATTRIBUTES = (
    *("href=/1", 'src="2"', "property=a", "about", "rel='x y'", "typeof=c", "class=c id=i"),
    *("xmlns:a=b", "xml:lang=de", "itemscope itemprop=b", "prefix='a: b'", ""),
)
TAGS = (
    *("a", "a", "p", "div", "img", "b", "table", "td", "select", "svg", "foreignObject", "html"),
    *("template", "title", "script", "body"),
)


def page_of(dice: random.Random) -> str:
    tags = []
    for _ in range(dice.randint(0, 60)):
        tag = dice.choice(TAGS)
        tags.append(f"</{tag}>" if dice.random() < 0.3 else f"<{tag} {dice.choice(ATTRIBUTES)}>x")
    return "".join(tags)


def ancestor(node: Element, nodes: list[Element]) -> int:
    """Return the index of the nearest listed ancestor, found the slow way."""
    return next(nodes.index(above) for above in node.ancestors if above in nodes)  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(300))
def test_every_element_knows_its_nearest_listed_ancestor(seed: int) -> None:
    dice = random.Random(seed)
    page = document(page_of(dice))
    nodes = [node for *_, node in page.elements]
    order = [index for index, element in enumerate(page.elements) if element[0] == UNPLACED]
    dice.shuffle(order)
    for index in order:
        page.place(index)
    assert [element[0] for element in page.elements[1:]] == [
        ancestor(node, nodes) for node in nodes[1:]
    ]


def test_elements_beyond_the_limit_are_left_out(vectors: Path) -> None:
    body = (vectors / "pages" / "oreilly.html").read_text()
    every, some = document(body), document(body, limit=50)
    assert not every.is_cut
    assert some.is_cut
    assert [tag for _, tag, _, _ in some.elements] == [tag for _, tag, _, _ in every.elements][:50]


def test_elements_too_deep_inside_others_are_left_out() -> None:
    deep = "<div property=c>" * 128
    assert not document(deep).is_cut
    page = document(
        deep + "<p><b property=d></b><a href=e></a>" + "</div>" * 128 + "<b property=f>"
    )
    assert page.is_cut
    assert [element[2] for element in page.elements[129:]] == [{"href": "e"}, {"property": "f"}]


def test_tags_beyond_the_limit_go() -> None:
    assert without_tags(b"<a>b<c>d<e>", 3) == b"<a>b<c>d<e>"
    assert without_tags(b"<a>b<c>d<e>", 2) == b"<a>b<c>d"


def test_ten_tags_of_the_root_may_have_attributes() -> None:
    body = "".join(f"<HTML a{n}='>'><body\nb{n}=x><p>{n}</p>" for n in range(8)).encode()
    short, excess = without_roots(body)
    assert excess == 6
    root = parse(short.decode()).root
    assert root is not None
    assert root.text == "01234567"
    assert [*root.attrs, *root.select("body")[0].attrs] == [
        f"{name}{n}" for name in "ab" for n in range(5)
    ]
    assert without_roots(b"<html><body>" * 50 + b"<bodyguard a>" * 50)[1] == 0
    assert extract(body, URL).facts.cuts == {"roots": 6}
    quoted = b"<!-- %b --><script>%b</script>" % (body, body)
    assert without_roots(quoted + b"<body a>" * 10)[1] == 0
    assert without_roots(quoted + body)[1] == 6


def test_the_title_of_a_picture_is_not_that_of_the_page() -> None:
    assert document("<body><svg><title>Icon</title></svg><title>Page</title>").title == "Page"
