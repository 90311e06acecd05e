"""What is special to RDF4J, against a real server."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from rdfaspider.stores import Refused, StoreUnavailable
from rdfaspider.stores.changes import Change
from rdfaspider.stores.http import Client
from rdfaspider.stores.outbox import Outbox
from rdfaspider.stores.rdf4j import Rdf4jStore
from rdfaspider.stores.spool import Spool

NAME = NamedNode("http://schema.org/name")


def page(number: int, text: str = "x") -> tuple[str, list[Quad]]:
    graph = f"http://site.test/{number}"
    return graph, [Quad(NamedNode(graph), NAME, Literal(text), NamedNode(graph))]


@pytest.fixture
def client(rdf4j: str) -> Client:
    return Client(f"{rdf4j}/{uuid.uuid4().hex}")


def test_a_missing_repository_is_made_once_with_the_index_that_matters(client: Client) -> None:
    store = Rdf4jStore(client)
    assert store.create()
    assert not store.create()
    configuration, _ = client.request("GET", "/config", accept="text/turtle")
    assert b"spoc,posc,cspo" in configuration
    store.close()


def test_what_the_server_refuses_is_refused_alone_and_in_a_batch(client: Client) -> None:
    store = Rdf4jStore(client)
    store.replace(*page(1))
    bad = Change("http://site.test/2", b"<http://a b> <http://p> <http://o> .\n", 1)
    for batch in ([bad], [bad, Change.replacing(*page(1, "new"))], [bad._replace(replaces=False)]):
        with pytest.raises(Refused) as caught:
            store.write(batch)
        assert caught.value.status == 400
        assert caught.value.words
        assert list(store.quads()) == page(1)[1], "all or nothing"
    store.close()


def test_a_repository_that_was_lost_is_filled_again(client: Client, tmp_path: Path) -> None:
    def run() -> list[bool]:
        with Outbox(Rdf4jStore(client), str(tmp_path)) as box:
            return [box.replace(*page(number)) for number in range(3)]

    assert run() == [True] * 3
    assert run() == [False] * 3
    client.request("DELETE")
    assert run() == [True] * 3
    store = Rdf4jStore(client)
    assert store.count() == 3
    store.close()


def test_a_repository_that_was_lost_is_filled_from_what_was_kept(
    client: Client, tmp_path: Path
) -> None:
    def run(*numbers: int) -> int:
        store = Rdf4jStore(client)
        with Outbox(store, str(tmp_path), batch_seconds=0, rebuild=True) as box:
            for number in numbers:
                box.replace(*page(number))
        with store:
            return store.count()

    assert run(1, 2, 3) == 3
    client.request("DELETE")
    assert run() == 3
    assert run(4) == 4


def test_a_repository_whose_server_died_in_a_write_is_made_anew_but_only_ones_own(
    client: Client, tmp_path: Path
) -> None:
    store = Rdf4jStore(client)
    with Outbox(store, str(tmp_path / "own"), rebuild=True) as box:
        box.replace(*page(1))
    with Outbox(store, str(tmp_path / "guest"), rebuild=True) as guest:
        guest.replace(*page(2))
    for name, left in (("guest", 2), ("own", 1)):
        spool = Spool(str(tmp_path / name), keep=True)
        spool.suspect()
        spool.close()
        with Outbox(store, str(tmp_path / name), rebuild=True) as box:
            pass
        with store:
            assert store.count() == left
        assert box.counters["rebuilt"] == (name == "own")


@pytest.mark.parametrize(
    "url", ["http://h/rdf4j-server", "http://h/rdf4j-server/repositories/a%22b", "http://h/"]
)
def test_a_url_that_is_no_repository_is_refused(url: str) -> None:
    with pytest.raises(StoreUnavailable, match="not the URL of a repository"):
        Rdf4jStore(Client(url))
