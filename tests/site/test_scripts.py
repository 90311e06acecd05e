"""Pages with scripts: the oracle's view of what servers send, and of what a real browser makes of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

import pytest

from rdfaspider.extract import extract
from rdfaspider.site.answers import answer
from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import ADDING, IDLE, SCRIPTS, Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from rdfaspider.extract import Extraction

# Ten triples: several things on each page, so that a part of them can come by a script.
WEB = Web(
    Parameters(
        seed=1, hosts=8, levels=2, pages=8, triples=10, scripted=1.0, scripts=SCRIPTS, skew=1.0
    )
)
ORACLE = Oracle(WEB)
ADDED = (*ADDING, "framed")


@cache
def pages(kind: str) -> list[str]:
    """Return all pages of a kind."""
    return [
        url
        for host in range(WEB.parameters.hosts)
        for url in ORACLE.urls(host)
        if ORACLE.script(url) == kind
    ]


def read(body: bytes, url: str) -> Extraction:
    return extract(body, url, "text/html; charset=utf-8")


def check(found: Extraction, url: str, *, rendered: bool) -> None:
    """Compare what was found in a page with what the oracle knows of it."""
    assert frozenset(found.quads) == ORACLE.triples(url, rendered=rendered)
    assert found.facts.quads.total() == len(found.quads), "a triple is on the page twice"
    links = [link for link in found.links if link != url]
    assert links == ORACLE.links(url, rendered=rendered)


def test_a_web_without_scripts_is_what_it_was() -> None:
    digest = sha256()
    for parameters in (
        Parameters(),
        Parameters(
            seed=3,
            hosts=5,
            addresses=3,
            triples=12,
            skew=0.5,
            duplicated=0.1,
            similar=0.1,
            moving=0.2,
            changing=0.5,
            sessions=0.5,
            calendar=0.5,
            feeds=True,
            disallowed=0.2,
        ),
    ):
        web = Web(parameters)
        others = (
            *("/robots.txt", "/sitemap.xml", "/feed.xml", "/router.js", "/manager.js"),
            *("/?data", "/books?frame", "/books?script", "/calendar/2026/01"),
        )
        for host in range(parameters.hosts):
            for path in (*others, *map(web.path, range(web.tree.count))):
                got = answer(web, web.origin(host) + path, 100.0)
                head = (got.status, got.content_type, got.headers, got.delay, got.trickle, got.cut)
                digest.update(repr(head).encode() + got.body)
    assert digest.hexdigest() == "027dc00fc58b64ef1595039716e39c92ec873db79a5cf766c4f36c74c7a2aba6"


@pytest.mark.parametrize("kind", SCRIPTS)
def test_servers_send_what_the_oracle_says(kind: str) -> None:
    some = pages(kind)[:20]
    assert some
    for url in some:
        check(read(answer(WEB, url).body, url), url, rendered=False)
        sent, made = (ORACLE.triples(url, rendered=rendered) for rendered in (False, True))
        assert sent <= made
        assert (sent < made) == (kind in ADDING)
        links = ORACLE.links(url), ORACLE.links(url, rendered=True)
        assert (links[0] != links[1]) == (kind in ("router", "late", "framed"))
        if kind == "manager":  # the first of several things is added
            assert 0 < len(sent) < 10
        else:
            assert len(sent) == (10 if kind in (*IDLE, "endless", "greedy") else 0)


def test_a_frame_is_a_page_that_has_the_data() -> None:
    for url in pages("framed")[:5]:
        frame = f"{url}?frame"
        assert ORACLE.links(url, rendered=True)[-1] == frame
        assert len(ORACLE.triples(frame)) == 10
        check(read(answer(WEB, frame).body, frame), frame, rendered=False)
    assert answer(WEB, f"{pages('late')[0]}?frame").status == 404


def test_other_pages_have_no_resources() -> None:
    for kind in SCRIPTS:
        url = pages(kind)[0]
        assert (answer(WEB, f"{url}?data").status == 200) == (kind == "late")
        assert (answer(WEB, f"{url}?script").status == 200) == (kind == "external")


def test_sections_share_a_kind_and_roots_have_none() -> None:
    web = Web(Parameters(hosts=200, pages=8, levels=2, scripted=0.3, scripts=ADDING))
    kinds = [web.script(host, section) for host in range(200) for section in range(1, 9)]
    assert 0.25 < sum(map(bool, kinds)) / len(kinds) < 0.35
    assert set(kinds) == {"", *ADDING}
    for host in range(5):
        assert web.script(host, 0) == ""
        for section in range(1, 9):
            below = {web.script(host, index) for index in web.tree.children(section)}
            assert below == {web.script(host, section)}


def test_counts_and_reach_of_both_views() -> None:
    parameters = Parameters(hosts=3, levels=2, scripted=0.5, scripts=("late", "tracker"))
    oracle = Oracle(Web(parameters))
    sent, made = oracle.counts(), oracle.counts(rendered=True)
    assert sent[0] == made[0] == 3 * 21
    assert sent[1] < made[1] == 3 * 21 * 3
    seeds = [f"http://w{host}.site.test/" for host in range(3)]
    raw, whole = (oracle.reachable(seeds, 9, rendered=rendered) for rendered in (False, True))
    assert raw.pages.keys() <= whole.pages.keys()
    assert len(whole.pages) == 3 * 21


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser that sees the generated web and nothing else."""
    if (chromium := shutil.which("chromium")) is None:
        pytest.skip("no chromium: make .cache/chromium.ready installs it")
    from playwright.sync_api import sync_playwright

    with running(WEB.parameters) as proxy, sync_playwright() as play:
        browser = play.chromium.launch(
            executable_path=chromium, args=["--no-sandbox"], proxy={"server": proxy}
        )
        yield browser
        browser.close()


class Watched:
    """A page of a browser, with all that it asked for and complained of."""

    def __init__(self, browser: Browser) -> None:
        self.page = page = browser.new_page()
        self.asked: list[str] = []
        self.loaded: list[str] = []
        self.complaints: list[str] = []
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("load", lambda page: self.loaded.append(page.url))
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.on(
            "console",
            lambda said: self.complaints.append(f"{said.text} {said.location['url']}"),
        )

    def open(self, url: str) -> Page:
        for noted in (self.asked, self.loaded, self.complaints):
            noted.clear()
        self.page.goto(url)
        return self.page


@pytest.fixture(scope="module")
def watched(browser: Browser) -> Watched:
    return Watched(browser)


@pytest.mark.parametrize("kind", sorted({*SCRIPTS} - {"endless", "greedy"}))
def test_a_browser_makes_what_the_oracle_says(watched: Watched, kind: str) -> None:
    url = pages(kind)[-1]
    page = watched.open(url)
    if kind == "late":
        page.wait_for_selector("h1")
    check(read(page.content().encode(), url), url, rendered=True)
    assert [text for text in watched.complaints if "/favicon.ico" not in text] == []
    assert all(".site.test/" in url for url in watched.asked)


def test_links_of_a_router_load_no_page(watched: Watched) -> None:
    url = next(url for url in pages("router") if f"{url}/a0" in ORACLE.links(url, rendered=True))
    page = watched.open(url)
    title, child = page.title(), f"{url}/a0"
    page.click(f'a[href="{WEB.place(child).path}"]')
    page.wait_for_url(child)
    page.wait_for_function("title => document.title !== title", arg=title)
    check(read(page.content().encode(), child), child, rendered=True)
    page.go_back()
    page.wait_for_function("title => document.title === title", arg=title)
    check(read(page.content().encode(), url), url, rendered=True)
    assert watched.loaded == [url], "a page was loaded"


def test_data_come_when_a_reader_consents(watched: Watched) -> None:
    url = pages("consent")[0]
    page = watched.open(url)
    assert not read(page.content().encode(), url).quads
    page.click("#consent button")
    assert len(read(page.content().encode(), url).quads) == 10


def test_a_greedy_script_takes_ever_more_memory(watched: Watched) -> None:
    page = watched.open(pages("greedy")[0])
    page.wait_for_function("eaten.length > 8")
    page.goto("about:blank")


def test_an_endless_script_never_lets_a_page_load(browser: Browser) -> None:
    from playwright.sync_api import TimeoutError

    page = browser.new_page()
    page.goto(pages("endless")[0], wait_until="commit")
    with pytest.raises(TimeoutError):
        page.wait_for_load_state("domcontentloaded", timeout=1000)
