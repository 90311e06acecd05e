"""The stream of changes, in front of each kind of store: what is recorded, and what survives."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import BlankNode, Literal, NamedNode, Quad, QuerySolutions, RdfFormat, Store, parse

from rdfaspider.stores import StoreUnavailable, open_sink, open_store
from rdfaspider.stores.changes import Change, digest, statements
from rdfaspider.stores.stream import Recorder, forget, version_at
from rdfaspider.stores.stream.files import follow, read
from rdfaspider.stores.stream.graph import nquads
from rdfaspider.stores.stream.patch import Patch, patches_in
from tests.stores.conftest import KINDS, url_of
from tests.stores.test_contract import AWKWARD, NAME, OTHER, PAGE, quads

LARGE = 1 << 30


@pytest.fixture(params=KINDS)
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return url_of(request.param, request, tmp_path)


def recorder(url: str, path: Path, limit: int = LARGE) -> Recorder:
    return Recorder(open_sink(url, str(path / "outbox")), path / "changes", limit)


def change(graph: str, *texts: str, at: float = 0.0, cause: str = "") -> Change:
    new = Change.replacing(graph, quads(graph, *texts)) if texts else Change(graph, b"", 0)
    return new._replace(time=at, cause=cause)


def texts(lines: list[bytes]) -> set[str]:
    return {quad.object.value for quad in parse(b" .\n".join([*lines, b""]), RdfFormat.N_TRIPLES)}


def test_what_is_added_and_removed_is_recorded(url: str, tmp_path: Path) -> None:
    with recorder(url, tmp_path) as sink:
        assert sink.put([change(PAGE, "a", "b", at=100.0), change(OTHER, "x", at=100.5)])
        assert sink.put([change(PAGE, "a", "b", at=200.0)]) == [False]
        assert sink.put([change(PAGE, "b", "c", at=300.25)]) == [True]
        assert sink.put([change(PAGE, at=400.0, cause="410")]) == [True]
    first, other, second, third = read(tmp_path / "changes")
    assert (first.page, first.time, texts(first.added), first.removed) == (
        PAGE,
        100,
        {"a", "b"},
        [],
    )
    assert first.is_first
    assert (other.page, texts(other.added)) == (OTHER, {"x"})
    assert (second.time, texts(second.added), texts(second.removed)) == (300.25, {"c"}, {"a"})
    assert not second.is_first
    assert (texts(third.removed), third.added, third.cause) == ({"b", "c"}, [], "410")
    assert [patch.number for patch in (first, other, second, third)] == [1, 2, 3, 4]
    with open_store(url, read_only=True) as store:
        assert set(store.quads()) == set(quads(OTHER, "x"))


def test_another_run_goes_on(url: str, tmp_path: Path) -> None:
    for at, text in ((1.0, "a"), (2.0, "a"), (3.0, "b")):
        with recorder(url, tmp_path) as sink:
            sink.put([change(PAGE, text, at=at)])
    assert [(p.number, p.time, p.is_first) for p in read(tmp_path / "changes")] == [
        (1, 1.0, True),
        (2, 3.0, False),
    ]


def test_a_page_without_statements_is_no_news(tmp_path: Path) -> None:
    with recorder(str(tmp_path / "store"), tmp_path) as sink:
        assert sink.put([change(PAGE)]) == [False]
        sink.put(Change.adding(quads("urn:rdfaspider:crawl:0", "said of a fetch")))
    assert [*read(tmp_path / "changes")] == []


def test_the_end_of_a_page_that_is_older_than_the_stream_is_told(tmp_path: Path) -> None:
    url = str(tmp_path / "store")
    with open_sink(url, str(tmp_path / "outbox")) as sink:
        sink.put([change(PAGE, "a", "b"), change(OTHER, "x")])
    with recorder(url, tmp_path) as sink:
        assert sink.put([change(PAGE, at=100.0, cause="410")]) == [True]
        assert sink.put([change(PAGE, at=200.0, cause="410")]) == [False]
    (patch,) = read(tmp_path / "changes")
    assert (patch.page, patch.cause, patch.added, patch.removed) == (PAGE, "410", [], [])
    assert [*patches_in(patch.text())] == [patch]


def test_a_page_that_has_not_changed_for_long_has_a_version(tmp_path: Path) -> None:
    with recorder(str(tmp_path / "store"), tmp_path, 20_000) as sink:
        sink.put([change(OTHER, "stable", at=1.0)])
        for number in range(2, 300):
            text = random.Random(number).randbytes(100).hex()
            sink.put([change(PAGE, text, at=float(number))])
    patches = [*read(tmp_path / "changes")]
    assert patches[0].number > 1, "the first one is gone"
    found = version_at(tmp_path / "changes", OTHER, 299.0)
    assert found is not None and texts(found) == {"stable"}
    assert version_at(tmp_path / "changes", OTHER, patches[0].time) == found
    with pytest.raises(ValueError, match="does not reach back"):
        version_at(tmp_path / "changes", OTHER, patches[0].time - 1)


def test_the_graph_of_any_time_comes_back(tmp_path: Path) -> None:
    versions = [("a",), ("a", "b"), (), ("c", "b"), ("c",)]
    with recorder(str(tmp_path / "store"), tmp_path) as sink:
        for number, version in enumerate(versions, start=1):
            sink.put([change(PAGE, *version, at=number * 10.0), change(OTHER, str(number))])
        # While the crawl runs, too.
        assert version_at(tmp_path / "changes", PAGE, 5.0) is None
        for number, version in enumerate(versions, start=1):
            for at in (number * 10.0, number * 10.0 + 9):
                found = version_at(tmp_path / "changes", PAGE, at)
                assert found is not None
                assert texts(found) == set(version)
    with pytest.raises(ValueError, match="has no page"):
        version_at(tmp_path / "changes", "http://site.test/never", 5.0)


def test_awkward_terms_are_recorded_as_they_are(tmp_path: Path) -> None:
    page = Change.replacing(PAGE, [Quad(NamedNode(PAGE), NAME, value) for value in AWKWARD])
    with recorder(str(tmp_path / "store"), tmp_path) as sink:
        sink.put([page])
    (patch,) = read(tmp_path / "changes")
    found = parse(b" .\n".join([*patch.added, b""]), RdfFormat.N_TRIPLES)
    assert {quad.object for quad in found} == set(AWKWARD)
    assert [*patches_in(patch.text())] == [patch]


# --- blank nodes ---


def address(label: str, street: str) -> list[Quad]:
    node, page = BlankNode(label), NamedNode(PAGE)
    return [Quad(page, NAME, node), Quad(node, NAME, Literal(street))]


def test_a_blank_node_that_stays_is_no_change(tmp_path: Path) -> None:
    with recorder(str(tmp_path / "store"), tmp_path) as sink:
        sink.put(
            [Change.replacing(PAGE, [*address("a", "High Street"), *address("b", "Mill Lane")])]
        )
        again = [*address("z", "Mill Lane"), *address("y", "High Street")]
        assert sink.put([Change.replacing(PAGE, again)]) == [False]
        sink.put(
            [Change.replacing(PAGE, [*address("q", "High Street"), *address("r", "New Road")])]
        )
    _, patch = read(tmp_path / "changes")
    assert (len(patch.added), len(patch.removed)) == (2, 2)
    assert b"New Road" in b"".join(patch.added)
    assert b"Mill Lane" in b"".join(patch.removed)


@given(
    st.lists(
        st.tuples(st.integers(0, 5), st.integers(0, 2), st.integers(0, 7)), max_size=12, unique=True
    ),
    st.permutations(range(6)),
)
def test_statements_are_those_of_the_graph_whatever_its_labels(
    edges: list[tuple[int, int, int]], order: list[int]
) -> None:
    def graph(names: list[int]) -> list[Quad]:
        def term(number: int) -> BlankNode | Literal:
            return BlankNode(f"n{names[number]}") if number < 6 else Literal(str(number))

        return [
            Quad(BlankNode(f"n{names[s]}"), NamedNode(f"http://p.test/{p}"), term(o))
            for s, p, o in edges
        ]

    one, other = (Change.replacing(PAGE, graph(n)) for n in ([*range(6)], [*order]))
    lines = statements(one)
    back = list(parse(b" .\n".join([*lines, b""]), RdfFormat.N_TRIPLES)) if lines else []
    assert len(back) == one.quads
    assert digest(back) == one.digest() == other.digest()


# --- files ---


def test_files_are_packed_and_bounded(tmp_path: Path) -> None:
    limit = 40_000
    with recorder(str(tmp_path / "store"), tmp_path, limit) as sink:
        for number in range(300):
            text = random.Random(number).randbytes(300).hex()
            sink.put([change(PAGE, text, at=float(number))])
        sizes = {path.name: path.stat().st_size for path in (tmp_path / "changes").glob("*.rdfp*")}
        assert sum(sizes.values()) <= limit
    patches = [*read(tmp_path / "changes")]
    assert [patch.number for patch in patches] == [*range(patches[0].number, 301)]
    assert 1 < patches[0].number < 290
    assert any(name.endswith(".gz") for name in sizes)
    assert version_at(tmp_path / "changes", PAGE, patches[0].time) is not None
    with pytest.raises(ValueError, match="does not reach back"):
        version_at(tmp_path / "changes", PAGE, patches[0].time - 1)
    with recorder(str(tmp_path / "store"), tmp_path, limit) as sink:
        sink.put([change(PAGE, "last", at=1000.0)])
    assert [*read(tmp_path / "changes")][-1].number == 301


def test_followers_get_everything_once(tmp_path: Path) -> None:
    over, got = threading.Event(), list[int]()

    def run() -> None:
        got.extend(patch.number for patch in follow(tmp_path / "changes", is_over=over.is_set))

    with recorder(str(tmp_path / "store"), tmp_path, 200_000) as sink:
        sink.put([change(PAGE, "0")])
        follower = threading.Thread(target=run)
        follower.start()
        for number in range(1, 400):
            sink.put([change(PAGE, random.Random(number).randbytes(200).hex())])
        over.set()
        follower.join(30)
    assert got == [*range(1, 401)]


def test_what_is_cut_short_is_written_again(tmp_path: Path) -> None:
    with recorder(str(tmp_path / "store"), tmp_path) as sink:
        for number in range(5):
            sink.put([change(PAGE, str(number), at=number + 1.0)])
    (path,) = (tmp_path / "changes").glob("*.rdfp")
    whole = path.read_bytes()
    last = whole.rindex(b"H id")
    for size in (last, last + 3, len(whole) - 1, len(whole)):  # the last patch is still pending
        path.write_bytes(whole[:size])
        with recorder(str(tmp_path / "store"), tmp_path):
            pass
        assert path.read_bytes() == whole


_WRITER = """
import sys
from pathlib import Path
from rdfaspider.stores import open_sink
from rdfaspider.stores.changes import Change
from rdfaspider.stores.stream import Recorder
path, url = Path(sys.argv[1]), sys.argv[2]
with Recorder(open_sink(url, str(path / "outbox")), path / "changes", 300_000) as sink:
    for number in range(int(sys.argv[3]), 1_000_000):
        changes = []
        for page in range(4):
            graph = f"http://site.test/{page}"
            triple = f'<{graph}> <http://schema.org/name> "{number}" .\\n'.encode()
            changes.append(Change(graph, triple, 1, time=float(number)))
        sink.put(changes)
        print(number, flush=True)
"""


@pytest.mark.parametrize("kind", ["store", "nquads:files"])
def test_kills_lose_nothing_and_repeat_nothing(tmp_path: Path, kind: str) -> None:
    prefix, _, name = kind.rpartition(":")
    url = f"{prefix}:{tmp_path / name}" if prefix else str(tmp_path / name)
    acknowledged = 0
    for number in range(6):
        command = [sys.executable, "-c", _WRITER, str(tmp_path), url, str(acknowledged + 1)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout
            last = acknowledged + 1 + 40 * (number + 1)
            for line in process.stdout:
                acknowledged = int(line)
                if acknowledged >= last:
                    process.send_signal(signal.SIGKILL)
                    break
            for line in process.stdout:
                acknowledged = int(line)
    with recorder(url, tmp_path):
        pass
    patches = [*read(tmp_path / "changes")]
    assert [patch.number for patch in patches] == [*range(1, len(patches) + 1)]
    for page in range(4):
        graph, said = f"http://site.test/{page}", list[str]()
        for patch in patches:
            if patch.page == graph:
                assert texts(patch.removed) == set(said[-1:])
                said += texts(patch.added)
        assert said[:acknowledged] == [str(number) for number in range(1, acknowledged + 1)]
        assert len(said) <= acknowledged + 1


# --- as RDF, and forgotten ---


def test_changes_can_be_queried(tmp_path: Path) -> None:
    with recorder(str(tmp_path / "store"), tmp_path) as sink:
        sink.put([change(PAGE, "a", at=100.0), change(OTHER, "a", at=110.0)])
        sink.put([change(PAGE, "b", at=200.0)])
        sink.put([change(OTHER, at=300.0, cause="404")])
    store = Store()
    for patch in read(tmp_path / "changes"):
        store.load(nquads(patch), RdfFormat.N_QUADS)
    found = store.query(
        "SELECT ?page ?date WHERE { GRAPH <urn:rdfaspider:changes> { ?c a <urn:rdfaspider:Change> ;"
        " <http://purl.org/dc/terms/subject> ?page ; <http://purl.org/dc/terms/date> ?date ;"
        " <urn:rdfaspider:removed> ?removed } GRAPH ?removed { ?s ?p 'a' } } ORDER BY ?date"
    )
    assert isinstance(found, QuerySolutions)
    assert [(row["page"].value, row["date"].value) for row in found] == [
        (PAGE, "1970-01-01T00:03:20Z"),
        (OTHER, "1970-01-01T00:05:00Z"),
    ]
    assert store.query("ASK { GRAPH ?g { ?c <urn:rdfaspider:cause> '404' } }")


def test_removed_pages_are_forgotten(tmp_path: Path) -> None:
    with recorder(str(tmp_path / "store"), tmp_path, 20_000) as sink:
        for number in range(60):
            text = random.Random(number).randbytes(40).hex()
            sink.put([change(PAGE, f"secret {text}"), change(OTHER, text)])
    before = [patch for patch in read(tmp_path / "changes") if patch.page == OTHER]
    forget(tmp_path / "changes", lambda graph: graph == PAGE)
    assert [*read(tmp_path / "changes")] == before
    assert all(b"secret" not in path.read_bytes() for path in (tmp_path / "changes").iterdir())
    with recorder(str(tmp_path / "store"), tmp_path) as sink:
        sink.put([change(PAGE, "new")])
    last = [*read(tmp_path / "changes")][-1]
    assert (last.page, last.is_first) == (PAGE, True)


def test_a_hostile_cause_stays_one_line() -> None:
    patch = Patch("0" * 16, 1, time.time(), PAGE, [], [b"<a:> <b:> <c:>"], 'x"\nH evil')
    (back,) = patches_in(patch.text())
    assert "\n" not in back.cause
    assert back.added == patch.added


def test_a_database_without_its_tables_is_answered_by_a_sentence(tmp_path: Path) -> None:
    with recorder(str(tmp_path / "store"), tmp_path) as sink:
        sink.put([change(PAGE, "a", at=100.0)])
        with sqlite3.connect(tmp_path / "changes" / "versions.sqlite") as database:
            database.execute("DROP TABLE versions")
        with pytest.raises(StoreUnavailable, match=r"cannot be used .no such table: versions"):
            sink.put([change(PAGE, "b", at=200.0)])
