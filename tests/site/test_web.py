from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.site.answers import answer
from rdfaspider.site.parameters import FATES, FORMATS, Parameters
from rdfaspider.site.web import Web

SMALL = Parameters(hosts=50, levels=2, pages=5)


@given(st.integers(), st.integers(0, 49), st.integers(0, 30), st.floats(0, 1e6))
def test_a_page_is_a_function_of_seed_url_and_time(
    seed: int, host: int, index: int, at: float
) -> None:
    parameters = replace(SMALL, seed=seed, changing=0.5)
    one, other = Web(parameters), Web(parameters)
    url = one.url(host, index)
    one.page(one.url(7, 7))  # what was asked before does not matter
    assert answer(one, url, at) == answer(other, url, at)


def test_another_seed_is_another_web() -> None:
    pages = [answer(Web(replace(SMALL, seed=seed)), "http://w1.site.test/books") for seed in (1, 2)]
    assert pages[0].body != pages[1].body


def test_any_authority_is_a_host() -> None:
    web = Web(SMALL)
    for authority in (
        "127.0.0.1:8000",
        "localhost",
        "[::1]:80",
        "w0.site.test:8000",
        "w1.site.tes",
    ):
        assert web.place(f"http://{authority}/books").host == 0
    assert web.place("http://w49.site.test:8000/").host == 49
    assert web.url(49, 2, ":8000") == "http://w49.site.test:8000/books"


def test_links_keep_the_port() -> None:
    page = Web(SMALL).page("http://127.0.0.1:8000/")
    assert page
    assert page.links[-1].startswith("http://w")
    assert ".site.test:8000/" in page.links[-1]


@pytest.mark.parametrize(
    "url",
    [
        *("", "http://", "http://w1.site.test", "https://w1.site.test/", "http://w50.site.test/"),
        *(
            "http://W1.site.test/",
            "http://a b/",
            "http://w1.site.test/#x",
            "/books",
            "http://[::1/",
        ),
        *("http://" + "a" * 300 + "/", f"http://w{'9' * 18}.site.test/", "http://a/\udc00"),
    ],
)
def test_what_is_no_url_of_the_web_is_a_value_error(url: str) -> None:
    with pytest.raises(ValueError):
        Web(SMALL).place(url)


@given(st.text(max_size=60))
def test_hostile_urls_are_a_value_error_at_most(text: str) -> None:
    web = Web(replace(SMALL, calendar=1.0, repeating=1.0, sessions=1.0))
    for url in (text, f"http://w1.site.test/{text}", f"http://w1.site.test/books?{text}"):
        assert answer(web, url).status in (200, 404)


def test_links_lead_to_pages_and_never_to_their_own() -> None:
    web = Web(replace(SMALL, links_inside=30, links_across=10))
    for index in range(web.tree.count):
        page = web.page(url := web.url(3, index))
        assert page
        links = [page.origin + link if link[0] == "/" else link for link in page.links]
        assert len(set(links)) == len(links)
        assert url not in links
        assert all(web.page(link) for link in links)
        hosts = Counter(web.place(link).host == 3 for link in links)
        assert 1 <= hosts[False] <= 10
        assert hosts[True] >= 6


def test_links_go_to_all_hosts() -> None:
    web = Web(replace(SMALL, links_across=5))
    pages = filter(None, (web.page(web.url(0, index)) for index in range(web.tree.count)))
    hosts = {web.place(link).host for page in pages for link in page.links if link[0] == "h"}
    assert hosts == set(range(1, 50)) & hosts
    assert len(hosts) > 40


def test_a_web_of_a_quadrillion_pages_costs_nothing() -> None:
    web = Web(Parameters(hosts=10**6, levels=9, pages=10))
    page = web.page(web.url(999_999, web.tree.count - 1))
    assert page
    assert page.path == "/2-books/a9/b9/c9/d9/e9/f9/g9/h9"


@pytest.mark.parametrize("skew", [0.0, 0.5, 0.9])
def test_skew_moves_triples_about_but_not_their_number(skew: float) -> None:
    shares = {"rdfa": 0.2, "jsonld": 0.1, "microdata": 0.1}
    web = Web(Parameters(hosts=400, levels=2, pages=8, skew=skew, **shares))  # type: ignore[arg-type]
    formats = [[web.format(host, index) for index in range(73)] for host in range(400)]
    for name, share in shares.items():
        found = sum(host.count(name) for host in formats) / (400 * 73)
        assert found == pytest.approx(share, abs=0.07 if skew else 0.02)
    rich = sum(host.count("") < 73 * 0.3 for host in formats) / 400
    poor = sum(host.count("") > 73 * 0.9 for host in formats) / 400
    if skew > 0.8:
        assert rich > 0.2
        assert poor > 0.4
    elif not skew:
        assert rich == poor == 0


def test_sections_differ_when_skewed() -> None:
    web = Web(Parameters(levels=2, pages=40, rdfa=0.4, jsonld=0.0, microdata=0.0, skew=0.6))
    found = [
        sum(bool(web.format(0, index)) for index in web.tree.children(section)) / 40
        for section in web.tree.children(0)
    ]
    assert max(found) > 0.7
    assert min(found) < 0.3


@pytest.mark.parametrize("name", FORMATS)
def test_one_format_alone_is_on_every_page(name: str) -> None:
    web = Web(replace(SMALL, **{**dict.fromkeys(FORMATS, 0.0), name: 1.0}))  # type: ignore[arg-type]
    assert {web.format(host, 3) for host in range(50)} == {name}


def test_fates_have_their_shares_and_roots_none() -> None:
    shares = {fate: 0.04 * number for number, fate in enumerate(FATES)}
    web = Web(Parameters(levels=2, pages=100, **shares))  # type: ignore[arg-type]
    found = Counter(web.fate(0, index) for index in range(web.tree.count))
    for fate, share in shares.items():
        assert found[fate] / web.tree.count == pytest.approx(share, abs=0.02)
    assert {web.fate(host, 0) for host in range(100)} == {""}


def test_changing_pages_change_once_a_period() -> None:
    web = Web(Parameters(levels=2, pages=10, changing=0.5, period=60.0))
    changing = [index for index in range(web.tree.count) if web.history.revision(0, index, 60.0)]
    assert len(changing) == pytest.approx(web.tree.count / 2, abs=20)
    for index in changing:
        revisions = [web.history.revision(0, index, at) for at in range(0, 600, 10)]
        assert revisions[0] == 0
        assert {b - a for a, b in pairwise(revisions)} == {0, 1}
        assert revisions[-1] in (9, 10)
        changed = web.history.changed(0, index, 5)
        assert web.history.revision(0, index, changed - 0.01) == 4
        assert web.history.revision(0, index, changed + 0.01) == 5
    first, second = (web.page(web.url(0, changing[0]), at) for at in (0.0, 60.0))
    assert first
    assert second
    assert first.links == second.links
    assert first.things != second.things


def test_hosts_share_addresses() -> None:
    web = Web(Parameters(hosts=2000, addresses=300))
    assert len({web.address(host) for host in range(2000)}) == 300
    assert (web.address(0), web.address(299), web.address(300)) == (
        "127.0.0.1",
        "127.0.1.50",
        "127.0.0.1",
    )
