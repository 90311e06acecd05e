"""The links of all pages in one direction, in a compact file: for each page the pages at the other ends.

Layout. Blocks, each a zstd frame of consecutive pages: number of the pages and of their links (8 bytes
each), length of the coded degrees and of the coded targets (8 bytes each), both as varints (targets as gaps,
varints.py), and a byte for the kind of each link, unless all are followed. The index has for each block its
first page, its place in the file and the number of links before it (8 bytes each), and ends with the totals.

Pages are in the order of their keys, so links within a site are small gaps, and neighbours have similar
links, which zstd finds: about ten bits a link.
"""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING, BinaryIO, NamedTuple, Self

import numpy as np

from rdfaspider.linkgraph.edges import FOLLOW
from rdfaspider.linkgraph.varints import Array, decode, encode, gaps_to_rows, rows_to_gaps

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HEAD = struct.Struct("<4Q")
_LINKS = 1 << 18  # in a block, unless one page has more
_PAGES = 1 << 16
_LEVEL = 6


class Block(NamedTuple):
    """Consecutive pages: the first, how many links each has, their other ends and their kinds."""

    first: int
    degrees: Array
    targets: Array
    kinds: Array


class AdjacencyWriter:
    """Writes pages in order. Rows must be sorted, with each target once."""

    def __init__(self, path: Path) -> None:
        self._file: BinaryIO = path.open("wb")
        self._index_path = path.with_suffix(".index")
        self._index: list[tuple[int, int, int]] = []
        self.pages = self.links = 0

    def add(self, degrees: Array, targets: Array, kinds: Array) -> None:
        """Add the next pages, with all their links."""
        ends = np.cumsum(degrees, dtype=np.int64)
        start = 0
        while start < len(degrees):
            before = int(ends[start - 1]) if start else 0
            stop = int(np.searchsorted(ends, before + _LINKS, "right"))
            stop = min(max(stop, start + 1), start + _PAGES)
            last = int(ends[stop - 1])
            self._add_block(degrees[start:stop], targets[before:last], kinds[before:last])
            start = stop

    def _add_block(self, degrees: Array, targets: Array, kinds: Array) -> None:
        self._index.append((self.pages, self._file.tell(), self.links))
        own = np.arange(self.pages, self.pages + len(degrees))
        coded, gaps = encode(degrees), encode(rows_to_gaps(own, degrees, targets))
        head = _HEAD.pack(len(degrees), len(targets), len(coded), len(gaps))
        said = b"" if (kinds == FOLLOW).all() else kinds.astype(np.uint8).tobytes()
        self._file.write(zstd.compress(head + coded + gaps + said, _LEVEL))
        self.pages += len(degrees)
        self.links += len(targets)

    def close(self) -> None:
        index = [*self._index, (self.pages, self._file.tell(), self.links)]
        self._file.close()
        np.array(index, "<u8").tofile(self._index_path)


class Adjacency:
    """Reads a file of links: all pages in order, or some."""

    def __init__(self, path: Path) -> None:
        self._path = path
        index = np.fromfile(path.with_suffix(".index"), "<u8")
        if len(index) % 3 or not len(index):
            raise ValueError(f"{path.with_suffix('.index')} is damaged: build the graph again.")
        self._index = index.reshape(-1, 3).astype(np.int64)
        self._file: BinaryIO = path.open("rb")
        self.pages, self.size, self.links = (int(each) for each in self._index[-1])

    def blocks(self) -> Iterator[Block]:
        """Yield all pages, in order."""
        return map(self._block, range(len(self._index) - 1))

    def row(self, page: int) -> tuple[Array, Array]:
        """Return the other ends of a page's links, and their kinds."""
        if not 0 <= page < self.pages:
            raise IndexError(f"the graph has no page {page}")
        block = self._block(int(np.searchsorted(self._index[:, 0], page, "right")) - 1)
        place = page - block.first
        start = int(block.degrees[:place].sum())
        part = slice(start, start + int(block.degrees[place]))
        return block.targets[part], block.kinds[part]

    def _block(self, number: int) -> Block:
        (first, start, _), (_, end, _) = self._index[number], self._index[number + 1]
        self._file.seek(int(start))
        try:
            data = zstd.decompress(self._file.read(int(end - start)))
            pages, links, coded, gaps = _HEAD.unpack_from(data)
        except (zstd.ZstdError, struct.error) as error:
            raise ValueError(f"{self._path} is damaged: build the graph again.") from error
        middle = _HEAD.size + coded
        degrees = decode(data[_HEAD.size : middle]).astype(np.int64)
        own = np.arange(first, first + pages)
        targets = gaps_to_rows(own, degrees, decode(data[middle : middle + gaps]))
        kinds = np.frombuffer(data, np.uint8, offset=middle + gaps)
        if not len(kinds):
            kinds = np.full(links, FOLLOW, np.uint8)
        if len(targets) != links or len(kinds) != links:
            raise ValueError(f"{self._path} is damaged: build the graph again.")
        return Block(int(first), degrees, targets.astype(np.uint32), kinds)

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()
