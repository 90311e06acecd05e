"""A crawl by topics, from the page to the frontier and the store (rows P1, P4, P5, P8 and P9)."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfaspider.spiders.seeds import read_seeds
from tests.console.test_outside import watching
from tests.manyhosts import Answer, Serve, serve

if TYPE_CHECKING:
    from tests.conftest import Crawler, Scrapy

__all__ = ["serve"]

FILE = """\
[food]
keywords = ["recipe", "kitchen"]
[food.baking]
keywords = ["bread"]
[music]
keywords = ["song", "concert"]
"""


def page(words: str, *links: str) -> Answer:
    anchors = "".join(f'<a href="{link}">next</a>' for link in links)
    body = f'<title>{words}</title><p property="http://schema.org/name">{words}</p>{anchors}'
    return 200, {"Content-Type": "text/html"}, body


@pytest.mark.slow
@pytest.mark.parametrize("workers", [None, 2])
def test_the_topic_of_a_page_is_kept_with_its_url_and_its_fetch(
    crawl: Crawler, scrapy: Scrapy, serve: Serve, tmp_path: Path, workers: int | None
) -> None:
    serve(
        {
            "http://a.test/": page("recipe kitchen", "/1", "/2", "/3"),
            "http://a.test/1": page("a song and a concert, not what the link said"),
            "http://a.test/2": page("bread and a song"),
            "http://a.test/3": page("nothing of interest"),
        }
    )
    (tmp_path / "topics.toml").write_text(FILE)
    options = {"FRONTIER_ORDER": "topics", "FRONTIER_TOPICS": "topics.toml"}
    if workers:
        options |= {"WORKERS": str(workers), "FEEDS": "{}"}
        result = scrapy(
            *("crawl", "rdfa", "-a", "seeds=http://a.test/"),
            **options,
            STORE_PROVENANCE=1,
            POLITENESS_DELAY=0,
            JOBDIR="crawl",
        )
        assert result.returncode == 0, result.stderr
    else:
        found = crawl("http://a.test/", STORE_PROVENANCE=1, **options)
        assert len(found.pages) == 4

    def topic_of(url: str) -> str:
        lines = scrapy("frontier", "--url", url).stdout.splitlines()
        return next(line.split()[1] for line in lines if line.startswith("  topic"))

    topics = [topic_of(f"http://a.test/{path}") for path in ("", "1", "2", "3")]
    assert topics == ["food", "music", "food/baking", "none"]
    query = """SELECT ?page ?topic { GRAPH ?crawl {
        ?fetch <http://www.w3.org/ns/prov#generated> ?page ;
            <http://purl.org/dc/elements/1.1/subject> ?topic } }"""
    rows = sorted(scrapy("sparql", query, "--format", "csv").stdout.split()[1:])
    assert rows == [
        "http://a.test/,food",
        "http://a.test/1,music",
        "http://a.test/2,food/baking",
        "http://a.test/2,music",
    ]
    with watching(tmp_path, "-s", "JOBDIR=crawl") as console:
        counts = console.get("crawl")["topics"]
    assert counts == {"food": 1, "music": 1, "food/baking": 1}


@pytest.mark.slow
def test_a_crawl_keeps_its_topics(
    crawl: Crawler, scrapy: Scrapy, serve: Serve, tmp_path: Path
) -> None:
    serve({"http://a.test/": page("recipe")})
    file = tmp_path / "topics.toml"
    file.write_text(FILE)
    options = {"FRONTIER_ORDER": "topics", "FRONTIER_TOPICS": "topics.toml", "JOBDIR": "crawl"}
    crawl("http://a.test/", **options)
    file.write_text(FILE + '[art]\nkeywords = ["painting"]\n')
    assert scrapy("crawl", "rdfa", **options).returncode == 0, "new ones may come after the others"
    file.write_text('[art]\nkeywords = ["painting"]\n' + FILE)
    refused = scrapy("crawl", "rdfa", **options)
    assert refused.returncode != 0
    assert "begun with the topics food, food/baking, music, art, in this order" in refused.stderr


def test_pages_are_found_by_topic(
    crawl: Crawler, scrapy: Scrapy, serve: Serve, tmp_path: Path
) -> None:
    """Keywords find other forms of a word, and phrases; one page is about two topics and has no triples."""

    def about(words: str, language: str = "en") -> Answer:
        status, headers, body = page(words)
        return status, headers, f'<html lang="{language}"><meta charset="utf-8">{body}'

    both = "learning machines and machine learning bake apples"
    serve(
        {
            "http://a.test/": page("our recipes", "/de", "/ai", "/both", "/parts"),
            "http://a.test/de": about("Äpfel", "de"),
            "http://a.test/ai": about("courses in machine learning"),
            "http://a.test/both": (200, {"Content-Type": "text/html"}, f"<title>{both}</title>"),
            "http://a.test/parts": about("learning to repair a machine"),
        }
    )
    (tmp_path / "topics.toml").write_text(
        '[ai]\nkeywords = ["machine learning"]\n[food]\nkeywords = ["recipe", "Apfel"]\n'
        '[food.baking]\nkeywords = ["baked apple"]\n'
    )
    found = crawl("http://a.test/", FRONTIER_TOPICS="topics.toml")
    assert "\n  Topics: food 2, ai 2\n" in found.output
    assert "\nTopics of crawl: food 2, ai 2\n" in scrapy("report", JOBDIR="crawl").stdout
    shown = scrapy("pages", "--topic", "food", "--sort", "topics", JOBDIR="crawl").stdout
    cells = [re.split(r"\s{2,}", line) for line in shown.splitlines()[2:-1]]
    assert [(topics, topic, url) for topics, topic, *_, url, _ in cells] == [
        ("ai food/baking", "ai", "http://a.test/both"),
        ("food", "food", "http://a.test/"),
        ("food", "food", "http://a.test/de"),
    ]
    exported = scrapy("export", "--topic", "food", JOBDIR="crawl").stdout
    assert sorted(exported.split("<")[-1] for exported in exported.splitlines()) == [
        "http://a.test/> .",
        "http://a.test/de> .",
    ]


def hub(*links: str) -> Answer:
    """Return a page with links and without words."""
    return 200, {"Content-Type": "text/html"}, "".join(f'<a href="{each}">·</a>' for each in links)


def test_a_topics_file_starts_a_crawl_that_reads_what_its_hubs_lead_to_first(
    scrapy: Scrapy, serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The hubs are on a private address, have no content, and are partly found by links and redirects."""
    recipes = {f"/r{n}": page("recipe") for n in range(30)}
    others = {f"/o{n}": page("nothing of interest") for n in range(100)}
    asked = serve(
        {
            "/moved": (301, {"Location": "/hub"}, ""),
            "/hub": hub(*list(recipes)[:10], "/hub2"),
            "/hub2": hub(*list(recipes)[10:]),
            "/start": hub(*others),
            **recipes,
            **others,
        }
    )
    server = os.environ["http_proxy"]
    monkeypatch.delenv("http_proxy")
    file = tmp_path / "topics.toml"
    file.write_text(
        f'[food]\nkeywords = ["recipe"]\nseeds = ["{server}/moved"]\n'
        f'[other]\nkeywords = ["other"]\nseeds = ["{server}/start"]\n'
    )
    options = {"FRONTIER_ORDER": "topics", "FRONTIER_TOPICS": "topics.toml"}
    crawl = scrapy(
        *("crawl", "rdfa", "-a", "depth=4"), **options, POLITENESS_DELAY=0, POLITENESS_AT_ONCE=1
    )
    assert crawl.returncode == 0, crawl.stderr
    order = [path for path, _ in asked.times]
    assert len(recipes.keys() & set(order)) == 30
    assert max(order.index(path) for path in recipes) < 100, "of 134"
    handed_on = read_seeds(f"crawl:{tmp_path / 'crawl'}").topics
    assert handed_on == {
        f"{server}/{path}": topic
        for path, topic in (
            ("start", "other"),
            *((each, "food") for each in ("moved", "hub", "hub2")),
        )
    }

    file.write_text('[food]\nkeywords = ["recipe"]\nseeds = ["https://stranger.org/"]\n')
    refused = scrapy("crawl", "rdfa", **options, JOBDIR="another")
    assert refused.returncode == 1
    assert "POLITENESS_CONTACT" in refused.stderr
