"""The log beneath the journal and the N-Quads files, and the formats of both on disk."""

from __future__ import annotations

import gzip
import resource
from pathlib import Path

import pytest

from rdfaspider.stores.changes import Change
from rdfaspider.stores.embedded.journal import Journal
from rdfaspider.stores.log import Log
from rdfaspider.stores.nquads import NQuadsStore


def log(directory: Path, *, is_synced: bool = True) -> Log:
    return Log(directory, "part-", 3, ".log", is_synced=is_synced)


def content(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(directory.iterdir())}


def test_records_are_appended_in_numbered_files(tmp_path: Path) -> None:
    first = log(tmp_path)
    first.append(b"a")
    first.append(b"bc")
    assert first.size == 3
    first.seal()
    assert [path.name for path in first.files()] == ["part-001.log"]
    assert first.size == 0
    first.append(b"d")
    first.close()
    again = log(tmp_path)
    again.resume()
    assert again.size == 1
    again.append(b"e")
    again.seal()
    again.append(b"f")
    again.close()
    assert content(tmp_path) == {
        "part-001.log": b"abc",
        "part-002.log": b"de",
        "part-003.log": b"f",
    }


def test_the_order_is_that_of_the_numbers_and_other_files_are_not_of_the_log(
    tmp_path: Path,
) -> None:
    for name in ("part-1000.log", "part-999.log", "part-x.log", "part-001.log.new", "other"):
        (tmp_path / name).write_bytes(b"x")
    assert [path.name for path in log(tmp_path).files()] == ["part-999.log", "part-1000.log"]
    assert log(tmp_path / "nowhere").files() == []


@pytest.mark.parametrize("is_synced", [True, False])
def test_a_record_that_cannot_be_written_leaves_nothing_behind(
    tmp_path: Path, is_synced: bool
) -> None:
    """A limit on the size of files stands for a disk that is full; also for a file that is to be new."""
    written = log(tmp_path, is_synced=is_synced)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    for expected in ({}, {"part-001.log": b"whole"}):
        assert content(tmp_path) == expected
        resource.setrlimit(resource.RLIMIT_FSIZE, (written.size + 10, before[1]))
        try:
            with pytest.raises(OSError, match="File too large"):
                written.append(b"x" * 100)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert content(tmp_path) == expected
        written.append(b"whole")
    written.close()
    assert content(tmp_path) == {"part-001.log": b"wholewhole"}


A, B = "http://a.test/a", "http://a.test/b"
CHANGES = [
    Change(A, b'<http://a.test/a> <http://p.test/> "x" .\n', 1),
    Change(B, b"_:b <http://p.test/> <http://a.test/a> .\n", 1, replaces=False),
    Change(A, b"", 0),
]
# What versions that went before have left on disks.
JOURNAL = b"""\
# <http://a.test/a> replaces 59 fb11c7b9 0
<http://a.test/a> <http://p.test/> "x" <http://a.test/a> .
# <http://a.test/b> adds 59 dd345c22 0
_:b <http://p.test/> <http://a.test/a> <http://a.test/b> .
# <http://a.test/a> replaces 0 00000000 0
"""
FILE = b"""\
# replace <http://a.test/a> 1
<http://a.test/a> <http://p.test/> "x" <http://a.test/a> .
# add <http://a.test/b> 1
_:b <http://p.test/> <http://a.test/a> <http://a.test/b> .
# replace <http://a.test/a> 0
"""


def test_the_format_of_the_journal_stays(tmp_path: Path) -> None:
    journal = Journal(tmp_path)
    journal.append(CHANGES)
    journal.close()
    assert content(tmp_path) == {"00000001.nq": JOURNAL}
    assert [change.unnamed() for change in Journal(tmp_path).read()] == CHANGES


def test_the_format_of_the_files_stays(tmp_path: Path) -> None:
    with NQuadsStore(str(tmp_path)) as store:
        store.write(CHANGES)
        ((name, member),) = content(tmp_path).items()
        assert (name, gzip.decompress(member)) == ("pages-00001.nq.gz", FILE)
    (tmp_path / name).write_bytes(gzip.compress(FILE))
    with NQuadsStore(str(tmp_path), read_only=True) as store:
        assert [str(quad.graph_name) for quad in store.quads()] == [f"<{B}>"]
