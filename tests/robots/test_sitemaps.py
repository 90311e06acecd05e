from __future__ import annotations

import base64
import gzip
import json
import re
import tracemalloc
from pathlib import Path
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.robots.feeds import read_listing
from rdfaspider.robots.sitemaps import MAX_BYTES, Sitemap, read_sitemap, unpack
from rdfaspider.site.answers import answer
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.web import Web

URL = "http://a.test/sitemap.xml"
SPACE = "http://www.sitemaps.org/schemas/sitemap/0.9"


def urlset(*locations: str) -> bytes:
    entries = "".join(f"<url><loc>{location}</loc></url>" for location in locations)
    return f'<?xml version="1.0"?><urlset xmlns="{SPACE}">{entries}</urlset>'.encode()


def urls(body: bytes) -> list[str]:
    return read_sitemap(body, URL).urls


def test_pages() -> None:
    body = urlset("http://a.test/", " http://a.test/b?c=1&amp;d=2\n", "HTTP://A.test:80/e/../f")
    assert read_sitemap(body, URL) == Sitemap(
        ["http://a.test/", "http://a.test/b?c=1&d=2", "http://a.test/f"]
    )


def test_an_index() -> None:
    body = f'<sitemapindex xmlns="{SPACE}"><sitemap><loc>http://a.test/1.xml.gz</loc></sitemap>'
    assert read_sitemap(body.encode(), URL) == Sitemap(["http://a.test/1.xml.gz"], is_index=True)


@pytest.mark.parametrize(
    "body",
    [
        b"http://a.test/b\r\nhttp://a.test/c\r\n",
        b"\xef\xbb\xbfhttp://a.test/b\n\n# note\n  http://a.test/c",
        "http://a.test/b\nhttp://a.test/c\n".encode("utf-16"),
        urlset("http://a.test/b", "http://a.test/c").decode().encode("utf-16"),
        urlset("http://a.test/b", "http://a.test/b", "http://a.test/c"),
        urlset("<![CDATA[http://a.test/b]]>", "<![CDATA[ http://a.test/c ]]>"),
        urlset("http://a.test/<![CDATA[b]]>", "\u00a0http://a.test/c\u200b"),
        urlset("<url><![CDATA[http://a.test/b]]></url>", "a.test/c"),
        b"<urlset><url>http://a.test/b</url><url>\nhttp://a.test/c\n</url></urlset>",
        "\u00a0http://a.test/b\na.test/c\n".encode(),
        urlset("http&#58;//a.test/b", "http://a.test/b", "http://a.test/&#x63;"),
        urlset("http://a.test/b", "/c", "", "ftp://a.test/", "http://[/", "http://a.test/c"),
        urlset("http://a.test/b", "http://a.test/c").replace(b"</urlset>", b""),
        b"<urlset >\n<loc >http://a.test/b</loc><loc x='y'>http://a.test/c</loc>",
        b"<s:urlset xmlns:s=''><s:loc>http://a.test/b</s:loc><s:loc>http://a.test/c</s:loc>"
        b"<image:loc>http://a.test/d</image:loc><loc>http://a.test/e</loc>",
        b"<urlset><loc>http://a.test/b</loc><image:loc>http://a.test/d</image:loc>"
        b"<!-- <loc>http://a.test/old</loc> --><loc>http://a.test/c</loc><!-- <loc>http://a.test/e",
        gzip.compress(b"http://a.test/b\n", mtime=0) + gzip.compress(b"http://a.test/c\n", mtime=0),
    ],
)
def test_many_ways_to_write_the_same(body: bytes) -> None:
    assert urls(body) == ["http://a.test/b", "http://a.test/c"]


def test_what_is_no_sitemap_lists_nothing() -> None:
    assert urls(b"<!DOCTYPE html><title>Not found</title><a href='http://a.test/'>home</a>") == []
    assert urls(b"") == []


def test_a_sitemap_speaks_for_its_host_and_for_the_one_that_names_it() -> None:
    body = urlset("http://a.test/", "https://a.test/", "http://b.test/", "http://evil.test/")
    assert urls(body) == ["http://a.test/", "https://a.test/"]
    named = read_sitemap(body, "http://cdn.test/a.xml", owner="http://b.test/")
    assert named.urls == ["http://b.test/"]


def test_no_more_entries_than_asked_for() -> None:
    body = urlset(*(f"http://a.test/{number}" for number in range(11)))
    assert read_sitemap(body, URL, most=10).cut
    assert len(read_sitemap(body, URL, most=10).urls) == 10
    assert not read_sitemap(body, URL, most=11).cut


def test_no_more_octets_than_asked_for_and_no_url_cut_short() -> None:
    text = b"http://a.test/one\nhttp://a.test/two\n"
    assert read_sitemap(text, URL, limit=30) == Sitemap(["http://a.test/one"], cut=True)
    xml = urlset("http://a.test/one", "http://a.test/two")
    short = read_sitemap(xml, URL, limit=xml.index(b"two") + 1)
    assert short == Sitemap(["http://a.test/one"], cut=True)
    assert read_sitemap(gzip.compress(text, mtime=0), URL, limit=len(text)).cut is False


def test_a_broken_archive_gives_what_comes_before_the_break() -> None:
    body = gzip.compress(b"".join(b"http://a.test/%d\n" % number for number in range(99_999)), 0)
    found = urls(body[: len(body) // 2])
    assert 10_000 < len(found) < 90_000
    assert urls(b"\x1f\x8b nonsense") == []


def test_a_bomb_is_unpacked_to_the_limit_and_no_further() -> None:
    bomb = gzip.compress(bytes(1 << 26)) * 16
    assert len(bomb) < 2_000_000
    tracemalloc.start()
    assert len(unpack(bomb, MAX_BYTES)) == MAX_BYTES
    assert read_sitemap(bomb, URL, limit=1 << 20) == Sitemap([], cut=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 3 * MAX_BYTES, "of a gigabyte"


def test_entities_are_neither_expanded_nor_fetched() -> None:
    laughs = b'<!DOCTYPE urlset [<!ENTITY a "http://a.test/"><!ENTITY b "&a;&a;">'
    laughs += b'<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    body = laughs + urlset("http://a.test/&x;", "&a;", "http://a.test/c")
    assert urls(body) == ["http://a.test/&x;", "http://a.test/c"]


@pytest.mark.parametrize(
    "piece",
    [b"<loc>", b"<loc><![CDATA[", b"<loc ", b"<!--", b"<!-- -", b"&#", b"&amp;", b"http://", b" "],
)
def test_hostile_text_takes_linear_time(piece: bytes) -> None:
    def seconds(size: int) -> float:
        body = b"<urlset>" + piece * (size // len(piece))
        began = process_time()
        read_sitemap(body, URL)
        return process_time() - began

    assert seconds(8_000_000) < 4 * seconds(4_000_000) + 0.2


@given(st.binary())
def test_there_are_no_bad_sitemaps(body: bytes) -> None:
    read_sitemap(body, URL)
    read_sitemap(b"<urlset><loc>http://a.test/" + body, URL)
    read_sitemap(b"\x1f\x8b" + body, URL)


def test_the_sitemaps_of_the_generated_web() -> None:
    web = Web(Parameters(seed=1, levels=3, pages=12, sitemaps=True))
    index = read_sitemap(
        answer(web, "http://w0.site.test/sitemap.xml").body, URL, owner=web.url(0, 0)
    )
    assert index.is_index
    listed = [url for part in index.urls for url in read_sitemap(answer(web, part).body, part).urls]
    assert sorted(listed) == sorted(web.url(0, number) for number in range(web.tree.count))


def test_the_cases_of_crawler_commons(vectors: Path) -> None:
    failed = []
    for case in json.loads((vectors / "sitemaps" / "cases.json").read_text()):
        if case["content"] is None or not case["counts"]:
            continue
        body = base64.b64decode(case["content"])
        # Four of them list pages of another host, which our sitemaps may not.
        text = body.decode("utf-8", "replace")
        owner = re.search(r"https?://(?:example\.com|www\.example\.org|jobs\.[a-z.]+)/", text)
        found = read_listing(body, case["url"], owner=owner[0] if owner else "", most=99)
        if len(found.urls) not in case["counts"]:
            failed.append((case["name"], found.urls))
    assert failed == []
