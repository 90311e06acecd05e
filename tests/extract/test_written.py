"""What is written in C does what its stand-in in Python does, on pages of all kinds."""

from __future__ import annotations

import random
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from rdfaspider.extract import facts, jsonld, links, microdata, rdfa
from rdfaspider.extract.document import nodes
from rdfaspider.extract.document.html import HtmlDocument, namespaces
from rdfaspider.extract.document.tree import READ, UNPLACED, Element
from rdfaspider.extract.guard import risks

# Without a function of lexbor's the import fails otherwise: that is for the tests to tell.
lexbor, scan = (
    pytest.importorskip(
        f"rdfaspider.extract.{name}", reason="not compiled here", exc_type=ModuleNotFoundError
    )
    for name in ("document.lexbor", "guard.scan")
)

NAMES = (
    rdfa.ATTRIBUTES | facts.ATTRIBUTES | links.ATTRIBUTES | jsonld.ATTRIBUTES | microdata.ATTRIBUTES
)
ATTRIBUTES = (
    b'|href=/1|src="2"|HREF=3|href=4 href=5|property=a|property="a name that is longer than most of them"'
    b"|about|about=|rel='x y'|typeof=\xc3\xa4|content=\xf0\x9f\x98\x80|content=&#xD800;|class=c id=i"
    b"|xmlns:a=b|xmlns=c|xml:lang=de|xlink:href=6|data-x=7|itemscope itemprop=b|prefix='a: b'"
    b"|name=robots content=none"
).split(b"|")
TAGS = (
    b"a a p div span img b i table tr td select option svg use foreignObject math mi template title script"
    b" meta link body html form object textarea iframe x-y 1 ns:tag"
).split()
TEXTS = b"x| |&amp;|\xc3\xa4|\0|<!-- <a href=8> -->|<![CDATA[x]]>|</|<?x>|\xed\xa0\x80|\r\n".split(
    b"|"
)


def page(dice: random.Random) -> bytes:
    parts = []
    for _ in range(dice.randint(0, 60)):
        tag, kind = dice.choice(TAGS), dice.random()
        if kind < 0.6:
            given_ = b" ".join(dice.choices(ATTRIBUTES, k=dice.randint(0, 3)))
            parts.append(b"<%s %s>" % (tag, given_) if given_ else b"<%s>" % tag)
        else:
            parts.append(b"</%s>" % tag if kind < 0.8 else dice.choice(TEXTS))
    return b"".join(parts)


def read(elements: list[Element]) -> list[tuple[int, str, dict[str, str]]]:
    """Return the elements with the attributes that somebody reads, without their nodes.

    Nobody reads names with capitals, which some elements of SVG have.
    """
    return [
        (
            parent,
            tag.lower(),
            {name: value for name, value in every.items() if name in READ or name[:6] == "xmlns:"},
        )
        for parent, tag, every, _ in elements
    ]


def assert_same_elements(body: bytes, limit: int = 10_000) -> int:
    """Return how many elements there are."""
    parser = LexborHTMLParser(body)
    names = NAMES | namespaces(body.lower())
    ours, theirs = lexbor.Nodes(parser), nodes.Nodes(parser)
    (mine, is_cut), (others, is_cut_too) = ours.list(names, limit), theirs.list(names, limit)
    assert is_cut == is_cut_too
    assert read(mine) == read(others)
    for element, other in zip(mine, others, strict=True):
        assert ours.text(element[3]) == theirs.text(other[3])
        assert ours.has_elements(element[3]) == theirs.has_elements(other[3])
        assert ours.address(element[3]) == other[3].mem_id
    order = [index for index, element in enumerate(mine) if element[0] == UNPLACED]
    random.Random(7).shuffle(order)
    for index in order:
        assert ours.place(index) == theirs.place(index)
        assert read(mine) == read(others)
    assert not any(element[0] == UNPLACED for element in mine)
    return len(mine)


def assert_same_risks(body: bytes) -> tuple[int, ...]:
    counts: tuple[int, ...] = scan.count(body)
    assert counts == risks.count(body), body
    assert scan.has_prefixes(body) is risks.has_prefixes(body), body
    return counts


def test_any_tags_make_the_same_elements() -> None:
    dice, seen = random.Random(5), 0
    for _ in range(3000):
        body = page(dice)
        seen += assert_same_elements(body, dice.choice((1, 2, 5, 10_000)))
    assert seen > 5_000


def test_real_pages_have_the_same_elements_and_risks(vectors: Path) -> None:
    paths = sorted((vectors / "pages").rglob("*.html"))
    assert sum(assert_same_elements(path.read_bytes()) for path in paths) > 5_000
    assert sum(assert_same_risks(path.read_bytes())[0] for path in paths) > 10_000


@given(st.binary(max_size=300))
@settings(max_examples=300)
def test_any_bytes_make_the_same_elements(body: bytes) -> None:
    assert_same_elements(body)


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<p>" * 2000 + b"<b property=x>y",
        b"".join(b"<i a%d property=x xmlns:p%d=u>" % (n, n) for n in range(2000)),
        b"".join(b"<p><x%d href=%d>" % (n, n) for n in range(500)),
        b"<a href=1>" + b"<img src=2>" * 300 + b"<i property=b>c</i><img src=3></a>",
        b'<p property="' + b"x" * 32 + b'"><p property="' + b"x" * 33 + b'"><p property="">',
        b"<frameset><frame src=1></frameset>",
        b"<template><a href=1><b property=c></template><b property=d>",
    ],
    ids=lambda body: repr(body[:20]),
)
def test_odd_pages_have_the_same_elements(body: bytes) -> None:
    assert_same_elements(body)
    assert_same_elements(body, 3)


def test_a_list_that_is_made_anew_has_its_own_nodes() -> None:
    found = lexbor.Nodes(LexborHTMLParser(b"<p id=x>a</p><p property=b>c</p>"))
    first, _ = found.list(NAMES, 100)
    assert [found.text(node) for *_, node in first] == ["ac", "c"]
    second, _ = found.list(NAMES | {"id"}, 100)
    assert [found.text(node) for *_, node in second] == ["ac", "a", "c"]
    assert [tag for _, tag, _, _ in first] == ["html", "p"]


@pytest.mark.parametrize("number", [-1, 2, 2**40, 2**70])
def test_nobody_can_reach_beyond_the_tree(number: int) -> None:
    found = lexbor.Nodes(LexborHTMLParser(b"<p property=b>c</p>"))
    methods = (found.text, found.has_elements, found.address, found.place)
    for method in methods:
        with pytest.raises(IndexError):
            method(0)
    found.list(NAMES, 100)
    for method in methods:
        method(1)
        with pytest.raises((IndexError, OverflowError)):
            method(number)
    found.forget()
    for method in methods:
        with pytest.raises(IndexError):
            method(0)


def test_elements_that_are_listed_later_have_their_content_too() -> None:
    spent: list[int] = []
    document = HtmlDocument(b"<p property=b>c<b>d</b></p><p id=e>f<i>g</i>", NAMES, 100)
    assert document.html(document.elements[1][3], spent.append) == "c<b>d</b>"
    document.list_also("id")
    assert [document.html(node, spent.append) for *_, node in document.elements[1:]] == [
        "c<b>d</b>",
        "f<i>g</i>",
    ]


def test_after_the_visible_text_no_node_is_there() -> None:
    document = HtmlDocument(b"<p property=b>c<script property=d>e</script>", NAMES, 100)
    nodes_ = [node for *_, node in document.elements]
    assert document.visible_text().split() == ["c"]
    for node in nodes_:
        with pytest.raises(IndexError):
            document.text(node)


@pytest.mark.parametrize("wrong", [None, "a", 3, SimpleNamespace(root=SimpleNamespace(mem_id=16))])
def test_what_is_no_tree_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError):
        lexbor.Nodes(wrong)
    with pytest.raises(TypeError):
        scan.count(wrong)
    with pytest.raises(TypeError):
        scan.has_prefixes(wrong)


def test_a_part_of_a_page_is_refused() -> None:
    with pytest.raises(ValueError, match="whole page"):
        lexbor.Nodes(LexborHTMLParser(b"<p property=x>hello", is_fragment=True))


def test_a_list_that_somebody_changed_is_refused() -> None:
    found = lexbor.Nodes(LexborHTMLParser(b"<a href=1>b</a><a href=2>c</a>"))
    elements, _ = found.list(NAMES, 100)
    elements[1] = 5
    with pytest.raises(TypeError):
        found.place(1)
    del elements[2]
    with pytest.raises(IndexError):
        found.place(2)


# Another selectolax: one whose library exports nothing of lexbor's, and one that has no library.
OTHER = """
import sys, types
import rdfaspider.extract.document.tree
import _ctypes
sys.modules["selectolax.lexbor"] = other = types.ModuleType("selectolax.lexbor")
other.LexborHTMLParser = type("LexborHTMLParser", (), {})
if sys.argv[1]:
    other.__file__ = _ctypes.__file__
try:
    import rdfaspider.extract.document.lexbor
except ImportError as error:
    print(error)
"""


@pytest.mark.parametrize(
    ("library", "sentence"),
    [
        ("another", "selectolax does not export lxb_dom_node_first_child_noi\n"),
        ("", "selectolax is another than was expected\n"),
    ],
)
def test_another_selectolax_leaves_it_to_python(library: str, sentence: str) -> None:
    command = [sys.executable, "-c", OTHER, library]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert told == sentence


PIECES = (
    b"<|<b|<B|<big|<bi|<bigg|<i|<u|<s|<small|<strike|<strong|<str|<em|<tt|<font|<code|<nobr|<html|<body|<option"
    b'|<OPTION|<a| |\n|\x0b|/|>|>|>|=|"|\'| a| b-c="d"| B=\'x\'|="|x|</b>|</B>|</b >|</i>|</font>|</strong>'
    b"|xmlns:|XMLNS:|xmlns|:"
).split(b"|")


@given(st.lists(st.sampled_from(PIECES), max_size=25).map(b"".join))
@example(b"<b a")
@example(b'<b a="')
@example(b"<b a=")
@example(b"<b >x</b")
@example(b"<b >x</b>")
@example(b"<b/>x</b>")
@example(b'<B a="<">x</b>')
@example(b"<b a=''c>x</b>")
@example(b"<b a='' c>x</B><b>")
@example(b"xmlns:")
@example(b":mlns:")
@settings(max_examples=2000)
def test_any_tags_have_the_same_risks(body: bytes) -> None:
    assert_same_risks(body)


def test_each_byte_has_its_part_in_the_risks() -> None:
    for byte in range(256):
        for before, after in pairwise(
            (b"<", b"b", b" ", b"a", b"=", b'"', b'"', b">", b"<", b"/b", b">", b"")
        ):
            whole = b'<b a="x">y</b><i>'
            assert_same_risks(before + bytes([byte]) + after)
            for place in range(len(whole) + 1):
                assert_same_risks(whole[:place] + bytes([byte]) + whole[place:])
