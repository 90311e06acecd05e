from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyoxigraph import NamedNode

from rdfaspider.site import robots
from rdfaspider.site.answers import answer
from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import FORMATS, Parameters
from rdfaspider.site.web import Web

ROOT = "http://w0.site.test/"
FAULTY = Parameters(
    hosts=4,
    levels=3,
    pages=4,
    links_across=1,
    disallowed=0.2,
    missing=0.1,
    broken=0.05,
    dropped=0.05,
    redirected=0.1,
    looping=0.05,
    duplicated=0.1,
)


@pytest.mark.parametrize(("n", "pages"), [(1, 2), (2, 7), (3, 40), (4, 341), (5, 3906)])
@pytest.mark.parametrize("triples", range(4))
def test_the_accuracy_table_of_the_seed(n: int, pages: int, triples: int) -> None:
    oracle = Oracle(Web(Parameters(levels=n, pages=n, triples=triples)))
    assert oracle.counts() == (pages, pages * triples)


@pytest.mark.parametrize("triples", range(4))
def test_the_accuracy_table_page_by_page(triples: int) -> None:
    oracle = Oracle(Web(Parameters(levels=3, pages=3, triples=triples)))
    reach = oracle.reachable([ROOT], depth=3)
    assert len(reach.pages) == 40
    assert sum(len(oracle.triples(url)) for url in reach.pages) == 40 * triples


def test_what_links_reach_is_what_exists() -> None:
    web = Web(Parameters(hosts=3, links_across=2))
    oracle = Oracle(web)
    reach = oracle.reachable([ROOT], depth=10)
    every = {url for host in range(3) for url in oracle.urls(host)}
    assert set(reach.pages) == set(reach.fetched) == every
    assert not reach.denied
    assert all(map(oracle.exists, every))
    assert len(every) == oracle.counts()[0] == 3 * 85


def test_the_tree_alone_has_its_levels_as_depths() -> None:
    web = Web(Parameters(levels=3, pages=3, links_inside=0))
    reach = Oracle(web).reachable(["http://127.0.0.1:8000/"], depth=2)
    assert len(reach.pages) == 13
    assert all(
        depth == len(url.split("/")) - 3 - (url[-1] == "/") for url, depth in reach.pages.items()
    )


@settings(deadline=None, max_examples=20)
@given(st.integers(), st.integers(0, 6), st.booleans())
def test_a_crawl_by_requests_alone_agrees(seed: int, depth: int, obey: bool) -> None:
    """Crawl by the answers, as a browser would, and meet the same URLs at the same depths."""
    web = Web(replace(FAULTY, seed=seed))
    fetched: dict[str, int] = {}
    pages: dict[str, int] = {}
    denied: dict[str, int] = {}
    front, oracle = [ROOT], Oracle(web)
    for level in range(depth + 1):
        found: list[str] = []
        for url in front:  # grows by redirects, which keep the level
            if url in fetched or url in denied:
                continue
            if obey and not robots.allows(web, url):
                denied[url] = level
                continue
            fetched[url] = level
            reply = answer(web, url)
            if 300 <= reply.status < 400:
                location = dict(reply.headers)["Location"]
                here = web.place(url).origin
                front.append(location if location[0] == "h" else here + location)
            elif reply.status == 200 and not reply.cut:
                pages[url] = level
                found += oracle.links(url)
        front = found
    reach = oracle.reachable([ROOT], depth, obey_robots=obey)
    assert (reach.fetched, reach.pages, reach.denied) == (fetched, pages, denied)


def test_depths_are_the_shortest_ways() -> None:
    oracle = Oracle(Web(FAULTY))
    reach = oracle.reachable([ROOT], depth=9)
    assert list(reach.fetched.values()) == sorted(reach.fetched.values())
    for url, depth in reach.pages.items():
        for link in oracle.links(url):
            assert reach.fetched.get(link, reach.denied.get(link, 99)) <= depth + 1


def test_a_crawl_can_be_kept_inside() -> None:
    web = Web(Parameters(hosts=3, links_across=3, calendar=1.0, repeating=1.0, sessions=1.0))
    oracle = Oracle(web)

    def accept(url: str) -> bool:
        return url.startswith(ROOT) and not any(
            trap in url for trap in ("sid=", "/calendar/", "/archive/")
        )

    assert set(oracle.reachable([ROOT], 9, accept=accept).pages) == set(oracle.urls(0))
    assert len(oracle.reachable([ROOT], 3).pages) > 85


def test_only_the_first_links_of_a_page_are_followed() -> None:
    oracle = Oracle(Web(Parameters(levels=1, pages=30, links_inside=0)))
    assert len(oracle.reachable([ROOT], 1, max_links=10).pages) == 11


def test_robots_are_read_for_the_agent() -> None:
    web = Web(Parameters(pages=20, levels=1, disallowed=0.5, agent="rdfaspider"))
    oracle = Oracle(web)
    own, any_ = (oracle.reachable([ROOT], 1, agent=agent) for agent in ("rdfaspider", "*"))
    assert own.denied != any_.denied
    assert all(not robots.allows(web, url, "rdfaspider") for url in own.denied)
    assert len(own.fetched) + len(own.denied) == 21


def test_triples_are_in_the_graph_of_their_page() -> None:
    web = Web(Parameters(duplicated=0.3, triples=5))
    oracle = Oracle(web)
    for url in oracle.urls():
        quads = oracle.triples(url)
        assert len(quads) == 5
        assert {quad.graph_name for quad in quads} == {NamedNode(url)}


def test_copies_are_known_with_their_originals() -> None:
    web = Web(Parameters(levels=3, pages=6, duplicated=0.2, similar=0.2))
    oracle = Oracle(web)
    fates: Counter[str] = Counter()
    for url in oracle.urls():
        if (found := oracle.original(url)) is None:
            continue
        fate, original = found
        fates[fate] += 1
        own, first = (answer(web, each).body for each in (url, original))
        words, others = own.split(), first.split()
        assert oracle.original(original) is None
        assert oracle.triples(url) and oracle.links(url) == oracle.links(original)
        if fate == "duplicated":
            assert own == first
        else:
            (more,) = [word for word in words if b"Number-" in word]
            assert len(words) == len(others) + 1 and more.partition(b"<")[0] not in first
    assert min(fates["duplicated"], fates["similar"]) > 30


def test_triples_of_some_formats() -> None:
    oracle = Oracle(Web(Parameters(hosts=1)))
    for url in oracle.urls():
        page = oracle.page(url)
        assert page
        for format_ in FORMATS:
            assert bool(oracle.triples(url, [format_])) == (format_ == page.format)


@pytest.mark.parametrize(
    "url", ["", "mailto:x", "http://w9.site.test/", "http://a/none", "http://a"]
)
def test_what_does_not_exist_has_nothing(url: str) -> None:
    oracle = Oracle(Web(Parameters()))
    assert not oracle.exists(url)
    assert oracle.links(url) == []
    assert oracle.redirect(url) is None
    assert oracle.triples(url) == frozenset()
    assert oracle.reachable([url], 3).pages == {}
