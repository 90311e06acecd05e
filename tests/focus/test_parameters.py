from __future__ import annotations

from rdfaspider.focus.parameters import IdleParameters

SITE = "http://h.test/"


def learnt(pages: list[tuple[str, str]], most: int = 1_000) -> list[str]:
    parameters = IdleParameters(most)
    found: list[str] = []
    for path, body in pages:
        found += parameters.learn(SITE + path, (), body.encode())
    return found


def test_pages_that_are_the_same_but_for_the_parameter() -> None:
    pages = [
        (f"{page}?a=1&v={page}{visit}", f"{page} <a href='/x?v={page}{visit}&amp;a=1'>")
        for page in range(3)
        for visit in range(2)
    ]
    assert learnt(pages) == ["v"]
    assert learnt(pages, most=1) == [], "no more than that is remembered"


def test_a_link_to_the_page_itself_names_the_parameter_beforehand() -> None:
    parameters = IdleParameters()
    for page in range(3):
        url = f"{SITE}{page}"
        assert not parameters.learn(url, [f"{url}?v={page}"], b"page %d" % page)
    found = [parameters.learn(f"{SITE}{n}?v={n}", (), b"page %d" % n) for n in range(3)]
    assert found == [[], [], ["v"]]


def test_what_chooses_a_page_stays() -> None:
    articles = [(f"?id={number}", f"article {number}") for number in range(20)]
    assert learnt(articles) == []
    missing = [(f"?id={number}", "no such article") for number in range(20)]
    assert learnt(missing) == [], "one page for all of them shows nothing"
    first = [(f"{n}{query}", f"list {n}") for n in range(9) for query in ("?page=1", "")]
    assert learnt(first) == [], "one value neither"
    lists = [
        (f"{n}?sort={by}", f"list {n} {by if n % 3 else ''}") for n in range(30) for by in "ab"
    ]
    assert learnt(lists) == [], "it matters to most"


def test_a_page_that_is_never_the_same_is_outweighed() -> None:
    pages = [(f"?v={visit}", f"now {visit}") for visit in range(2)]
    pages += [
        (f"{page}?v={page}{visit}", f"page {page}") for page in range(5) for visit in range(2)
    ]
    assert learnt(pages) == ["v"]
