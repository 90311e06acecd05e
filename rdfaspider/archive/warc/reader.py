"""Reads records of an archive, one by its place or all of a file."""

from __future__ import annotations

import re
from calendar import timegm
from functools import lru_cache
from pathlib import Path
from time import strptime
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from rdfaspider.archive.index.captures import REVISIT, Capture, digits, media_type
from rdfaspider.archive.warc.members import Member, members, unpack
from rdfaspider.items import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OPEN = ".open"
# Bytes that a record may have: twice what a page may have by far.
MOST = 1 << 28
# Other names are possible, and could be those of pages or of what we call by a name ourselves.
_IDENTITY = re.compile("urn:uuid:[0-9a-f-]{36}", re.IGNORECASE)
# Characters of a digest: SHA-512 in hexadecimal, and the name of the algorithm.
_DIGEST = 200


class Record(NamedTuple):
    """A record: its headers, their names in lower case, and its block, or the beginning of that."""

    headers: dict[bytes, bytes]
    block: bytes

    @property
    def kind(self) -> str:
        return self.text(b"warc-type")

    def text(self, name: bytes) -> str:
        return self.headers.get(name, b"").decode("utf-8", "backslashreplace")

    @property
    def payload(self) -> bytes:
        """The body of the HTTP message."""
        return self.block.partition(b"\r\n\r\n")[2]


def parse(data: bytes) -> Record:
    """Read a record; ValueError if it is none."""
    head, end, rest = data.partition(b"\r\n\r\n")
    first, *lines = head.split(b"\r\n")
    if not end or not first.startswith(b"WARC/"):
        raise ValueError("This is no record of WARC.")
    headers = {}
    for line in lines:
        name, _, value = line.partition(b":")
        headers[name.strip().lower()] = value.strip()
    size = headers.get(b"content-length", b"")
    if not size.isdigit():
        raise ValueError("A record does not say how long it is.")
    return Record(headers, rest[: int(size)])


def source_of(record: Record, filename: str, offset: int, length: int) -> Source | None:
    """Return where a record is, None if it has no name that is known to be its own."""
    identity = record.text(b"warc-record-id").strip("<>")
    if not _IDENTITY.fullmatch(identity):
        return None
    date = seconds_of(record.text(b"warc-date"))
    digest = record.text(b"warc-payload-digest")[:_DIGEST]
    name = filename.encode("utf-8", "backslashreplace").decode()
    return Source(identity.lower(), name, offset, length, digest, date)


@lru_cache(1024)
def seconds_of(date: str) -> float:
    """Return a date of WARC in seconds since the epoch, 0 if it is none."""
    try:
        return timegm(strptime(date[:19], "%Y-%m-%dT%H:%M:%S"))
    except ValueError:
        return 0.0


def is_whole(member: Member) -> bool:
    """Tell whether a member has as many bytes as its record says."""
    try:
        record = parse(member.head)
    except ValueError:
        return False
    head = member.head.index(b"\r\n\r\n") + 4
    return head + int(record.headers[b"content-length"]) + 4 == member.size


def capture_of(member: Member, filename: str) -> Capture | None:
    """Return the capture that a record is, None if it is of another kind."""
    record = parse(member.head)
    if record.kind not in ("response", "revisit"):
        return None
    first, *lines = record.block.partition(b"\r\n\r\n")[0].split(b"\r\n")
    mime = b""
    for line in lines:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-type":
            mime = value
            break
    status = b"".join(first.split(b" ")[1:2])
    return Capture(
        record.text(b"warc-target-uri"),
        digits(record.text(b"warc-date")),
        REVISIT if record.kind == "revisit" else media_type(mime),
        status.decode() if status.isdigit() else "",
        record.text(b"warc-payload-digest"),
        member.length,
        member.offset,
        filename,
    )


def path_of(archive: Path, filename: str) -> Path:
    """Return where a WARC file is, which may still be written to; ValueError if it is elsewhere."""
    if Path(filename).name != filename or not filename:
        raise ValueError(f"The index names {filename[:100]!r}, which is no file of the archive.")
    path = archive / filename
    return path if path.exists() else archive / f"{filename}{OPEN}"


def open_file(path: Path) -> BinaryIO:
    """Open a WARC file, also if its writer has given it its name meanwhile."""
    try:
        return path.open("rb")
    except FileNotFoundError:
        if path.suffix != OPEN:
            raise
        return path.with_suffix("").open("rb")


def read(archive: Path, capture: Capture) -> Record:
    """Return the record of a capture; ValueError if it is not there or not whole."""
    if not 0 < capture.length <= MOST:
        raise ValueError(f"The index says that {capture.url} has {capture.length:,} bytes.")
    with open_file(path_of(archive, capture.filename)) as file:
        file.seek(capture.offset)
        return parse(unpack(file.read(capture.length), MOST))


def files_of(archive: Path) -> Iterator[Path]:
    """Yield the WARC files of an archive that are whole, in order."""
    yield from sorted(archive.glob("*.warc.gz"))


def scan(
    path: Path, filename: str, offset: int = 0, feed: Callable[[bytes], None] | None = None
) -> Iterator[tuple[Member, Capture | None]]:
    """Yield the whole records of a file, and the capture that each is.

    Before that, `feed` gets all bytes of the record.
    """
    with path.open("rb") as file:
        for member in members(file, offset, feed):
            if not is_whole(member):
                return
            yield member, capture_of(member, filename)
