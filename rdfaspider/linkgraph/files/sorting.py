"""Pairs of pages sorted on disk, in bounded memory.

A link is one number: one end (32 bits), the other (30), the kind (2). So a graph has at most a thousand
million pages. Links are spread over files by their first end, so that each file fits in memory, and each is
sorted there.
"""

from __future__ import annotations

import shutil
from contextlib import ExitStack
from typing import TYPE_CHECKING

import numpy as np

from rdfaspider.linkgraph.files.arrays import write
from rdfaspider.linkgraph.files.varints import Array

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

MOST_PAGES = 1 << 30
# Links that are sorted at once: 16 megabytes, and a few times as much to handle them.
_SORTED = 1 << 21
_MOST_FILES = 256

_FIRST, _OTHER, _KIND = np.uint64(32), np.uint64(2), np.uint64(3)
_MASK = np.uint64(MOST_PAGES - 1)


def join(firsts: Array, others: Array, kinds: Array) -> Array:
    """Return links as numbers."""
    return (
        firsts.astype(np.uint64) << _FIRST
        | others.astype(np.uint64) << _OTHER
        | kinds.astype(np.uint64)
    )


def parts(links: Array) -> tuple[Array, Array, Array]:
    """Return the first ends, the other ends and the kinds of links."""
    firsts = (links >> _FIRST).astype(np.uint32)
    return (
        firsts,
        (links >> _OTHER & _MASK).astype(np.uint32),
        (links & _KIND).astype(np.uint8),
    )


class Sorter:
    """Takes links in any order and gives them back sorted, each pair once, with its greatest kind.

    `degrees` has for each page at least the number of links that begin there.
    """

    def __init__(self, folder: Path, degrees: Array) -> None:
        self._folder = folder
        folder.mkdir()
        self.pages = len(degrees)
        ends = np.cumsum(degrees, dtype=np.int64)
        total = int(ends[-1]) if self.pages else 0
        files = min(-(-total // _SORTED), _MOST_FILES) or 1
        cuts = np.searchsorted(ends, np.arange(1, files) * (total / files)) + 1
        self._starts = np.unique(np.concatenate(([0], cuts[cuts < self.pages])))
        self._stack = ExitStack()
        self._files = [
            self._stack.enter_context((folder / str(number)).open("wb"))
            for number in range(len(self._starts))
        ]

    def add(self, links: Array) -> None:
        if len(self._files) == 1:
            write(self._files[0], links)
            return
        which = np.searchsorted(self._starts, links >> _FIRST, "right") - 1
        order = np.argsort(which, kind="stable")
        ends = np.searchsorted(which[order], np.arange(len(self._files)), "right")
        for file, some in zip(self._files, np.split(links[order], ends[:-1]), strict=True):
            write(file, some)

    def rows(self) -> Iterator[tuple[Array, Array]]:
        """Yield the degrees of consecutive pages, and their links, sorted; then all is removed."""
        self.close()
        ends = [*self._starts[1:].tolist(), self.pages]
        for number, (start, end) in enumerate(zip(self._starts.tolist(), ends, strict=True)):
            path = self._folder / str(number)
            links = np.fromfile(path, np.uint64)
            path.unlink()
            links.sort()
            if len(links):
                is_last = np.ones(len(links), bool)
                is_last[:-1] = links[1:] >> _OTHER != links[:-1] >> _OTHER
                links = links[is_last]
            firsts = (links >> _FIRST).astype(np.int64) - start
            yield np.bincount(firsts, minlength=end - start), links
        shutil.rmtree(self._folder)

    def close(self) -> None:
        self._stack.close()
