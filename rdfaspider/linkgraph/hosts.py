"""The graph of hosts: one link for all links from the pages of a host to those of another."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from rdfaspider.linkgraph.files.rows import Rows
from rdfaspider.linkgraph.files.varints import Array
from rdfaspider.linkgraph.measures.ranks import DAMPING, MOST_ITERATIONS, TOLERANCE

# Links that are summed up at once.
_GATHERED = 1 << 22


class HostLinks(NamedTuple):
    """Links between hosts, sorted: from where, to where, and how many links of pages they stand for."""

    sources: Array
    targets: Array
    counts: Array


def host_links(outward: Rows, host_of_each: Array, hosts: int) -> HostLinks:
    """Return the links between hosts, those within a host too."""
    codes, counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)
    waiting: list[Array] = []
    size = 0
    for first, end, targets in outward:
        own = host_of_each[first:end].astype(np.uint64) * np.uint64(hosts)
        waiting.append(np.repeat(own, outward.degrees[first:end]) + host_of_each[targets])
        size += len(targets)
        if size >= _GATHERED:
            codes, counts = _summed(codes, counts, waiting)
            waiting, size = [], 0
    codes, counts = _summed(codes, counts, waiting)
    places = max(hosts, 1)
    return HostLinks(
        (codes // np.uint64(places)).astype(np.int64),
        (codes % np.uint64(places)).astype(np.int64),
        counts,
    )


def _summed(codes: Array, counts: Array, waiting: list[Array]) -> tuple[Array, Array]:
    if not waiting:
        return codes, counts
    new, times = np.unique(np.concatenate(waiting), return_counts=True)
    everything, place = np.unique(np.concatenate((codes, new)), return_inverse=True)
    sums = np.zeros(len(everything), np.int64)
    np.add.at(sums, place, np.concatenate((counts, times)))
    return everything, sums


def host_rank(links: HostLinks, hosts: int) -> Array:
    """Return the PageRank of each host; links within a host do not count, and all others count alike."""
    if not hosts:
        return np.zeros(0)
    between = links.sources != links.targets
    sources, targets = links.sources[between], links.targets[between]
    degrees = np.bincount(sources, minlength=hosts)
    rank: Array = np.full(hosts, 1.0 / hosts)
    for _ in range(MOST_ITERATIONS):
        share = np.divide(rank, degrees, out=np.zeros(hosts), where=degrees > 0)
        lost = float(rank[degrees == 0].sum())
        new = np.bincount(targets, weights=share[sources], minlength=hosts) * DAMPING
        new += (DAMPING * lost + 1.0 - DAMPING) / hosts
        change = float(np.abs(new - rank).sum())
        rank = new
        if change < TOLERANCE:
            break
    rank /= rank.sum()
    return rank


def host_sums(host_of_each: Array, values: Array, hosts: int) -> Array:
    """Return the sum of a value over the pages of each host."""
    return np.bincount(host_of_each, weights=values, minlength=hosts)
