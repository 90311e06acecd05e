from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.stores import Refused, StoreUnavailable
from rdfaspider.stores.changes import Change
from rdfaspider.stores.outbox.database import OutboxDatabase


def change(name: str, text: str = "", *, replaces: bool = True) -> Change:
    graph = f"http://site.test/{name}"
    return Change(graph, f'<{graph}> <http://p> "{text}" .\n'.encode(), 1, replaces)


def put(database: OutboxDatabase, change: Change, digest: bytes = b"") -> bool:
    return database.put([(change, digest)])[0]


def waiting(database: OutboxDatabase) -> list[Change]:
    return [entry.change for entry in database.batch(1 << 30)]


def test_what_was_put_waits_in_order_until_it_is_removed(tmp_path: Path) -> None:
    database = OutboxDatabase(str(tmp_path))
    changes = [change(str(number)) for number in range(10)]
    for item in changes:
        assert put(database, item)
    batch = database.batch(3)
    assert [entry.change for entry in batch] == changes[:3]
    database.remove(batch)
    database.close()
    database = OutboxDatabase(str(tmp_path))
    assert waiting(database) == changes[3:]
    assert (database.pages, database.quads) == (7, 7)
    database.remove(database.batch(100))
    assert (database.pages, database.quads, database.size) == (0, 0, 0)
    database.close()


def test_a_page_larger_than_a_batch_goes_alone(tmp_path: Path) -> None:
    database = OutboxDatabase(str(tmp_path))
    large = change("large")._replace(quads=100)
    for item in (large, change("small")):
        put(database, item)
    assert [entry.change for entry in database.batch(5)] == [large]
    database.close()


Step = tuple[str, str, str]
STEPS = st.lists(
    st.tuples(st.sampled_from(["replace", "add", "send"]), st.sampled_from("ab"), st.text("xy")),
    max_size=20,
)


@given(STEPS)
def test_what_arrives_is_what_was_last_put(
    tmp_path_factory: pytest.TempPathFactory, steps: list[Step]
) -> None:
    """Sending at any moments gives the graphs that sending at once would have given."""
    database = OutboxDatabase(str(tmp_path_factory.mktemp("database")))
    wanted: dict[str, list[bytes]] = {}
    store: dict[str, list[bytes]] = {}

    def make(item: Change, graphs: dict[str, list[bytes]]) -> None:
        before = [] if item.replaces else graphs.get(item.graph, [])
        graphs[item.graph] = [*before, item.triples]

    def send() -> None:
        batch = database.batch(100)
        replaced = [entry.change.graph for entry in batch if entry.change.replaces]
        assert len(set(replaced)) == len(replaced)
        for entry in batch:
            make(entry.change, store)
        database.remove(batch)

    for action, name, text in [*steps, ("send", "", "")]:
        if action == "send":
            send()
        else:
            item = change(name, text, replaces=action == "replace")
            make(item, wanted)
            put(database, item)
    assert store == wanted
    assert (database.pages, database.quads, database.size) == (0, 0, 0)
    database.close()


def test_a_digest_that_is_known_is_not_taken_in_again(tmp_path: Path) -> None:
    database = OutboxDatabase(str(tmp_path), target="one")
    assert put(database, change("a"), b"1")
    assert not put(database, change("a"), b"1")
    database.remove(database.batch(10))
    assert not put(database, change("a"), b"1")
    assert put(database, change("a"), b"2")
    database.close()
    database = OutboxDatabase(str(tmp_path), target="another store")
    assert put(database, change("a"), b"2")
    database.start_over()
    assert put(database, change("a"), b"2")
    database.close()


def test_what_was_refused_is_kept_with_the_words_and_can_be_sent_again(tmp_path: Path) -> None:
    database = OutboxDatabase(str(tmp_path))
    for name in "abc":
        put(database, change(name), name.encode())
    first, second, _ = database.batch(10)
    database.refuse(first, Refused(400, "malformed"))
    database.refuse(second, Refused(413, "too large"))
    assert [*database.refused()] == [
        (change("a"), 400, "malformed"),
        (change("b"), 413, "too large"),
    ]
    assert database.pages == 1
    assert put(database, change("a", "mended"), b"a"), "a page that was refused is tried again"
    database.retry_refused()
    assert database.pages == 3
    assert {item.graph[-1] for item in waiting(database)} == set("abc")
    assert change("a", "mended") in waiting(database)
    assert not [*database.refused()]
    database.close()


def test_what_was_superseded_while_being_sent_is_no_longer_there_to_remove(tmp_path: Path) -> None:
    database = OutboxDatabase(str(tmp_path))
    put(database, change("a", "old"))
    batch = database.batch(10)
    put(database, change("a", "new"))
    database.remove(batch)
    assert waiting(database) == [change("a", "new")]
    assert database.pages == 1
    database.close()


def test_what_the_store_holds_is_known_though_it_was_superseded_while_being_sent(
    tmp_path: Path,
) -> None:
    database = OutboxDatabase(str(tmp_path), keep=True)
    database.start_over()
    put(database, change("a", "old")._replace(quads=20))
    batch = database.batch(100)
    put(database, change("a", "new"))
    database.remove(batch)
    assert database.known_quads == 21
    database.start_over()
    assert waiting(database) == [change("a", "new")]
    database.close()


def put_and_die(path: str, acknowledged: str) -> None:
    database = OutboxDatabase(path)
    with Path(acknowledged).open("a", buffering=1) as log:
        for number in range(300):
            put(database, change(str(number), "x" * 500))
            log.write(f"{number}\n")
            if number % 3 == 0:
                database.remove(database.batch(1))
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    context = multiprocessing.get_context("spawn")
    writer = context.Process(target=put_and_die, args=(str(tmp_path), log))
    writer.start()
    writer.join(30)
    assert writer.exitcode == -signal.SIGKILL
    database = OutboxDatabase(str(tmp_path))
    numbers = [int(item.graph.rpartition("/")[2]) for item in waiting(database)]
    assert numbers == list(range(100, 300))
    assert database.pages == 200
    database.close()


def test_two_crawls_do_not_share_an_outbox_but_it_can_be_read(tmp_path: Path) -> None:
    database = OutboxDatabase(str(tmp_path))
    put(database, change("a"))
    with pytest.raises(StoreUnavailable, match=r"in use.*JOBDIR"):
        OutboxDatabase(str(tmp_path))
    reader = OutboxDatabase(str(tmp_path), read_only=True)
    assert list(reader.waiting()) == [change("a")]
    reader.close()
    database.close()


def test_reading_where_there_is_none_and_another_format_are_told(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="run a crawl first"):
        OutboxDatabase(str(tmp_path / "nowhere"), read_only=True)
    OutboxDatabase(str(tmp_path)).close()
    file = sqlite3.connect(tmp_path / "outbox.sqlite")
    file.execute("PRAGMA user_version = 99")
    file.close()
    with pytest.raises(StoreUnavailable, match="format 99"):
        OutboxDatabase(str(tmp_path))


def sent_and_kept(path: Path, *, keep: bool = True) -> OutboxDatabase:
    """Return a database whose store was new, and has taken a, b and a fact, and one more version of b."""
    database = OutboxDatabase(str(path), keep=keep)
    database.start_over()
    for item in (change("a"), change("b", "old"), change("facts", "1", replaces=False)):
        put(database, item, item.triples if item.replaces else b"")
    database.remove(database.batch(10))
    put(database, change("b"), b"b")
    database.remove(database.batch(10))
    return database


def test_what_was_kept_is_sent_again_to_a_store_that_is_new(tmp_path: Path) -> None:
    database = sent_and_kept(tmp_path)
    put(database, change("a", "newer"))
    assert database.pages == 1
    database.start_over()
    facts = change("facts", "1", replaces=False)
    assert waiting(database) == [facts, change("b"), change("a", "newer")]
    assert (database.pages, database.quads) == (3, 3)
    assert not put(database, change("b"), b"b"), "it waits already"
    database.close()


def test_only_a_store_that_can_be_filled_anew_is_suspected_and_that_survives(
    tmp_path: Path,
) -> None:
    for name, keep in (("kept", True), ("not kept", False)):
        database = sent_and_kept(tmp_path / name, keep=keep)
        assert not database.is_suspect
        database.suspect()
        assert database.is_suspect == keep
        database.close()
    database = OutboxDatabase(str(tmp_path / "kept"), keep=True)
    assert database.is_suspect
    database.start_over()
    assert not database.is_suspect
    database.close()


def test_a_store_that_was_there_before_is_never_suspected(tmp_path: Path) -> None:
    database = OutboxDatabase(str(tmp_path), keep=True)
    put(database, change("a"))
    database.remove(database.batch(10))
    database.suspect()
    assert not database.is_suspect
    database.close()


def test_a_run_without_keeping_ends_the_keeping(tmp_path: Path) -> None:
    sent_and_kept(tmp_path).close()
    OutboxDatabase(str(tmp_path)).close()
    database = OutboxDatabase(str(tmp_path), keep=True)
    database.suspect()
    assert not database.is_suspect
    database.close()


def test_what_was_refused_counts_as_taking_space(tmp_path: Path) -> None:
    database = OutboxDatabase(str(tmp_path))
    put(database, change("a"))
    size = database.size
    database.refuse(database.batch(1)[0], Refused(400, "malformed"))
    assert (database.pages, database.size) == (0, size)
    database.close()
    database = OutboxDatabase(str(tmp_path))
    assert database.size == size
    put(database, change("a"))
    assert (database.pages, database.size) == (1, size)
    database.close()


def test_a_change_that_cannot_be_written_is_not_counted(tmp_path: Path) -> None:
    database = OutboxDatabase(str(tmp_path))
    put(database, change("a"))
    before = database.pages, database.quads, database.size
    database._database.execute("PRAGMA max_page_count = 1")
    with pytest.raises(StoreUnavailable, match=r"outbox\.sqlite cannot be written: .* full"):
        put(database, Change("http://site.test/b", os.urandom(1 << 20), 1))
    assert (database.pages, database.quads, database.size) == before
    assert waiting(database) == [change("a")]
    database.close()
