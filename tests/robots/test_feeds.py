from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.robots.feeds import is_feed, read_feed
from rdfaspider.robots.sitemaps import read_sitemap

ATOM = b"""<?xml version="1.0"?>
<feed xmlns="http://www.w3.org/2005/Atom"><link href="http://a.test/"/><updated>2026-11-01T00:00:00Z</updated>
<entry><link rel="edit" href="http://a.test/edit/1"/><link rel="alternate" href="/one?a=1&amp;b=2"/>
 <published>2026-10-01T00:00:00Z</published><updated>2026-11-01T12:00:00+01:00</updated></entry>
<entry><link href='http://a.test/two'/><published>2026-10-02</published></entry>
<entry><link href="http://b.test/elsewhere"/></entry>
<entry><link href="http://a.test/undated"/></entry>
</feed>"""
RSS = b"""<rss version="2.0"><channel><link>http://a.test/</link>
<item><title>x</title><link>http://a.test/one</link><pubDate>Sun, 01 Nov 2026 11:00:00 GMT</pubDate></item>
<item><link><![CDATA[http://a.test/two]]></link><dc:date>2026-10-02T00:00:00Z</dc:date></item>
<item><guid isPermaLink="false">http://a.test/three?a=1&amp;b<![CDATA[&c]]></guid></item>
<item><link>javascript:alert(1)</link><guid>7bd204c6</guid></item></channel></rss>"""
FIRST, SECOND = 1793530800.0, 1790899200.0


def test_atom() -> None:
    assert read_feed(ATOM, "http://a.test/feed") == [
        ("http://a.test/one?a=1&b=2", FIRST),
        ("http://a.test/two", SECOND),
        ("http://a.test/undated", None),
    ]


def test_rss() -> None:
    assert read_feed(RSS, "http://a.test/feed") == [
        ("http://a.test/one", FIRST),
        ("http://a.test/two", SECOND),
        ("http://a.test/three?a=1&b&c", None),
    ]


@pytest.mark.parametrize(
    ("content_type", "body", "expected"),
    [
        ("application/atom+xml; charset=utf-8", b"", True),
        ("application/rss+xml", b"", True),
        ("text/xml", RSS, True),
        ("application/xml", ATOM, True),
        ("text/xml", b"<urlset>", False),
        ("text/xml", b'<rdf:RDF xmlns="http://purl.org/rss/1.0/">', False),  # it has triples
        ("text/html", RSS, False),
        ("", ATOM, False),
    ],
)
def test_what_is_a_feed(content_type: str, body: bytes, expected: bool) -> None:
    assert is_feed(content_type, body) is expected


@given(st.binary(max_size=300))
def test_hostile_feeds_are_read_as_far_as_they_go(body: bytes) -> None:
    for text in (body, ATOM[:200] + body, RSS + body):
        is_feed("text/xml", text)
        read_feed(text, "http://a.test/feed")


def test_the_time_is_linear() -> None:
    began = time.process_time()
    for piece in (b"<item>", b"<item><link>", b"<entry><link href='", b"<entry><updated>", b"<!--"):
        read_feed(piece * 300_000, "http://a.test/feed")
        is_feed("text/xml", piece * 300_000)
    assert time.process_time() - began < 5


def dates(*entries: str) -> dict[str, float]:
    body = f"<urlset>{''.join(f'<url>{entry}</url>' for entry in entries)}</urlset>"
    return read_sitemap(body.encode(), "http://a.test/sitemap.xml").dates


def test_sitemaps_date_their_pages() -> None:
    assert dates(
        "<loc>http://a.test/1</loc><lastmod>2026-11-01T12:00:00+01:00</lastmod>",
        "<lastmod>2026-10-02</lastmod><loc>http://a.test/2</loc>",
        "<loc>http://a.test/3</loc>",
        "<loc>http://a.test/4</loc><lastmod>yesterday</lastmod>",
        "<loc>http://b.test/5</loc><lastmod>2026-10-02</lastmod>",
    ) == {"http://a.test/1": FIRST, "http://a.test/2": SECOND}


def test_dates_that_are_all_equal_say_nothing() -> None:
    entry = "<loc>http://a.test/{}</loc><lastmod>2026-11-01</lastmod>"
    assert dates(*(entry.format(number) for number in range(9))) == {}
    assert len(dates(entry.format(1))) == 1


def test_entries_that_are_not_closed_keep_their_dates_apart() -> None:
    body = (
        b"<urlset><url><loc>http://a.test/1</loc><lastmod>2026-11-01</lastmod><url>"
        b"<loc>http://a.test/2</loc><url><loc>http://a.test/3</loc><lastmod>2026-11-03</lastmod>"
    )
    found = read_sitemap(body, "http://a.test/sitemap.xml")
    assert found.urls == [f"http://a.test/{number}" for number in (1, 2, 3)]
    assert list(found.dates) == ["http://a.test/1", "http://a.test/3"]
