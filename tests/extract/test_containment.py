from __future__ import annotations

import sys

import pytest
from selectolax.lexbor import SelectolaxError

from rdfaspider.extract import Extraction, Limits, Options, extract
from rdfaspider.extract.containment import contained
from rdfaspider.extract.facts import Facts

PAGE = b"""<html lang=en prefix="x: http://x.test/"><title>T</title>
<p property="x:name">N</p><a href="/b">b</a>
<script type="application/ld+json">{"@context": "https://schema.org", "name": "J"}</script>
<p itemscope><i itemprop="name">M</i></p>"""


class Panic(BaseException):
    """What comes out of Rust code is like this: not an Exception."""


@pytest.mark.parametrize("kind", [ValueError, RecursionError, Panic])
def test_an_error_is_told_with_its_place(kind: type[BaseException]) -> None:
    facts = Facts()
    with contained("rdfa", facts):
        raise kind("one\ntwo " + "x" * 1000)
    assert facts.cuts == {"rdfa error": 1}
    assert not facts.is_out_of_memory
    *place, error = facts.errors["rdfa"].split("\n")
    assert "test_an_error_is_told_with_its_place" in place[0]
    assert error.startswith(f"{kind.__name__}: one two xxx")
    assert len(error) < 250


@pytest.mark.parametrize("kind", [MemoryError, SelectolaxError])
def test_a_lack_of_memory_is_no_error(kind: type[Exception]) -> None:
    facts = Facts()
    with contained("jsonld", facts):
        raise kind
    assert facts.cuts == {"jsonld memory": 1}
    assert facts.is_out_of_memory
    assert facts.errors == {}


def test_what_took_the_memory_is_let_go() -> None:
    large = bytearray(1000)
    held = sys.getrefcount(large)

    def fail(page: bytearray) -> None:
        raise MemoryError

    facts = Facts()
    with contained("page", facts):
        fail(large)
    assert sys.getrefcount(large) == held


@pytest.mark.parametrize("kind", [KeyboardInterrupt, SystemExit])
def test_what_is_meant_for_the_process_gets_out(kind: type[BaseException]) -> None:
    with pytest.raises(kind), contained("rdfa", Facts()):
        raise kind


@pytest.mark.parametrize(
    ("limits", "reader"), [({"prefixes": "few"}, "rdfa"), ({"links": "few"}, "links")]
)
def test_a_reader_that_fails_costs_no_other_anything(limits: dict[str, int], reader: str) -> None:
    """No page is known that makes a reader fail, but a limit that is no number does."""
    extraction: Extraction = extract(
        PAGE, "http://a.test/", options=Options(limits=Limits(**limits))
    )
    assert [*extraction.facts.errors] == [reader]
    assert extraction.facts.title == "T"
    assert len(extraction.links) == (reader != "links")
    found = {name for name, count in extraction.facts.quads.items() if count}
    assert found == {"rdfa", "jsonld", "microdata"} - {reader}
    assert len(extraction.quads) == extraction.facts.quads.total()
