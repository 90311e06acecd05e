"""The directory of a graph: its pages, their hosts, and their links in both directions.

A page is a number from 0 on, in key order. Files, besides out.links and in.links (files/adjacency.py):

    numbers.u64  of each page: the shard (24 bits) and the number within its frontier (40 bits)
    states.u8, depths.u8   of each page
    runs.u32     first page and host of each run of pages that have the same host
    hosts.txt    the hosts as in keys, a line each
    about.json   counts, and the state of the frontier that the graph is of
"""

from __future__ import annotations

import json
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from rdfaspider.closable import Closable
from rdfaspider.linkgraph.compact import VERSION
from rdfaspider.linkgraph.files.adjacency import Adjacency
from rdfaspider.linkgraph.files.varints import Array
from rdfaspider.linkgraph.pages import SHARD
from rdfaspider.urls.keys import host_name

if TYPE_CHECKING:
    from pathlib import Path


def read_about(folder: Path) -> dict[str, Any] | None:
    """Return what is known about the graph in a folder, None if there is none that can be read."""
    try:
        about: dict[str, Any] = json.loads((folder / "about.json").read_text())
    except (OSError, ValueError):
        return None
    return about if about.get("version") == VERSION else None


class Graph(Closable):
    """A graph on disk. ValueError with a sentence if there is none."""

    def __init__(self, folder: Path) -> None:
        about = read_about(folder)
        if about is None:
            raise ValueError(f"There is no link graph in {folder}.")
        self.folder = folder
        self.about = about
        self.nodes: int = about["nodes"]
        self.outward = Adjacency(folder / "out.links")
        self.inward = Adjacency(folder / "in.links")

    def _mapped(self, name: str, kind: str) -> Array:
        if not self.nodes:
            return np.zeros(0, kind)
        return np.memmap(self.folder / name, kind, "r")

    @cached_property
    def numbers(self) -> Array:
        return self._mapped("numbers.u64", "<u8")

    @cached_property
    def states(self) -> Array:
        return self._mapped("states.u8", "u1")

    @cached_property
    def depths(self) -> Array:
        return self._mapped("depths.u8", "u1")

    @cached_property
    def hosts(self) -> list[str]:
        """The names of the hosts, by number."""
        text = (self.folder / "hosts.txt").read_bytes()
        return [host_name(host) for host in text.split(b"\n")] if text else []

    @cached_property
    def host_of_each(self) -> Array:
        """The number of the host of each page."""
        runs = np.fromfile(self.folder / "runs.u32", "<u4").reshape(-1, 2)
        lengths = np.diff(runs[:, 0], append=self.nodes)
        return np.repeat(runs[:, 1], lengths)

    def places(self, nodes: Array) -> tuple[Array, Array]:
        """Return the shards of pages, and their numbers there."""
        full = self.numbers[nodes]
        return full >> np.uint64(SHARD), full & np.uint64((1 << SHARD) - 1)

    def node(self, shard: int, number: int) -> int | None:
        """Return the page with a number in a frontier, None if it came after the graph was made."""
        wanted = np.uint64(shard << SHARD | number)
        for start in range(0, self.nodes, 1 << 20):
            found = np.flatnonzero(self.numbers[start : start + (1 << 20)] == wanted)
            if len(found):
                return start + int(found[0])
        return None

    def close(self) -> None:
        self.outward.close()
        self.inward.close()
