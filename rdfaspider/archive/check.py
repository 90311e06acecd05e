"""Verifies an archive: every record whole, every digest right, the index neither short nor long."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rdfaspider.archive.index import captures_in
from rdfaspider.archive.members import unpack
from rdfaspider.archive.reader import MOST, files_of, parse, path_of, scan
from rdfaspider.archive.records import digest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rdfaspider.archive.members import Member


def check(archive: Path, counts: Counter[str]) -> Iterator[str]:
    """Yield a sentence for each fault, and count files, records and captures meanwhile.

    Files that are being written are left out, and so are their captures.
    """
    found: set[tuple[str, int]] = set()
    for path in files_of(archive):
        counts["files"] += 1
        end = 0
        with path.open("rb") as file:
            for member, capture in scan(path, path.name):
                counts["records"] += 1
                end = member.offset + member.length
                file.seek(member.offset)
                yield from _faults(file.read(member.length), member, path.name)
                if capture is not None:
                    found.add((path.name, member.offset))
        if end < (size := path.stat().st_size):
            yield f"{path.name} is damaged: {size - end:,} bytes from {end:,} on are no record."
    counts["captures"] = len(found)
    yield from _compare(archive, found)


def _compare(archive: Path, found: set[tuple[str, int]]) -> Iterator[str]:
    whole = {path.name for path in files_of(archive)}
    for capture in captures_in(archive):
        place = capture.filename, capture.offset
        if capture.filename in whole:
            if place not in found:
                yield f"The index leads {capture.url} to {place[0]}, {place[1]:,}: no response is there."
            found.discard(place)
        elif not path_of(archive, capture.filename).exists():
            yield f"The index leads {capture.url} to {place[0]}, which is not there."
    for name, offset in sorted(found):
        yield f"The response in {name} at {offset:,} is not in the index."


def _faults(data: bytes, member: Member, name: str) -> Iterator[str]:
    where = f"The record in {name} at {member.offset:,}"
    try:
        record = parse(unpack(data, MOST))
    except ValueError as error:
        yield f"{where} cannot be read: {error}"
        return
    if record.kind == "response" and record.text(b"warc-payload-digest").encode() != digest(
        record.payload
    ):
        yield f"{where} has another payload than its digest says."
