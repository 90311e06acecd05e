from __future__ import annotations

from collections.abc import Callable
from urllib.parse import urldefrag, urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lxml import html
from pyoxigraph import Quad

from rdfaspider.site.answers import answer
from rdfaspider.site.oracle import Oracle
from rdfaspider.site.pages.words import LANGUAGES
from rdfaspider.site.parameters import FORMATS, Parameters
from rdfaspider.site.web import Web

Read = Callable[[bytes, str], set[Quad]]


def web_of(seed: int, triples: int, format_: str) -> Web:
    shares = {**dict.fromkeys(FORMATS, 0.0), format_: 1.0}
    return Web(
        Parameters(
            seed=seed,
            hosts=3,
            levels=2,
            pages=9,
            triples=triples,
            languages=LANGUAGES,
            changing=0.5,
            **shares,  # type: ignore[arg-type]
        )
    )


def plain(quads: frozenset[Quad]) -> set[Quad]:
    """Put triples into the default graph, where the readers leave theirs."""
    return {Quad(quad.subject, quad.predicate, quad.object) for quad in quads}


# pyRdfa3 takes its time, the others do not.
@pytest.mark.parametrize(("format_", "step"), [("rdfa", 7), ("jsonld", 1), ("microdata", 1)])
@pytest.mark.parametrize("triples", [0, 1, 2, 7, 40])
def test_others_find_exactly_the_triples_of_the_oracle(
    format_: str, step: int, triples: int, readers: dict[str, Read]
) -> None:
    web = web_of(triples, triples, format_)
    for index in range(0, web.tree.count, step):
        url = f"http://127.0.0.1:8000{web.path(index)}"
        found = readers[format_](answer(web, url, 100.0).body, url)
        assert found == plain(Oracle(web).triples(url, at=100.0))
        assert len(found) == triples


@pytest.mark.parametrize("format_", FORMATS)
def test_no_other_format_finds_anything(format_: str, readers: dict[str, Read]) -> None:
    web = web_of(0, 12, format_)
    url = web.url(1, 5)
    for other in set(FORMATS) - {format_}:
        assert readers[other](answer(web, url).body, url) == set()


@given(st.integers(), st.integers(0, 2), st.integers(0, 90), st.sampled_from(FORMATS))
def test_documents_have_the_links_of_the_oracle(
    seed: int, host: int, index: int, format_: str
) -> None:
    web = web_of(seed, 9, format_)
    url = web.url(host, index)
    document = html.document_fromstring(answer(web, url).body.decode())
    links = dict.fromkeys(urldefrag(urljoin(url, href))[0] for href in document.xpath("//a/@href"))
    links.pop(url, None)  # a fact about a page without links is about itself
    assert list(links) == Oracle(web).links(url)


def test_text_is_escaped_and_titles_match() -> None:
    web = web_of(3, 9, "rdfa")
    bodies = [answer(web, web.url(0, index)).body.decode() for index in range(web.tree.count)]
    assert any("&amp;" in body for body in bodies)
    assert any("&lt;" in body for body in bodies)
    for index, body in enumerate(bodies):
        page = web.page(web.url(0, index))
        assert page
        assert html.document_fromstring(body).findtext(".//title") == page.title


def test_pages_are_as_big_as_benchmarks_want_them() -> None:
    web = Web(Parameters(hosts=9, levels=3, pages=10, links_inside=28, triples=20, sentences=12))
    body = answer(web, web.url(0, 5)).body
    assert 4000 < len(body) < 7000
    assert body.count(b"<li>") >= 38
