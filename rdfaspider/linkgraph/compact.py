"""Makes a graph of the links that frontiers keep.

Pages get new numbers first (pages.py), then their links are read (reading.py). The graph is built beside the
old one, which it replaces when it is complete.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from rdfaspider.linkgraph.edges import KINDS
from rdfaspider.linkgraph.files.adjacency import AdjacencyWriter
from rdfaspider.linkgraph.files.arrays import write
from rdfaspider.linkgraph.files.sorting import Sorter, join, parts
from rdfaspider.linkgraph.files.varints import Array
from rdfaspider.linkgraph.pages import number_pages
from rdfaspider.linkgraph.reading import LinkStream

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from rdfaspider.linkgraph.pages import Source

VERSION = 4

_LINKS = 1 << 20  # handled at once


class Compaction:
    """Builds a graph in a folder. `tell` is called with how far it is."""

    def __init__(
        self,
        sources: Sequence[Source],
        folder: Path,
        tell: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._sources = sources
        self._folder = folder
        self._new = folder.with_name(f"{folder.name}.new")
        self._tell = tell
        self._counts: Counter[str] = Counter()

    def run(self, **about: object) -> None:
        """Build the graph; what it is `about` is kept with it."""
        shutil.rmtree(self._new, ignore_errors=True)
        self._new.mkdir(parents=True)
        try:
            self._build(about)
        except BaseException:
            shutil.rmtree(self._new, ignore_errors=True)
            raise
        old = self._folder.with_name(f"{self._folder.name}.old")
        shutil.rmtree(old, ignore_errors=True)
        if self._folder.exists():
            self._folder.rename(old)
        self._new.rename(self._folder)
        shutil.rmtree(old, ignore_errors=True)

    def _build(self, about: dict[str, object]) -> None:
        self._nodes, self._total = number_pages(self._sources, self._new, self._tell)
        self._links = LinkStream(self._sources, self._nodes, self._counts)
        degrees = self._collect()
        self._sort(*degrees)
        self._write_about(about)

    def _collect(self) -> tuple[Array, Array]:
        """Write all links to one file; return how many begin and end at each page."""
        begin, end = np.zeros(self._total, np.uint32), np.zeros(self._total, np.uint32)
        waiting: list[Array] = []
        size = 0
        with (self._new / "links.u64").open("wb") as file:
            for links in self._links:
                waiting.append(links)
                size += len(links)
                if size >= _LINKS:
                    self._count_ends(waiting, begin, end, file)
                    waiting, size = [], 0
                    self._tell(f"{self._counts['read']:,} links read …")
            self._count_ends(waiting, begin, end, file)
        return begin, end

    def _count_ends(self, waiting: list[Array], begin: Array, end: Array, file: BinaryIO) -> None:
        if not waiting:
            return
        links = np.concatenate(waiting)
        write(file, links)
        firsts, others, _ = parts(links)
        np.add.at(begin, firsts, np.uint32(1))
        np.add.at(end, others, np.uint32(1))
        self._counts["read"] += len(links)

    def _sort(self, begin: Array, end: Array) -> None:
        with closing(Sorter(self._new / "turning", end)) as turned:
            with closing(Sorter(self._new / "sorting", begin)) as sorter:
                path = self._new / "links.u64"
                with path.open("rb") as file:
                    while len(links := np.fromfile(file, np.uint64, _LINKS)):
                        sorter.add(links)
                path.unlink()
                self._write("out", sorter, turned)
            self._write("in", turned, None)

    def _write(self, name: str, sorter: Sorter, turned: Sorter | None) -> None:
        with closing(AdjacencyWriter(self._new / f"{name}.links")) as writer:
            for degrees, links in sorter.rows():
                firsts, others, kinds = parts(links)
                writer.add(degrees, others, kinds)
                if turned is not None:
                    turned.add(join(others, firsts, kinds))
                    for kind, count in zip(KINDS, np.bincount(kinds, minlength=4), strict=True):
                        self._counts[kind] += int(count)
                self._tell(f"{writer.links:,} links written, {name} …")
        self._counts["links"] = writer.links

    def _write_about(self, about: dict[str, object]) -> None:
        with (self._new / "about.json").open("w") as file:
            known = {name: count for name, count in self._counts.items() if name != "read"}
            domains = dict(islice(self._links.domains.most_common(), 1000))
            json.dump(
                {
                    "version": VERSION,
                    "nodes": self._total,
                    **known,
                    "domains": domains,
                    "media_of_pages": self._links.media_of_pages,
                    "sizes": [source.size for source in self._sources],
                    **about,
                },
                file,
                indent=1,
            )
