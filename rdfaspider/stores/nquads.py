"""Compressed N-Quads files, for bulk loaders and for keeping.

A directory of `pages-00001.nq.gz`, `pages-00002.nq.gz`, …; a file that has grown to its size is
followed by the next. They are a log. Each write appends one gzip member, in which each change is

    # replace <graph> COUNT        or: # add <graph> COUNT
    COUNT quads, a line each

and a later replacement of a graph makes void all that stands before about this graph. A loader skips
the comments, and so loads everything that was ever true; `quads`, and `scrapy export`, yield what
holds. A member is written by one call and forced to disk; one that a kill left unfinished is cut
off when the files are opened to write.
"""

from __future__ import annotations

import gzip
import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

from pyoxigraph import Quad, RdfFormat, parse

from rdfaspider.stores import StoreDown, StoreUnavailable
from rdfaspider.stores.changes import Change

_CHUNK = 1 << 20


class NQuadsStore:
    """A Store of files in a directory, for one writing process at a time."""

    def __init__(self, path: str, *, read_only: bool = False, file_bytes: int = 64 << 20) -> None:
        self.path = Path(path)
        self._file_bytes = file_bytes
        self._file: FileIO | None = None
        if read_only and not self.path.is_dir():
            raise StoreUnavailable(f"There are no N-Quads files in {self.path}.")
        if not read_only:
            self.path.mkdir(parents=True, exist_ok=True)
            for last in self._files()[-1:]:
                _cut(last)

    def create(self) -> bool:
        return not self._files()

    def replace(self, graph: str, quads: Iterable[Quad]) -> bool:
        self.write([Change.replacing(graph, quads)])
        return True

    def add(self, quads: Iterable[Quad]) -> None:
        self.write(Change.adding(quads))

    def write(self, changes: Sequence[Change]) -> None:
        text = b"".join(_header(change) + change.nquads() for change in changes)
        file = self._writable()
        end = file.tell()
        try:
            rest = memoryview(gzip.compress(text, 6, mtime=0))
            while rest:
                rest = rest[file.write(rest) :]
            os.fsync(file.fileno())
        except OSError as error:
            # What follows half a member could not be read.
            os.ftruncate(file.fileno(), end)
            self.close()
            raise StoreDown(f"{self.path} cannot be written to: {error}.", "disk") from error

    def query(self, sparql: str) -> Any:
        raise StoreUnavailable(
            f"The files in {self.path} cannot be queried: load them into a store, for example with"
            " scrapy export -o pages.nq.gz and oxigraph load -l DIRECTORY -f pages.nq.gz."
        )

    def quads(self) -> Iterator[Quad]:
        last = {}
        for block in self._blocks():
            if block.replaces:
                last[hash(block.graph)] = block.number
        for block in self._blocks():
            if block.number >= last.get(hash(block.graph), 0):
                yield from parse(b"".join(block.lines), RdfFormat.N_QUADS)

    def count(self) -> int:
        return sum(1 for _ in self.quads())

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _files(self) -> list[Path]:
        return sorted(self.path.glob("pages-*.nq.gz"), key=_number)

    def _writable(self) -> FileIO:
        if self._file is not None and self._file.tell() >= self._file_bytes:
            self.close()
        if self._file is None:
            files = self._files()
            number = _number(files[-1]) if files else 1
            if files and files[-1].stat().st_size >= self._file_bytes:
                number += 1
            self._file = (self.path / f"pages-{number:05}.nq.gz").open("ab", buffering=0)
        return self._file

    def _blocks(self) -> Iterator[Block]:
        number = 0
        for path in self._files():
            with gzip.open(path) as lines:
                for header in lines:
                    _, action, graph, count = header.split()
                    body = [lines.readline() for _ in range(int(count))]
                    yield Block(number, graph, action == b"replace", body)
                    number += 1


class Block(NamedTuple):
    """One change in the order of the log."""

    number: int
    graph: bytes
    replaces: bool
    lines: list[bytes]


def _number(path: Path) -> int:
    return int(path.name.removeprefix("pages-").partition(".")[0])


def _header(change: Change) -> bytes:
    action = "replace" if change.replaces else "add"
    return f"# {action} <{change.graph}> {change.quads}\n".encode()


def _cut(path: Path) -> None:
    """Cut off what follows the last whole gzip member of a file."""
    with path.open("r+b") as file:
        end = _end_of_members(file)
        if end < path.stat().st_size:
            file.truncate(end)


def _end_of_members(file: BinaryIO) -> int:
    end = position = 0
    member = zlib.decompressobj(wbits=31)
    while chunk := file.read(_CHUNK):
        position += len(chunk)
        while chunk:
            try:
                member.decompress(chunk)
            except zlib.error:
                return end
            chunk = member.unused_data
            if member.eof:
                end = position - len(chunk)
                member = zlib.decompressobj(wbits=31)
    return end
