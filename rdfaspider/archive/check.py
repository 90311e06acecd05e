"""Verifies an archive: every record whole, every digest right, the index neither short nor long.

Memory does not grow with the archive: records are read in pieces, and for each file only the sum of its
captures is kept. Where that differs from the index, the file is read again and compared capture by capture.
"""

from __future__ import annotations

from collections import Counter
from hashlib import sha1
from typing import TYPE_CHECKING

from rdfaspider.archive.index.index import captures_in
from rdfaspider.archive.warc.members import HEAD
from rdfaspider.archive.warc.reader import files_of, parse, path_of, scan
from rdfaspider.archive.warc.records import written
from rdfaspider.terminal import plural

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rdfaspider.archive.index.captures import Capture

_END = b"\r\n\r\n"


def check(
    archive: Path, counts: Counter[str], show: Callable[[], None] = lambda: None
) -> Iterator[str]:
    """Yield a sentence for each fault, and count files, records and captures meanwhile.

    `show` is called for each record.

    Files that are being written are left out, and so are their captures.
    """
    sums: dict[str, int] = {}
    for path in files_of(archive):
        counts["files"] += 1
        sums[path.name] = 0
        end = 0
        payload = _Payload()
        for member, capture in scan(path, path.name, feed=payload.feed):
            counts["records"] += 1
            show()
            end = member.offset + member.length
            if payload.end():
                place = f"in {path.name} at {member.offset:,}"
                yield f"The record {place} has another payload than its digest says."
            if capture is not None:
                counts["captures"] += 1
                sums[path.name] += _hash(capture)
        if end < (size := path.stat().st_size):
            yield f"{path.name} is damaged: {size - end:,} bytes from {end:,} on are no record."
    yield from _compare(archive, sums, counts)


class _Payload:
    """The body of a response that comes in pieces of its record, and whether its digest is right."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._head = bytearray()
        self._expected = b""
        self._total = sha1(usedforsecurity=False)
        self._left = -1  # bytes of the body that are still to come, -1 before it begins

    def feed(self, piece: bytes) -> None:
        """Take the next bytes of a record."""
        if self._left < 0:
            if len(self._head) > HEAD:
                return  # headers without an end
            self._head += piece
            if not (piece := self._begin()):
                return
        piece = piece[: self._left]
        self._left -= len(piece)
        self._total.update(piece)

    def _begin(self) -> bytes:
        """Return what is there of the body, if it has begun."""
        first = self._head.find(_END) + len(_END)
        second = self._head.find(_END, first) + len(_END)
        if first < len(_END) or second < len(_END):
            return b""
        try:
            record = parse(bytes(self._head[:first]))
        except ValueError:  # which whoever scans the file finds too
            self._left = 0
            return b""
        if record.kind == "response":
            self._expected = record.headers.get(b"warc-payload-digest", b"none")
        self._left = max(0, int(record.headers[b"content-length"]) - (second - first))
        return bytes(self._head[second:])

    def end(self) -> bool:
        """Tell whether the digest of the record is wrong, and begin with the next one."""
        wrong = self._expected not in (b"", written(self._total.digest()))
        self._reset()
        return wrong


def _hash(capture: Capture) -> int:
    return hash((capture.offset, capture.url, capture.digest))


def _compare(archive: Path, sums: dict[str, int], counts: Counter[str]) -> Iterator[str]:
    """Yield a sentence for each capture that the index and the files do not both have."""
    for capture in captures_in(archive, counts=counts):
        if capture.filename in sums:
            sums[capture.filename] -= _hash(capture)
        elif not path_of(archive, capture.filename).exists():
            yield f"The index leads {capture.url} to {capture.filename}, which is not there."
    if bad := counts["unreadable"]:
        yield f"{plural(bad, 'line')} of the index cannot be read."
    for name in sorted(name for name, rest in sums.items() if rest):
        yield from _compare_file(archive, name)


def _compare_file(archive: Path, name: str) -> Iterator[str]:
    there = {_hash(each): each.offset for _, each in scan(archive / name, name) if each is not None}
    for capture in captures_in(archive):
        if capture.filename == name and there.pop(_hash(capture), None) is None:
            place = f"{name}, {capture.offset:,}"
            yield f"The index leads {capture.url} to {place}: no such response is there."
    for offset in sorted(there.values()):
        yield f"The response in {name} at {offset:,} is not in the index."
