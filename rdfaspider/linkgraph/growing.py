"""PageRank while a crawl goes on: over the URLs that a frontier knows, by its own numbers.

A URL that was not fetched yet has no links: it passes its rank on to all. So the ranks are those of the graph
that `scrapy graph rank` would build now. The links are read once, sorted by their targets on disk, and read
once more for each iteration; a start from the last ranks saves most iterations.

Memory: some 45 bytes a URL. Disk: 8 bytes a link while they are sorted, 4 afterwards, in a folder that the
caller removes.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rdfaspider.linkgraph.edges import NOFOLLOW
from rdfaspider.linkgraph.files.arrays import write
from rdfaspider.linkgraph.files.rows import Rows
from rdfaspider.linkgraph.files.sorting import Sorter, join, parts
from rdfaspider.linkgraph.measures.ranks import Power, pagerank
from rdfaspider.linkgraph.reading import LinkStream
from rdfaspider.linkgraph.weights import DAMPING, LEAST, ONE, STEPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from rdfaspider.linkgraph.files.varints import Array
    from rdfaspider.linkgraph.pages import Source

# The sum of all ranks is 1, and an order compares them in steps of an eighth: this is more than enough.
TOLERANCE = 1e-6

_LINKS = 1 << 20  # handled at once


class Ranking(NamedTuple):
    """The ranks of URLs by number; the mean is 1. `weights` are those of the links to each (weights.py).
    `pages` have links on record, `links` are all of them."""

    ranks: Array
    weights: Array
    pages: int
    links: int


def rank_urls(
    source: Source,
    folder: Path,
    start: Array | None = None,
    *,
    tolerance: float = TOLERANCE,
    tell: Callable[[str], None] = lambda text: None,
) -> Ranking:
    """Return the ranks of the URLs of a frontier; `start` has those of the first URLs, computed earlier.

    `tell` is called with how far it is, at least once a second or so.
    """
    size = source.size
    stream = LinkStream([source], [np.arange(size, dtype=np.uint32)])
    inward, degrees = inward_rows(stream, size, folder, tell)
    with inward:
        power = Power(tolerance, tell=lambda count, change: tell(f"iteration {count} …"))
        rank = pagerank(inward, degrees, power, None if start is None else _extended(start, size))
        return _ranking(rank, degrees, inward.links, stream.counts["pages"])


def inward_rows(
    blocks: Iterable[Array],
    size: int,
    folder: Path,
    tell: Callable[[str], None] = lambda text: None,
) -> tuple[Rows, Array]:
    """Write links (files/sorting.py) to a folder as rows by target.

    Return these, and how many links begin at each page. Links that are not to be followed are left out.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "links.u64"
    ends = np.zeros(size, np.uint32)
    count = 0
    with path.open("wb") as file:
        for links in blocks:
            sources, targets, kinds = parts(links)
            np.add.at(ends, targets, np.uint32(1))
            write(file, join(targets, sources, kinds))
            count += len(links)
            tell(f"{count:,} links read …")
    degrees = np.zeros(size, np.uint32)
    lengths = np.zeros(size, np.uint32)
    with closing(Sorter(folder / "sorting", ends)) as sorter:
        with path.open("rb") as file:
            while len(links := np.fromfile(file, np.uint64, _LINKS)):
                sorter.add(links)
                tell("Sorting …")
        path.unlink()
        del ends
        first = 0
        with (folder / "in.rows").open("wb") as file:
            for some, links in sorter.rows():
                targets, sources, kinds = parts(links)
                followed = kinds != NOFOLLOW
                kept = targets[followed] - np.uint32(first)
                lengths[first : first + len(some)] = np.bincount(kept, minlength=len(some))
                np.add.at(degrees, sources[followed], np.uint32(1))
                write(file, sources[followed])
                first += len(some)
                tell("Sorting …")
    return Rows(folder / "in.rows", lengths), degrees


def _extended(start: Array, size: int) -> Array:
    """Return a vector to begin with: ranks that are known, and the smallest of them for new URLs."""
    known = start[:size]
    vector = np.full(size, known.min(initial=1.0))
    vector[: len(known)] = known
    vector /= vector.sum()
    return vector


def _ranking(rank: Array, degrees: Array, links: int, pages: int) -> Ranking:
    size = len(rank)
    if not links:
        return Ranking(np.ones(size), np.zeros(size, np.uint8), pages, 0)
    lost = float(rank[degrees == 0].sum())
    least = (1.0 - DAMPING + DAMPING * lost) / size
    share = DAMPING * (1.0 - lost) / links  # of a link, on average
    weights = _bytes_of((rank - least) / share)
    rank *= size
    return Ranking(rank, weights, pages, links)


def _bytes_of(weights: Array) -> Array:
    """Return the bytes of weights, as `byte_of` in weights.py does."""
    places = np.log2(np.maximum(weights, LEAST))
    places *= STEPS
    places += ONE
    return np.clip(np.rint(places), 0, 255).astype(np.uint8)
