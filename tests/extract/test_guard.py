"""What the guard lets through to lexbor is cheap there, whatever hides from a careless look."""

from __future__ import annotations

import random
import time
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from rdfaspider.extract import Limits, facts, guard, jsonld, links, microdata, rdfa
from rdfaspider.extract.document.tree import without_unread
from rdfaspider.extract.guard.attributes import may_exceed, without_excess
from rdfaspider.extract.guard.nesting import follow
from rdfaspider.extract.guard.stack import ElementStack, TooOdd
from rdfaspider.extract.guard.tags import TAGS

ROWS = b"<tr><td>a<td>b<br><p>c" * 10_000
LINKS = b"<ul>" + b'<li><A href="x"><b class=c>y</b></a>' * 5000 + b"</ul>"
ICONS = (
    b'<li><i class="icon"></i><svg viewBox="0 0 9 9"><path d="M0"/><use href="#x" /></svg>x</li>'
)


def is_tame(body: bytes, depth: int = 2000) -> bool:
    return guard.is_tame(guard.GuardedPage(body), depth)


def numbered(text: bytes, count: int) -> bytes:
    return b"".join(text.replace(b"#", b"%d" % number) for number in range(count))


@pytest.mark.parametrize(
    "body",
    [
        b"<b id=1><div>" * 400,
        b"<table>" + ROWS + b"</table>",
        LINKS,
        LINKS.replace(b"</a>", b"</a></li>"),
        b"<ul>" + ICONS * 3000 + b"</ul>",
        b"<dl>" + b"<dt>a<dd><p>b<ul><li>c<li>d</ul>" * 3000,
        b"<p>a<b>b<i>c</b>d</i><div>e<span>f</div>g" * 3000,
        b"<script>document.write('<div><div><b>')</script><!-- <div> -->" * 10_000,
        b"<select>" + b"<option>a" * 2000 + b"</select>",
    ],
)
def test_what_authors_write_is_tame(body: bytes) -> None:
    assert is_tame(body)


@pytest.mark.parametrize(
    "body",
    [
        b"<div>" * 20_000 + b"</div>" * 20_000,
        b"<li><dd>" * 20_000,
        b"<rt>" * 20_000,
        b"<path>" * 20_000,
        b"<svg>" + b"<td><link>" * 10_000,
        b"<option>" * 4_000,
        numbered(b"<b id=#><div>", 2000) + b"</b>" * 2000,
        b"<div>" + numbered(b"</b><font size=#>", 1000) + b"</div>" + b"<p>x" * 1000,
        numbered(b"<b id=#><object></b></object><p>", 2000),
        numbered(b"<b id=#><select></b></select><p>", 2000),
        numbered(b"<b id=#><svg><foreignObject></b></foreignObject></svg><p>", 2000),
        numbered(b"<body a#=x b#=x>", 5000),
        numbered(b"<x#></x#>", 60_000),
        numbered(b"<p x#></p>", 60_000),
        numbered(b"<title x#></title>", 60_000),
        b"<form><table></form></table></form>" * 10_000,
        b"<b id=1><p><b id=2></p></b>" * 10_000,
        b"<span><li></span><span><dd></span>" * 10_000,
        b"<span>" * 1900 + b"</x>" * 60_000,
        numbered(b"<b " + numbered(b"a# ", 100) + b"id=#>", 2000),
    ],
    ids=lambda body: body[:30].decode(),
)
def test_what_costs_lexbor_much_is_not_tame(body: bytes) -> None:
    assert not is_tame(body)


@pytest.mark.parametrize("unit", [b"<dd><a>x<i a#>", b"<b id=#>x<li id=#><b id=#>"])
def test_the_look_itself_costs_little(unit: bytes) -> None:
    body = numbered(unit, 6000)
    start = time.process_time()
    assert not is_tame(body)
    assert time.process_time() - start < 0.8


HIDING = [
    b"<!--</div>-->",
    b"<!--</div>--!>",
    b'<br x="</div>">',
    b"<br x='</div>'>",
    b"<br x=</div>",
    b'<br x = "</div>">',
    b'</x y="</div>">',
    b"<script></div></script>",
    b"<script><!--<script></script></div></script>",
    b"<style></div></style>",
    b"<title></div></title>",
    b"<textarea></div></textarea >",
    b"<xmp></div></xmp>",
    b"<iframe></div></iframe>",
    b"<noframes></div></noframes>",
    b"<!x </div>",
    b"<? </div>",
    b"</ </div>",
    b"<svg><![CDATA[</svg></div>]]></svg>",
    b"<svg><style><!--</style></svg></div>--></style></svg>",
    b"<select></div></select>",
]


@pytest.mark.parametrize("hidden", HIDING, ids=lambda text: text.decode())
def test_an_end_tag_that_is_none_closes_nothing(hidden: bytes) -> None:
    body = (b"<div>" + hidden) * 5_500
    assert not is_tame(body, 500)
    assert not is_tame(body.upper(), 500)


def test_an_open_quote_hides_the_rest() -> None:
    tags = TAGS.finditer(b'<a><p x="></p></a>')
    assert [tag["name"] for tag in tags] == [b"a", b"p"]


NAMES = (
    b"a b i font nobr code p div span ul li dd dt h1 h2 table caption colgroup col tbody tr td th select"
    b" option optgroup input button form svg math foreignObject desc title mi annotation-xml template object"
    b" marquee html body head frameset script style textarea xmp noscript plaintext rp rt ruby address"
    b" details dialog fieldset pre image hr br search x"
).split()
TEXTS = (
    b"x| |<!--</b></div>-->|<!-->|<!--|-->|<![CDATA[x]]>|<![CDATA[|]]>|<?x>|</ x>|</>|<|\0|\"|'"
    b'|<!doctype html>|<p x="</p>">|<svg><desc>|<svg><foreignObject>|<math><mi>|<svg><path/>|</svg>'
    b"|<table><tr><td>|</table>|<style><!--</style>|<script><!--<script></script>|</script>"
    b"|<textarea></b></textarea>"
).split(b"|")
ENDS = b'>|>|>| id=%d>| id=%d>|/>| />| a=b/>|\x0b>| a="</div>">| a="'.split(b"|")


def token(dice: random.Random, names: list[bytes]) -> bytes:
    kind, name = dice.random(), dice.choice(names)
    if kind < 0.55:
        return b"<" + name + dice.choice(ENDS).replace(b"%d", b"%d" % dice.randrange(1000))
    return b"</" + name + b">" if kind < 0.8 else dice.choice(TEXTS)


def soup(dice: random.Random) -> bytes:
    names = dice.sample(NAMES, dice.randint(1, 4)) if dice.random() < 0.8 else NAMES
    parts = []
    for _ in range(dice.randint(1, 4)):
        unit = [token(dice, names) for _ in range(dice.randint(1, 6))]
        parts.append(b"".join(unit) * dice.choice((1, 3, 10, 40)))
    return b"".join(parts)


def open_elements(tree: LexborHTMLParser) -> int:
    """Return how many elements were open at the end of a page, where there is a probe."""
    node = tree.css_first("x-probe")
    depth = 0
    while node is not None:
        depth, node = depth + 1, node.parent
    return depth


def test_the_bound_holds_for_any_soup() -> None:
    """Beside the elements that have tags there are the root, the body, and parts of tables."""
    dice = random.Random(6)
    compared = 0
    for _ in range(3000):
        body = soup(dice)
        stack = ElementStack()
        try:
            follow(TAGS.finditer(body.lower()), stack)
        except TooOdd:
            continue
        tree = LexborHTMLParser(body + b"<x-probe>")
        assert open_elements(tree) <= 3 * len(stack) + 8, body
        assert len(tree.css("*")) <= 4 * body.count(b"<") + 4 * stack.made + 20, body
        compared += 1
    assert compared > 2000


@pytest.mark.parametrize(
    "tag",
    [
        b"<p " + b"a " * 30_000,
        b"<p " + numbered(b'a#=">" ', 30_000),
        b"<p " + numbered(b'a#="<>" ', 30_000),
        b"<p " + numbered(b"a#='<b>'", 30_000),
        b"<p " + numbered(b"""a#="'>" b#='>"'""", 30_000),
        b"<p " + numbered(b"""a#= \n "x>y>z" """, 30_000),
        b"<p a='>'" + numbered(b" a#", 30_000),
        b'<p a="<b>' + b"x" * 3_000 + b'"' + numbered(b" a#", 30_000),
        b"<p/" + numbered(b"a#/", 30_000),
        b"</p " + numbered(b"a# ", 30_000),
        b"<title " + numbered(b"a# ", 30_000) + b">",
    ],
    ids=lambda tag: tag[:20].decode(),
)
def test_a_tag_of_very_many_attributes_is_found(tag: bytes) -> None:
    assert may_exceed(tag, 256)
    body, count = without_excess(tag, tag, 256)
    assert count == 1
    assert len(body) < 5000


def test_attributes_beyond_the_limit_go() -> None:
    long = b"<P x=1 y='>' " + b"z=2 " * 5000 + b">text<b c=d>"
    kept = b"<P x=1 y='>' z=2 >text<b c=d>"
    assert without_excess(long, long.lower(), 3) == (kept, 1)


def test_what_only_looks_like_a_tag_keeps_its_words() -> None:
    text = b"if (a <b) { " + b"word " * 5000 + b"}"
    body = b"<script>" + text + b"</script><!-- <p " + b"word " * 5000 + b"-->"
    assert may_exceed(body, 256)
    assert without_excess(body, body, 256) == (body, 0)


@pytest.mark.parametrize("start", [b"<svg><style>", b"<svg><![CDATA[>", b"<select><textarea>"])
def test_a_tag_in_what_may_be_text_is_not_tame(start: bytes) -> None:
    body = start + b"<p " + numbered(b"a# ", 30_000) + b">"
    page = guard.without_excess(guard.GuardedPage(body), Limits(), Counter())
    assert page.body != body or not guard.is_tame(page, 2000)


@given(st.binary(max_size=200), st.integers(0, 3))
def test_nothing_else_is_changed(text: bytes, count: int) -> None:
    body = text.replace(b"<", b"").replace(b">", b"") * 100 + b"<i a=b>" * count
    assert not may_exceed(body.lower(), 500)
    assert without_excess(body, body.lower(), 500) == (body, 0)


def test_no_attribute_that_is_read_is_lost_among_many() -> None:
    names = rdfa.ATTRIBUTES | facts.ATTRIBUTES | links.ATTRIBUTES | jsonld.ATTRIBUTES
    names |= microdata.ATTRIBUTES | {"id", "role", "version"}
    attributes = dict.fromkeys(names | {"xmlns:x", "class"}, "")
    assert without_unread(attributes).keys() == names | {"xmlns:x"}


def test_tags_beyond_the_limit_go() -> None:
    assert guard.without_tags(b"<a>b<c>d<e>", 3) == b"<a>b<c>d<e>"
    assert guard.without_tags(b"<a>b<c>d<e>", 2) == b"<a>b<c>d"
