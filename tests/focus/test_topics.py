"""The topics of WebParF: file and classifier (rows P1, P4, P5); test_orders.py has the pools."""

from __future__ import annotations

from pathlib import Path
from random import Random
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.focus.topics import Classifier, hint_of, parse_topics, read_topics
from rdfaspider.focus.topics.ranker import (
    links_of,
    merge,
    requested,
    requests_of,
    standing,
    topic_of,
)

TEXT = """\
[food]
keywords = ["recipe", "Kitchen", "dish"]
types = ["http://schema.org/Recipe"]
seeds = ["https://food.example.org/hub"]

[food.baking]
keywords = ["bread", "oven"]

[music]
keywords = ["concert", "song", "dish"]
vocabularies = ["http://purl.org/ontology/mo/"]
"""
FOOD, BAKING, MUSIC = 1, 2, 3


@pytest.fixture
def classifier() -> Classifier:
    return Classifier(parse_topics(TEXT))


def test_a_file_is_read_with_sub_topics_after_their_parent() -> None:
    topics = parse_topics(TEXT)
    assert [(topic.name, topic.parent) for topic in topics] == [
        ("", 0),
        ("food", 0),
        ("food/baking", FOOD),
        ("music", 0),
    ]
    assert topics[FOOD].keywords == {"recipe", "kitchen", "dish"}
    assert topics[FOOD].seeds == ("https://food.example.org/hub",)


@pytest.mark.parametrize(
    ("text", "line", "what"),
    [
        ("", 1, "no topic"),
        ("[food]\nkeywords = [", 2, ""),
        ("[food]\nkeywords = ['a']\n[food]\n", 3, ""),
        ("[food]\nkeywords = ['a']\n\n[music]\n", 4, "needs keywords"),
        ("[food]\nkeywords = 'a'\n", 2, "list"),
        ("[food]\nkeywords = ['a', 3]\n", 2, "list"),
        ("[food]\nkeywords = ['']\n", 2, "list"),
        ("[food]\n# a comment\nkeywords = ['a', '!']\n", 3, "no letter"),
        ("[food]\nkeywords = ['a']\ntypes = ['Recipe']\n", 3, "IRI"),
        ("[food]\nkeywords = ['a']\nkeyword = ['b']\n", 3, "not known"),
        ("[food]\nkeywords = ['a']\nseeds = ['ftp://x/']\n", 3, "seeds"),
        ("[food]\nkeywords = ['a']\n[food.seeds]\nkeywords = ['b']\n", 3, ""),
        ("keywords = ['a']\n", 1, "no topic"),
        ("['a b']\nkeywords = ['a']\n", 1, "name"),
    ],
)
def test_a_wrong_file_is_refused_with_its_line(text: str, line: int, what: str) -> None:
    with pytest.raises(ValueError, match=rf"line {line}: .*{what}"):
        parse_topics(text)


def test_a_wrong_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "topics.toml"
    path.write_text("[food", encoding="utf-8")
    with pytest.raises(ValueError, match=r"topics\.toml: line 1"):
        read_topics(path)


def test_too_many_topics_are_refused() -> None:
    lines = [f"[t{number}]\nkeywords = ['a']" for number in range(256)]
    with pytest.raises(ValueError, match=r"line 511: .*more than 255"):
        parse_topics("\n".join(lines))


@given(st.text(max_size=200))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        assert len(parse_topics(text)) > 1
    except ValueError as error:
        assert str(error).startswith("line ")


@pytest.mark.parametrize(
    ("text", "title", "types", "topic"),
    [
        ("A RECIPE for the kitchen", "", [], FOOD),
        ("nothing of interest", "", [], 0),
        ("one recipe and one concert", "Songs: a song", [], MUSIC),
        ("a dish with bread from the oven", "", [], BAKING),
        ("recipe recipe kitchen kitchen dish dish bread", "recipe", [], FOOD),
        ("", "", ["https://schema.org/Recipe"], FOOD),
        ("", "", ["http://purl.org/ontology/mo/Track"], MUSIC),
    ],
)
def test_pages_are_classified(
    classifier: Classifier, text: str, title: str, types: list[str], topic: int
) -> None:
    found, score = classifier.page(text, title, types)
    assert found == topic
    assert (score > 0) == (topic > 0)


@pytest.mark.parametrize(
    ("keyword", "text", "language", "times"),
    [
        ("recipe", "Recipes: a recipe", "", 2),
        ("machine learning", "machine-learning, Machines learned", "en-GB", 2),
        ("machine learning", "learning machine; a machine for learning", "en", 0),
        ("new york", "new new york", "en", 1),
        ("Apfel", "die Äpfel", "de-AT", 1),
        ("Apfel", "die Äpfel", "en", 0),
        ("cheval", "des chevaux", "fr", 1),
        ("рецепт", "рецепты, рецептами", "ru", 2),
        ("oppskrift", "oppskrifter", "nb-NO", 1),
        ("料理", "料理 料理人", "ja", 1),
        ("recipe", "recipe recipes", "no such language", 1),
    ],
)
def test_keywords_are_found_in_the_forms_of_their_language(
    keyword: str, text: str, language: str, times: int
) -> None:
    classifier = Classifier(parse_topics(f"[it]\nkeywords = ['{keyword}']\n"))
    same = Classifier(parse_topics("[it]\nkeywords = ['x']\n"))
    assert classifier.page(text, language=language) == same.page("x " * times)


def test_any_number_of_languages_is_classified(classifier: Classifier) -> None:
    pages = [classifier.page("recipe", language=f"x{number}") for number in range(200)]
    assert {topic for topic, _ in pages} == {FOOD}


def test_more_signs_make_a_higher_score(classifier: Classifier) -> None:
    weak = classifier.page("one recipe")
    strong = classifier.page("recipe, kitchen, dish", "A recipe", ["http://schema.org/Recipe"])
    assert strong[0] == weak[0] == FOOD
    assert 0 < weak[1] < strong[1] <= 255


def test_a_link_inherits_its_pages_topic_unless_it_says_otherwise(classifier: Classifier) -> None:
    page = classifier.page("recipe and kitchen")
    topic, score = classifier.link(page, "https://x.test/42")
    assert (topic, score < page[1]) == (FOOD, True)
    assert classifier.link(page, "https://x.test/42", "The concert: a song")[0] == MUSIC
    assert classifier.link((0, 0), "https://x.test/bread/1")[0] == BAKING
    assert classifier.link((0, 0), "https://x.test/42") == (0, 0)


def test_a_sub_topic_passes_on_to_links(classifier: Classifier) -> None:
    page = classifier.page("bread from the oven")
    assert page[0] == BAKING
    assert classifier.link(page, "https://x.test/1")[0] == BAKING


def test_relevance_grows_with_links_and_falls_with_requests() -> None:
    assert standing(64) < standing(64, links=8)
    assert standing(64, requests=1) < standing(64)
    assert standing(255, links=500) > standing(255, links=2) > standing(255)
    assert standing(1, requests=10**9) == 0


def test_links_are_counted_however_they_are_put_together() -> None:
    counts, sums = [], []
    for seed in range(200):
        chance = Random(seed)
        hint = hint_of(3, 50)
        for _ in range(500):
            hint = merge(hint, hint_of(3, 50), chance)
        counts.append(links_of(hint))
        sums.append(links_of(merge(hint, hint, chance)))
    assert mean(counts) == pytest.approx(501, rel=0.15)
    assert mean(sums) == 2 * mean(counts)


def test_a_merged_hint_has_the_better_judged_topic_and_all_requests() -> None:
    chance = Random(0)
    found = merge(requested(hint_of(3, 50)), hint_of(200, 51), chance)
    assert (topic_of(found), requests_of(found), links_of(found)) == (200, 1, 2)
    assert topic_of(merge(hint_of(3, 50), hint_of(4, 50), chance)) == 3


@given(st.integers(0, 2**24 - 1), st.integers(0, 2**24 - 1))
def test_no_hint_is_too_large_for_its_place(old: int, new: int) -> None:
    merged = merge(old, new, Random(0))
    assert 0 <= merged < 2**24
    assert links_of(merged) >= max(links_of(old), links_of(new))
    assert 0 <= requested(merged) < 2**24
    assert requests_of(requested(merged)) == min(requests_of(merged) + 1, 7)
