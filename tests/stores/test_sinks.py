"""What every sink must do, run over each implementation: a crawl's pages reach the store as they are."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, parse
from scrapy.statscollectors import MemoryStatsCollector
from scrapy.utils.test import get_crawler

from rdfaspider.items import Page
from rdfaspider.pipelines.store import StorePipeline
from rdfaspider.stores import open_sink, open_store
from rdfaspider.stores.changes import Change
from rdfaspider.stores.kinds import held_in
from tests.stores.conftest import KINDS, url_of
from tests.stores.test_contract import AWKWARD, NAME, OTHER, PAGE, quads


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_of(request.param, request, tmp_path)


def stored(url: str) -> set[Quad]:
    with open_store(url, read_only=True) as store:
        return set(store.quads())


def test_awkward_terms_arrive(url: str, tmp_path: Path) -> None:
    subject = NamedNode(PAGE)
    page = Change.replacing(PAGE, [Quad(subject, NAME, value) for value in AWKWARD])
    with open_sink(url, str(tmp_path / "outbox")) as sink:
        assert sink.put([page, Change.replacing(OTHER, quads(OTHER, "other"))]) == [True, True]
        assert sink.put([page]) == [False]
    expected = {Quad(subject, NAME, value, subject) for value in AWKWARD}
    assert stored(url) == expected | set(quads(OTHER, "other"))
    assert sink.backlog[:2] == (0, 0)
    assert sink.counters["quads"] == len(AWKWARD) + 1


def test_blank_nodes_of_pages_stay_apart(url: str, tmp_path: Path) -> None:
    with open_sink(url, str(tmp_path / "outbox")) as sink:
        for graph, label in ((PAGE, "pax1"), (OTHER, "pbx1")):
            node = BlankNode(label)
            pair = [Quad(node, NAME, Literal("x")), Quad(NamedNode(graph), NAME, node)]
            sink.put([Change.replacing(graph, pair)])
    nodes = [quad.subject for quad in stored(url) if isinstance(quad.subject, BlankNode)]
    assert len({*nodes}) == 2
    assert len(stored(url)) == 4


def test_a_page_that_differs_in_labels_only_is_not_written(url: str, tmp_path: Path) -> None:
    with open_sink(url, str(tmp_path / "outbox")) as sink:
        answers = [
            sink.put([Change.replacing(PAGE, [Quad(BlankNode(label), NAME, Literal(text))])])
            for label, text in (("a", "x"), ("b", "x"), ("a", "y"))
        ]
    assert answers[0] == answers[2] == [True]
    assert [quad.object.value for quad in stored(url)] == ["y"]  # type: ignore[union-attr]
    with open_sink(url, str(tmp_path / "outbox")) as sink:
        assert sink.put([Change.replacing(PAGE, [Quad(BlankNode("c"), NAME, Literal("y"))])]) == [
            False
        ]


# Whatever a lenient parser lets through: no IRI may contain these characters.
FORBIDDEN = '\n\r\t \x00<>"{}|^`\\'
# IRIs that would look like the end of a line, or like another statement, if they were written as they are.
TEARING = ["http://x .\n", f"http://x> <{PAGE}> .\n<http://y", f'http://x> "stolen" <{PAGE}> .\n#']


def escaped(iri: str) -> str:
    return "".join(f"\\u{ord(each):04X}" if each in FORBIDDEN else each for each in iri)


def hostile(graph: str) -> list[Quad]:
    """Return quads with an invalid IRI in each place, as a user's own pipeline may make them."""
    iris = [*(f"http://site.test/x{each}y" for each in FORBIDDEN), *TEARING, "relative"]
    terms = [f"<{escaped(iri)}>" for iri in iris]
    lines = [f"<{graph}> <http://p> {term} <{graph}> ." for term in terms]
    lines += [f'{terms[0]} <http://p> "s" <{graph}> .', f'<{graph}> {terms[0]} "p" <{graph}> .']
    lines += [f'<{graph}> <http://p> "d"^^{terms[0]} <{graph}> .']
    lines += [f'<{graph}> <http://p> "g" {terms[0]} .']
    return [*parse("\n".join(lines), RdfFormat.N_QUADS, lenient=True)]


def page(number: int, *more: Quad) -> Page:
    graph = f"http://site.test/{number}"
    page = Page(graph, 0)
    first, last = quads(graph, "first", "last")
    page.quads = [first, *more, last]
    return page


def raw(number: int) -> Page:
    """Return a page whose N-Quads somebody has written by hand: in one IRI each, what may not be there."""
    graph = f"http://site.test/{number}"
    first, last = (f'<{graph}> <{NAME.value}> "{name}" <{graph}> .\n' for name in ("first", "last"))
    bad = [f"<{graph}> <http://p> <http://x{each}y> <{graph}> .\n" for each in '\n\t "{|^`']
    if number % 2:  # with these it is not N-Quads any more
        bad = [f"<{graph}> <http://p> <http://x{each}y> <{graph}> .\n" for each in "> \\"]
    return Page(graph, 0, nquads=(first + "".join(bad) + last).encode())


def test_a_quad_that_no_store_can_take_is_dropped_alone_and_counted(
    url: str, tmp_path: Path
) -> None:
    """Set by a pipeline after the filter; its neighbours on the page and the pages beside it arrive."""
    crawler = get_crawler()
    stats = MemoryStatsCollector(crawler)
    bad = hostile("http://site.test/1")
    pages = [page(0), page(1, *bad), page(2), raw(3), raw(4), page(5)]

    async def run() -> None:
        sink = open_sink(url, str(tmp_path / "outbox"))
        pipeline = StorePipeline(stats, crawler.signals, sink)
        pipeline.open_spider()
        await asyncio.gather(*map(pipeline.process_item, pages))
        await pipeline.close_spider()

    asyncio.run(run())
    expected = {quad for n in range(6) for quad in quads(f"http://site.test/{n}", "first", "last")}
    assert stored(url) == expected
    assert stats.get_value("store/dropped/iri") == len(bad) + 3 + 8
    assert stats.get_value("store/aside") == 0
    assert stats.get_value("store/sent") == len(expected)


def test_a_line_feed_in_provenance_or_a_graph_name_never_gets_that_far() -> None:
    (bad, *_) = hostile(PAGE)
    with pytest.raises(ValueError, match="invalid IRI"):
        Change.adding([bad])
    with pytest.raises(ValueError, match="IRI"):
        Change.of_page("http://site.test/x\ny", b"")


def test_what_is_held_is_what_the_store_has_of_pages(url: str, tmp_path: Path) -> None:
    """Each version counts once, what was cleared not at all, and neither does provenance."""
    outbox = str(tmp_path / "outbox")
    with open_sink(url, outbox) as sink:
        sink.put([Change.replacing(PAGE, quads(PAGE, "a", "b", "c"))])
        sink.put([Change.replacing(OTHER, quads(OTHER, "a", "b"))])
        sink.put([Change.replacing(PAGE, quads(PAGE, "d"))])
        sink.put(Change.adding(quads("urn:rdfaspider:crawl:1", "e")))
        assert sink.backlog.held == 3
    assert held_in(url, tmp_path / "outbox") == 3
    with open_sink(url, outbox) as sink:
        assert sink.backlog.held == 3
        sink.put([Change.replacing(PAGE, quads(PAGE, "d"))])
        sink.put([Change.replacing(OTHER, [])])
        assert sink.backlog.held == 1
    assert len(stored(url)) == 1 + 1
