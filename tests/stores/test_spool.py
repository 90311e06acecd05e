from __future__ import annotations

import multiprocessing
import os
import signal
import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.stores import StoreUnavailable
from rdfaspider.stores.changes import Change
from rdfaspider.stores.spool import Spool


def change(name: str, text: str = "", *, replaces: bool = True) -> Change:
    graph = f"http://site.test/{name}"
    return Change(graph, f'<{graph}> <http://p> "{text}" .\n'.encode(), 1, replaces)


def waiting(spool: Spool) -> list[Change]:
    return [entry.change for entry in spool.batch(1 << 30)]


def test_what_was_put_waits_in_order_until_it_is_removed(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path))
    changes = [change(str(number)) for number in range(10)]
    for item in changes:
        assert spool.put(item)
    batch = spool.batch(3)
    assert [entry.change for entry in batch] == changes[:3]
    spool.remove(batch)
    spool.close()
    spool = Spool(str(tmp_path))
    assert waiting(spool) == changes[3:]
    assert (spool.pages, spool.quads) == (7, 7)
    spool.remove(spool.batch(100))
    assert (spool.pages, spool.quads, spool.size) == (0, 0, 0)
    spool.close()


def test_a_page_larger_than_a_batch_goes_alone(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path))
    large = change("large")._replace(quads=100)
    for item in (large, change("small")):
        spool.put(item)
    assert [entry.change for entry in spool.batch(5)] == [large]
    spool.close()


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
    spool = Spool(str(tmp_path_factory.mktemp("spool")))
    wanted: dict[str, list[bytes]] = {}
    store: dict[str, list[bytes]] = {}

    def make(item: Change, graphs: dict[str, list[bytes]]) -> None:
        before = [] if item.replaces else graphs.get(item.graph, [])
        graphs[item.graph] = [*before, item.triples]

    def send() -> None:
        batch = spool.batch(100)
        replaced = [entry.change.graph for entry in batch if entry.change.replaces]
        assert len(set(replaced)) == len(replaced)
        for entry in batch:
            make(entry.change, store)
        spool.remove(batch)

    for action, name, text in [*steps, ("send", "", "")]:
        if action == "send":
            send()
        else:
            item = change(name, text, replaces=action == "replace")
            make(item, wanted)
            spool.put(item)
    assert store == wanted
    assert (spool.pages, spool.quads, spool.size) == (0, 0, 0)
    spool.close()


def test_a_digest_that_is_known_is_not_taken_in_again(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path), target="one")
    assert spool.put(change("a"), b"1")
    assert not spool.put(change("a"), b"1")
    spool.remove(spool.batch(10))
    assert not spool.put(change("a"), b"1")
    assert spool.put(change("a"), b"2")
    spool.close()
    spool = Spool(str(tmp_path), target="another store")
    assert spool.put(change("a"), b"2")
    spool.start_over()
    assert spool.put(change("a"), b"2")
    spool.close()


def test_what_was_refused_is_kept_with_the_words_and_can_be_replayed(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path))
    for name in "abc":
        spool.put(change(name), name.encode())
    first, second, _ = spool.batch(10)
    spool.set_aside(first, 400, "malformed")
    spool.set_aside(second, 413, "too large")
    assert spool.aside() == [
        ("http://site.test/a", 400, "malformed"),
        ("http://site.test/b", 413, "too large"),
    ]
    assert spool.pages == 1
    assert spool.put(change("a", "mended"), b"a"), "a page that was refused is tried again"
    assert spool.replay() == 1
    assert {item.graph[-1] for item in waiting(spool)} == set("abc")
    assert change("a", "mended") in waiting(spool)
    assert spool.aside() == []
    spool.close()


def test_what_was_superseded_while_being_sent_is_no_longer_there_to_remove(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path))
    spool.put(change("a", "old"))
    batch = spool.batch(10)
    spool.put(change("a", "new"))
    spool.remove(batch)
    assert waiting(spool) == [change("a", "new")]
    assert spool.pages == 1
    spool.close()


def test_what_the_store_holds_is_known_though_it_was_superseded_while_being_sent(
    tmp_path: Path,
) -> None:
    spool = Spool(str(tmp_path), keep=True)
    spool.start_over()
    spool.put(change("a", "old")._replace(quads=20))
    batch = spool.batch(100)
    spool.put(change("a", "new"))
    spool.remove(batch)
    assert spool.known_quads == 21
    spool.start_over()
    assert waiting(spool) == [change("a", "new")]
    spool.close()


def put_and_die(path: str, acknowledged: str) -> None:
    spool = Spool(path)
    with Path(acknowledged).open("a", buffering=1) as log:
        for number in range(300):
            spool.put(change(str(number), "x" * 500))
            log.write(f"{number}\n")
            if number % 3 == 0:
                spool.remove(spool.batch(1))
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_was_acknowledged_survives_a_kill(tmp_path: Path) -> None:
    log = str(tmp_path / "log")
    context = multiprocessing.get_context("spawn")
    writer = context.Process(target=put_and_die, args=(str(tmp_path), log))
    writer.start()
    writer.join(30)
    assert writer.exitcode == -signal.SIGKILL
    spool = Spool(str(tmp_path))
    numbers = [int(item.graph.rpartition("/")[2]) for item in waiting(spool)]
    assert numbers == list(range(100, 300))
    assert spool.pages == 200
    spool.close()


def test_two_crawls_do_not_share_an_outbox_but_it_can_be_read(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path))
    spool.put(change("a"))
    with pytest.raises(StoreUnavailable, match=r"in use.*JOBDIR"):
        Spool(str(tmp_path))
    reader = Spool(str(tmp_path), read_only=True)
    assert list(reader.changes()) == [change("a")]
    reader.close()
    spool.close()


def test_reading_where_there_is_none_and_another_format_are_told(tmp_path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="run a crawl first"):
        Spool(str(tmp_path / "nowhere"), read_only=True)
    Spool(str(tmp_path)).close()
    database = sqlite3.connect(tmp_path / "outbox.sqlite")
    database.execute("PRAGMA user_version = 99")
    database.close()
    with pytest.raises(StoreUnavailable, match="format 99"):
        Spool(str(tmp_path))


def sent_and_kept(path: Path, *, keep: bool = True) -> Spool:
    """Return a spool whose store was new, and has taken a, b and a fact, and one more version of b."""
    spool = Spool(str(path), keep=keep)
    spool.start_over()
    for item in (change("a"), change("b", "old"), change("facts", "1", replaces=False)):
        spool.put(item, item.triples if item.replaces else b"")
    spool.remove(spool.batch(10))
    spool.put(change("b"), b"b")
    spool.remove(spool.batch(10))
    return spool


def test_what_was_kept_is_sent_again_to_a_store_that_is_new(tmp_path: Path) -> None:
    spool = sent_and_kept(tmp_path)
    spool.put(change("a", "newer"))
    assert spool.pages == 1
    spool.start_over()
    facts = change("facts", "1", replaces=False)
    assert waiting(spool) == [facts, change("b"), change("a", "newer")]
    assert (spool.pages, spool.quads) == (3, 3)
    assert not spool.put(change("b"), b"b"), "it waits already"
    spool.close()


def test_only_a_store_that_can_be_filled_anew_is_suspected_and_that_survives(
    tmp_path: Path,
) -> None:
    for name, keep in (("kept", True), ("not kept", False)):
        spool = sent_and_kept(tmp_path / name, keep=keep)
        assert not spool.is_suspect
        spool.suspect()
        assert spool.is_suspect == keep
        spool.close()
    spool = Spool(str(tmp_path / "kept"), keep=True)
    assert spool.is_suspect
    spool.start_over()
    assert not spool.is_suspect
    spool.close()


def test_a_store_that_was_there_before_is_never_suspected(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path), keep=True)
    spool.put(change("a"))
    spool.remove(spool.batch(10))
    spool.suspect()
    assert not spool.is_suspect
    spool.close()


def test_a_run_without_keeping_ends_the_keeping(tmp_path: Path) -> None:
    sent_and_kept(tmp_path).close()
    Spool(str(tmp_path)).close()
    spool = Spool(str(tmp_path), keep=True)
    spool.suspect()
    assert not spool.is_suspect
    spool.close()


def test_an_outbox_of_the_first_format_is_read(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path))
    spool.put(change("a"), b"1")
    spool.close()
    database = sqlite3.connect(tmp_path / "outbox.sqlite")
    database.executescript(
        "DROP TABLE sent; ALTER TABLE target DROP COLUMN whole;"
        "ALTER TABLE target DROP COLUMN suspect; PRAGMA user_version = 1;"
    )
    database.close()
    spool = Spool(str(tmp_path), keep=True)
    assert waiting(spool) == [change("a")]
    assert not spool.put(change("a"), b"1")
    spool.close()


def test_what_was_refused_counts_as_taking_space(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path))
    spool.put(change("a"))
    size = spool.size
    spool.set_aside(spool.batch(1)[0], 400, "malformed")
    assert (spool.pages, spool.size) == (0, size)
    spool.close()
    spool = Spool(str(tmp_path))
    assert spool.size == size
    spool.put(change("a"))
    assert (spool.pages, spool.size) == (1, size)
    spool.close()


def test_a_change_that_cannot_be_written_is_not_counted(tmp_path: Path) -> None:
    spool = Spool(str(tmp_path))
    spool.put(change("a"))
    before = spool.pages, spool.quads, spool.size
    spool._database.execute("PRAGMA max_page_count = 1")
    with pytest.raises(StoreUnavailable, match=r"outbox\.sqlite cannot be written: .* full"):
        spool.put(Change("http://site.test/b", os.urandom(1 << 20), 1))
    assert (spool.pages, spool.quads, spool.size) == before
    assert waiting(spool) == [change("a")]
    spool.close()
