"""What a report on two crawls shows: each number under the name of its crawl."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from rdfaspider.pages.table import PageRecord
from rdfaspider.report.charts import draw
from rdfaspider.report.histogram import histogram
from rdfaspider.report.model import Figure, Section, Table
from rdfaspider.report.pages import PageFindings, findings_of
from rdfaspider.report.sections import sections_of
from rdfaspider.report.sections.figures import MOST, Figures, merged
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
    "hubs": [(1, 1.0)],
    "authorities": [(1, 1.0)],
    "media_of_pages": {"image": {1: 10, 3: 2}, "video": {1: 1}},
    "best": [],
    "hosts": [],
}


def crawl(name: str, **known: Any) -> dict[str, Any]:
    urls = dict.fromkeys(("seen", "waiting", "done", "kept", "failed", "denied"), 0)
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


def table(found: Section, key: str) -> list[dict[str, Any]]:
    shown = next(each for each in found.items if isinstance(each, Table) and each.key == key)
    head, *rows = shown.rows()
    return [dict(zip(map(str, head), row, strict=True)) for row in rows]


def aged(host: str, days: float | None) -> PageRecord:
    """Return a page that was changed so many days before it was fetched."""
    known: dict[str, Any] = dict.fromkeys(PageRecord._fields)
    known |= {"url": f"http://{host}/", "host": host, "state": "done", "reason": "page", "depth": 0}
    modified = None if days is None else int(1e9 - 86_400 * days)
    return PageRecord(**known | {"fetched": int(1e9), "modified": modified})


def test_a_site_has_the_ages_of_its_pages() -> None:
    """The mean, the least and the most of those that say when they changed, as WIRE reports them."""
    pages = [("a", 2), ("a", 9.9), ("a", 4), ("a", None), ("b", None), ("c", -3), ("c", 0)]
    found = findings_of([aged(host, days) for host, days in pages])
    hosts = table(section([crawl("one", pages=found.as_numbers(MOST))], "sites"), "hosts")
    assert {
        row["host"]: [row[f"{of} age"] for of in ("mean", "least", "most")] for row in hosts
    } == {
        "a": [5, 2, 9],
        "b": [None, None, None],
        "c": [0, 0, 0],
    }
    assert dict(found.counters["ages"]) == {0: 2, 2: 1, 4: 1, 8: 1}


def test_the_scores_of_a_site_are_summed_up() -> None:
    sums = {"page_ranks": 0.7, "page_hubs": 0.2, "page_authorities": 0.1}
    host = {"host": "a.test", "rank": 0.5, "pages": 3, "links_in": 1, "links_out": 2, **sums}
    found = section([crawl("one", links={**GRAPH, "hosts": [host]}, missing={})], "graph")
    (row,) = table(found, "host-ranks")
    assert [*row.values()] == ["a.test", 0.5, 0.7, 0.2, 0.1, 3, 1, 2]


def test_a_crawl_without_a_graph_keeps_its_colour() -> None:
    found = section([crawl("one"), crawl("two", links=GRAPH, missing={})], "graph")
    degrees = figure(found, "links-in-degrees")
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
    shown = Figures(crawls, "triples").bars("types", "Types", "All.")
    assert "not known" in draw(shown)
    assert len(shown.labels) == MOST + 1
    assert f"{MOST + 1 - 12:,} more are in the CSV" in draw(shown)


def test_terms_of_one_name_are_one() -> None:
    types = {"http://schema.org/Event": 3, "https://schema.org/Event": 4}
    crawls = [crawl("one", triples={"types": types})]
    shown = Figures(crawls, "triples").bars("types", "Types", "All.", named=compact)
    assert (shown.labels, shown.values) == (("schema:Event",), [(7,)])


def test_nothing_is_drawn_of_nothing() -> None:
    for each in sections_of([crawl("one")]):
        assert [item.key for item in each.shown] == (["totals"] if each.key == "course" else [])


def bins(kind: str, values: Iterable[Any]) -> list[tuple[str, int]]:
    return histogram(kind, values)[0]


def test_a_histogram_has_the_finest_bins_of_which_there_are_few() -> None:
    assert histogram("whole", [3, 1, 3, None]) == ([("1", 1), ("3", 2)], 1)
    assert bins("whole", [-5, *range(64)])[:4] == [("-4", 1), ("0", 1), ("1", 1), ("2", 2)]
    assert bins("whole", range(3_000))[-1] == ("2,048", 952)
    assert bins("real", [0.14, 0.11, 2]) == [("0.1", 2), ("2", 1)]
    assert bins("real", [each / 10 for each in range(50)])[-2:] == [("2.0", 20), ("4.0", 10)]
    days = [1_700_000_000 + 86_400 * day for day in range(30)]
    assert bins("time", days)[0] == ("2023-11-14T22:13", 1)
    assert bins("time", [*days, *(day + 7_000 for day in days)])[0] == ("2023-11-14", 1)
    assert bins("text", ["en", "de", "en"]) == [("en", 2), ("de", 1)]
    assert bins("text", map(str, range(5_000)))[0] == ("(others)", 4_000)


def test_media_are_shown_by_kind_and_by_page() -> None:
    found = section([crawl("one", links=GRAPH)], "graph")
    shown = figure(found, "media")
    assert shown.names == ["image", "video"] and shown.points[0] == [(1, 10), (3, 2)]
    both = figure(section([crawl("one", links=GRAPH), crawl("other")], "graph"), "media")
    assert both.names == ["one: image", "one: video"]
