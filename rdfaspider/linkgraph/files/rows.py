"""Links as plain arrays: a row of targets for each page, in a file that is read in pieces.

Ranks and components read all links many times, for which the compact form is too slow. The plain form takes
four bytes a link. It is made when it is needed and removed afterwards. It is read into one buffer rather
than mapped, so that memory does not grow with the graph.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple, Self

import numpy as np

from rdfaspider.closable import Closable
from rdfaspider.linkgraph.edges import NOFOLLOW
from rdfaspider.linkgraph.files.arrays import write
from rdfaspider.linkgraph.files.varints import Array

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from rdfaspider.linkgraph.files.adjacency import Adjacency

# Links read at once, unless one page has more: what fits in the cache of a processor.
_PIECE = 1 << 18
# Rows are read one by one if they are fewer than this share of a piece.
_SPARSE = 64


class Piece(NamedTuple):
    """Consecutive rows: the first, the one after the last, and their targets."""

    first: int
    end: int
    targets: Array


class Rows(Closable):
    """The rows of a graph in one direction. `degrees` has the length of each."""

    def __init__(self, path: Path, degrees: Array) -> None:
        self.path = path
        self.degrees = degrees
        self.nodes = len(degrees)
        self.links = int(degrees.sum(dtype=np.int64))
        self._file = os.open(path, os.O_RDONLY)
        self._cuts = _cuts(degrees)
        self._buffer = np.empty(max(_PIECE, int(degrees.max(initial=0))), np.uint32)

    @classmethod
    def expand(cls, adjacency: Adjacency, path: Path) -> Self:
        """Write the rows of a graph without the links that are not to be followed."""
        degrees = np.zeros(adjacency.pages, np.uint32)
        with path.open("wb") as file:
            for first, counts, targets, kinds in adjacency.blocks():
                if (kinds == NOFOLLOW).any():
                    kept = kinds != NOFOLLOW
                    targets = targets[kept]
                    sums = np.concatenate(([0], np.cumsum(kept)))
                    counts = np.diff(sums[np.concatenate(([0], np.cumsum(counts)))])
                degrees[first : first + len(counts)] = counts
                write(file, targets)
        return cls(path, degrees)

    def __iter__(self) -> Iterator[Piece]:
        """Yield all rows. The targets are valid until the next piece."""
        return (self.piece(number) for number in range(self.pieces))

    @property
    def pieces(self) -> int:
        return len(self._cuts) - 1

    def bounds(self, number: int) -> tuple[int, int]:
        """Return the first row of a piece, and the one after its last."""
        return int(self._cuts[number, 0]), int(self._cuts[number + 1, 0])

    def piece(self, number: int) -> Piece:
        first, end = self.bounds(number)
        start, stop = int(self._cuts[number, 1]), int(self._cuts[number + 1, 1])
        return Piece(first, end, self._read(start, stop))

    def _read(self, start: int, stop: int) -> Array:
        targets = self._buffer[: stop - start]
        view = targets.data.cast("B")
        place, got = 4 * start, 0
        while got < len(view):
            count = os.preadv(self._file, [view[got:]], place + got)
            if not count:
                raise ValueError(f"{self.path} is cut off: another command may have removed it.")
            got += count
        return targets

    def some(self, number: int, wanted: Array) -> Array:
        """Return the targets of those rows of a piece that a mask over its rows selects."""
        first, end = self.bounds(number)
        degrees = self.degrees[first:end]
        chosen = np.flatnonzero(wanted)
        if len(chosen) * _SPARSE < end - first:
            start = int(self._cuts[number, 1])
            ends = np.cumsum(degrees, dtype=np.int64)[chosen] + start
            starts = ends - degrees[chosen]
            rows = [
                os.pread(self._file, 4 * (stop - begin), 4 * begin)
                for begin, stop in zip(starts.tolist(), ends.tolist(), strict=True)
            ]
            return np.frombuffer(b"".join(rows), np.uint32)
        targets: Array = self.piece(number).targets[np.repeat(wanted, degrees)]
        return targets

    def between(self, first: int, end: int) -> Array:
        """Return the targets of consecutive rows, in an array of their own."""
        number = int(np.searchsorted(self._cuts[:, 0], first, "right")) - 1
        start = int(self._cuts[number, 1])
        start += int(self.degrees[int(self._cuts[number, 0]) : first].sum(dtype=np.int64))
        length = int(self.degrees[first:end].sum(dtype=np.int64))
        return np.frombuffer(os.pread(self._file, 4 * length, 4 * start), np.uint32)

    def close(self) -> None:
        os.close(self._file)


def _cuts(degrees: Array) -> Array:
    """Return where pieces begin: the row, and the links before it; at last the end."""
    ends = np.cumsum(degrees, dtype=np.int64)
    cuts = [(0, 0)]
    while (row := cuts[-1][0]) < len(degrees):
        before = cuts[-1][1]
        end = max(int(np.searchsorted(ends, before + _PIECE, "right")), row + 1)
        end = min(end, row + _PIECE)
        cuts.append((end, int(ends[end - 1])))
    return np.array(cuts, np.int64)
