"""What is remembered of names from page to page changes no statement and no warning."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.extract import Extraction, Limits, Options, extract
from rdfaspider.extract.rdfa import names

DECLARATIONS = [
    "",
    'vocab="http://schema.org/"',
    'vocab="terms/"',
    'vocab=""',
    'prefix="a: http://a.example/"',
    'prefix="a: http://other.example/"',
    'prefix="a: relative/"',
    'prefix="schema: http://mine.example/"',
    f'prefix="{" ".join(f"p{number}: http://p.example/" for number in range(20))}"',
    'version="XHTML+RDFa 1.0" xmlns:a="http://ten.example/"',
]
WORDS = ["name", "a:b", "schema:name", "next", "license", "_:x", "http://i.example/", "a:b name"]
WORDS += [" a:b", "name\tbad:", "bad", "p3:x", ":next", "name\n", "x" * 61, "[a:b]"]


@st.composite
def pages(draw: st.DrawFn) -> tuple[str, bytes]:
    url = draw(st.sampled_from(["http://one.example/", "http://two.example/in/"]))
    inside = "".join(
        f'<p {draw(st.sampled_from(DECLARATIONS))}><b {kind}="{word}">v</b></p>'
        for kind, word in draw(
            st.lists(
                st.tuples(
                    st.sampled_from(["property", "typeof", "rel", "rev"]), st.sampled_from(WORDS)
                ),
                min_size=1,
                max_size=5,
            )
        )
    )
    return url, f"<html {draw(st.sampled_from(DECLARATIONS))}><body>{inside}".encode()


def found(url: str, page: bytes) -> tuple[bytes, Counter[str], Counter[str]]:
    extraction: Extraction = extract(page, url)
    return extraction.nquads, extraction.facts.warnings, extraction.facts.cuts


@given(st.lists(pages(), min_size=2, max_size=6))
def test_a_page_is_read_as_if_no_other_had_been_read_before(given: list[tuple[str, bytes]]) -> None:
    one_after_the_other = [found(*page) for page in given]
    for page, before in zip(given, one_after_the_other, strict=True):
        names._remembered.cache_clear()
        assert found(*page) == before, page


def test_names_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    names._remembered.cache_clear()
    page = b'<p vocab="http://schema.org/" property="name">x</p><p property="dc:title">y</p>'
    first = found("http://one.example/", page)
    monkeypatch.setattr(names.Names, "_name", None)
    second = found("http://one.example/", page)
    assert first == second


def test_what_is_remembered_is_bounded() -> None:
    known = names._remembered((names.Names, "http://schema.org/", ()))
    sizes = []
    for start in range(0, 10_000, 300):
        words = "".join(f'<b property="w{number}">v</b>' for number in range(start, start + 300))
        found("http://one.example/", f'<p vocab="http://schema.org/">{words}'.encode())
        sizes.append(len(known))
    assert 100 < max(sizes) <= names._REMEMBERED


def test_a_limit_of_iris_holds_for_remembered_names() -> None:
    page = b'<p vocab="http://schema.org/" property="name">x</p>'
    assert b"schema.org/name" in extract(page, "http://one.example/").nquads
    short = Options(limits=Limits(iri=20))
    assert b"schema.org/name" not in extract(page, "http://a.b/", "text/html", short).nquads


def test_a_space_before_a_name_does_not_carry_it_to_other_sites() -> None:
    page = b'<html prefix="ex: rel#"><p property=" ex:foo">x</p></html>'
    for host in ("one", "two"):
        (quad,) = extract(page, f"https://{host}.example/", "text/html").quads
        assert quad.predicate.value == f"https://{host}.example/rel#foo"


def test_long_prefixes_are_not_remembered() -> None:
    before = names._remembered.cache_info().currsize
    for number in range(20):
        prefix = f"p{number}" + "x" * 100_000
        page = f'<html prefix="{prefix}: http://a.example/"><p property="{prefix}:b">v</p></html>'
        extract(page.encode(), "http://one.example/", "text/html")
        page = f'<html prefix="{prefix}: http://a.example/"><p property="http://i.example/">v</p>'
        extract(page.encode(), "http://one.example/", "text/html")
    assert names._remembered.cache_info().currsize == before
