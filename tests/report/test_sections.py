"""What a report on two crawls shows: each number under the name of its crawl."""

from __future__ import annotations

from typing import Any

from rdfaspider.report.charts import draw
from rdfaspider.report.model import Figure, Section
from rdfaspider.report.pages import PageFindings
from rdfaspider.report.sections import sections_of
from rdfaspider.report.sections.figures import MOST, bars, merged
from rdfaspider.report.triples import compact

LAW = {"exponent": 2.0, "start": 1, "pages": 110, "distance": 0.01}
GRAPH = {
    "nodes": 110,
    "links": 120,
    "kinds": {"follow": 120},
    "media": 0,
    "outside": 0,
    "beyond": 0,
    "unfollowed": 0,
    "domains": {"example.org": 3},
    "in_degrees": {1: 100, 2: 10},
    "out_degrees": {1: 100, 2: 10},
    "inward": {"most": 2, "mean": 1.1, "law": LAW},
    "outward": {"most": 2, "mean": 1.1, "law": LAW},
    "weak": 1,
    "largest_weak": 110,
    "strong": 1,
    "tie": {"core": 110, "into": 0, "out": 0, "tendrils": 0, "disconnected": 0},
    "reciprocity": 0.5,
    "levels": [1, 109],
    "unreached": 0,
    "ranks": [(1, 0.5), (2, 0.5)],
    "best": [],
    "hosts": [],
}


def crawl(name: str, **known: Any) -> dict[str, Any]:
    urls = dict.fromkeys(("seen", "waiting", "done", "failed", "denied"), 0)
    return {
        "name": name,
        "made": 0,
        "urls": {**urls, "rejected": {}, "order": "breadth"},
        "pages": PageFindings().as_numbers(MOST),
        "triples": None,
        "links": None,
        "history": None,
        "left_out": [],
        "missing": {"links": "No links."},
        **known,
    }


def section(crawls: list[dict[str, Any]], key: str) -> Section:
    return next(each for each in sections_of(crawls) if each.key == key)


def figure(found: Section, key: str) -> Figure:
    return next(each for each in found.items if isinstance(each, Figure) and each.key == key)


def test_a_crawl_without_a_graph_keeps_its_colour() -> None:
    found = section([crawl("one"), crawl("two", links=GRAPH, missing={})], "graph")
    degrees = figure(found, "in-degrees")
    assert degrees.names == ["one", "two"]
    assert [len(points) for points in degrees.points] == [0, 2]
    assert degrees.fits[0] is None
    assert 'class="fit s1"' in draw(degrees)
    assert 's0"' not in draw(degrees)
    assert found.note == "one: No links."
    assert all(fact.startswith("two: ") for fact in found.facts)
    assert {
        item.sentence.endswith(" Of two.") for item in found.items if item.key == "domains"
    } == {True}


def test_the_largest_of_any_crawl_come_first() -> None:
    assert merged([{"a": 5, "b": 3}, {"b": 1, "c": 1_000}]) == [
        ["c", 0, 1_000],
        ["a", 5, 0],
        ["b", 3, 1],
    ]


def test_what_was_cut_off_is_not_known() -> None:
    long = {f"t{number}": MOST - number + 5 for number in range(MOST)}
    rows = {row[0]: row[1:] for row in merged([long, {"rare": 2}])}
    assert rows["rare"] == [None, 2]
    crawls = [crawl("one", triples={"types": long}), crawl("two", triples={"types": {"rare": 900}})]
    shown = bars("types", "Types", "All.", crawls, "types", of="triples")
    assert "not known" in draw(shown)
    assert len(shown.labels) == MOST + 1
    assert f"{MOST + 1 - 12:,} more are in the CSV" in draw(shown)


def test_terms_of_one_name_are_one() -> None:
    types = {"http://schema.org/Event": 3, "https://schema.org/Event": 4}
    crawls = [crawl("one", triples={"types": types})]
    shown = bars("types", "Types", "All.", crawls, "types", of="triples", named=compact)
    assert (shown.labels, shown.values) == (["schema:Event"], [[7]])


def test_nothing_is_drawn_of_nothing() -> None:
    for each in sections_of([crawl("one")]):
        assert [item.key for item in each.shown] == (["totals"] if each.key == "course" else [])
