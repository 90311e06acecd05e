"""What every store must do, run over each implementation."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, Triple

from rdfaspider.stores import Refused, Store, StoreUnavailable, open_store
from rdfaspider.stores.changes import Change
from rdfaspider.stores.nquads import NQuadsStore
from tests.stores.conftest import KINDS, QUERIED, VIRTUOSO, url_of

PAGE = "http://site.test/a"
OTHER = "http://site.test/b"
NAME = NamedNode("http://schema.org/name")

Opener = Callable[[], Store]


def quads(graph: str, *names: str) -> list[Quad]:
    return [Quad(NamedNode(graph), NAME, Literal(name), NamedNode(graph)) for name in names]


def names(store: Store, graph: str) -> set[str]:
    name = NamedNode(graph)
    return {quad.object.value for quad in store.quads() if quad.graph_name == name}  # type: ignore[union-attr]


@pytest.fixture(params=(*KINDS, *VIRTUOSO))
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    url = url_of(request.param, request, tmp_path)
    return lambda: open_store(url)


querying = pytest.mark.parametrize("opener", (*QUERIED, *VIRTUOSO), indirect=True)


@pytest.fixture
def store(opener: Opener) -> Iterator[Store]:
    with opener() as opened:
        yield opened


def test_a_replaced_graph_holds_the_new_quads_only(store: Store) -> None:
    store.replace(PAGE, quads(PAGE, "old", "both"))
    store.replace(OTHER, quads(OTHER, "other"))
    store.replace(PAGE, quads(PAGE, "both", "new"))
    assert names(store, PAGE) == {"both", "new"}
    assert names(store, OTHER) == {"other"}
    assert store.count() == 3


def test_replacing_by_nothing_empties_the_graph_alone(store: Store) -> None:
    store.replace(PAGE, quads(PAGE, "old"))
    store.replace(OTHER, quads(OTHER, "other"))
    store.replace(PAGE, [])
    assert store.count() == 1


def test_a_test_update_leaves_nothing(store: Store) -> None:
    store.replace(PAGE, quads(PAGE, "old"))
    store.test()
    assert [quad.graph_name for quad in store.quads()] == [NamedNode(PAGE)]


def test_add_keeps_what_is_there(store: Store) -> None:
    store.replace(PAGE, quads(PAGE, "one"))
    store.add(quads(PAGE, "two"))
    assert names(store, PAGE) == {"one", "two"}


AWKWARD: list[Literal | NamedNode] = [
    Literal('quote " backslash \\ line\n end }'),
    Literal("not an escape: \\u0041 \\n, tab\t, return\r, dot .\n"),
    Literal("Füße 𝄞", language="de"),
    Literal("1.50", datatype=NamedNode("http://site.test/price")),
    NamedNode("http://site.test/x?a=1&b=%20#f"),
    NamedNode("http://site.test/ü"),
]


def test_awkward_terms_survive_alone_and_in_a_batch(store: Store) -> None:
    subject = NamedNode(PAGE)
    for pages in ([PAGE], [PAGE, OTHER]):
        batch = [
            Change.replacing(page, [Quad(subject, NAME, value) for value in AWKWARD])
            for page in pages
        ]
        store.write(batch)
        expected = {Quad(subject, NAME, v, NamedNode(page)) for page in pages for v in AWKWARD}
        assert set(store.quads()) == expected


@pytest.mark.parametrize("opener", (*KINDS, "virtuoso-gsp"), indirect=True)
def test_blank_nodes_of_pages_stay_apart_and_whole(store: Store) -> None:
    def page(graph: str, label: str) -> Change:
        node = BlankNode(label)
        return Change.replacing(
            graph,
            [
                Quad(node, NAME, Literal("Füße", language="de")),
                Quad(NamedNode(graph), NAME, node),
            ],
        )

    for _ in range(2):
        store.write([page(PAGE, "pax1"), page(OTHER, "pbx1")])
        store.write([page(PAGE, "pax1")])
    stored = list(store.quads())
    assert len(stored) == 4
    nodes = {quad.subject for quad in stored if isinstance(quad.subject, BlankNode)}
    assert len(nodes) == 2
    assert nodes == {quad.object for quad in stored if isinstance(quad.object, BlankNode)}


@pytest.mark.parametrize("opener", ["virtuoso-update"], indirect=True)
def test_virtuoso_refuses_blank_nodes_in_an_update(store: Store) -> None:
    with pytest.raises(Refused, match="Blank node"):
        store.replace(PAGE, [Quad(NamedNode(PAGE), NAME, BlankNode("pax1"))])


@pytest.mark.parametrize("opener", ["virtuoso-gsp"], indirect=True)
def test_many_blank_nodes_of_virtuoso_are_read(store: Store) -> None:
    values = [Literal("x" * number) for number in range(300)]
    nodes = [Quad(BlankNode(f"p{each}x1"), NAME, value) for each, value in enumerate(values)]
    store.replace(PAGE, nodes)
    stored = list(store.quads())
    assert {quad.object for quad in stored} == set(values)
    assert len({quad.subject for quad in stored}) == len(values)


@pytest.mark.parametrize("opener", (*KINDS, "virtuoso-update"), indirect=True)
def test_a_batch_of_many_pages(store: Store) -> None:
    pages = [f"http://site.test/{number}" for number in range(200)]
    store.write([Change.replacing(page, quads(page, "old", page)) for page in pages])
    store.write([Change.replacing(page, quads(page, "new")) for page in pages[:100]])
    assert store.count() == 300
    assert names(store, pages[99]) == {"new"}
    assert names(store, pages[100]) == {"old", pages[100]}


def test_a_batch_may_add_too_and_adding_twice_is_adding_once(store: Store) -> None:
    facts = [Quad(NamedNode(PAGE), NAME, Literal("fact"), NamedNode("urn:crawl"))]
    for _ in range(2):
        store.add(facts)
        store.write([Change.replacing(PAGE, quads(PAGE, "page")), *Change.adding(facts)])
    assert names(store, "urn:crawl") == {"fact"}
    assert names(store, PAGE) == {"page"}
    assert store.count() == 2 or isinstance(store, NQuadsStore)


@pytest.mark.parametrize("graph", ["", "no iri", "http://site.test/a b", "x> <y"])
def test_a_graph_without_a_proper_name_is_refused(store: Store, graph: str) -> None:
    store.replace(PAGE, quads(PAGE, "one"))
    with pytest.raises(ValueError, match=r"(?i)iri"):
        store.replace(graph, [])
    assert store.count() == 1


def test_quads_of_no_graph_are_refused_by_all_that_are_elsewhere() -> None:
    with pytest.raises(ValueError, match="no named graph"):
        Change.adding([Quad(NamedNode(PAGE), NAME, Literal("x"))])


@querying
def test_a_query_sees_the_union_of_all_graphs(store: Store) -> None:
    store.replace(PAGE, quads(PAGE, "one"))
    store.replace(OTHER, quads(OTHER, "two"))
    rows = list(store.query("SELECT ?name { ?s ?p ?name }"))
    assert {row["name"].value for row in rows} == {"one", "two"}
    assert store.query("ASK { ?s ?p 'two' }")
    triples = list(store.query("CONSTRUCT { ?s ?p ?o } { ?s ?p ?o FILTER(?o = 'one') }"))
    assert triples == [Triple(NamedNode(PAGE), NAME, Literal("one"))]


UNION = [
    # All pages, and which page says it, in one query.
    ("SELECT ?name ?g { ?s ?p ?name . GRAPH ?g { ?s ?p ?name } }", {("one", PAGE), ("two", OTHER)}),
    ("SELECT ?n { { SELECT (COUNT(*) AS ?n) { ?s ?p ?o } } } # }", {("2",)}),
    ("SELECT ?name { ?s ?p ?name MINUS { GRAPH ?g { ?s ?p 'one' } } }", {("two",)}),
    ("PREFIX graph: <http://site.test/> SELECT ?graph { graph:b ?from ?graph }", {("two",)}),
    ("SELECT ?g { { GRAPH ?g { ?s ?p '}' } } UNION { GRAPH ?g { ?s ?p 'one' } } }", {(PAGE,)}),
    # Who names the graphs to look into gets these.
    (f"SELECT ?name FROM <{OTHER}> {{ ?s ?p ?name }}", {("two",)}),
    (f"SELECT ?name FROM NAMED <{OTHER}> {{ GRAPH ?g {{ ?s ?p ?name }} }}", {("two",)}),
]


@querying
def test_every_store_looks_at_the_same_graphs(store: Store) -> None:
    store.replace(PAGE, quads(PAGE, "one"))
    store.replace(OTHER, quads(OTHER, "two"))
    for sparql, expected in UNION:
        rows = store.query(sparql)
        assert {tuple(term.value for term in row) for row in rows} == expected, sparql
    said = "CONSTRUCT { ?g ?p ?name } WHERE { ?s ?p ?name . GRAPH ?g { ?s ?p 'one' } }"
    assert list(store.query(said)) == [Triple(NamedNode(PAGE), NAME, Literal("one"))]


@querying
def test_variables_come_in_the_order_of_the_select(store: Store) -> None:
    store.replace(PAGE, quads(PAGE, "one"))
    rows = store.query("SELECT ?z (COUNT(*) AS ?m) ?a { ?a ?y ?z } GROUP BY ?a ?z")
    assert [variable.value for variable in rows.variables] == ["z", "m", "a"]


@querying
def test_a_wrong_query_is_a_syntax_error(store: Store) -> None:
    store.replace(PAGE, quads(PAGE, "one"))
    with pytest.raises(SyntaxError, match=r"1:\d|line 1\b"):
        store.query("SELECT nonsense")


def test_what_was_written_is_there_after_reopening(opener: Opener) -> None:
    with opener() as store:
        store.replace(PAGE, quads(PAGE, "one"))
    with opener() as store:
        assert names(store, PAGE) == {"one"}


def write_and_die(path: str) -> None:
    store = open_store(path)
    for number in range(100):
        store.replace(PAGE, quads(PAGE, f"first {number}", f"second {number}"))
    os.kill(os.getpid(), signal.SIGKILL)


def test_a_killed_writer_leaves_whole_graphs(tmp_path: Path) -> None:
    path = str(tmp_path / "store")
    writer = multiprocessing.get_context("spawn").Process(target=write_and_die, args=(path,))
    writer.start()
    writer.join(30)
    assert writer.exitcode == -signal.SIGKILL
    with open_store(path) as store:
        assert names(store, PAGE) == {"first 99", "second 99"}


def test_a_second_writer_is_told_what_to_do(tmp_path: Path) -> None:
    path = str(tmp_path / "store")
    with open_store(path), pytest.raises(StoreUnavailable, match=r"in use.*STORE_URL"):
        open_store(path)


def test_reading_where_no_store_is_says_so(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="run a crawl first"):
        open_store(str(tmp_path / "nowhere"), read_only=True)


def test_a_store_url_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(StoreUnavailable, match="directory"):
        open_store("gopher://store")


def test_a_closed_store_can_be_read_by_many(tmp_path: Path) -> None:
    path = str(tmp_path / "store")
    with open_store(path) as store:
        store.replace(PAGE, quads(PAGE, "one"))
    with open_store(path, read_only=True) as first, open_store(path, read_only=True) as second:
        assert names(first, PAGE) == names(second, PAGE) == {"one"}
