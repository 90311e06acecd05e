from __future__ import annotations

from pathlib import Path

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad
from scrapy.exceptions import NotConfigured, UsageError
from scrapy.utils.test import get_crawler

from rdfaspider.focus.topics import parse_topics
from rdfaspider.items import Page
from rdfaspider.pipelines.topics import TopicsPipeline

TOPICS = parse_topics("""\
[food]
keywords = ["recipe"]
types = ["http://schema.org/Recipe"]
[food.baking]
keywords = ["bread"]
[music]
keywords = ["song", "concert"]
vocabularies = ["http://purl.org/ontology/mo/"]
""")
TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
FOOD, BAKING, MUSIC = 1, 2, 3


def judged(text: str, *quads: Quad, reason: str = "page") -> Page:
    page = Page("http://a.test/", 0, text=text, reason=reason)
    page.quads = quads
    return TopicsPipeline(TOPICS).process_item(page)


def test_a_page_of_several_topics_has_the_best_and_the_names_of_all() -> None:
    page = judged("a song, a concert, bread")
    assert page.topic is not None and page.topic[0] == MUSIC
    assert page.topics == ["music", "food/baking"]
    assert judged("song song song concert concert bread").topics == ["music"], "hardly about bread"
    nothing = judged("nothing of interest")
    assert (nothing.topic, nothing.topics) == ((0, 0), [])


def test_types_of_anything_speak_for_a_topic_and_texts_about_types_do_not() -> None:
    thing = BlankNode("x")
    recipe = NamedNode("https://schema.org/Recipe")
    assert judged("", Quad(thing, TYPE, recipe)).topics == ["food"]
    assert judged("", Quad(NamedNode("http://a.test/é"), TYPE, recipe)).topics == ["food"]
    said = Literal(f"\n_:x {TYPE} {recipe}")
    assert judged("", Quad(thing, NamedNode("http://schema.org/name"), said)).topics == []
    assert judged("", Quad(thing, TYPE, Literal(str(recipe)))).topics == []


def test_what_is_no_page_is_not_judged() -> None:
    assert judged("a recipe", reason="redirect").topic is None


def test_it_needs_a_file_that_is_right(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured):
        TopicsPipeline.from_crawler(get_crawler(settings_dict={"FRONTIER_TOPICS": ""}))
    with pytest.raises(UsageError, match="cannot be read"):
        name = str(tmp_path / "missing.toml")
        TopicsPipeline.from_crawler(get_crawler(settings_dict={"FRONTIER_TOPICS": name}))
