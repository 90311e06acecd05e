"""Compressed N-Quads files, for bulk loaders and archives.

A directory of `pages-00001.nq.gz`, `pages-00002.nq.gz`, …, a log (`rdfaspider/stores/log.py`); a file that
has reached its size is followed by the next. Each write appends one gzip member (`file.py`), in which each
change is

    # replace <graph> COUNT        or: # add <graph> COUNT
    COUNT quads, a line each

A later replacement of a graph makes everything before it about this graph void. A loader skips the comments,
and so loads every version of a page; `quads`, and `scrapy export`, yield the current one. A member that a
kill left unfinished, or that is still being written, is at the end of the last file. It is not read, and is
cut off when the files are opened for writing. Anything else that is wrong is damage, reported and left alone.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyoxigraph import RdfFormat, parse

from rdfaspider.stores import PageStore, StoreDown, StoreUnavailable
from rdfaspider.stores.log import Log
from rdfaspider.stores.nquads.file import blocks_of, cut, record, rewrite
from rdfaspider.stores.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyoxigraph import Quad

    from rdfaspider.stores.changes import Change
    from rdfaspider.stores.nquads.file import Block


class NQuadsStore(PageStore):
    """A store of files in a directory, for one writing process at a time."""

    def __init__(self, path: str, *, read_only: bool = False, file_bytes: int = 64 << 20) -> None:
        self.path = Path(path)
        self._file_bytes = file_bytes
        self._log = Log(self.path, "pages-", 5, ".nq.gz", is_synced=True)
        self._is_open = False
        if read_only and not self.path.is_dir():
            raise StoreUnavailable(f"There are no N-Quads files in {self.path}.")
        if not read_only:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
            except OSError as error:
                raise StoreUnavailable(
                    f"No files can be written to {self.path}: {error}."
                ) from error
            self._open()

    def _open(self) -> None:
        """Go on after the last whole write."""
        for last in self._files()[-1:]:
            cut(last)
        self._log.resume()
        self._is_open = True

    def create(self) -> bool:
        return not self._files()

    def write(self, changes: Sequence[Change]) -> None:
        member = record(changes)
        try:
            if not self._is_open:
                self._open()
            if self._log.size >= self._file_bytes:
                self._log.seal()
            self._log.append(member)
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
        """Remove every version of graphs from the files themselves.

        The oldest file comes first, so that an old version of a page never becomes the current one.
        """
        self.close()
        names = {f"<{graph}>".encode() for graph in graphs}
        for path in self._files():
            rewrite(path, names)

    def count(self) -> int:
        return sum(1 for _ in self.quads())

    def close(self) -> None:
        self._log.seal()
        self._is_open = False  # the next write opens the last file again

    def _files(self) -> list[Path]:
        try:
            return self._log.files()
        except OSError as error:
            raise StoreUnavailable(f"{self.path} cannot be read: {error}.") from error

    def _valid_blocks(self, selection: Selection) -> Iterator[Block]:
        """Yield the current changes of the selected pages: those that no later replacement makes void."""
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
