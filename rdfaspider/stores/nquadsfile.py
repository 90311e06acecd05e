"""One file of compressed N-Quads (nquads.py has the layout): how it is written, read, cut and rewritten."""

from __future__ import annotations

import gzip
import logging
import os
import re
import zlib
from contextlib import contextmanager
from io import BufferedReader, RawIOBase
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from rdfaspider.stores import StoreUnavailable
from rdfaspider.stores.provenance import CRAWL, without_fetches

if TYPE_CHECKING:
    from collections.abc import Container, Iterator
    from io import FileIO
    from pathlib import Path

    from _typeshed import ReadableBuffer

logger = logging.getLogger(__name__)

_NAME = re.compile(r"pages-(\d+)\.nq\.gz")
_CHUNK = 1 << 20
_CRAWL = f"<{CRAWL}".encode()


def is_one(path: Path) -> bool:
    """Tell by its name whether a file is one of these."""
    return _NAME.fullmatch(path.name) is not None


def number_of(path: Path) -> int:
    found = _NAME.fullmatch(path.name)
    assert found is not None
    return int(found[1])


# --- writing ---


def create(path: Path, member: bytes) -> None:
    """Make a file of one gzip member: under its name there is never less than that."""
    new = path.with_suffix(".new")
    try:
        with new.open("wb", buffering=0) as file:
            append(file, member)
    except OSError:
        new.unlink(missing_ok=True)
        raise
    new.replace(path)


def append(file: FileIO, member: bytes) -> None:
    """Write a member to the end of a file and force it to disk, or leave the file as it was."""
    end = file.tell()
    try:
        rest = memoryview(member)
        while rest:
            rest = rest[file.write(rest) :]
        os.fsync(file.fileno())
    except OSError:
        # What follows half a member could not be read.
        os.ftruncate(file.fileno(), end)
        raise


def cut(path: Path) -> None:
    """Cut off a member at the end of a file that was not finished."""
    with _explained(path), path.open("r+b") as file:
        end, size = _end_of_members(file), path.stat().st_size
        if end < size:
            file.truncate(end)
            logger.warning(
                "%d bytes of a write that was not finished were cut off %s.", size - end, path
            )


# --- reading ---


class Block(NamedTuple):
    """One change: its lines replace, or are added to, a graph, whose name is in angle brackets."""

    graph: bytes
    replaces: bool
    lines: list[bytes]

    def text(self) -> bytes:
        action = b"replace" if self.replaces else b"add"
        return b"# %s %s %d\n%s" % (action, self.graph, len(self.lines), b"".join(self.lines))


def blocks_of(path: Path, *, is_last: bool = False) -> Iterator[Block]:
    """Yield the changes of a file; StoreUnavailable if it is damaged.

    The last file may end in a member that is being written, which is passed over.
    """
    with _explained(path), path.open("rb") as file:
        size = path.stat().st_size
        if is_last or not size:
            size = _end_of_members(file)
            file.seek(0)
        with gzip.GzipFile(fileobj=BufferedReader(_Beginning(file, size), _CHUNK)) as lines:
            for header in lines:
                _, action, graph, count = header.split()
                body = [lines.readline() for _ in range(int(count))]
                yield Block(graph, action == b"replace", body)


class _Beginning(RawIOBase):
    """The first bytes of a file, as if there were no more."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self._file = file
        self._left = size

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: ReadableBuffer) -> int:
        view = memoryview(buffer)
        data = self._file.read(min(len(view), self._left))
        view[: len(data)] = data
        self._left -= len(data)
        return len(data)


def _end_of_members(file: BinaryIO) -> int:
    """Return where the last whole member of a file ends; zlib.error if there is none, or other data.

    Zeros at the end are what a disk that lost its power leaves of a write.
    """
    end = position = 0
    member = zlib.decompressobj(wbits=31)
    while chunk := file.read(_CHUNK):
        position += len(chunk)
        while chunk:
            try:
                member.decompress(chunk)
            except zlib.error:
                if end and position - len(chunk) == end and _is_zero(chunk, file):
                    return end
                raise
            chunk = member.unused_data
            if member.eof:
                end = position - len(chunk)
                member = zlib.decompressobj(wbits=31)
    if not end:
        raise zlib.error("it is empty" if not position else "it has nothing whole")
    return end


def _is_zero(chunk: bytes, file: BinaryIO) -> bool:
    """Tell whether this and the rest of a file are zeros."""
    while chunk and not chunk.strip(b"\0"):
        chunk = file.read(_CHUNK)
    return not chunk


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say in a sentence what cannot be read of a file."""
    try:
        yield
    except (EOFError, ValueError, zlib.error, gzip.BadGzipFile) as error:
        raise StoreUnavailable(
            f"{path} is damaged ({error}): restore it from a backup, or move it away; the other files in"
            " its directory can be read without it."
        ) from error
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be read: {error.strerror or error}.") from error


# --- rewriting ---


def rewrite(path: Path, removed: Container[bytes]) -> None:
    """Write a file without graphs that are removed, and without what is known of their fetches."""
    new = path.with_suffix(".new")
    is_changed = is_empty = False
    with new.open("wb") as file:
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as output:
            for block in blocks_of(path):
                kept = _without(block, removed)
                is_changed = is_changed or kept != block
                if kept is not None:
                    output.write(kept.text())
            is_empty = not output.tell()
        os.fsync(file.fileno())
    if is_changed and not is_empty:
        new.replace(path)
        return
    new.unlink()
    if is_changed:
        path.unlink()


def _without(block: Block, removed: Container[bytes]) -> Block | None:
    if block.graph in removed:
        return None
    if not block.graph.startswith(_CRAWL):
        return block
    lines = without_fetches(block.lines, lambda page: f"<{page}>".encode() in removed)
    return block._replace(lines=lines) if lines or block.replaces else None
