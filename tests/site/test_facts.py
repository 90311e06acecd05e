from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.site.pages.facts import DOCUMENT, HOME, KINDS, Kind, full, things
from rdfaspider.site.tree import SECTIONS


def test_every_section_has_a_kind() -> None:
    assert set(KINDS) == set(SECTIONS)


@pytest.mark.parametrize("kind", [HOME, DOCUMENT, *KINDS.values()], ids=lambda kind: kind.type)
def test_no_kind_says_the_same_twice(kind: Kind) -> None:
    predicates = [predicate for predicate, _ in kind.properties]
    assert len(set(predicates)) == len(predicates)


@given(st.sampled_from(SECTIONS), st.integers(0, 100), st.integers())
def test_things_have_exactly_the_triples_asked_for(section: str, triples: int, seed: int) -> None:
    said = things("http://a/b", KINDS[section], "de", ["http://a/c"], triples, Random(seed))
    distinct = {(thing.subject, fact.predicate) for thing in said for fact in thing.facts}
    assert len(distinct) + len({thing.subject for thing in said}) == triples


def test_the_first_thing_is_the_topic_and_the_second_the_page() -> None:
    said = things("http://a/b", KINDS["books"], "en", ["http://a/c"], 18, Random(0))
    assert [(thing.subject, thing.type) for thing in said] == [
        ("http://a/b#it", "schema:Book"),
        ("http://a/b", "foaf:Document"),
        ("http://a/b#it-2", "schema:Book"),
    ]
    assert full(said[0].type) == "http://schema.org/Book"
    assert {fact.value for fact in said[0].facts if fact.shape == "iri"} == {"http://a/c#it"}


def test_facts_have_all_shapes() -> None:
    numbers = Random(1)
    shapes = {
        fact.shape
        for kind in KINDS.values()
        for thing in things("http://a/b", kind, "en", ["http://a/c"], 20, numbers)
        for fact in thing.facts
    }
    assert shapes == {"iri", "text", "string", "integer", "date", "dateTime"}
