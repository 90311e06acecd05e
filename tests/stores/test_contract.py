"""What every store must do, run over each implementation."""

from __future__ import annotations

import multiprocessing
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad

from rdfaspider.stores import Store, StoreUnavailable, open_store

PAGE = "http://site.test/a"
OTHER = "http://site.test/b"
NAME = NamedNode("http://schema.org/name")

Opener = Callable[[], Store]


def quads(graph: str, *names: str) -> list[Quad]:
    return [Quad(NamedNode(graph), NAME, Literal(name), NamedNode(graph)) for name in names]


def names(store: Store, graph: str) -> set[str]:
    rows = store.query(f"SELECT ?name {{ GRAPH <{graph}> {{ ?s <{NAME.value}> ?name }} }}")
    return {row["name"].value for row in rows}


@pytest.fixture(params=["oxigraph"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    return {"oxigraph": lambda: open_store(str(tmp_path / "store"))}[request.param]


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


def test_add_keeps_what_is_there(store: Store) -> None:
    store.replace(PAGE, quads(PAGE, "one"))
    store.add(quads(PAGE, "two"))
    assert names(store, PAGE) == {"one", "two"}


def test_awkward_terms_survive_a_replacement(store: Store) -> None:
    graph = NamedNode(PAGE)
    node = BlankNode("b1")
    written = [
        Quad(node, NAME, Literal('quote " backslash \\ line\n end }'), graph),
        Quad(node, NAME, Literal("Füße", language="de"), graph),
        Quad(NamedNode("http://site.test/x?a=1#f"), NAME, node, graph),
    ]
    for _ in range(2):
        store.replace(PAGE, written)
    rows = store.query(f"SELECT ?o {{ ?s <{NAME.value}> ?o FILTER(isLiteral(?o)) }}")
    assert {str(row["o"]) for row in rows} == {str(written[0].object), str(written[1].object)}
    assert store.query(f"ASK {{ ?x <{NAME.value}> ?b . ?b <{NAME.value}> 'Füße'@de }}")


def test_a_query_sees_the_union_of_all_graphs(store: Store) -> None:
    store.replace(PAGE, quads(PAGE, "one"))
    store.replace(OTHER, quads(OTHER, "two"))
    rows = list(store.query("SELECT ?name { ?s ?p ?name }"))
    assert {row["name"].value for row in rows} == {"one", "two"}


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
    with open_store(path), pytest.raises(StoreUnavailable, match=r"in use.*JOBDIR"):
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
