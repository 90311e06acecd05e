"""Random graphs, as ours and as networkx has them."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import networkx
import numpy as np
import pytest

from rdfaspider.linkgraph.edges import FOLLOW
from rdfaspider.linkgraph.files.adjacency import Adjacency, AdjacencyWriter
from rdfaspider.linkgraph.files.rows import Rows

Pairs = set[tuple[int, int]]
Made = Callable[[int, Pairs], tuple[Rows, Rows]]


def random_pairs(seed: int) -> tuple[int, Pairs]:
    """Return a graph of some shape: sparse or dense, with hubs, chains, rings, loops and lonely pages."""
    chance = random.Random(seed)
    nodes = chance.choice((1, 2, 5, 20, 60, 200))
    links = int(nodes * chance.choice((0, 0.5, 1, 1.3, 2, 8)))
    skew = chance.choice((1, 3))
    pairs = {
        (int(nodes * chance.random()), int(nodes * chance.random() ** skew)) for _ in range(links)
    }
    if chance.random() < 0.5:
        ring = chance.sample(range(nodes), chance.randint(1, nodes))
        pairs |= set(zip(ring, ring[1:] + ring[: chance.random() < 0.5], strict=False))
    return nodes, pairs


def as_networkx(nodes: int, pairs: Pairs) -> networkx.DiGraph:
    graph = networkx.DiGraph()
    graph.add_nodes_from(range(nodes))
    graph.add_edges_from(sorted(pairs))
    return graph


def write(path: Path, nodes: int, pairs: Pairs, kind: int = FOLLOW) -> Adjacency:
    ordered = sorted(pairs)
    degrees = np.bincount([one for one, _ in ordered], minlength=nodes) if ordered else [0] * nodes
    targets = np.array([other for _, other in ordered], np.uint32)
    writer = AdjacencyWriter(path)
    writer.add(np.array(degrees), targets, np.full(len(targets), kind, np.uint8))
    writer.close()
    return Adjacency(path)


@pytest.fixture
def made(tmp_path: Path) -> Made:
    """Return a function that makes the rows of a graph, outward and inward."""
    count = 0

    def make(nodes: int, pairs: Pairs) -> tuple[Rows, Rows]:
        nonlocal count
        count += 1
        both = []
        for name, some in (("out", pairs), ("in", {(other, one) for one, other in pairs})):
            with write(tmp_path / f"{name}{count}.links", nodes, some) as adjacency:
                both.append(Rows.expand(adjacency, tmp_path / f"{name}{count}.rows"))
        return both[0], both[1]

    return make
