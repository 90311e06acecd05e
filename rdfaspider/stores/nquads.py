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
from collections import Counter
from collections.abc import Container, Iterable, Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

from pyoxigraph import Quad, RdfFormat, parse

from rdfaspider.stores import StoreDown, StoreUnavailable
from rdfaspider.stores.changes import Change
from rdfaspider.stores.provenance import CRAWL, without_fetches
from rdfaspider.stores.selection import Selection

_CHUNK = 1 << 20
_CRAWL = f"<{CRAWL}".encode()


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
        return self.select(Selection())

    def select(self, selection: Selection) -> Iterator[Quad]:
        for block in self._valid_blocks(selection):
            yield from selection.of_page(parse(b"".join(block.lines), RdfFormat.N_QUADS))

    def sizes(self, selection: Selection) -> Iterator[tuple[str, int]]:
        sizes: Counter[bytes] = Counter()
        for block in self._valid_blocks(selection):
            sizes[block.graph] += len(block.lines)
        return ((name[1:-1].decode(), size) for name, size in sizes.items() if size)

    def remove(self, graphs: Iterable[str]) -> None:
        """Remove graphs from the files themselves, whatever was ever said in them.

        The oldest file is the first, so that at no time an old version of a page is the last one.
        """
        self.close()
        names = {f"<{graph}>".encode() for graph in graphs}
        for path in self._files():
            _rewrite(path, names)

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

    def _valid_blocks(self, selection: Selection) -> Iterator[Block]:
        """Yield what holds of the pages that are meant: what no later replacement has made void."""
        last = {}
        for number, block in enumerate(self._blocks()):
            if block.replaces:
                last[hash(block.graph)] = number
        for number, block in enumerate(self._blocks()):
            is_valid = number >= last.get(hash(block.graph), 0)
            if is_valid and selection.has_page(block.graph[1:-1].decode()):
                yield block

    def _blocks(self) -> Iterator[Block]:
        for path in self._files():
            yield from _blocks_of(path)


class Block(NamedTuple):
    """One change: its lines replace, or are added to, a graph, whose name is in angle brackets."""

    graph: bytes
    replaces: bool
    lines: list[bytes]

    def text(self) -> bytes:
        action = b"replace" if self.replaces else b"add"
        return b"# %s %s %d\n%s" % (action, self.graph, len(self.lines), b"".join(self.lines))


def _blocks_of(path: Path) -> Iterator[Block]:
    with gzip.open(path) as lines:
        for header in lines:
            _, action, graph, count = header.split()
            body = [lines.readline() for _ in range(int(count))]
            yield Block(graph, action == b"replace", body)


def _rewrite(path: Path, removed: Container[bytes]) -> None:
    """Write a file without graphs that are removed, and without what is known of their fetches."""
    new = path.with_suffix(".new")
    is_changed = is_empty = False
    with new.open("wb") as file:
        with gzip.GzipFile("", "wb", 6, file, mtime=0) as output:
            for block in _blocks_of(path):
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
