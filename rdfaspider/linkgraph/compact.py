"""Makes a graph of the links that frontiers keep.

Pages get new numbers first (pages.py). Links that were kept by key, because their target had no number
then, are looked up. Links of a page to itself say nothing, and most are its own canonical form: they are
left out. The graph is built beside the old one, which it replaces when it is complete.
"""

from __future__ import annotations

import json
import shutil
from collections import Counter
from contextlib import closing
from itertools import islice
from typing import TYPE_CHECKING, BinaryIO

import numpy as np

from rdfaspider.linkgraph.adjacency import AdjacencyWriter
from rdfaspider.linkgraph.edges import KINDS, lines_of, read_varint, split
from rdfaspider.linkgraph.files import write
from rdfaspider.linkgraph.pages import NOBODY, PAGES_AT_ONCE, batched, number_pages
from rdfaspider.linkgraph.sorting import Sorter, join, parts
from rdfaspider.linkgraph.varints import Array, decode, gaps_to_rows
from rdfaspider.urls.hosts import registered_domain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from rdfaspider.linkgraph.pages import Source

VERSION = 1

_LINKS = 1 << 20  # handled at once
_KEYS = 1 << 16  # looked up at once
# Domains outside that are remembered; beyond twice as many, those with the fewest links are forgotten.
_DOMAINS = 200_000


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
        self._domains: Counter[str] = Counter()

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
        degrees = self._collect()
        self._sort(*degrees)
        self._write_about(about)

    def _collect(self) -> tuple[Array, Array]:
        """Write all links to one file; return how many begin and end at each page."""
        begin, end = np.zeros(self._total, np.uint32), np.zeros(self._total, np.uint32)
        waiting: list[Array] = []
        size = 0
        with (self._new / "links.u64").open("wb") as file:
            for links in self._links():
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

    def _links(self) -> Iterator[Array]:
        pending: list[tuple[int, int, bytes]] = []
        for source, nodes in zip(self._sources, self._nodes, strict=True):
            for some in batched(source.pages(), PAGES_AT_ONCE):
                split_up = [split(value) for _, value in some]
                own = np.array([number for number, _ in some], np.int64)
                yield _numbered(own, split_up, nodes)
                for node, (_, _, rest) in zip(nodes[own].tolist(), split_up, strict=True):
                    if rest != b"\0" and node != NOBODY:
                        self._read_rest(node, rest, pending)
                    if len(pending) >= _KEYS:
                        yield self._look_up(pending)
                self._counts["pages"] += len(some)
        yield self._look_up(pending)

    def _read_rest(self, node: int, rest: bytes, pending: list[tuple[int, int, bytes]]) -> None:
        media, place = read_varint(rest, 0)
        self._counts["media"] += media
        keys, outside = lines_of(rest[place:])
        pending += [(node, kind, key) for kind, key in keys]
        for host, count in outside.items():
            self._domains[registered_domain(f"http://{host}/")] += count
        self._counts["outside"] += sum(outside.values())
        if len(self._domains) > 2 * _DOMAINS:
            self._domains = Counter(dict(self._domains.most_common(_DOMAINS)))

    def _look_up(self, pending: list[tuple[int, int, bytes]]) -> Array:
        """Return the links kept by key whose targets are known now; count the others."""
        keys = sorted({key for _, _, key in pending})
        found: dict[bytes, int] = {}
        for source, nodes in zip(self._sources, self._nodes, strict=True):
            left = [key for key in keys if key not in found]
            for key, number in zip(left, source.numbers(left), strict=True):
                if number is not None and number < source.size and nodes[number] != NOBODY:
                    found[key] = int(nodes[number])
        links = []
        for node, kind, key in pending:
            target = found.get(key)
            if target is None:
                self._counts["beyond"] += 1
            elif target != node:
                links.append((node, target, kind))
        pending.clear()
        columns = np.array(links, np.uint64).reshape(-1, 3).T
        return join(*columns)

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
            domains = dict(islice(self._domains.most_common(), 1000))
            json.dump(
                {
                    "version": VERSION,
                    "nodes": self._total,
                    **known,
                    "domains": domains,
                    "sizes": [source.size for source in self._sources],
                    **about,
                },
                file,
                indent=1,
            )


def _numbered(own: Array, split_up: list[tuple[int, bytes, bytes]], nodes: Array) -> Array:
    """Return the links of pages that have numbers."""
    data = b"".join([gaps for _, gaps, _ in split_up])
    ends = np.cumsum([len(gaps) for _, gaps, _ in split_up])
    counted = np.concatenate(([0], np.cumsum(np.frombuffer(data, np.uint8) < 128)))
    degrees = np.diff(counted[ends], prepend=0)
    targets = gaps_to_rows(own, degrees, decode(data))
    kinds = np.repeat(np.array([kind for kind, _, _ in split_up], np.uint8), degrees)
    firsts, others = nodes[np.repeat(own, degrees)], nodes[targets]
    known = (firsts != NOBODY) & (others != NOBODY) & (firsts != others)
    return join(firsts[known], others[known], kinds[known])
