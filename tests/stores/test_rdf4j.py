"""What is special to RDF4J, against a real server."""

from __future__ import annotations

import uuid
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from rdfaspider.stores import Refused, StoreDown, StoreUnavailable, open_outbox, open_store
from rdfaspider.stores.changes import Change
from rdfaspider.stores.outbox import Outbox
from rdfaspider.stores.outbox.database import OutboxDatabase
from rdfaspider.stores.server.http import Client
from rdfaspider.stores.server.rdf4j import Rdf4jStore

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


def put(box: Outbox, number: int, text: str = "x") -> bool:
    return box.put([Change.replacing(*page(number, text))])[0]


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
            return [put(box, number) for number in range(3)]

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
        with Outbox(store, str(tmp_path), batch_seconds=0, rebuilt=store) as box:
            for number in numbers:
                put(box, number)
        with store:
            return store.count()

    assert run(1, 2, 3) == 3
    client.request("DELETE")
    assert run() == 3
    assert run(4) == 4


def suspected(store: Rdf4jStore, directory: Path) -> Outbox:
    """Open and close an outbox that takes its store for one that died in the midst of a write."""
    database = OutboxDatabase(str(directory), keep=True)
    database.suspect()
    database.close()
    with Outbox(store, str(directory), rebuilt=store) as box:
        return box


def test_a_repository_whose_server_died_in_a_write_is_made_anew_but_only_ones_own(
    client: Client, tmp_path: Path
) -> None:
    store = Rdf4jStore(client)
    with Outbox(store, str(tmp_path / "own"), rebuilt=store) as box:
        put(box, 1)
    with Outbox(store, str(tmp_path / "guest"), rebuilt=store) as guest:
        put(guest, 2)
    assert suspected(store, tmp_path / "guest").counters["rebuilt"] == 0
    with store:
        assert store.count() == 2
    store.replace(page(2)[0], [])
    store.replace(*page(1, "damaged"))
    assert suspected(store, tmp_path / "own").counters["rebuilt"] == 1
    with store:
        assert list(store.quads()) == page(1)[1]


def test_a_repository_with_statements_of_others_is_not_made_anew(
    client: Client, tmp_path: Path
) -> None:
    store = Rdf4jStore(client)
    with Outbox(store, str(tmp_path), rebuilt=store) as box:
        put(box, 1)
    store.replace(*page(2))
    assert suspected(store, tmp_path).counters["rebuilt"] == 0
    with store:
        assert store.count() == 2
    client.request("DELETE")
    suspected(store, tmp_path)
    with store:
        assert list(store.quads()) == page(1)[1], "what was sent is kept all the same"


def test_a_repository_of_the_same_name_that_somebody_else_made_is_not_made_anew(
    client: Client, tmp_path: Path
) -> None:
    own, other = Rdf4jStore(client, owner="one"), Rdf4jStore(client, owner="two")
    with Outbox(own, str(tmp_path), rebuilt=own) as box:
        put(box, 1)
    assert own.is_own()
    own.drop()
    other.replace(*page(2))
    assert not own.is_own()
    assert suspected(own, tmp_path).counters["rebuilt"] == 0
    with other:
        assert list(other.quads()) == page(2)[1]


def test_a_repository_that_takes_too_long_to_count_is_not_made_anew(
    client: Client, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It may hold anything. No server can be made to be slow on purpose, so its answer is made up."""

    def count(self: Rdf4jStore) -> int:
        raise StoreDown("It did not answer in time.", "timeout")

    store = Rdf4jStore(client)
    with Outbox(store, str(tmp_path), rebuilt=store) as box:
        put(box, 1)
    store.replace(*page(2))
    with monkeypatch.context() as patch:
        patch.setattr(Rdf4jStore, "count", count)
        assert suspected(store, tmp_path).counters["rebuilt"] == 0
    with store:
        assert store.count() == 2


def test_a_repository_that_is_gone_is_nobody_elses(client: Client, tmp_path: Path) -> None:
    store = Rdf4jStore(client)
    with Outbox(store, str(tmp_path), rebuilt=store) as box:
        put(box, 1)
    client.request("DELETE")
    assert suspected(store, tmp_path).counters["rebuilt"] == 1
    with store:
        assert list(store.quads()) == page(1)[1]


@pytest.mark.parametrize("sail", ["native", "lmdb"])
def test_a_repository_is_made_of_what_the_url_says(rdf4j: str, sail: str) -> None:
    url = f"{rdf4j}/{uuid.uuid4().hex}"
    with open_store(f"rdf4j+{url}?sail={sail}") as store:
        for text in ("old", "new"):
            store.replace(*page(1, text))
            store.write([Change.replacing(*page(number, text)) for number in (2, 3)])
        store.replace(page(3)[0], [])
        expected = [quad for number in (1, 2) for quad in page(number, "new")[1]]
        assert sorted(map(str, store.quads())) == sorted(map(str, expected))
        # One that is there already is asked what it is made of.
    with open_store(f"rdf4j+{url}") as store:
        store.replace(*page(2, "newer"))
        assert store.count() == 2
    kind = {"native": b"NativeStore", "lmdb": b"LmdbStore"}[sail]
    client = Client(url)
    configuration, _ = client.request("GET", "/config", accept="text/turtle")
    client.close()
    assert kind in configuration
    assert b"cspo" in configuration


def test_a_repository_bears_the_mark_of_the_outbox_it_was_made_for(
    rdf4j: str, tmp_path: Path
) -> None:
    url = f"rdf4j+{rdf4j}/{uuid.uuid4().hex}"
    for name, is_own in (("first", True), ("second", False), ("first", True)):
        with open_outbox(url, str(tmp_path / name)) as box:
            assert isinstance(box.store, Rdf4jStore)
            assert box.store.is_own() == is_own
    (tmp_path / "first").rename(tmp_path / "moved")
    with open_outbox(url, str(tmp_path / "moved")) as box:
        assert isinstance(box.store, Rdf4jStore)
        assert box.store.is_own()


def test_a_kind_of_repository_that_is_not_known_is_refused() -> None:
    with pytest.raises(StoreUnavailable, match="sail=native or"):
        open_store("rdf4j+http://h/rdf4j-server/repositories/r?sail=memory")


@pytest.mark.parametrize(
    "url", ["http://h/rdf4j-server", "http://h/rdf4j-server/repositories/a%22b", "http://h/"]
)
def test_a_url_that_is_no_repository_is_refused(url: str) -> None:
    with pytest.raises(StoreUnavailable, match="not the URL of a repository"):
        Rdf4jStore(Client(url))
