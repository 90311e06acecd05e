"""What can be reached from pages, and how far it is.

The rows of a page are read once, when it is reached. Pages are reached in the order of their keys rather
than by distance, unless distances are asked for: most links are within a site, so few sweeps over the file
suffice.
"""

from __future__ import annotations

import numpy as np

from rdfaspider.linkgraph.files.rows import Rows
from rdfaspider.linkgraph.files.varints import Array

FAR = 0xFFFF  # not reached


def reach(directions: tuple[Rows, ...], sources: Array) -> Array:
    """Return a mask of the pages that links of these directions lead to, the sources among them."""
    reached = np.zeros(directions[0].nodes, bool)
    reached[sources] = True
    todo = [reached.copy() for _ in directions]
    while any(each.any() for each in todo):
        for rows, mine in zip(directions, todo, strict=True):
            for number in range(rows.pieces):
                first, end = rows.bounds(number)
                if not mine[first:end].any():
                    continue
                wanted = mine[first:end].copy()
                mine[first:end] = False
                targets = rows.some(number, wanted)
                new = targets[~reached[targets]]
                reached[new] = True
                for other in todo:
                    other[new] = True
    return reached


def distances(rows: Rows, sources: Array) -> Array:
    """Return how many links each page is away from the nearest source, FAR if it is not reached."""
    reached = np.zeros(rows.nodes, bool)
    far = np.full(rows.nodes, FAR, np.uint16)
    reached[sources] = True
    level = np.zeros(rows.nodes, bool)
    level[sources] = True
    distance = 0
    while level.any() and distance < FAR:
        far[level] = distance
        following = np.zeros(rows.nodes, bool)
        for number in range(rows.pieces):
            first, end = rows.bounds(number)
            if level[first:end].any():
                targets = rows.some(number, level[first:end])
                new = targets[~reached[targets]]
                reached[new] = True
                following[new] = True
        level = following
        distance += 1
    return far
