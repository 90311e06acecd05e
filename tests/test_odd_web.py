"""Pages and sitemaps as careless authors write them: what a crawl fetches of them, and what it stores."""

from __future__ import annotations

import csv
import json
import re
import threading
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.conftest import Crawler, Scrapy
from tests.manyhosts import Serve, moved, serve

__all__ = ["serve"]

PAGES = {
    "/robots.txt": "Sitemap: {0}/sitemap.xml\nSitemap: {0}/sitemap.txt\nSitemap: {0}/feed\n"
    "Sitemap: {0}/news\n",
    "/sitemap.xml": "<urlset><url><loc>{0}/cdata<![CDATA[?q=a&b]]></loc></url>"
    "<url><loc>\u00a0{0}/space\u2003</loc></url><url>{0}/bare</url></urlset>",
    "/sitemap.txt": "\u00a0{0}/line\n{1}/host\n",
    "/feed": "<rss><channel><item><guid>{0}/guid</guid></item></channel></rss>",
    "/news": '<rdf:RDF xmlns="http://purl.org/rss/1.0/"><item><link>{0}/rss1</link></item></rdf:RDF>',
    "/": "<title>=HYPERLINK(1)</title><a href=/a/index.html>home</a>"
    '<script type="application/ld+json">'
    '{{"@context": "https://schema.org",,\u00a0"name": "JSON"}} <!-- end --></script>'
    '<p itemscope itemtype="http://schema.org/Offer"><a itemprop="price" href="/x" content="12.00">12</a>',
}
LISTED = ("/cdata?q=a&b", "/space", "/bare", "/line", "/host", "/guid", "/rss1")


class Careless(BaseHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        host = self.headers["Host"]
        Careless.asked.append(self.path)
        self._send(PAGES.get(self.path, "").format(f"http://{host}", host))

    def _send(self, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


class Forgetful(Careless):
    """Twenty pages that link to each other, each time with another number; `part` chooses a page."""

    def do_GET(self) -> None:
        Careless.asked.append(self.path)
        number = re.fullmatch(r"/(\d*)(?:\?part=(\d))?(?:[?&]visit=\d+)?", self.path)
        links = (f"/{n}?part={n % 2}&amp;visit={len(Careless.asked)}" for n in range(20))
        words = number and f"Page {number[1]} part {number[2]}"
        text = "".join(f'<a href="{link}">x</a>' for link in links) if number else ""
        self._send(f"<title>{words}</title>{text}")


class Cookieless(Careless):
    """Thirty pages in a row; where the number of the visit is missing, a redirect adds one."""

    def do_GET(self) -> None:
        Careless.asked.append(self.path)
        number = int(re.sub(r"\D", "", self.path.partition("?")[0]) or 0)
        visit = len(Careless.asked)
        if "?" not in self.path and self.path != "/robots.txt":
            self.send_response(302)
            self.send_header("Location", f"{self.path}?visit={visit}")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        near = range(max(1, number - 1), min(number + 4, 31))
        links = "".join(f'<a href="/p{n}?visit={visit * 100 + n}">p{n}</a>' for n in near)
        self._send(f'<p property="dc:title">page {number}</p>{links}')


@pytest.fixture
def web(request: pytest.FixtureRequest) -> Iterator[str]:
    Careless.asked = []
    handler = getattr(request, "param", Careless)
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


FEEDS = {
    "fates.csv": {"format": "csv", "fields": ["url", "outcome", "reason"]},
    "items.csv": {"format": "csv"},
}


def test_what_is_listed_is_fetched_and_what_is_meant_is_stored(
    crawl: Crawler, scrapy: Scrapy, web: str, tmp_path: Path
) -> None:
    transforms = "www,DIRECTORY_INDEX"
    found = crawl(f"{web}/", ROBOTS_SITEMAPS=1, FEEDS=json.dumps(FEEDS), URLS_TRANSFORMS=transforms)
    assert {*LISTED, "/a/"} <= set(Careless.asked)
    assert {
        (quad.predicate.value.rpartition("/")[2], str(quad.object))
        for quad in found.quads
        if "schema.org" in quad.predicate.value
    } == {("name", '"JSON"'), ("price", '"12.00"')}
    assert scrapy("pages", "-o", "pages.csv").returncode == 0
    for name in ("items.csv", "pages.csv"):
        with (tmp_path / name).open(newline="") as file:
            (row,) = [row for row in csv.DictReader(file) if row["url"] == f"{web}/"]
        assert row["title"] == "'=HYPERLINK(1)", "a spreadsheet would run it"
        assert (row["depth"], row["status"]) == ("0", "200")


@pytest.mark.parametrize("web", [Forgetful], indirect=True)
def test_a_parameter_that_chooses_no_page_is_found_by_what_it_does(
    crawl: Crawler, web: str
) -> None:
    found = crawl(f"{web}/", CLOSESPIDER_PAGECOUNT=400)
    pages = {f"{web}/{number}?part={number % 2}" for number in range(20)}
    assert pages < found.pages, "and one that does choose is kept"
    assert len(Careless.asked) < 100, "of 21 pages"
    Careless.asked.clear()
    crawl(f"{web}/?part=1&visit=1")
    assert not any("visit" in path for path in Careless.asked), "what was learnt lasts"


@pytest.mark.parametrize("web", [Cookieless], indirect=True)
def test_a_server_that_adds_what_chooses_no_page_by_a_redirect_is_followed(
    crawl: Crawler, web: str
) -> None:
    found = crawl(f"{web}/p1", CLOSESPIDER_PAGECOUNT=400, FRONTIER_DYNAMIC_DEPTH=50)
    read = Counter(url.partition("?")[0] for url in found.pages)
    assert set(read) == {f"{web}/p{n}" for n in range(1, 31)}
    assert [read[f"{web}/p{n}"] for n in range(20, 31)] == [1] * 11, "and no page for ever"
    Careless.asked.clear()
    crawl(f"{web}/p5?visit=1", CLOSESPIDER_PAGECOUNT=60)
    assert not any("?visit" in path for path in Careless.asked), "what was learnt lasts"
    crawl(f"{web}/p5?visit=0", CLOSESPIDER_PAGECOUNT=60, URLS_DROP_SESSIONS=0)
    assert sum("?visit" in path for path in Careless.asked) > 50, "unless it is switched off"


def test_a_robots_txt_that_has_moved_to_a_forbidden_address_is_the_reason(
    scrapy: Scrapy, serve: Serve
) -> None:
    serve({"http://h.test/robots.txt": moved("http://10.0.0.1/robots.txt")})
    result = scrapy("crawl", "rdfa", "-a", "seeds=http://h.test/", ROBOTS_RETRIES=0)
    assert (
        "http://h.test/ cannot be fetched: its robots.txt has moved to http://10.0.0.1,"
        " and its address is not public" in result.stderr
    )
