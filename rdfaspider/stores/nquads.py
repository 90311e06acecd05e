"""Compressed N-Quads files, for bulk loaders and for keeping.

A directory of `pages-00001.nq.gz`, `pages-00002.nq.gz`, …; a file that has grown to its size is
followed by the next. They are a log. Each write appends one gzip member, in which each change is

    # replace <graph> COUNT        or: # add <graph> COUNT
    COUNT quads, a line each

and a later replacement of a graph makes void all that stands before about this graph. A loader skips
the comments, and so loads everything that was ever true; `quads`, and `scrapy export`, yield what
holds. A member is written by one call and forced to disk; one that a kill left unfinished, or that is
being written, is at the end of the last file. It is not read, and is cut off when the files are opened to
write. What is wrong elsewhere is damage, which is said and left alone. No file is ever empty.
"""

from __future__ import annotations

import gzip
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from io import FileIO
from pathlib import Path
from typing import Any, Self

from pyoxigraph import Quad, RdfFormat, parse

from rdfaspider.stores import StoreDown, StoreUnavailable
from rdfaspider.stores.changes import Change
from rdfaspider.stores.nquadsfile import (
    Block,
    append,
    blocks_of,
    create,
    cut,
    is_one,
    number_of,
    rewrite,
)
from rdfaspider.stores.selection import Selection


class NQuadsStore:
    """A Store of files in a directory, for one writing process at a time."""

    def __init__(self, path: str, *, read_only: bool = False, file_bytes: int = 64 << 20) -> None:
        self.path = Path(path)
        self._file_bytes = file_bytes
        self._file: FileIO | None = None
        if read_only and not self.path.is_dir():
            raise StoreUnavailable(f"There are no N-Quads files in {self.path}.")
        if not read_only:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreUnavailable(
                    f"No files can be written to {self.path}: {error}."
                ) from error
            for last in self._files()[-1:]:
                cut(last)

    def create(self) -> bool:
        return not self._files()

    def replace(self, graph: str, quads: Iterable[Quad]) -> bool:
        self.write([Change.replacing(graph, quads)])
        return True

    def add(self, quads: Iterable[Quad]) -> None:
        self.write(Change.adding(quads))

    def write(self, changes: Sequence[Change]) -> None:
        text = b"".join(_header(change) + change.nquads() for change in changes)
        member = gzip.compress(text, 6, mtime=0)
        try:
            self._open_last()
            if self._file is None:
                create(self._next(), member)
            else:
                append(self._file, member)
        except OSError as error:
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
            rewrite(path, names)

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
        try:
            return sorted(filter(is_one, self.path.iterdir()), key=number_of)
        except OSError as error:
            raise StoreUnavailable(f"{self.path} cannot be read: {error}.") from error

    def _open_last(self) -> None:
        """Have the last file open, if there is room in it."""
        if self._file is not None and self._file.tell() >= self._file_bytes:
            self.close()
        if self._file is None and (files := self._files()):
            self._file = files[-1].open("ab", buffering=0)
            if self._file.tell() >= self._file_bytes:
                self.close()

    def _next(self) -> Path:
        files = self._files()
        return self.path / f"pages-{number_of(files[-1]) + 1 if files else 1:05}.nq.gz"

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
        files = self._files()
        for path in files:
            yield from blocks_of(path, is_last=path is files[-1])


def _header(change: Change) -> bytes:
    action = "replace" if change.replaces else "add"
    return f"# {action} <{change.graph}> {change.quads}\n".encode()
