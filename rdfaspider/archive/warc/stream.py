"""Reads the records of any WARC file one after the other: packed by record, as a whole, or not at all.

Nobody knows who wrote it. So memory is bounded whatever a header says or a member unpacks to, and what is no
record is skipped and counted. Where each record is a gzip member, as it should be, a record that lies about
its length costs only itself; elsewhere, what comes after it is lost.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from rdfaspider.archive.warc.members import UnpackError, unpacker
from rdfaspider.archive.warc.reader import parse

if TYPE_CHECKING:
    from collections import Counter
    from collections.abc import Iterator

    from rdfaspider.archive.warc.reader import Record

_MAGIC = b"\x1f\x8b"
_CHUNK = 1 << 15
# Bytes that the headers of a record may have.
_HEAD = 1 << 16
_WARC = b"WARC/"
_END = b"\r\n\r\n"


class Found(NamedTuple):
    """A record, the beginning of its block, and where its member begins; it is cut if there was more.

    `length` is that of the member, 0 if that is not the record's own.
    """

    record: Record
    offset: int
    is_cut: bool
    length: int = 0


def read_records(
    file: BinaryIO, most: int, counts: Counter[str], offset: int = 0
) -> Iterator[Found]:
    """Yield the records of a file from an offset on, with up to `most` bytes of their blocks.

    `file` may be a pipe, if `offset` is 0. What is skipped is counted as "damaged".
    """
    if offset:
        file.seek(offset)
    source = _Source(file, offset)
    while source.fill(len(_MAGIC)):
        start = source.offset
        member = _Member(source, is_packed=source.data.startswith(_MAGIC))
        try:
            if record := member.only_record(most):
                yield Found(record, start, False, source.offset - start)
                continue
            is_first, has_more = True, member.has_more()
            while has_more:
                found = _read(member, most, start)
                has_more = member.has_more()  # which finds out, too, whether its checksum is right
                is_whole = member.begins_record() if has_more else not member.is_torn
                if not is_whole:
                    raise ValueError("The record has other bytes than it says.")
                if is_first and not has_more and member.is_packed:
                    found = found._replace(length=source.offset - start)
                is_first = False
                yield found
        except (ValueError, UnpackError):
            counts["damaged"] += 1
        if not member.skip():
            return


def _read(member: _Member, most: int, start: int) -> Found:
    head = member.head()
    record = parse(head)
    size = int(record.headers[b"content-length"])
    block = member.take(min(size, most))
    if len(block) < min(size, most) or not member.drop(size - len(block)):
        raise ValueError("The record has fewer bytes than it says.")
    return Found(record._replace(block=block), start, size > most)


class _Source:
    """A file that is read in chunks; `offset` is that of the first byte of `data`."""

    def __init__(self, file: BinaryIO, offset: int) -> None:
        self._file = file
        self.data = b""
        self.offset = offset

    def fill(self, least: int = 1) -> bool:
        """Read on if fewer bytes are there; tell whether some are."""
        while len(self.data) < least and (more := self._file.read(_CHUNK)):
            self.data += more
        return bool(self.data)

    def advance(self, rest: bytes) -> None:
        """Go on to the last bytes of the data."""
        self.offset += len(self.data) - len(rest)
        self.data = rest


class _Member:
    """What a gzip member unpacks to, or a file that is not packed."""

    def __init__(self, source: _Source, *, is_packed: bool) -> None:
        self._source = source
        self._unpacker = unpacker() if is_packed else None
        self._buffer = bytearray()
        self._is_broken = False

    def _more(self) -> bool:
        """Unpack another piece into the buffer; tell whether there was one."""
        source, unpacking = self._source, self._unpacker
        while not (unpacking and unpacking.eof) and not self._is_broken and source.fill():
            if unpacking is None:
                piece, rest = source.data, b""
            else:
                try:
                    piece = unpacking.decompress(source.data, _CHUNK)
                except UnpackError:
                    self._is_broken = True
                    raise
                rest = unpacking.unused_data if unpacking.eof else unpacking.unconsumed_tail
            source.advance(rest)
            self._buffer += piece
            if piece:
                return True
        return False

    @property
    def is_packed(self) -> bool:
        return self._unpacker is not None

    @property
    def is_torn(self) -> bool:
        """Tell, when nothing more can be read, whether a gzip member goes on where the file does not."""
        return self._unpacker is not None and not self._unpacker.eof

    def only_record(self, most: int) -> Record | None:
        """Return the record of a short member that holds nothing else, None if that takes more care.

        Most records of most archives are such, and it takes half the time.
        """
        if not self.is_packed or not self._more() or self.is_torn:
            return None
        data = bytes(self._buffer)
        if not data.startswith(_WARC):
            return None
        record = parse(data)
        size = int(record.headers[b"content-length"])
        is_all = len(data) == data.index(_END) + len(_END) + size + len(_END)
        return record if is_all and size <= most and data.endswith(_END) else None

    def has_more(self) -> bool:
        """Skip the line ends between records; tell whether another one begins."""
        while True:
            rest = len(self._buffer.lstrip(b"\r\n"))
            del self._buffer[: len(self._buffer) - rest]
            if self._buffer:
                return True
            if not self._more():
                return False

    def begins_record(self) -> bool:
        """Tell whether what comes next looks like a record."""
        while len(self._buffer) < len(_WARC) and self._more():
            pass
        return self._buffer.startswith(_WARC)

    def head(self) -> bytes:
        """Return the headers of a record with their end."""
        while (end := self._buffer.find(_END, 0, _HEAD)) < 0:
            if len(self._buffer) >= _HEAD or not self._more():
                raise ValueError("The headers of a record do not end.")
        return self.take(end + len(_END))

    def take(self, size: int) -> bytes:
        """Return so many bytes, or all that are left."""
        while len(self._buffer) < size and self._more():
            pass
        taken = bytes(self._buffer[:size])
        del self._buffer[:size]
        return taken

    def drop(self, size: int) -> bool:
        """Leave out so many bytes; tell whether they were there."""
        while size:
            gone = min(size, len(self._buffer))
            del self._buffer[:gone]
            size -= gone
            if size and not self._more():
                return False
        return True

    def skip(self) -> bool:
        """Go to the end of the member; tell whether another one can follow."""
        try:
            while self._more():
                self._buffer.clear()
        except UnpackError:
            return False
        return not self._is_broken and not self.is_torn
