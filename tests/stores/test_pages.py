"""Pages picked from a store and removed from it, over each implementation."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from uuid import NAMESPACE_URL, uuid5

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad

from rdfaspider.items import Page, Source
from rdfaspider.stores import PageStore, open_store
from rdfaspider.stores.provenance import crawl_graph, provenance
from rdfaspider.stores.selection import TYPE, Selection
from tests.stores.conftest import KINDS, url_of

NAME, PERSON, BOOK = (NamedNode(f"http://schema.org/{name}") for name in ("name", "Person", "Book"))
A, B, PORT, OTHER, SECURE = (
    "http://site.test/a",
    "http://site.test/b",
    "http://site.test:8080/a",
    "http://other.site.test/site.test/",
    "https://site.test/c",
)
# As it was called before passwords were left out of names.
OLD = "http://me:secret@site.test/d"
CRAWL = crawl_graph("this one")
FACTS = 15  # of a fetch and of the record of its answer


def page(graph: str) -> list[Quad]:
    """Return a person with a name, a thing that is both a person and a book, and something without a type."""
    name = NamedNode(graph)
    both = BlankNode(f"x{abs(hash(graph)):x}")
    triples: list[tuple[NamedNode | BlankNode, NamedNode, NamedNode | Literal]] = [
        (NamedNode(f"{graph}#ada"), TYPE, PERSON),
        (NamedNode(f"{graph}#ada"), NAME, Literal("Ada")),
        (both, TYPE, PERSON),
        (both, TYPE, BOOK),
        (both, NAME, Literal("Autobiography")),
        (name, NAME, Literal("nothing")),
    ]
    return [Quad(*triple, name) for triple in triples]


PAGES = (A, B, PORT, OTHER, SECURE, OLD)


def fetch(graph: str, at: float = 1.0) -> list[Quad]:
    """Return what is known of a fetch whose answer was archived."""
    identity = uuid5(NAMESPACE_URL, f"{graph} {at}").urn
    source = Source(identity, "a.warc.gz", 5, 7, "sha1:A", at)
    return provenance(Page(graph, 0, status=200, source=source), graph, CRAWL, at)


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_of(request.param, request, tmp_path)


@pytest.fixture
def store(url: str) -> Iterator[PageStore]:
    with open_store(url) as store:
        fill(store)
        yield store


def fill(store: PageStore) -> None:
    for graph in PAGES:
        store.replace(graph, page(graph))
        store.add(fetch(graph))


def shape(quads: list[Quad]) -> set[tuple[str, str, str, str]]:
    """Return quads with one name for all blank nodes, which servers call as they like."""
    return {
        tuple("_" if isinstance(term, BlankNode) else str(term) for term in quad)  # type: ignore[misc]
        for quad in quads
    }


def expected(graphs: tuple[str, ...], *places: int) -> set[tuple[str, str, str, str]]:
    return shape([page(graph)[place] for graph in graphs for place in places])


@pytest.mark.parametrize(
    ("selection", "graphs", "places"),
    [
        (Selection.of(hosts=["site.test"]), (A, B, PORT, SECURE, OLD), range(6)),
        (Selection.of(hosts=["SITE.test:8080"]), (PORT,), range(6)),
        (Selection.of(hosts=["other.site.test", "site.test:8080"]), (OTHER, PORT), range(6)),
        (Selection.of(pages=["http://site.test:80/x/../a#b"]), (A,), range(6)),
        (Selection.of(pages=[B], hosts=["other.site.test"]), (B, OTHER), range(6)),
        (Selection.of(hosts=["te.test"]), (), range(6)),
        (Selection.of(types=[BOOK.value]), PAGES, (2, 3, 4)),
        (Selection.of(types=[BOOK.value, PERSON.value]), PAGES, range(5)),
        (Selection.of(predicates=[NAME.value]), PAGES, (1, 4, 5)),
        (Selection.of(predicates=[NAME.value, BOOK.value]), PAGES, (1, 4, 5)),
        (Selection.of(hosts=["other.site.test"], predicates=[TYPE.value]), (OTHER,), (0, 2, 3)),
        (Selection.of(types=[BOOK.value], predicates=[NAME.value]), PAGES, (4,)),
        (
            Selection.of(hosts=["site.test"], types=[PERSON.value], predicates=[NAME.value]),
            (A, B, PORT, SECURE, OLD),
            (1, 4),
        ),
    ],
    ids=range(13),
)
def test_what_is_meant_is_found_once(
    store: PageStore, selection: Selection, graphs: tuple[str, ...], places: tuple[int, ...]
) -> None:
    found = list(store.select(selection))
    assert shape(found) == expected(graphs, *places)
    assert len(found) == len(graphs) * len(places)


def test_everything_is_meant_when_nothing_is_said(store: PageStore) -> None:
    assert len(list(store.select(Selection()))) == len(PAGES) * (6 + FACTS)
    sizes = {graph: 6 for graph in PAGES} | {CRAWL: FACTS * len(PAGES)}
    assert dict(store.sizes(Selection())) == sizes


def test_sizes_are_those_of_the_graphs_that_are_there(store: PageStore) -> None:
    store.replace(A, [])
    store.replace(B, page(B)[:2])
    store.add(page(B)[:1])
    assert dict(store.sizes(Selection.of(hosts=["site.test:8080"]))) == {PORT: 6}
    sizes = dict(store.sizes(Selection.of(pages=[A, B, "http://site.test/nowhere"])))
    assert sizes.keys() == {B}


@pytest.mark.parametrize("url", (*KINDS, "virtuoso-gsp"), indirect=True)
def test_a_removed_page_leaves_nothing_behind(url: str) -> None:
    rest = (A, PORT, SECURE, OLD)
    with open_store(url) as store:
        fill(store)
        store.replace(B, page(B))  # a second version, for stores that remember the first
        store.add(fetch(B, 2.0))
        store.remove(iter([B, OTHER, "http://site.test/nowhere"]))
        assert {graph for graph, _ in store.sizes(Selection())} == {*rest, CRAWL}
        pages = store.select(Selection.of(hosts=["site.test", "other.site.test"]))
        assert shape(list(pages)) == expected(rest, *range(6))
        told = [quad.subject for quad in store.quads() if quad.graph_name == NamedNode(CRAWL)]
        assert set(told) == {quad.subject for graph in rest for quad in fetch(graph)}
        assert len(told) == FACTS * len(rest)
    with open_store(url) as reopened:
        assert reopened.count() == len(rest) * (6 + FACTS)
        reopened.replace(B, page(B)[:2])
        assert dict(reopened.sizes(Selection.of(pages=[B]))) == {B: 2}


def test_more_graphs_can_be_removed_than_fit_into_a_request(url: str) -> None:
    graphs = [f"http://site.test/{number}" for number in range(600)]
    with open_store(url) as store:
        changes = [Quad(NamedNode(g), NAME, Literal(g), NamedNode(g)) for g in graphs]
        store.add(changes)
        store.remove(graphs[:-1])
        assert dict(store.sizes(Selection())) == {graphs[-1]: 1}


MANY = [f"http://site.test/{number}" for number in range(1500)]


def remove_and_die(path: str) -> None:
    def names() -> Iterator[str]:
        yield from MANY[:1200]
        os.kill(os.getpid(), signal.SIGKILL)

    open_store(path).remove(names())


def test_a_removal_that_is_killed_leaves_whole_pages_and_can_be_done_again(tmp_path: Path) -> None:
    path = str(tmp_path / "store")
    with open_store(path) as store:
        store.add(quad for graph in MANY for quad in (*page(graph), *fetch(graph)))
    remover = multiprocessing.get_context("spawn").Process(target=remove_and_die, args=(path,))
    remover.start()
    remover.join(30)
    assert remover.exitcode == -signal.SIGKILL
    with open_store(path) as store:
        left = dict(store.sizes(Selection()))
        assert left == {graph: 6 for graph in MANY[1000:]} | {CRAWL: FACTS * 500}
        store.remove(MANY)
        assert store.count() == 0


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ({"pages": ["ftp://site.test/"]}, "ftp://site.test/ is not the URL of a page"),
        ({"pages": ["site.test"]}, "site.test is not the URL of a page"),
        ({"hosts": ["http://site.test/"]}, "http://site.test/ is not a host: give its name alone"),
        ({"hosts": [""]}, " is not a host"),
        ({"hosts": ["a b"]}, "a b is not a host"),
        ({"types": ["Person"]}, "Person is not an IRI: give it whole"),
        ({"predicates": ["http://a> . <b"]}, "is not an IRI"),
    ],
)
def test_what_is_no_name_is_refused(words: dict[str, list[str]], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Selection.of(**words)
