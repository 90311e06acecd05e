"""The topics of WebParF: file, classifier, pools (rows P1 to P5)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.frontier.topics import Classifier, Pools, parse_topics, read_topics, relevance
from rdfaspider.frontier.topics.pools import rank_of

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
        ("[food]\n# a comment\nkeywords = ['two words']\n", 3, "one word"),
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
    assert relevance(64) < relevance(64, links=8) <= 255
    assert relevance(64, requests=1) < relevance(64)
    assert relevance(250, links=10**9) == 255
    assert relevance(1, requests=10**9) == 0


def test_the_queue_is_score_then_fifo() -> None:
    """Figure 5."""
    pools: Pools[str] = Pools(1)
    for score, item in ((10, "b1"), (90, "a1"), (10, "b2"), (90, "a2")):
        pools.put(0, score, item)
    assert [pools.take() for _ in range(5)] == [(0, "a1"), (0, "a2"), (0, "b1"), (0, "b2"), None]


def test_one_of_each_topic_in_turn() -> None:
    """Figure 6."""
    pools: Pools[int] = Pools(3)
    for number in range(6):
        pools.put(0, 9, number)
    pools.put(2, 1, 100)
    taken = [pools.take() for _ in range(7)]
    assert [topic for topic, _ in filter(None, taken)] == [0, 2, 0, 0, 0, 0, 0]


@given(
    st.lists(st.one_of(st.none(), st.tuples(st.integers(0, 4), st.integers(0, 255))), max_size=200)
)
def test_every_pool_is_served_while_any_has_urls(steps: list[tuple[int, int] | None]) -> None:
    """Between two turns of one topic, each other that had URLs all the while has had its own."""
    pools: Pools[int] = Pools(5)
    waiting: Counter[int] = Counter()
    since: dict[int, set[int]] = {}  # topic → those served since its last turn, or since it waits
    for number, step in enumerate(steps):
        if step is not None:
            pools.put(step[0], step[1], number)
            if not waiting[step[0]]:
                since[step[0]] = set()
            waiting[step[0]] += 1
            continue
        taken = pools.take()
        assert (taken is None) == (not waiting.total())
        if taken is not None:
            for topic, served in since.items():
                if waiting[topic] and topic != taken[0]:
                    assert taken[0] not in served, "twice before another had its turn"
                    served.add(taken[0])
            waiting[taken[0]] -= 1
            since[taken[0]] = set()
        assert len(pools) == waiting.total()


def test_ranks_sort_like_the_pools() -> None:
    assert sorted([rank_of(2, 5), rank_of(1, 5), rank_of(1, 200)]) == [
        rank_of(1, 200),
        rank_of(1, 5),
        rank_of(2, 5),
    ]
