"""PageRank and HITS, with the vectors in memory and the links read from disk.

Both are power iterations. After each the vectors can be saved; a run that is interrupted goes on from
there and comes to the same result, bit by bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rdfaspider.linkgraph.files.arrays import create
from rdfaspider.linkgraph.files.varints import Array

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rdfaspider.linkgraph.files.rows import Rows

DAMPING = 0.85
TOLERANCE = 1e-10
MOST_ITERATIONS = 200


class Power(NamedTuple):
    """How far an iteration goes, and where its state is kept between runs.

    `tolerance` is the greatest change of the vector (the sum over all pages) that is accepted as none.
    `tell` is called with each iteration and its change.
    """

    tolerance: float = TOLERANCE
    most: int = MOST_ITERATIONS
    saved: Path | None = None
    tell: Callable[[int, float], None] = lambda iteration, change: None


def pagerank(
    inward: Rows, out_degrees: Array, power: Power | None = None, start: Array | None = None
) -> Array:
    """Return the PageRank of each page; the sum is 1.

    A page without links passes its rank on to all pages, as if it linked to each. A `start` near the
    result saves iterations; its sum is 1.
    """
    power = power or Power()
    nodes = inward.nodes
    if not nodes:
        return np.zeros(0)
    is_dangling = out_degrees == 0
    rank, begun = _load(power.saved, np.full(nodes, 1.0 / nodes) if start is None else start)
    new = np.zeros(nodes)
    for iteration in range(begun + 1, power.most + 1):
        lost = float(rank[is_dangling].sum())
        share = np.divide(rank, out_degrees, out=np.zeros(nodes), where=~is_dangling)
        gather(inward, share, new)
        del share
        new *= DAMPING
        new += (DAMPING * lost + 1.0 - DAMPING) / nodes
        change = _distance(new, rank)
        rank, new = new, rank
        power.tell(iteration, change)
        if change < power.tolerance:
            break
        _save(power.saved, rank, iteration)
    rank /= rank.sum()
    return rank


def hits(inward: Rows, outward: Rows, power: Power | None = None) -> tuple[Array, Array]:
    """Return how good a hub and how good an authority each page is; the sum of each is 1."""
    power = power or Power()
    nodes = inward.nodes
    if not inward.links:
        return np.zeros(nodes), np.zeros(nodes)
    hubs, begun = _load(power.saved, np.full(nodes, 1.0 / nodes))
    authorities, new = np.zeros(nodes), np.zeros(nodes)
    for iteration in range(begun + 1, power.most + 1):
        gather(inward, hubs, authorities)
        authorities /= authorities.sum()
        gather(outward, authorities, new)
        new /= new.sum()
        change = _distance(new, hubs)
        hubs, new = new, hubs
        power.tell(iteration, change)
        if change < power.tolerance:
            break
        _save(power.saved, hubs, iteration)
    gather(inward, hubs, authorities)
    authorities /= authorities.sum()
    return hubs, authorities


def gather(rows: Rows, vector: Array, sums: Array) -> None:
    """Set for each row the sum of the vector over its targets."""
    sums[:] = 0.0
    values = np.empty(0)
    for first, end, targets in rows:
        if len(values) < len(targets):
            values = np.empty(len(targets))
        taken = values[: len(targets)]
        np.take(vector, targets, out=taken, mode="clip")  # other modes buffer
        degrees = rows.degrees[first:end]
        filled = np.flatnonzero(degrees)
        if len(filled):
            starts = np.cumsum(degrees, dtype=np.int64)[filled] - degrees[filled]
            sums[first:end][filled] = np.add.reduceat(taken, starts)


def _distance(one: Array, other: Array) -> float:
    """Return the sum of the differences, piece by piece, to save memory."""
    step = 1 << 20
    return float(
        sum(
            np.abs(one[at : at + step] - other[at : at + step]).sum()
            for at in range(0, len(one), step)
        )
    )


def _save(path: Path | None, vector: Array, iteration: int) -> None:
    if path is not None:
        create(path, np.array([iteration, len(vector)], np.float64), vector)


def _load(path: Path | None, start: Array) -> tuple[Array, int]:
    """Return the vector of an interrupted run and its iteration, or the start and 0."""
    if path is None or not path.exists():
        return start, 0
    stored = np.fromfile(path, np.float64)
    if len(stored) != len(start) + 2 or int(stored[1]) != len(start):
        return start, 0
    return stored[2:].copy(), int(stored[0])
