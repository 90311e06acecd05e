from __future__ import annotations

import pytest

from rdfaspider.focus.parameters import IdleParameters

SITE = "http://h.test"
Fetched = list[tuple[str, str]]  # paths and bodies


def learnt(pages: Fetched, most: int = 1_000, links: str = "/x?{}=1") -> list[str]:
    """Return what is learnt from pages with a link for each of their parameters."""
    parameters = IdleParameters(most)
    found: list[str] = []
    for path, body in pages:
        names = [part.partition("=")[0] for part in path.partition("?")[2].split("&")]
        linked = [SITE + links.format(name) for name in names]
        found += parameters.learn(SITE + path, linked, body.encode())
    return found


def test_pages_that_are_the_same_but_for_the_parameter() -> None:
    pages = [
        (f"/{page}?a=1&v={page}{visit}", f"{page} <a href='/x?v={page}{visit}&amp;a=1'>")
        for page in range(3)
        for visit in range(3)
    ]
    assert learnt(pages) == ["v"]
    assert learnt(pages, most=1) == [], "no more than that is remembered"
    assert learnt(pages, links="/x") == [], "no page hands it on"


def test_a_value_that_looks_drawn_is_left_out_wherever_it_is() -> None:
    drawn = [
        (f"/{n}?v=4ac{n}b7{visit}e", f"{n}: 4ac{n}b7{visit}e") for n in "123" for visit in "456"
    ]
    assert learnt(drawn) == ["v"]


def test_a_link_to_the_page_itself_names_the_parameter_beforehand() -> None:
    parameters = IdleParameters()
    found = []
    for page in range(3):
        url = f"{SITE}/{page}"
        for own in (url, f"{url}?v=1", f"{url}?v=2"):
            found += parameters.learn(own, [f"{url}?v={page}"], b"page %d" % page)
    assert found == ["v"]


def test_what_chooses_a_page_stays() -> None:
    articles = [(f"/?id={number}", f"article {number}") for number in range(20)]
    assert learnt(articles) == []
    missing = [(f"/?id={number}", "no such article") for number in range(20)]
    assert learnt(missing) == [], "one page for all of them shows nothing"
    first = [(f"/{n}{query}", f"list {n}") for n in range(9) for query in ("?page=1", "")]
    assert learnt(first) == [], "one value neither"
    lists = [
        (f"/{n}?sort={by}", f"list {n} {by if n % 3 else ''}") for n in range(30) for by in "abc"
    ]
    assert learnt(lists) == [], "it matters to most"


@pytest.mark.parametrize("words", ["The page {} is back soon", "<a href='{}?id=1'>Try again</a>"])
def test_one_page_for_a_whole_site_that_names_its_path(words: str) -> None:
    paths = ("/item.php", "/news.php", "/en/blog.php")
    pages = [(f"{path}?id={number}", words.format(path)) for path in paths for number in range(9)]
    assert learnt(pages) == []


def test_searches_that_find_nothing() -> None:
    words = ("photography", "architecture", "literature", "12345678")
    pages = [
        (f"/search?q={word}&lang={language}", f"<html lang={language}>0 results for {word}")
        for language in ("de", "fr", "en")
        for word in words
    ]
    assert learnt(pages) == []


def test_a_page_that_is_never_the_same_is_outweighed() -> None:
    pages = [(f"/?v={visit}", f"now {visit}") for visit in range(2)]
    pages += [
        (f"/{page}?v={page}{visit}", f"page {page}") for page in range(5) for visit in range(3)
    ]
    assert learnt(pages) == ["v"]
