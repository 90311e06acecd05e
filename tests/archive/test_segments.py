"""Segments of the index are merged, and every capture is found in them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.archive.index import index
from rdfaspider.archive.index import segments as segments_module
from rdfaspider.archive.index.captures import Capture
from rdfaspider.archive.index.index import Journal, captures_in, look_up
from rdfaspider.archive.index.segments import find, merge, segments, write_segment
from rdfaspider.archive.locks import create_locked

LINES = st.lists(st.from_regex(rb"\A[a-c]{1,3} [0-9]{2}\n\Z"), max_size=30)


@given(lines=st.lists(LINES, max_size=4), prefix=st.from_regex(rb"\A[a-c]{0,2}\Z"))
def test_every_line_is_found_once(
    tmp_path_factory: pytest.TempPathFactory, lines: list[list[bytes]], prefix: bytes
) -> None:
    directory = tmp_path_factory.mktemp("index")
    for some in lines:
        write_segment(directory, 0, sorted(set(some)))
    expected = sorted({line for some in lines for line in some if line.startswith(prefix)})
    assert list(find(directory, prefix)) == expected


def test_many_segments_become_few(tmp_path: Path) -> None:
    for number in range(100):
        write_segment(tmp_path, 0, [b"%03d\n" % number, b"common\n"])
        merge(tmp_path)
    assert len(segments(tmp_path)) <= 7 * 3
    assert list(find(tmp_path, b"")) == [*(b"%03d\n" % n for n in range(100)), b"common\n"]


@pytest.mark.parametrize("when", ["listed", "opened"])
def test_what_is_merged_during_a_search_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, when: str
) -> None:
    """Merge when a search has listed the segments, or when it has opened them all."""
    for number in range(10):
        write_segment(tmp_path, 0, [b"%03d\n" % number])
    listings = 0

    def listed(directory: Path) -> list[Path]:
        nonlocal listings
        listings += 1
        found = segments(directory)
        if listings == (1 if when == "listed" else 2):
            merge(directory)
        return found

    monkeypatch.setattr(segments_module, "segments", listed)
    assert list(find(tmp_path, b"")) == [b"%03d\n" % number for number in range(10)]


def capture(number: int, date: int = 0) -> Capture:
    return Capture(
        f"http://site.test/{number}",
        f"{20260101000000 + date}",
        "text/html",
        "200",
        "sha1:X",
        10,
        number * 10,
        "a.warc.gz",
    )


def test_a_journal_becomes_segments_and_all_is_found_meanwhile(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "_LONG", 10)
    journal = Journal(tmp_path, "a.warc.gz")
    for number in range(95):
        journal.add([capture(number)], number * 10 + 10)
        assert look_up(tmp_path, f"http://site.test/{number}") == [capture(number)]
    assert index.resume(tmp_path, "a.warc.gz") == ([capture(n) for n in range(90, 95)], 950)
    journal.close()
    assert len([*captures_in(tmp_path)]) == 95
    assert not [*tmp_path.glob("index/*.open")]


def test_a_date_finds_the_nearest_capture(tmp_path: Path) -> None:
    index.add_segment(tmp_path, [capture(1, date) for date in (0, 5_000_000, 9_000_000)])
    found = [look_up(tmp_path, "http://site.test/1", date) for date in ("2026", "20260106", "2027")]
    assert [one.date for (one,) in found] == ["20260101000000", "20260106000000", "20260110000000"]


def test_a_line_that_is_none_is_an_error_in_a_sentence() -> None:
    with pytest.raises(ValueError, match="no line of an index"):
        Capture.of_line(b"nonsense\n")


def test_what_a_dead_writer_left_is_removed(tmp_path: Path) -> None:
    (tmp_path / "0-dead.cdxj.new").write_bytes(b"half a li")
    (tmp_path / "1-dead.cdxj.new").write_bytes(b"")
    written = create_locked(tmp_path / "0-alive.cdxj.new")
    merge(tmp_path)
    assert [path.name for path in tmp_path.glob("*.new")] == ["0-alive.cdxj.new"]
    os.close(written)
