"""The links of all pages in one direction, in a compact file: for each page the pages at the other ends.

Layout. Blocks, each a zstd frame with a checksum, of consecutive pages: the number of pages, of links and of
own links, and the lengths of the coded degrees, of the coded numbers of own links, of the ends and of the
gaps (8 bytes each); these four as varints (varints.py); a bit for each link, whether the next page has it
too; and a byte for the kind of each link, unless all are followed. A link that the page before has as well is
one such bit; the others are the page's own. The ends are all pages that own links of the block lead to, in
order; a link is the place of its page among them, coded as a gap. The index has for each block its first
page, its place in the file and the number of links before it (8 bytes each), and ends with the totals.

Pages are in the order of their keys. So neighbours have many links in common, and links within a site are
small gaps (as in WebGraph's BVGraph, Boldi and Vigna, 2004). The pages of a block lead to the same popular
sites again and again: the way there is long in the graph, but short among the ends.
"""

from __future__ import annotations

import struct
import sys
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np

from rdfaspider.closable import Closable
from rdfaspider.linkgraph.edges import FOLLOW
from rdfaspider.linkgraph.files.arrays import create
from rdfaspider.linkgraph.files.varints import Array, decode, encode, gaps_to_rows, rows_to_gaps

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_HEAD = struct.Struct("<7Q")
_LINKS = 1 << 18  # in a block, unless one page has more
_PAGES = 1 << 16
_OPTIONS: dict[int, int] = {
    zstd.CompressionParameter.compression_level: 6,
    zstd.CompressionParameter.checksum_flag: 1,
}
_PAGE = 31  # bits of a page
_LEAST_SHARED = 0.125  # share of links that pages must have in common: less is not worth the bits


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
        is_copied, is_own = _shared(degrees, targets)
        sums = np.concatenate(([0], np.cumsum(is_own)))
        own_degrees = np.diff(sums[np.concatenate(([0], np.cumsum(degrees)))])
        ends, places = np.unique(targets[is_own], return_inverse=True)
        gaps = rows_to_gaps(np.searchsorted(ends, own), own_degrees, places)
        coded = [encode(each) for each in (degrees, own_degrees, _steps(ends), gaps)]
        sizes = (len(degrees), len(targets), int(is_own.sum()), *map(len, coded))
        bits = np.packbits(is_copied).tobytes()
        said = b"" if (kinds == FOLLOW).all() else kinds.astype(np.uint8).tobytes()
        data = b"".join([_HEAD.pack(*sizes), *coded, bits, said])
        self._file.write(zstd.compress(data, options=_OPTIONS))
        self.pages += len(degrees)
        self.links += len(targets)

    def close(self) -> None:
        index = [*self._index, (self.pages, self._file.tell(), self.links)]
        self._file.close()
        create(self._index_path, np.array(index, "<u8"))


class Adjacency(Closable):
    """Reads a file of links: all pages in order, or some."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            index = np.fromfile(path.with_suffix(".index"), "<u8")
            if len(index) % 3 or not len(index):
                raise _damaged(path.with_suffix(".index"))
            self._file: BinaryIO = path.open("rb")
        except FileNotFoundError as error:
            raise _damaged(path) from error
        self._index = index.reshape(-1, 3).astype(np.int64)
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
        (first, start, before), (next_, end, total) = self._index[number], self._index[number + 1]
        try:
            self._file.seek(int(start))
            data = zstd.decompress(self._file.read(int(end - start)))
            sizes = _HEAD.unpack_from(data)
            if sizes[:2] == (next_ - first, total - before):
                return _decoded(int(first), sizes, data[_HEAD.size :])
        except (OSError, ValueError, IndexError, zstd.ZstdError, struct.error) as error:
            raise _damaged(self._path) from error
        raise _damaged(self._path)

    def close(self) -> None:
        self._file.close()


def _damaged(path: Path) -> ValueError:
    return ValueError(f"{path} is damaged: remove {path.parent}, and the graph is built again.")


def _shared(degrees: Array, targets: Array) -> tuple[Array, Array]:
    """Return masks of the links that the next page has too, and of those that the page before has not."""
    rows = np.repeat(np.arange(len(degrees), dtype=np.int64), degrees) << _PAGE
    codes = rows + targets
    places = np.searchsorted(codes, codes + (1 << _PAGE))
    places[places == len(codes)] = 0
    is_copied = codes[places] == codes + (1 << _PAGE) if len(codes) else np.zeros(0, bool)
    is_own = np.ones(len(codes), bool)
    if is_copied.sum() < len(codes) * _LEAST_SHARED:
        return np.zeros(len(codes), bool), is_own
    is_own[places[is_copied]] = False
    return is_copied, is_own


def _steps(ends: Array) -> Array:
    """Return sorted numbers as the steps from each to the next."""
    return np.diff(ends.astype(np.int64), prepend=0)


def _decoded(first: int, sizes: tuple[int, ...], data: bytes) -> Block:
    """Return a block; ValueError if its parts do not fit together."""
    pages, links, owned, *lengths = sizes
    cuts = np.cumsum([*lengths, (links + 7) // 8]).tolist()
    *coded, bits = (data[start:end] for start, end in zip([0, *cuts], cuts, strict=False))
    *small, gaps = map(decode, coded)
    degrees, own_degrees, steps = (each.astype(np.int64) for each in small)
    kinds = np.frombuffer(data, np.uint8, offset=min(cuts[-1], len(data)))
    kinds = kinds if len(kinds) else np.full(links, FOLLOW, np.uint8)
    is_whole = len(degrees) == len(own_degrees) == pages and len(kinds) == links
    if not is_whole or (degrees.sum(), own_degrees.sum(), len(gaps)) != (links, owned, owned):
        raise ValueError("the numbers of links differ")
    ends = np.cumsum(steps)
    own = np.searchsorted(ends, np.arange(first, first + pages))
    places = gaps_to_rows(own, own_degrees, gaps)
    targets = ends[places]
    is_copied = np.unpackbits(np.frombuffer(bits, np.uint8), count=links).astype(bool)
    if int(is_copied.sum()) != links - owned:
        raise ValueError("the numbers of copied links differ")
    return Block(first, degrees, _merged(degrees, own_degrees, targets, is_copied), kinds)


def _merged(degrees: Array, own_degrees: Array, own: Array, is_copied: Array) -> Array:
    """Return the targets of all rows: those that the row before has too, and their own.

    The bits speak of sorted rows, so rows are merged one after another.
    """
    if not is_copied.any():
        return own.astype(np.uint32)
    merged = np.empty(len(is_copied), np.uint32)
    start = own_start = 0
    before = merged[:0]
    for degree, owned in zip(degrees.tolist(), own_degrees.tolist(), strict=True):
        row = merged[start : start + degree]
        row[:owned] = own[own_start : own_start + owned]
        if owned < degree:
            row[owned:] = before[is_copied[start - len(before) : start]]
            row.sort()
        before = row
        start += degree
        own_start += owned
    return merged
