"""The embedded store behind its journal; what every store must do is in test_contract.py."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import signal
import sys
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from threading import Barrier, Event
from time import monotonic, sleep
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pyoxigraph import Literal, NamedNode, Quad

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.stores import Store, StoreUnavailable, open_store
from rdfaspider.stores.changes import Change
from rdfaspider.stores.embedded import Embedded, merging
from rdfaspider.stores.embedded.journal import Journal
from rdfaspider.stores.embedded.oxigraph import OxigraphStore, _shares
from rdfaspider.stores.kinds import held_in


def graph(number: int) -> str:
    return f"http://a.test/{number}"


def change(number: int, *names: str, replaces: bool = True) -> Change:
    lines = (f'<{graph(number)}> <http://schema.org/name> "{name}" .\n' for name in names)
    return Change(graph(number), "".join(lines).encode(), len(names), replaces)


def embedded(path: Path, load_quads: int = 10) -> Embedded:
    return Embedded(OxigraphStore(str(path)), load_quads=load_quads)


def names(store: Store | Embedded) -> set[tuple[str, str]]:
    if isinstance(store, Embedded):
        store.load()
        store = store.store
    return {(quad.graph_name.value, quad.object.value) for quad in store.quads()}  # type: ignore[union-attr]


def test_what_waits_is_loaded_when_it_is_enough(tmp_path: Path) -> None:
    with embedded(tmp_path) as store:
        store.put([change(0, *"abcde")])
        assert store.backlog.pages == 1
        assert not store.store.count()
        store.put([change(1, *"abcde")])
        store.load()
        assert store.backlog[:2] == (0, 0)
        assert store.store.count() == 10
        assert (store.counters["batches"], store.counters["quads"]) == (1, 10)
        assert not [*(tmp_path / "journal").glob("*.nq")]


def test_loads_grow_with_what_was_loaded(tmp_path: Path) -> None:
    with Embedded(OxigraphStore(str(tmp_path)), load_quads=2, most_quads=4) as store:
        loads = []
        for number in range(24):
            store.put([change(number, "a")])
            store._loader.submit(int).result()  # waits for a load that this began
            loads.append(store.counters["batches"])
    # Two each time, half of what was loaded before when that is more, and never more than four.
    assert [loads.count(batch) for batch in range(1, 7)] == [2, 2, 3, 4, 4, 4]


def test_many_quads_are_loaded_in_bulk(tmp_path: Path) -> None:
    with embedded(tmp_path, 10_000) as store:
        store.put([change(number, *map(str, range(100))) for number in range(100)])
        assert len(names(store)) == 10_000
        store.put([change(number, "new") for number in range(50)])
        assert len(names(store)) == 5_050


def many(version: str, first: int = 0, count: int = 201) -> list[Change]:
    """Return replacements of graphs, each with an addition about a thing without a name."""
    found = []
    for at in range(first, first + count):
        added = (
            f'_:b{at} <http://p.test/p> "{version}" .\n_:b{at} <http://p.test/q> "{version}" .\n'
        )
        found.append(change(at, *(f"{version}{name}" for name in range(100))))
        found.append(Change(graph(at), added.encode(), 2, replaces=False))
    return found


def load_together(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """Let threads load only while so many do."""
    load, together = OxigraphStore._load_bulk, Barrier(threads, timeout=60)

    def wait_and_load(store: OxigraphStore, changes: Iterable[Change]) -> None:
        together.wait()
        load(store, changes)

    monkeypatch.setattr(OxigraphStore, "_load_bulk", wait_and_load)


def test_what_waits_at_the_end_is_loaded_by_two_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_together(monkeypatch, 2)
    for version in "ab":
        with Embedded(OxigraphStore(str(tmp_path))) as store:
            store.put(many(version))
            assert not store.counters["batches"]
        with open_store(str(tmp_path), read_only=True) as reopened:
            quads = [*reopened.quads()]
        assert len(quads) == 201 * 102
        assert {str(quad.object)[1] for quad in quads} == {version}
        assert len({quad.subject for quad in quads}) == 201 * 2


class Recorder:
    """Oxigraph, with the names of what changes it in the order of the calls, and those called together."""

    def __init__(self, store: object) -> None:
        self.store = store
        self.calls: list[str] = []
        self.together: set[tuple[str, ...]] = set()
        self._active: list[str] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.store, name)
        if name == "contains_named_graph":
            return method

        def call(*arguments: Any, **options: Any) -> Any:
            self.calls.append(name)
            self._active.append(name)
            self.together.add(tuple(sorted(self._active)))
            try:
                return method(*arguments, **options)
            finally:
                self._active.remove(name)

        return call


@contextmanager
def recorded(store: OxigraphStore) -> Iterator[Recorder]:
    real, recorder = store._store, Recorder(store._store)
    store._store = recorder  # type: ignore[assignment]
    yield recorder
    store._store = real


def test_nothing_waits_to_be_flushed_while_two_threads_load(tmp_path: Path) -> None:
    """Two that flush at the same time may wait for ever, and RocksDB flushes what it has not yet written."""
    with Embedded(OxigraphStore(str(tmp_path))) as store:
        store.put(many("a"))
        store.load()
        store.put(many("b"))
        with recorded(store.store) as large:
            store.load()
        store.put([change(0, "c")])
        with recorded(store.store) as small:
            store.load()
    assert large.calls == ["update", "flush", "bulk_load", "bulk_load", "flush"]
    assert small.calls == ["update", "extend", "flush"]


def test_what_is_left_is_loaded_beside_the_load_under_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_together(monkeypatch, 3)
    for version in "ab":
        with Embedded(OxigraphStore(str(tmp_path)), load_quads=20_000) as store:
            store.put(many(version))
            store.put(many(version, 1_000))
            assert not store.counters["batches"]
            assert store.backlog.pages == 2 * 201
            assert store.backlog.quads == 2 * 201 * 102
        assert (store.counters["batches"], store.counters["quads"]) == (2, 2 * 201 * 102)
        assert store.backlog.pages == store.backlog.quads == 0
        assert not Journal.waits_in(tmp_path / "journal")
        with open_store(str(tmp_path), read_only=True) as reopened:
            quads = [*reopened.quads()]
        assert len(quads) == 2 * 201 * 102
        assert {str(quad.object)[1] for quad in quads} == {version}


def test_what_is_left_waits_for_the_load_under_way_if_a_graph_is_in_both(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = OxigraphStore._load_bulk
    times: dict[str, list[tuple[float, float]]] = {"a": [], "b": []}

    def load_slowly(store: OxigraphStore, changes: Iterable[Change]) -> None:
        some = [*changes]
        began = monotonic()
        sleep(0.2)
        load(store, some)
        version = "b" if b'"b' in some[0].nquads() else "a"
        times[version].append((began, monotonic()))

    monkeypatch.setattr(OxigraphStore, "_load_bulk", load_slowly)
    with Embedded(OxigraphStore(str(tmp_path)), load_quads=20_000) as store:
        store.put(many("a"))
        store.put([*many("b", 1_000), change(0, "b")])
    assert len(times["a"]) == 1
    assert min(times["b"])[0] >= times["a"][0][1]
    with open_store(str(tmp_path), read_only=True) as reopened:
        assert {name for at, name in names(reopened) if at == graph(0)} == {"b"}


@pytest.mark.parametrize("bad", ["a", "b"], ids=["the one under way", "what is left"])
def test_when_one_of_two_loads_fails_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, bad: str
) -> None:
    load, other = OxigraphStore.load, Event()

    def load_one(store: OxigraphStore, changes: Sequence[Change], threads: int = 1) -> None:
        if f'"{bad}'.encode() in changes[0].nquads():
            other.wait(10)
            raise OSError("no space left")
        load(store, changes, threads)
        other.set()

    store = Embedded(OxigraphStore(str(tmp_path)), load_quads=20_000)
    with monkeypatch.context() as context:
        context.setattr(OxigraphStore, "load", load_one)
        store.put(many("a"))
        store.put(many("b", 1_000))
        store.close()
    assert (store.counters["failed/load"], store.counters["batches"]) == (1, 1)
    assert store.backlog.quads == 201 * 102
    with Embedded(OxigraphStore(str(tmp_path))) as reopened:
        assert reopened.store.count() == 2 * 201 * 102


def test_nothing_is_written_or_flushed_beside_another_load(tmp_path: Path) -> None:
    """Two threads that do wait for ever in RocksDB, though seldom."""
    with OxigraphStore(str(tmp_path)) as store, ThreadPoolExecutor(2) as pool:

        def rounds(first: int) -> None:
            for version in range(10):
                store.load(many(str(version), first, 50))
                store.load([change(first, str(version))])

        with recorded(store) as recorder:
            for _ in pool.map(rounds, (0, 1_000)):
                pass
        assert len([*store.quads()]) == 2 * (49 * 102 + 1)
    several = {names for names in recorder.together if len(names) > 1}
    assert several <= {("bulk_load", "bulk_load")}


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 50)), min_size=1), st.integers(1, 3))
def test_shares_have_whole_graphs_and_about_as_many_quads(
    pages: list[tuple[int, int]], count: int
) -> None:
    changes = [Change(graph(number), b"", quads) for number, quads in sorted(pages)]
    shares = _shares(changes, count)
    assert sorted(change for share in shares for change in share) == sorted(changes)
    assert sum(len({change.graph for change in share}) for share in shares) == len(dict(pages))
    for share in shares:
        for at in range(10):
            same = [change for change in share if change.graph == graph(at)]
            assert same in ([], [change for change in changes if change.graph == graph(at)])
    sizes = [sum(change.quads for change in share) for share in shares]
    largest = max(sum(quads for at, quads in pages if at == number) for number, _ in pages)
    assert max(sizes) - min(sizes) <= largest


def test_a_page_that_one_of_two_threads_cannot_load_is_refused_alone(tmp_path: Path) -> None:
    with Embedded(OxigraphStore(str(tmp_path))) as store:
        store.put([change(number, *map(str, range(7_000))) for number in range(3)])
        store.put([Change(graph(3), b"<broken .\n", 1)])
    assert store.counters["refused"] == 1
    with open_store(str(tmp_path), read_only=True) as reopened:
        assert len(names(reopened)) == 3 * 7_000


@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt("panic")])
def test_when_one_of_two_threads_fails_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: BaseException
) -> None:
    load = OxigraphStore._load_bulk

    def load_half(store: OxigraphStore, changes: Iterable[Change]) -> None:
        some = [*changes]
        if graph(1) in {change.graph for change in some}:
            raise error
        load(store, some)

    store = Embedded(OxigraphStore(str(tmp_path)))
    store.put(many("a"))
    with monkeypatch.context() as context:
        context.setattr(OxigraphStore, "_load_bulk", load_half)
        with pytest.raises(StoreUnavailable, match=str(error)):
            store.load()
        assert 0 < store.store.count() < 201 * 102
        store.close()
    with Embedded(OxigraphStore(str(tmp_path))) as reopened:
        assert reopened.store.count() == 201 * 102


def test_pages_of_all_sizes_are_loaded_together(tmp_path: Path) -> None:
    """Larger and smaller than what Oxigraph reads at a time, and empty."""
    sizes = [0, 1, 3_000, 0, 700, 1, 0]
    with OxigraphStore(str(tmp_path)) as store:
        store.load([change(at, *map(str, range(size))) for at, size in enumerate(sizes)] * 2)
        stored = sorted((quad.graph_name.value, int(quad.object.value)) for quad in store.quads())  # type: ignore[union-attr]
    assert stored == [(graph(at), name) for at, size in enumerate(sizes) for name in range(size)]


def test_pages_learn_whether_they_are_new_wherever_the_old_one_is(tmp_path: Path) -> None:
    with embedded(tmp_path) as store:
        assert store.put([change(0, "a"), change(0, "a"), change(0, "b")]) == [True, False, True]
        store.load()
        assert store.put([change(0, "b"), change(0, "c"), change(0)]) == [False, True, True]
        assert store.put([change(0), change(1)]) == [False, False]
        assert not names(store)


@pytest.mark.parametrize("is_ending", [False, True])
def test_no_load_begins_while_the_store_is_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_ending: bool
) -> None:
    """A load removes graphs before it brings them back, so a copy of the middle would lack them."""
    with embedded(tmp_path / "store") as store, ThreadPoolExecutor(1) as pool:
        store.put([change(0, "old")])
        copy, load, begun = store.store.copy_to, store.store.load, Event()

        def copied_while_pages_come(path: Path) -> None:
            if is_ending:
                store.put([change(0, *"abcdefghi")])
                pool.submit(store.load)
            else:
                store.put([change(0, *"abcdefghij")])  # enough for a load
            assert not begun.wait(0.3)
            copy(path)

        def loaded(changes: Sequence[Change], threads: int = 1) -> None:
            begun.set()
            load(changes, threads)

        store.load()
        monkeypatch.setattr(store.store, "copy_to", copied_while_pages_come)
        monkeypatch.setattr(store.store, "load", loaded)
        assert store.copy_store(tmp_path / "copy")
        assert begun.wait(10)
        assert len(names(store)) == (9 if is_ending else 10)
    with open_store(str(tmp_path / "copy"), read_only=True) as copied:
        assert names(copied) == {(graph(0), "old")}


def test_a_replacement_takes_the_place_of_everything_before_it(tmp_path: Path) -> None:
    with embedded(tmp_path) as store:
        store.put([change(0, "a"), change(0, "b", replaces=False)])
        assert names(store) == {(graph(0), "a"), (graph(0), "b")}
        store.put([change(0, "c", replaces=False), change(0, "d"), change(0, "e", replaces=False)])
        assert names(store) == {(graph(0), "d"), (graph(0), "e")}


def write_and_die(path: Path) -> None:
    store = embedded(path, 50)
    for number in range(100):
        store.put([change(number, "first", "second")])
    os.kill(os.getpid(), signal.SIGKILL)


@pytest.mark.parametrize("read_only", [True, False])
def test_everything_acknowledged_is_there_after_a_kill(tmp_path: Path, read_only: bool) -> None:
    writer = multiprocessing.get_context("spawn").Process(target=write_and_die, args=(tmp_path,))
    writer.start()
    writer.join(30)
    assert writer.exitcode == -signal.SIGKILL
    with open_store(str(tmp_path), read_only=read_only) as store:
        assert names(store) == {
            (graph(number), name) for number in range(100) for name in ("first", "second")
        }


def test_what_was_loaded_but_not_yet_forgotten_is_loaded_once_more(tmp_path: Path) -> None:
    path = tmp_path / "store"
    with embedded(path) as store:
        store.put([change(0, "old")])
        store.load()
        store.put([change(0, "new"), change(1, "x"), change(2, "y", replaces=False)])
        shutil.copytree(path / "journal", tmp_path / "journal")
    shutil.copytree(tmp_path / "journal", path / "journal", dirs_exist_ok=True)
    with open_store(str(path)) as reopened:
        assert names(reopened) == {(graph(0), "new"), (graph(1), "x"), (graph(2), "y")}
        assert reopened.count() == 3


def test_a_page_that_cannot_be_loaded_is_refused_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with embedded(tmp_path) as store:
        store.put([change(0, "a"), Change(graph(1), b"<broken .\n", 1), change(2, "c")])
        assert names(store) == {(graph(0), "a"), (graph(2), "c")}
        assert store.counters["refused"] == 1
    assert graph(1) in caplog.text
    assert b"<broken" in (tmp_path / "journal" / "refused.nq").read_bytes()


def test_what_was_loaded_is_told_from_what_waits(tmp_path: Path) -> None:
    slow = Slow(tmp_path)
    with Embedded(slow, load_quads=2) as store:
        store.put([change(0, "a", "b"), Change(graph(1), b"<broken .\n", 1)])
        assert slow.begun.wait(10)
        store.put([change(2, "c")])
        assert (store.counters["quads"], store.backlog.quads) == (0, 4)
        slow.may_go_on.set()
        store.load()
        assert (store.counters["quads"], store.backlog.quads) == (3, 0)


class Full(OxigraphStore):
    """Cannot write as long as the disk is full, or panics."""

    error: BaseException | None = None

    def load(self, changes: Sequence[Change], threads: int = 1) -> None:
        if self.error:
            raise self.error
        super().load(changes, threads)


@pytest.mark.parametrize("error", [OSError("no space left"), KeyboardInterrupt("panic")])
def test_when_it_cannot_be_written_the_next_page_is_told_and_none_is_lost(
    tmp_path: Path, error: BaseException, caplog: pytest.LogCaptureFixture
) -> None:
    full = Full(str(tmp_path))
    store = Embedded(full, load_quads=1)
    full.error = error
    assert store.put([change(0, "a")]) == [True]
    with pytest.raises(StoreUnavailable, match=r"cannot be written.*opened the next time"):
        store.load()
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        store.put([change(1, "b")])
    assert not store.is_full
    store.close()
    assert "cannot be written" in caplog.text
    with open_store(str(tmp_path), read_only=True) as reopened:
        assert names(reopened) == {(graph(0), "a")}


class Slow(OxigraphStore):
    """Loads when it is told to, and fails once if it is told so."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        self.begun, self.may_go_on = Event(), Event()
        self.error: OSError | None = None

    def load(self, changes: Sequence[Change], threads: int = 1) -> None:
        self.begun.set()
        assert self.may_go_on.wait(10)
        if self.error:
            error, self.error = self.error, None
            raise error
        super().load(changes, threads)


def test_after_a_load_that_failed_nothing_is_loaded(tmp_path: Path) -> None:
    """A page that was let in before the failure is not loaded, nor is anything forgotten for it."""
    slow = Slow(tmp_path)
    store = Embedded(slow, load_quads=1)
    store.put([change(0, "a")])
    assert slow.begun.wait(10)
    slow.error = OSError("no space left")
    with ThreadPoolExecutor(1) as thread:
        holds = slow.holds

        def fail_meanwhile(change: Change) -> bool:
            slow.may_go_on.set()
            store._loader.submit(int).result()
            return holds(change)

        slow.holds = fail_meanwhile  # type: ignore[method-assign]
        assert thread.submit(store.put, [change(1, "b")]).result() == [True]
    assert store.backlog.pages == 2
    store.close()
    with open_store(str(tmp_path), read_only=True) as reopened:
        assert names(reopened) == {(graph(0), "a"), (graph(1), "b")}


def test_it_is_full_only_while_something_is_loaded(tmp_path: Path) -> None:
    slow = Slow(tmp_path)
    with Embedded(slow, load_quads=1, limit_bytes=100) as store:
        store.put([change(0, "a")])
        assert slow.begun.wait(10)
        assert not store.is_full
        store.put([change(1, "b" * 100)])
        assert store.is_full
        slow.may_go_on.set()
        store._loader.submit(int).result()
        assert not store.is_full, "or nobody would come to begin the next load"


def test_a_page_that_cannot_be_compared_does_not_hide_others(tmp_path: Path) -> None:
    store = embedded(tmp_path)
    store.put([change(9, "known")])
    store.load()
    with pytest.raises(SyntaxError):
        store.put([change(0, "a"), Change(graph(9), b"<broken .\n", 1)])
    assert store.put([change(0, "a")]) == [False]
    (path,) = (tmp_path / "journal").glob("*.nq")
    assert graph(0).encode() in path.read_bytes()
    store.close()


def test_versions_that_are_superseded_do_not_pile_up(tmp_path: Path) -> None:
    with Embedded(OxigraphStore(str(tmp_path)), load_bytes=10_000) as store:
        for version in range(1000):
            store.put([change(0, f"{version}")])
        store.load()
        assert store.counters["batches"] > 1
        assert names(store) == {(graph(0), "999")}


@pytest.mark.skipif(sys.platform != "linux", reason="a thread has no priority of its own")
def test_merging_gives_way(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(1) as pool:  # no store was opened there before
        before, after = pool.apply(_niceness, (tmp_path,))
    (own,) = set(before.values())
    new = {thread: nice for thread, nice in after.items() if thread not in before}
    assert {name for name, _ in before} >= {"rocksdb:low"}  # the frontier's
    assert {nice for (name, _), nice in new.items() if name == "rocksdb:low"} == {min(own + 5, 19)}
    assert {nice for (name, _), nice in new.items() if name == "rocksdb:high"} == {own}
    assert before.items() <= after.items()


def test_where_threads_cannot_be_told_merging_stays_as_it_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(merging, "_TASKS", tmp_path / "nowhere")
    with OxigraphStore(str(tmp_path / "store")) as store:
        assert not store.count()


def _niceness(path: Path) -> list[dict[tuple[str, int], int]]:
    """Return how nice the threads with a frontier are, and those with a store besides."""

    def look() -> dict[tuple[str, int], int]:
        return {
            ((task / "comm").read_text().rstrip(), int(task.name)): os.getpriority(
                os.PRIO_PROCESS, int(task.name)
            )
            for task in Path("/proc/self/task").iterdir()
        }

    with LocalFrontier(str(path / "frontier")):
        before = look()
        store = OxigraphStore(str(path / "store"))
        after = look()
        store.close()
    return [before, after]


def test_what_a_killed_load_left_is_removed(tmp_path: Path) -> None:
    with embedded(tmp_path) as store:
        store.put([change(0, "a")])
    (tmp_path / "bulk-0123.sst").write_bytes(b"half")
    with embedded(tmp_path):
        assert not [*tmp_path.glob("bulk-*")]


def test_an_end_of_a_page_is_forgotten_when_it_is_read(tmp_path: Path) -> None:
    with embedded(tmp_path):
        (tmp_path / "journal" / "00000001.nq").write_bytes(b"# <http://a.test/0> repl")
    with embedded(tmp_path) as store:
        assert not names(store)
        assert not [*(tmp_path / "journal").glob("*.nq")]


def load_write_and_die(path: Path) -> None:
    store = embedded(path)
    store.put([change(number, *"abc") for number in range(8)])
    store.load()
    store.put([change(0, "d"), change(8, *"ab")])
    os.kill(os.getpid(), signal.SIGKILL)


def test_what_is_held_survives_kills_and_counts_what_others_change(tmp_path: Path) -> None:
    killed = tmp_path / "killed"
    spawn = multiprocessing.get_context("spawn")
    writer = spawn.Process(target=load_write_and_die, args=(killed,))
    writer.start()
    writer.join(30)
    assert writer.exitcode == -signal.SIGKILL
    (journal,) = (killed / "journal").glob("*.nq")
    with journal.open("ab") as file:
        file.write(b"# <http://site.test/torn> replaces 999 00000000 1022\n<http://")
    for _ in range(2):
        assert held_in(str(killed), tmp_path) == 7 * 3 + 1 + 2
        with embedded(killed) as store:
            assert store.backlog.held == 7 * 3 + 1 + 2
    with OxigraphStore(str(killed)) as alone:
        alone.remove([graph(1)])
    assert held_in(str(killed), tmp_path) is None
    with embedded(killed) as store:
        assert store.backlog.held == len(names(store)) == 6 * 3 + 1 + 2


def test_a_journal_that_cannot_be_written_takes_nothing_more(tmp_path: Path) -> None:
    store = embedded(tmp_path)
    store.put([change(0, "a")])
    with (tmp_path / "nothing").open("wb"), (tmp_path / "nothing").open("rb") as unwritable:
        os.dup2(unwritable.fileno(), store._journal._log._file or -1)
    for _ in range(2):
        with pytest.raises(StoreUnavailable, match="Bad file descriptor"):
            store.put([change(1, "b")])
    store.close()
    with open_store(str(tmp_path)) as reopened:
        assert names(reopened) == {(graph(0), "a")}


ENTRIES = st.builds(
    change, st.integers(0, 3), st.sampled_from("abc"), replaces=st.booleans()
) | st.builds(change, st.integers(0, 3))


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.lists(ENTRIES, min_size=1, max_size=3), max_size=12), st.sampled_from([1, 3, 99])
)
def test_it_ends_as_if_each_change_had_been_made_at_once(
    tmp_path_factory: pytest.TempPathFactory, groups: list[list[Change]], load_quads: int
) -> None:
    path = tmp_path_factory.mktemp("store")
    expected: dict[str, set[str]] = {}
    with embedded(path, load_quads) as store:
        for group in groups:
            store.put(group)
            for entry in group:
                before = set() if entry.replaces else expected.get(entry.graph, set())
                expected[entry.graph] = before | set(entry.triples.decode().split('"')[1::2])
    with open_store(str(path), read_only=True) as reopened:
        assert names(reopened) == {(name, value) for name in expected for value in expected[name]}


def test_a_literal_that_the_store_spells_otherwise_is_no_change(tmp_path: Path) -> None:
    integer = NamedNode("http://www.w3.org/2001/XMLSchema#integer")
    page = NamedNode("http://site.test/a")
    spelt = [Quad(page, NamedNode("http://p.test/n"), Literal("007", datatype=integer))]
    for expected in (True, False):
        with Embedded(OxigraphStore(str(tmp_path / "store"))) as sink:
            assert sink.put([Change.replacing(page.value, spelt)]) == [expected]
