"""An archive is checked in bounded memory, and what is wrong is said."""

from __future__ import annotations

import gzip
import tracemalloc
from collections import Counter
from pathlib import Path

import pytest

from rdfaspider.archive.archive import Archive, Entry
from rdfaspider.archive.check import check
from rdfaspider.archive.index.index import add_segment, captures_in, index_of
from rdfaspider.archive.index.segments import segments, write_segment
from rdfaspider.archive.warc.reader import files_of
from tests.archive.test_archive import entries, exchange


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    archive = Archive(tmp_path, file_bytes=10_000)
    for entry in entries(40):
        archive.put([entry])
    archive.close()
    assert archive.counters["files"] > 2
    return tmp_path


def faults(archive: Path) -> list[str]:
    return [*check(archive, Counter())]


def test_all_is_counted(archive: Path) -> None:
    counts: Counter[str] = Counter()
    seen = []
    assert [*check(archive, counts, lambda: seen.append(counts["records"]))] == []
    assert seen == [*range(1, counts["records"] + 1)]
    assert counts["captures"] == 40 and counts["records"] == 120 + counts["files"]


def test_a_body_that_was_changed_is_found(archive: Path) -> None:
    first, *_ = files_of(archive)
    data = gzip.decompress(first.read_bytes()).replace(b"<p>Some", b"<p>Same", 1)
    records = [b"WARC/1.1" + part for part in data.split(b"WARC/1.1")[1:]]
    first.write_bytes(b"".join(gzip.compress(record) for record in records))
    wrong = [fault for fault in faults(archive) if "another payload" in fault]
    assert len(wrong) == 1 and first.name in wrong[0]


def test_what_the_index_lacks_or_has_too_much_is_named(archive: Path) -> None:
    some, other, *rest = captures_in(archive)
    for path in segments(index_of(archive)):
        path.unlink()
    add_segment(archive, [other._replace(offset=other.offset + 1), *rest])
    assert sorted(faults(archive)) == sorted(
        [
            f"The index leads {other.url} to {other.filename}, {other.offset + 1:,}: no such response"
            " is there.",
            f"The response in {other.filename} at {other.offset:,} is not in the index.",
            f"The response in {some.filename} at {some.offset:,} is not in the index.",
        ]
    )


@pytest.mark.parametrize(
    "line",
    [
        b"nonsense\n",
        b"test,site)/x when {}\n",
        b"\xff\n",
        b'test,site)/x 20270101000000 {"url": 1, "length": 1, "offset": 1, "filename": 2}\n',
    ],
)
def test_a_bad_line_of_the_index_is_left_out_and_said(archive: Path, line: bytes) -> None:
    before = [*captures_in(archive)]
    write_segment(index_of(archive), 0, [line])
    (index_of(archive) / f"other.warc.gz.{0:012}.open").write_bytes(b"test,site)/y z {\n")
    assert [*captures_in(archive)] == before
    assert faults(archive) == ["2 lines of the index cannot be read."]
    again = Archive(archive)  # which knows what is kept
    again.put(entries(1))
    again.close()
    assert again.counters["revisits"] == 1


@pytest.mark.parametrize(
    "record",
    [
        b"nonsense",
        b"WARC/1.1\r\n\r\n\r\n\r\n",
        b"WARC/1.1\r\nContent-Length: " + b"9" * 5_000 + b"\r\n\r\n\r\n\r\n",
        b"WARC/1.1\r\nWARC-Type: response\r\nContent-Length: 5\r\n\r\nmore than five\r\n\r\n",
        b"WARC/1.1\r\n" + b"x" * 2_000_000,
    ],
    ids=["no record", "no length", "long number", "another length", "no end"],
)
def test_what_is_no_record_is_damage(archive: Path, record: bytes) -> None:
    first, *_ = files_of(archive)
    size = first.stat().st_size
    with first.open("ab") as file:
        file.write(gzip.compress(record))
    (fault,) = faults(archive)
    assert fault.startswith(f"{first.name} is damaged") and f"from {size:,} on" in fault


def test_memory_is_bounded_by_no_record(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.put([Entry(exchange(body=bytes(200 << 20)))])
    archive.close()
    tracemalloc.start()
    assert faults(tmp_path) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 8 << 20
