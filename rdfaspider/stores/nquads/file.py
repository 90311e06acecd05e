"""One file of compressed N-Quads: its records, and how to read, cut and rewrite it."""

from __future__ import annotations

import gzip
import logging
import os
import zlib
from contextlib import contextmanager
from io import BytesIO
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from rdfaspider.stores import StoreUnavailable
from rdfaspider.stores.provenance import CRAWL, without_fetches

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence
    from pathlib import Path

    from rdfaspider.stores.changes import Change

logger = logging.getLogger(__name__)

_CHUNK = 1 << 20
_CRAWL = f"<{CRAWL}".encode()


def record(changes: Sequence[Change]) -> bytes:
    """Return changes as one gzip member."""
    blocks = (
        _text(f"<{change.graph}>".encode(), change.replaces, change.quads, change.nquads())
        for change in changes
    )
    return gzip.compress(b"".join(blocks), 6, mtime=0)


def _text(graph: bytes, replaces: bool, count: int, lines: bytes) -> bytes:
    return b"# %s %s %d\n%s" % (b"replace" if replaces else b"add", graph, count, lines)


def cut(path: Path) -> None:
    """Cut off an unfinished member at the end of a file."""
    with _explained(path), path.open("r+b") as file:
        end, size = _end_of_members(file), path.stat().st_size
        if end < size:
            file.truncate(end)
            logger.warning("An unfinished write of %d bytes was cut off %s.", size - end, path)


class Block(NamedTuple):
    """A change as read: its lines replace a graph, named in angle brackets, or are added to it."""

    graph: bytes
    replaces: bool
    lines: list[bytes]

    def text(self) -> bytes:
        return _text(self.graph, self.replaces, len(self.lines), b"".join(self.lines))


def blocks_of(path: Path, *, is_last: bool = False) -> Iterator[Block]:
    """Yield the changes of a file; raise StoreUnavailable if it is damaged.

    A member that is still being written at the end of the last file is skipped.
    """
    with _explained(path), path.open("rb") as file:
        source: BinaryIO = file
        if is_last or not path.stat().st_size:
            size = _end_of_members(file)
            file.seek(0)
            source = BytesIO(file.read(size))
        with gzip.GzipFile(fileobj=source) as lines:
            for header in lines:
                _, action, graph, count = header.split()
                body = [lines.readline() for _ in range(int(count))]
                yield Block(graph, action == b"replace", body)


def _end_of_members(file: BinaryIO) -> int:
    """Return where the last whole member of a file ends; raise zlib.error if there is none.

    Zeros at the end are left by a write during which the machine lost its power.
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
    """Tell whether a chunk and the rest of the file are zeros."""
    while chunk and not chunk.strip(b"\0"):
        chunk = file.read(_CHUNK)
    return not chunk


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn what is wrong with a file into a sentence."""
    try:
        yield
    except (EOFError, ValueError, zlib.error, gzip.BadGzipFile) as error:
        raise StoreUnavailable(
            f"{path} is damaged ({error}): restore it from a backup, or move it away; the other files in"
            " its directory can be read without it."
        ) from error
    except OSError as error:
        raise StoreUnavailable(f"{path} cannot be read: {error.strerror or error}.") from error


def rewrite(path: Path, removed: Container[bytes]) -> None:
    """Write a file again without removed graphs and the provenance of their pages."""
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
