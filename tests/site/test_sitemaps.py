from __future__ import annotations

import gzip
import re

import pytest

from rdfaspider.site.answers import answer
from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.web import Web


def locations(web: Web, url: str) -> list[str]:
    reply = answer(web, url)
    assert reply.status == 200
    packed = url.endswith(".gz")
    assert reply.content_type == ("application/gzip" if packed else "application/xml")
    text = (gzip.decompress(reply.body) if packed else reply.body).decode()
    return re.findall("<loc>(.*?)</loc>", text)


def test_a_small_host_lists_its_pages() -> None:
    web = Web(Parameters(missing=0.1, redirected=0.1, duplicated=0.1))
    for name in ("sitemap.xml", "sitemap.xml.gz"):
        found = locations(web, f"http://127.0.0.1:8000/{name}")
        assert found == list(Oracle(web).urls(origin="http://127.0.0.1:8000"))


def test_a_big_host_lists_its_parts() -> None:
    web = Web(Parameters(hosts=2, levels=3, pages=14))
    parts = locations(web, "http://w1.site.test/sitemap.xml")
    assert [part.rpartition("/")[2] for part in parts] == [
        "sitemap-0.xml",
        "sitemap-1.xml.gz",
        "sitemap-2.xml",
    ]
    assert [url for part in parts for url in locations(web, part)] == list(Oracle(web).urls(1))


def test_a_host_of_a_billion_pages_still_answers() -> None:
    web = Web(Parameters(levels=9, pages=10))
    parts = locations(web, "http://a/sitemap.xml")
    assert len(parts) == 1000
    assert len(locations(web, parts[-1])) == 1000


@pytest.mark.parametrize("name", ["sitemap-1.xml", "sitemap-00.xml", "sitemap.xml?x", "sitemap"])
def test_there_are_no_others(name: str) -> None:
    assert answer(Web(Parameters()), f"http://a/{name}").status == 404


def test_a_web_may_have_none() -> None:
    assert answer(Web(Parameters(sitemaps=False)), "http://a/sitemap.xml").status == 404
