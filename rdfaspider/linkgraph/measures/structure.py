"""The structure of a graph in numbers: components, bow tie, degrees, reciprocity, reach by depth."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rdfaspider.linkgraph.measures.components import BowTie, bow_tie, strong, weak
from rdfaspider.linkgraph.measures.degrees import PowerLaw, distribution, power_law, reciprocity
from rdfaspider.linkgraph.measures.reach import FAR, distances

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.linkgraph.files.rows import Rows
    from rdfaspider.linkgraph.files.varints import Array


class Degrees(NamedTuple):
    """Of links in or out: the greatest number, the mean over all pages, and the law of the large ones."""

    most: int
    mean: float
    law: PowerLaw | None


class Structure(NamedTuple):
    """What `structure_of` finds. `levels` counts the pages by their distance from the sources, `unreached`
    the others. `strong` and `tie` are None if there is not enough memory for them."""

    weak: int
    largest_weak: int
    strong: int | None
    tie: BowTie | None
    inward: Degrees
    outward: Degrees
    reciprocity: float
    levels: list[int]
    unreached: int


def structure_of(
    outward: Rows, inward: Rows, sources: Array, tell: Callable[[str], None] = lambda text: None
) -> Structure:
    """Return the structure of a graph; `sources` are the pages that a crawl begins with."""
    tell("Weak components …")
    sizes = np.unique(weak(outward), return_counts=True)[1]
    tie = components = None
    try:
        tell("The bow tie …")
        tie = bow_tie(outward, inward)
        tell("Strong components …")
        components = len(np.unique(strong(outward, inward)))
    except MemoryError:
        tell("Too many links …")
    tell("Reciprocity …")
    answered = reciprocity(outward, inward)
    tell("Reach by depth …")
    far = distances(outward, sources)
    levels = np.bincount(far[far != FAR]).tolist() if len(sources) else []
    return Structure(
        len(sizes),
        int(sizes.max(initial=0)),
        components,
        tie,
        _degrees(inward),
        _degrees(outward),
        answered,
        levels,
        int((far == FAR).sum()),
    )


def _degrees(rows: Rows) -> Degrees:
    mean = rows.links / rows.nodes if rows.nodes else 0.0
    law = power_law(*distribution(rows.degrees))
    return Degrees(int(rows.degrees.max(initial=0)), mean, law)
