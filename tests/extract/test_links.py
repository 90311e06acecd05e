from __future__ import annotations

import time

import pytest

from rdfaspider.extract import Limits, Options, extract

URL = "http://site.example/dir/page.html"
XHTML = "application/xhtml+xml"

DOCTYPES = {
    "XHTML 1.0 Transitional": (
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML 1.0 Transitional//EN" '
        '"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd">'
        '<html xmlns="http://www.w3.org/1999/xhtml">'
    ),
    "HTML 4.01 Strict": (
        '<!DOCTYPE HTML PUBLIC "-//W3C//DTD HTML 4.01//EN" '
        '"http://www.w3.org/TR/html4/strict.dtd"><html>'
    ),
    "XHTML + RDFa": (
        '<!DOCTYPE html PUBLIC "-//W3C//DTD XHTML+RDFa 1.0//EN" '
        '"http://www.w3.org/MarkUp/DTD/xhtml-rdfa-1.dtd">'
        '<html xmlns="http://www.w3.org/1999/xhtml" version="XHTML+RDFa 1.0">'
    ),
}


def anchors(first: int, last: int) -> str:
    return "".join(f'<p><a href="page{number}">{number}</a></p>' for number in range(first, last))


def valid(doctype: str, count: int) -> str:
    head = f"{doctype}<head><title>links</title></head>"
    return f"{head}<body><div>{anchors(0, count)}</div></body></html>"


def invalid(doctype: str) -> str:
    """One hundred links: in the head, in the body, between bad tags and outside html."""
    return (
        f"{anchors(0, 10)}{doctype}<head>{anchors(10, 30)}<title>x</title>{anchors(30, 40)}</head>"
        f"<body><div><table>{anchors(40, 60)}</div></i><b><p>{anchors(60, 80)}</body></html>"
        f"{anchors(80, 100)}"
    )


@pytest.mark.parametrize("content_type", ["text/html", XHTML])
@pytest.mark.parametrize("doctype", DOCTYPES.values(), ids=DOCTYPES.keys())
@pytest.mark.parametrize(("count", "found"), [(1, 1), (100, 100), (200, 100)])
def test_valid_pages_of_table_5(doctype: str, count: int, found: int, content_type: str) -> None:
    body, options = valid(doctype, count).encode(), Options(limits=Limits(links=100))
    extraction = extract(body, URL, content_type, options)
    assert extraction.links == [f"http://site.example/dir/page{n}" for n in range(found)]
    assert extraction.facts.cuts["links"] == count - found


@pytest.mark.parametrize("content_type", ["text/html", XHTML])
@pytest.mark.parametrize("doctype", DOCTYPES.values(), ids=DOCTYPES.keys())
def test_invalid_pages_of_table_5(doctype: str, content_type: str) -> None:
    links = extract(invalid(doctype).encode(), URL, content_type).links
    assert sorted(links) == sorted(f"http://site.example/dir/page{n}" for n in range(100))


def test_relations_and_texts_run_in_parallel() -> None:
    page = b'<a href="/a" rel="next">go  <b>on</b></a><area href="/b"><iframe src="/c"></iframe>'
    extraction = extract(page, URL)
    assert extraction.links == [f"http://site.example/{name}" for name in "abc"]
    assert extraction.relations == ["next", "", ""]
    assert extraction.texts == ["go on", "", ""]


def test_links_are_unique_and_leave_the_page() -> None:
    page = b'<a href="/a"></a><a href="/a#x"></a><a href="http://site.example/a"></a>'
    assert extract(page, URL).links == ["http://site.example/a"]


def test_only_the_web_is_linked() -> None:
    page = b'<a href="mailto:a@b.example"><a href="javascript:void(0)"><a href="http://[bad/"><a>'
    assert extract(page, URL).links == []


def test_links_are_joined_to_the_base() -> None:
    assert extract(b'<base href="/root/"><a href="x">', URL).links == ["http://site.example/root/x"]


def test_nofollow_links_are_counted() -> None:
    extraction = extract(b'<a href="/a" rel="external NoFollow"></a><a href="/b"></a>', URL)
    assert extraction.links == ["http://site.example/b"]
    assert extraction.nofollow == ["http://site.example/a"]
    assert extraction.facts.cuts["nofollow"] == 1


def test_a_page_that_is_not_to_be_followed_keeps_its_links_apart() -> None:
    page = b'<meta name=robots content=nofollow><a href="/a"></a><a href="/b" rel=nofollow></a>'
    extraction = extract(page, URL)
    assert extraction.links == []
    assert extraction.nofollow == ["http://site.example/a", "http://site.example/b"]


def test_nofollow_links_are_bounded_and_each_once() -> None:
    page = "".join(f'<a rel=nofollow href="/{number % 50}"></a>' for number in range(500))
    extraction = extract(page.encode(), URL, options=Options(limits=Limits(links=30)))
    assert extraction.nofollow == [f"http://site.example/{number}" for number in range(30)]
    assert extraction.facts.cuts["nofollow"] == 500
    assert extract(b'<a rel=nofollow href="http://[">', URL).nofollow == []


def test_the_canonical_form_is_one_of_the_links() -> None:
    page = b'<link rel="alternate" href="/z"><link rel="Canonical" href="x#y"><a href="/b">'
    extraction = extract(page, URL)
    assert extraction.canonical == "http://site.example/dir/x"
    assert extraction.canonical in extraction.links


@pytest.mark.parametrize("first", ['<link rel=alternate hreflang=en href="/x">', '<a href="/x">'])
def test_the_canonical_form_may_be_linked_before(first: str) -> None:
    extraction = extract(f'{first}<link rel=canonical href="/x"><a href="/b">'.encode(), URL)
    assert extraction.canonical == "http://site.example/x"
    assert extraction.links == ["http://site.example/x", "http://site.example/b"]


@pytest.mark.parametrize(
    "link", ['rel=canonical href="http://["', 'rel="canonical nofollow" href=x']
)
def test_what_is_no_canonical_form(link: str) -> None:
    page = f"<link {link}><link rel=canonical href=/right><link rel=canonical href=/wrong>"
    assert extract(page.encode(), URL).canonical == "http://site.example/right"


def test_media_are_counted_by_kind() -> None:
    page = b"""<img src=a.png><img alt=none><video src=b.mp4><source src=c.webm></video>
    <audio><source src=d.ogg><source src=d type="audio/mp4"></audio><embed src=e.swf>
    <script src=f.js></script><iframe src=g></iframe><a href="/h.MP3?download#top">H</a>
    <a href="/h.MP3?download#top">again</a><a href=i.html>I</a><a rel=nofollow href=j.jpeg>J</a>"""
    extraction = extract(page, URL)
    assert extraction.media == {"image": 2, "audio": 3, "video": 2, "other": 1}
    assert extraction.links[0] == "http://site.example/dir/g"


@pytest.mark.parametrize(("relation", "followed"), [("alternate", True), ("stylesheet", False)])
def test_link_elements_that_lead_to_pages_are_followed(relation: str, followed: bool) -> None:
    assert bool(extract(f'<link rel={relation} href="/x">'.encode(), URL).links) is followed


def test_limit_is_an_option() -> None:
    options = Options(limits=Limits(links=3))
    assert len(extract(anchors(0, 9).encode(), URL, options=options).links) == 3


def test_links_beyond_the_limit_are_counted_each_once() -> None:
    extraction = extract((anchors(0, 10_500) + anchors(0, 20_000)).encode(), URL)
    assert len(extraction.links) == 10_000
    assert extraction.facts.cuts["links"] == 10_000


def test_relations_and_texts_can_be_left_out() -> None:
    extraction = extract(anchors(0, 3).encode(), URL, options=Options(anchors=False))
    assert len(extraction.links) == 3
    assert extraction.relations == extraction.texts == []


def test_ten_times_the_links_take_ten_times_as_long() -> None:
    spent = {}
    for count in (6_000, 60_000):
        body = anchors(0, count).encode()
        spent[count] = min(seconds(body) for _ in range(3))
    assert spent[60_000] < 30 * spent[6_000]


def seconds(body: bytes) -> float:
    start = time.process_time()
    extract(body, URL)
    return time.process_time() - start


@pytest.mark.parametrize("content_type", ["text/html", XHTML])
def test_anchors_inside_anchors_are_read_within_bounds(content_type: str) -> None:
    depth, text = 250, "x" * 100_000
    nested = "".join(f'<a href="{n}"><object>' for n in range(depth))
    page = f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{nested}{text}'
    page += "</object></a>" * depth + '<a href="/last">last</a></body></html>'
    before = time.process_time()
    extraction = extract(page.encode(), URL, content_type)
    assert time.process_time() - before < 1
    assert len(extraction.links) == len(extraction.texts) == depth + 1
    assert extraction.texts[0] == "x" * 200
    assert extraction.texts[-1] == ""


def test_a_long_base_does_not_make_links_grow_without_end() -> None:
    page = f'<base href="http://site.example/{"x" * 7_000}/">{anchors(0, 10_000)}'
    extraction = extract(page.encode(), URL)
    assert sum(map(len, extraction.links)) < 2_100_000
    assert len(extraction.links) + extraction.facts.cuts["links"] == 10_000


def test_a_link_is_followed_when_one_of_its_anchors_allows_it() -> None:
    page = b'<a href="/a" rel="nofollow"></a><a href="/a"></a>'
    assert extract(page, URL).links == ["http://site.example/a"]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("0; url=next", ["http://site.example/dir/next"]),
        ("5;URL='/next?a=b'", ["http://site.example/next?a=b"]),
        ("30", []),
        (" " * 100_000 + "url=x", []),
    ],
)
def test_a_page_that_refreshes_to_another_links_to_it(content: str, found: list[str]) -> None:
    page = f'<meta http-equiv=Refresh content="{content}"><meta name=url content="0; url=no">'
    assert extract(page.encode(), URL).links == found


LEGACY = """<base href="/base/?я"><a href="?q=я&amp;r=&#8364;#я"></a><area href="/я?я">
<iframe src="x?я=%D1%8F"></iframe><link rel=next href="n?я"><meta http-equiv=refresh content="0; url=r?я">
<a href="//b.example/?plain"></a>
<a rel=nofollow href="no?я"></a><link rel=canonical href="c?я">"""


@pytest.mark.parametrize(
    ("encoding", "sent"), [("windows-1251", "%FF"), ("utf-8", "%D1%8F"), ("utf-16", "%D1%8F")]
)
def test_queries_are_sent_in_the_encoding_of_the_page(encoding: str, sent: str) -> None:
    euro = "%88" if encoding == "windows-1251" else "%E2%82%AC"
    extraction = extract(LEGACY.encode(encoding), URL, f"text/html; charset={encoding}")
    base = "http://site.example/base/"
    assert extraction.links == [
        f"{base}?q={sent}&r={euro}",
        f"http://site.example/%D1%8F?{sent}",
        f"{base}x?{sent}=%D1%8F",
        f"{base}n?{sent}",
        f"{base}r?{sent}",
        "http://b.example/?plain",
        f"{base}c?{sent}",
    ]
    assert extraction.nofollow == [f"{base}no?{sent}"]
    assert extraction.canonical == f"{base}c?{sent}"


def test_terms_are_iris_and_not_encoded() -> None:
    """RDF compares IRIs as characters, and RFC 3987 maps them to URIs in UTF-8 whatever the page is in.

    The HTML Standard encodes the values of Microdata as it does links. Then one thing would have two names
    on a page, one in RDFa and one in Microdata, so those are IRIs too.
    """
    page = '<a property="dc:relation" href="?q=я"></a>'
    page += '<p itemscope itemid="#i"><a itemprop="http://schema.org/url" href="?q=я"></a></p>'
    extraction = extract(page.encode("windows-1251"), URL, "text/html; charset=windows-1251")
    assert {quad.object.value for quad in extraction.quads} == {f"{URL}?q=я"}  # type: ignore[union-attr]
    assert len(extraction.quads) == 2
    assert extraction.links == [f"{URL}?q=%FF"]
