"""The outbox in front of servers that fail in every way they can."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad

from rdfaspider.stores import StoreDown, open_outbox, open_store
from rdfaspider.stores.changes import Change
from rdfaspider.stores.outbox import Outbox
from rdfaspider.stores.outbox.database import OutboxDatabase
from rdfaspider.stores.server.access import Access

if TYPE_CHECKING:
    from tests.stores.conftest import Fault, FaultyServer

NAME = NamedNode("http://schema.org/name")
QUICK: dict[str, Any] = {"pause": 0.01, "batch_seconds": 0.01, "drain_seconds": 20.0}


def page(number: int, text: str = "text") -> tuple[str, list[Quad]]:
    graph = f"http://site.test/{number}"
    node = BlankNode(f"p{number}x1")
    name = NamedNode(graph)
    return graph, [Quad(name, NAME, node, name), Quad(node, NAME, Literal(text), name)]


def put(box: Outbox, number: int, text: str = "text") -> bool:
    return box.put([Change.replacing(*page(number, text))])[0]


@contextmanager
def outbox(server: FaultyServer, path: Path, **options: Any) -> Iterator[Outbox]:
    url = f"update+{server.url}"
    access = Access(timeout=0.5)
    with open_outbox(url, str(path), access=access, **{**QUICK, **options}) as opened:
        yield opened


def graphs(server: FaultyServer) -> list[int]:
    """Return the numbers of the pages that arrived, after checking that each is whole."""
    numbers = []
    for graph in server.store.named_graphs():
        assert len(list(server.store.quads_for_pattern(None, None, None, graph))) == 2
        numbers.append(int(graph.value.rpartition("/")[2]))
    return sorted(numbers)


def until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_closing_sends_everything(faulty: FaultyServer, tmp_path: Path) -> None:
    with outbox(faulty, tmp_path, batch_seconds=60, batch_quads=1000) as box:
        for number in range(50):
            assert put(box, number)
    assert graphs(faulty) == list(range(50))
    assert len(faulty.requests) == 1
    assert box.counters["quads"] == 100
    assert box.counters["batches"] == 1


def test_batches_go_by_size_and_by_time(faulty: FaultyServer, tmp_path: Path) -> None:
    with outbox(faulty, tmp_path, batch_seconds=60, batch_quads=20) as box:
        for number in range(10):
            put(box, number)
        until(lambda: graphs(faulty) == list(range(10)))
    with outbox(faulty, tmp_path, batch_seconds=0.05, batch_quads=1000) as box:
        put(box, 99)
        until(lambda: 99 in graphs(faulty))


@pytest.mark.parametrize("fault", [503, 500, 429, 404, "drop", "late"])
def test_an_outage_loses_nothing(faulty: FaultyServer, tmp_path: Path, fault: Fault) -> None:
    """Two of three requests fail, among them some whose update was made all the same."""
    turns = iter(range(1_000_000))
    faulty.fault = lambda body: fault if next(turns) % 3 else None
    with outbox(faulty, tmp_path, batch_quads=7) as box:
        for number in range(40):
            put(box, number)
    assert graphs(faulty) == list(range(40))
    label = "interrupted" if isinstance(fault, str) else str(fault)
    assert box.counters[f"failed/{label}"] >= 10
    assert box.counters["refused"] == 0
    assert box.counters["quads"] == 80


def test_a_server_that_hangs_is_given_up_and_tried_again(
    faulty: FaultyServer, tmp_path: Path
) -> None:
    turns = iter(range(1_000_000))

    def hang(body: bytes) -> Fault:
        if next(turns) == 0:
            time.sleep(1.0)
        return None

    faulty.fault = hang
    with outbox(faulty, tmp_path) as box:
        put(box, 1)
    assert graphs(faulty) == [1]
    assert box.counters["failed/timeout"] >= 1


# After each 500, which two pages cause 3 times alone, there is one request of a test update.
@pytest.mark.parametrize(("status", "most"), [(400, 25), (500, 25 + 2 * (5 + 2 * 3))])
def test_the_page_at_fault_is_found_and_kept(
    faulty: FaultyServer, tmp_path: Path, status: int, most: int
) -> None:
    faulty.fault = lambda body: status if b"poison" in body else None
    with outbox(faulty, tmp_path, batch_seconds=60, batch_quads=1000) as box:
        for number in range(64):
            put(box, number, "poison" if number in (17, 40) else "text")
    assert graphs(faulty) == [number for number in range(64) if number not in (17, 40)]
    assert len(faulty.requests) <= most
    reader = OutboxDatabase(str(tmp_path), read_only=True)
    words = "the words of the server"
    assert [(change.graph, status, said) for change, status, said in reader.refused()] == [
        ("http://site.test/17", status, words),
        ("http://site.test/40", status, words),
    ]
    reader.close()
    faulty.fault = lambda body: None
    with outbox(faulty, tmp_path) as box:
        box.send_refused()
    assert graphs(faulty) == list(range(64))


def test_many_pages_at_fault_in_a_row_hold_up_nothing(faulty: FaultyServer, tmp_path: Path) -> None:
    """As a site full of durations would be for Virtuoso."""
    faulty.fault = lambda body: 500 if re.search(rb"site\.test/[0-9]>", body) else None
    with outbox(faulty, tmp_path) as box:
        for number in range(20):
            put(box, number)
        until(lambda: graphs(faulty) == list(range(10, 20)))
        assert box.counters["refused"] == 10


def test_a_store_that_dies_after_the_test_update_keeps_nothing_of_it(
    faulty: FaultyServer, tmp_path: Path
) -> None:
    faulty.fault = lambda body: 500 if b"site.test" in body else "late"
    with outbox(faulty, tmp_path, drain_seconds=0.1) as box:
        put(box, 1)
        until(lambda: box.counters["failed/500"] > 2)
    assert not list(faulty.store.named_graphs())


def test_a_page_that_virtuoso_cannot_take_is_set_aside(virtuoso: str, tmp_path: Path) -> None:
    url = f"update+{virtuoso}/sparql-auth"
    duration = NamedNode("http://www.w3.org/2001/XMLSchema#duration")
    with open_outbox(url, str(tmp_path), **QUICK) as box:
        for number, value in enumerate([Literal("one"), Literal("PT1M", datatype=duration)]):
            name = NamedNode(f"http://site.test/{number}")
            box.put([Change.replacing(name.value, [Quad(name, NAME, value)])])
    with open_store(url) as store:
        assert [quad.object for quad in store.quads()] == [Literal("one")]
    assert (box.counters["refused"], box.backlog.pages) == (1, 0)


@pytest.mark.parametrize("status", [503, 500])
def test_what_could_not_be_sent_is_sent_by_the_next_run(
    faulty: FaultyServer, tmp_path: Path, status: int
) -> None:
    faulty.fault = lambda body: status
    with outbox(faulty, tmp_path, drain_seconds=0.1) as box:
        for number in range(30):
            put(box, number)
        until(lambda: box.counters[f"failed/{status}"] > 4)
    assert box.backlog.pages == 30
    assert box.counters["refused"] == 0
    faulty.fault = lambda body: None
    with outbox(faulty, tmp_path) as box:
        until(lambda: graphs(faulty) == list(range(30)))


def test_an_outbox_is_full_until_the_store_takes_pages_again(
    faulty: FaultyServer, tmp_path: Path
) -> None:
    faulty.fault = lambda body: 503
    with outbox(faulty, tmp_path, limit_bytes=2_000) as box:
        number = 0
        while not box.is_full:
            put(box, number)
            number += 1
        assert 5 < number < 100
        faulty.fault = lambda body: None
        until(lambda: not box.is_full)
    assert graphs(faulty) == list(range(number))


def test_a_slow_store_is_not_given_up_while_it_takes_pages(
    faulty: FaultyServer, tmp_path: Path
) -> None:
    def slow(body: bytes) -> Fault:
        time.sleep(0.1)
        return None

    faulty.fault = slow
    began = time.monotonic()
    with outbox(faulty, tmp_path, drain_seconds=0.8, batch_quads=2, batch_seconds=60) as box:
        for number in range(20):
            put(box, number)
    assert time.monotonic() - began > 0.8
    assert box.backlog.pages == 0
    assert graphs(faulty) == list(range(20))


def test_an_unchanged_page_is_not_sent_again(faulty: FaultyServer, tmp_path: Path) -> None:
    for run, sent in ((1, [True, True]), (2, [False, True])):
        with outbox(faulty, tmp_path) as box:
            assert [put(box, 1), put(box, 2, f"run {run}")] == sent
            assert not put(box, 1)
    assert graphs(faulty) == [1, 2]
    assert box.counters["quads"] == 2


def test_two_crawlers_write_to_one_server(faulty: FaultyServer, tmp_path: Path) -> None:
    turns = iter(range(1_000_000))
    faulty.fault = lambda body: "late" if next(turns) % 2 else None
    first = outbox(faulty, tmp_path / "a", batch_quads=10)
    second = outbox(faulty, tmp_path / "b", batch_quads=10)
    with first as odd, second as even:
        for number in range(40):
            put(odd if number % 2 else even, number)
    assert graphs(faulty) == list(range(40))


def test_a_server_that_says_no_at_the_start_stops_the_crawl(
    faulty: FaultyServer, tmp_path: Path
) -> None:
    class Closed:
        def create(self) -> bool:
            raise StoreDown("The server answers 401", "401")

    with pytest.raises(StoreDown, match="401"):
        Outbox(Closed(), str(tmp_path))  # type: ignore[arg-type]
    with outbox(faulty, tmp_path):
        pass
