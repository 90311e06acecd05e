"""Records of any WARC file are read, and hostile ones cost a counted skip and no memory."""

from __future__ import annotations

import gzip
import io
import tracemalloc
import zlib
from collections import Counter
from time import process_time

import pytest

from rdfaspider.archive.warc import stream
from rdfaspider.archive.warc.stream import Found, read_records


def record(block: bytes, size: int | None = None, kind: bytes = b"response") -> bytes:
    length = len(block) if size is None else size
    head = b"WARC/1.0\r\nWARC-Type: %b\r\nContent-Length: %d\r\n\r\n" % (kind, length)
    return head + block + b"\r\n\r\n"


def read(
    data: bytes, most: int = 1_000, offset: int = 0
) -> tuple[list[tuple[bytes, int]], Counter[str]]:
    counts: Counter[str] = Counter()
    found = read_records(io.BytesIO(data), most, counts, offset)
    return [(each.record.block, each.offset) for each in found], counts


BLOCKS = [b"one", b"two" * 100, b"", b"four\r\n\r\nmore"]
RECORDS = [record(block) for block in BLOCKS]
MEMBERS = [gzip.compress(each, mtime=0) for each in RECORDS]


@pytest.mark.parametrize(
    "data",
    [b"".join(MEMBERS), b"".join(RECORDS), gzip.compress(b"".join(RECORDS), mtime=0)],
    ids=["members", "plain", "one member"],
)
def test_all_records_are_read_however_they_are_packed(data: bytes) -> None:
    found, counts = read(data)
    assert [block for block, _ in found] == BLOCKS
    assert not counts


@pytest.mark.parametrize("chunk", [*range(1, 20), 64, 97])
@pytest.mark.parametrize("data", [b"".join(MEMBERS), b"".join(RECORDS)], ids=["members", "plain"])
def test_records_are_read_wherever_a_chunk_ends(
    monkeypatch: pytest.MonkeyPatch, data: bytes, chunk: int
) -> None:
    monkeypatch.setattr(stream, "_CHUNK", chunk)
    found, counts = read(data)
    assert [block for block, _ in found] == BLOCKS
    assert not counts


def test_a_record_is_found_again_by_its_offset() -> None:
    data = b"".join(MEMBERS)
    found, _ = read(data)
    for number, (_, offset) in enumerate(found):
        again, _ = read(data, offset=offset)
        assert [block for block, _ in again] == BLOCKS[number:]


def test_a_long_block_is_cut() -> None:
    (found,) = read_records(io.BytesIO(MEMBERS[1]), 10, Counter())
    assert isinstance(found, Found) and found.is_cut and found.record.block == b"twotwotwot"


@pytest.mark.parametrize(
    "bad",
    [
        record(b"short", size=50),
        record(b"longer than it says", size=3),
        record(b"x", size=10**30),
        b"WARC/1.0\r\nContent-Length: -1\r\n\r\n",
        b"WARC/1.0\r\nContent-Length: " + b"9" * 6_000 + b"\r\n\r\n",
        b"WARC/1.0\r\nContent-Length: \0\r\n\r\n",
        b"WARC/1.0\r\nX: " + b"x" * 5_000_000,
        b"WARC/1.0\r\n" + b"X: x\r\n" * 1_000_000,
        b"WARC/1.0\r\n" + b"\0" * 1_000_000,
        b"nonsense",
        b"\0" * 99,
    ],
    ids=[
        "fewer bytes",
        "more bytes",
        "huge",
        "negative",
        "long number",
        "no number",
        "endless header",
        "endless headers",
        "zeros in headers",
        "nonsense",
        "zeros",
    ],
)
def test_a_bad_member_costs_only_itself(bad: bytes) -> None:
    data = MEMBERS[0] + gzip.compress(bad) + MEMBERS[1]
    found, counts = read(data)
    assert [block for block, _ in found] == BLOCKS[:2]
    assert counts["damaged"] == 1


@pytest.mark.parametrize(
    "tail",
    [
        MEMBERS[1][:-12],
        MEMBERS[1][:-4],
        MEMBERS[1][:-8] + bytes(8),
        b"\x1f\x8bnonsense",
        b"nonsense",
        b"\0" * 99,
    ],
    ids=["half", "no end", "wrong checksum", "broken", "nonsense", "zeros"],
)
def test_a_torn_end_is_counted(tail: bytes) -> None:
    found, counts = read(MEMBERS[0] + tail)
    assert [block for block, _ in found] == BLOCKS[:1]
    assert counts["damaged"] == 1


def test_damage_anywhere_ends_without_an_error() -> None:
    data = b"".join(MEMBERS)
    for place in range(0, len(data), 7):
        broken = bytearray(data)
        broken[place] ^= 0xFF
        found, _ = read(bytes(broken))
        assert len(found) <= len(BLOCKS)


@pytest.mark.parametrize("is_packed", [True, False])
@pytest.mark.parametrize("line", [b"x" * 100, b"X: x\r\n" * 20], ids=["line", "lines"])
def test_headers_without_an_end_take_no_memory(line: bytes, is_packed: bool) -> None:
    class Endless(io.RawIOBase):
        """Gives a record of 200 MB of headers."""

        left = 200_000_000
        packer = zlib.compressobj(1, wbits=31)
        first = b"WARC/1.0\r\n"

        def read(self, size: int = -1) -> bytes:
            given, self.first = self.first, b""
            while self.left > 0 and not given:
                data = line * 10_000
                self.left -= len(data)
                given = self.packer.compress(data) if is_packed else data
            return given

    endless = Endless()
    if is_packed:
        endless.first = endless.packer.compress(endless.first)
    counts: Counter[str] = Counter()
    tracemalloc.start()
    assert [*read_records(endless, 1_000, counts)] == []  # type: ignore[arg-type]
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert counts == {"damaged": 1} and endless.left <= 0
    assert peak < 8 << 20


def test_a_bomb_takes_no_memory() -> None:
    packer = zlib.compressobj(9, wbits=31)
    data = packer.compress(b"WARC/1.0\r\nWARC-Type: response\r\nContent-Length: 300000000\r\n\r\n")
    data += b"".join(packer.compress(bytes(1_000_000)) for _ in range(300)) + packer.flush()
    tracemalloc.start()
    found, counts = read(data + MEMBERS[0])
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [len(block) for block, _ in found] == [1_000, 3]
    assert not counts and peak < 4 << 20


def test_millions_of_line_ends_take_little_time() -> None:
    data = gzip.compress(RECORDS[0] + b"\n" * 40_000_000, mtime=0)
    began = process_time()
    found, counts = read(data + MEMBERS[1])
    assert process_time() - began < 1.5  # byte by byte it would take four times as long
    assert [block for block, _ in found] == BLOCKS[:2] and not counts
