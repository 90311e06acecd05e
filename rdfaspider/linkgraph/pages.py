"""The pages of a graph: new numbers in the order of keys, over all shards of a crawl."""

from __future__ import annotations

from heapq import merge
from itertools import islice
from typing import TYPE_CHECKING, Protocol, TypeVar

import numpy as np

from rdfaspider.linkgraph.files.arrays import create, write
from rdfaspider.linkgraph.files.sorting import MOST_PAGES
from rdfaspider.linkgraph.files.varints import Array
from rdfaspider.urls.keys import host_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from pathlib import Path

Item = TypeVar("Item")

NOBODY = 0xFFFFFFFF  # no page
SHARD = 40  # bits of a page's number within its shard
PAGES_AT_ONCE = 1 << 14


class Source(Protocol):
    """What is read of a frontier. `size` is greater than all numbers."""

    size: int

    def urls(self) -> Iterator[tuple[bytes, int, int, int]]:
        """Yield key, number, state and depth of all URLs, in the order of keys."""

    def pages(self) -> Iterator[tuple[int, bytes]]:
        """Yield numbers of pages with their links (edges.py)."""

    def numbers(self, keys: list[bytes]) -> list[int | None]:
        """Return the numbers of sorted keys, None for an unknown one."""


def number_pages(
    sources: Sequence[Source], folder: Path, tell: Callable[[str], None]
) -> tuple[list[Array], int]:
    """Write the files of the pages and hosts (graph.py).

    Return for each source the page of each of its numbers, NOBODY if there is none; and how many pages
    there are.
    """
    nodes = [np.full(source.size, NOBODY, np.uint32) for source in sources]
    runs = _Runs()
    streams = [_with_shard(shard, source) for shard, source in enumerate(sources)]
    total = 0
    with (
        (folder / "numbers.u64").open("wb") as numbers,
        (folder / "states.u8").open("wb") as states,
        (folder / "depths.u8").open("wb") as depths,
    ):
        for some in batched(merge(*streams), PAGES_AT_ONCE):
            keys, shards, own, state, depth = zip(*some, strict=True)
            runs.add(total, keys)
            _assign(nodes, total, np.array(shards), np.array(own, np.int64))
            full = np.array(shards, np.uint64) << np.uint64(SHARD) | np.array(own, np.uint64)
            write(numbers, full)
            write(states, np.array(state, np.uint8))
            write(depths, np.array(depth, np.uint8))
            total += len(some)
            tell(f"{total:,} pages numbered …")
    if total > MOST_PAGES:
        raise ValueError(f"A graph has at most {MOST_PAGES:,} pages, not {total:,}.")
    runs.write(folder)
    return nodes, total


def _assign(nodes: list[Array], first: int, shards: Array, own: Array) -> None:
    pages = np.arange(first, first + len(own), dtype=np.uint32)
    for shard, known in enumerate(nodes):
        mine = shards == shard
        known[own[mine]] = pages[mine]


class _Runs:
    """Consecutive pages of one host. A host may have several, since its other ports sort elsewhere."""

    def __init__(self) -> None:
        self._hosts: dict[bytes, int] = {}
        self._runs: list[tuple[int, int]] = []
        self._ends: tuple[bytes, ...] = ()

    def add(self, first: int, keys: Iterable[bytes]) -> None:
        for page, key in enumerate(keys, start=first):
            if not key.startswith(self._ends):
                host = host_of(key)
                self._ends = (host + b")", host + b":", host + b"@")
                self._runs.append((page, self._hosts.setdefault(host, len(self._hosts))))

    def write(self, folder: Path) -> None:
        create(folder / "runs.u32", np.array(self._runs, np.uint32).reshape(-1, 2))
        (folder / "hosts.txt").write_bytes(b"\n".join(self._hosts))


def batched(items: Iterable[Item], size: int) -> Iterator[tuple[Item, ...]]:
    remaining = iter(items)
    while some := tuple(islice(remaining, size)):
        yield some


def _with_shard(shard: int, source: Source) -> Iterator[tuple[bytes, int, int, int, int]]:
    for key, number, state, depth in source.urls():
        yield key, shard, number, state, depth
