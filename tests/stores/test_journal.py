from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import RdfFormat, parse

from rdfaspider.stores import StoreUnavailable
from rdfaspider.stores.changes import Change
from rdfaspider.stores.embedded.journal import REFUSED, Journal, _record


def change(name: str, value: str = "x", *, replaces: bool = True) -> Change:
    return Change(
        f"http://a.test/{name}",
        f'<http://a.test/{name}> <http://s.test/p> "{value}" .\n'.encode(),
        1,
        replaces,
    )


CHANGES = [change("a"), change("b", "1", replaces=False), Change("http://a.test/c", b"", 0)]


def read(journal: Journal) -> list[Change]:
    return [change.unnamed() for change in journal.read()]


def test_what_was_appended_is_read_in_its_order(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(CHANGES[:2])
    journal.append(CHANGES[2:])
    journal.seal()
    journal.append([change("d")])
    assert read(journal) == [*CHANGES, change("d")]
    assert read(Journal(tmp_path)) == [*CHANGES, change("d")]
    assert Journal.waits_in(tmp_path)
    journal.close()


def test_a_file_is_nquads(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(CHANGES)
    (path,) = journal.seal()
    assert [str(quad.graph_name) for quad in parse(path=path, format=RdfFormat.N_QUADS)] == [
        "<http://a.test/a>",
        "<http://a.test/b>",
    ]


def test_only_what_was_sealed_is_removed(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(CHANGES)
    sealed = journal.seal()
    journal.append([change("later")])
    journal.remove(sealed)
    assert read(journal) == [change("later")]
    journal.close()
    reopened = Journal(tmp_path)
    reopened.append([change("latest")])
    assert read(reopened) == [change("later"), change("latest")]
    reopened.remove(reopened.seal())
    assert not Journal.waits_in(tmp_path)


def test_what_was_refused_is_not_read_again(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.refuse(change("a"), ValueError("because\nof this"))
    lines = (tmp_path / REFUSED).read_text().splitlines()
    assert lines[0] == "# because of this"
    assert lines[1].startswith("# <http://a.test/a> replaces ")
    assert not Journal.waits_in(tmp_path)
    assert read(journal) == []


def test_a_change_that_no_store_can_take_does_not_stop_the_others(tmp_path: Path) -> None:
    """An earlier version took line feeds in IRIs, so that they may wait in a journal."""
    journal = Journal(tmp_path)
    broken = Change("http://a.test/b", b"<http://a.test/b> <http://p> <http://x\ny> .\n", 1)
    journal.append([change("a"), broken, change("c")])
    assert read(journal) == [change("a"), change("c")]
    assert b"invalid IRI" in (tmp_path / REFUSED).read_bytes()
    assert b"<http://x\ny>" in (tmp_path / REFUSED).read_bytes()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("whole")
    journal = Journal(directory)
    journal.append([change(str(number), "é" * number) for number in range(20)])
    (path,) = journal.seal()
    return path


@given(st.data())
def test_a_file_cut_short_anywhere_has_the_changes_before_the_cut(
    whole: Path, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = whole.read_bytes()
    cut = data.draw(st.integers(0, len(content)))
    directory = tmp_path_factory.mktemp("cut")
    (directory / whole.name).write_bytes(content[:cut])
    found = [*Journal(directory).read()]
    assert found == [*Journal(whole.parent).read()][: len(found)]
    assert len(found) == content[:cut].count(b" .\n")


def test_a_byte_that_changed_costs_its_page_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal = Journal(tmp_path)
    journal.append([change("a"), change("b", "good"), change("c")])
    (path,) = journal.seal()
    path.write_bytes(path.read_bytes().replace(b"good", b"evil"))
    assert read(journal) == [change("a"), change("c")]
    whole = sum(len(record) for record in map(_record, (change("a"), change("c"))))
    assert f"{path.stat().st_size - whole} bytes of {path}" in caplog.text


def test_nothing_is_written_for_nothing(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append([])
    journal.close()
    assert not [*tmp_path.iterdir()]


def test_a_file_in_its_way_is_named(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.touch()
    with pytest.raises(StoreUnavailable, match="in the way"):
        Journal(path)
