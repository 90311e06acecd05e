"""Weak and strong components, and the bow tie that they form (Broder et al.; row W11).

The largest strong component is found as what can be reached from one page and reaches it. Of the rest, which
is far smaller in a web, pages without links in or out are peeled off, and the others are coloured by the
greatest page that reaches them: those that a colour's page can be reached from are a component (Orzan).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rdfaspider.linkgraph.files.varints import Array
from rdfaspider.linkgraph.measures.reach import reach

if TYPE_CHECKING:
    from rdfaspider.linkgraph.files.rows import Rows

# Links of the rest that are held in memory, at eight bytes each.
MOST_LINKS = 200_000_000


class BowTie(NamedTuple):
    """How many pages are where: in the largest strong component, leading to it, reached from it, otherwise
    connected with it, or not at all."""

    core: int
    into: int
    out: int
    tendrils: int
    disconnected: int


def weak(outward: Rows) -> Array:
    """Return for each page the smallest page that it is connected with, in whatever direction."""
    label = np.arange(outward.nodes, dtype=np.uint32)
    is_changed = True
    while is_changed:
        is_changed = False
        for first, end, targets in outward:
            sources = np.repeat(label[first:end], outward.degrees[first:end])
            others = label[targets]
            differ = sources != others
            if differ.any():
                is_changed = True
                low = np.minimum(sources[differ], others[differ])
                high = np.maximum(sources[differ], others[differ])
                # The label of a page is a page of its component, so a label may take another's.
                np.minimum.at(label, high, low)
        _flatten(label)
    return label


def _flatten(label: Array) -> None:
    while not np.array_equal(further := label[label], label):
        label[:] = further


def core(outward: Rows, inward: Rows) -> tuple[Array, Array, Array]:
    """Return masks of a strong component that is probably the largest, of what it reaches, and of what
    reaches it."""
    product = outward.degrees.astype(np.float64) * inward.degrees
    pivot = np.array([int(product.argmax())] if outward.nodes else [], np.int64)
    forwards, backwards = reach((outward,), pivot), reach((inward,), pivot)
    return forwards & backwards, forwards, backwards


def bow_tie(outward: Rows, inward: Rows) -> BowTie:
    """Return the sizes of the parts of the bow tie around the largest strong component.

    MemoryError as in `strong`, which is needed only if the first component found may not be the largest.
    """
    if not outward.nodes:
        return BowTie(0, 0, 0, 0, 0)
    centre, forwards, backwards = core(outward, inward)
    size = int(centre.sum())
    if _may_be_larger(outward, inward, centre, forwards, backwards) > size:
        labels = strong(outward, inward, (centre, forwards, backwards))
        names, sizes = np.unique(labels, return_counts=True)
        if sizes.max() > size:
            pivot = np.array([int(names[sizes.argmax()])])
            forwards, backwards = reach((outward,), pivot), reach((inward,), pivot)
            centre = forwards & backwards
            size = int(centre.sum())
    near = reach((outward, inward), np.flatnonzero(centre))
    return BowTie(
        size,
        int(backwards.sum()) - size,
        int(forwards.sum()) - size,
        int((near & ~forwards & ~backwards).sum()),
        int((~near).sum()),
    )


def _may_be_larger(
    outward: Rows, inward: Rows, centre: Array, forwards: Array, backwards: Array
) -> int:
    """Return how many pages another strong component could have: those of one part with links both ways."""
    left = (outward.degrees > 0) & (inward.degrees > 0) & ~centre
    parts = (forwards, backwards, ~forwards & ~backwards)
    return max(int((left & part).sum()) for part in parts)


def strong(outward: Rows, inward: Rows, parts: tuple[Array, Array, Array] | None = None) -> Array:
    """Return for each page the greatest page of its strong component.

    `parts` is the result of `core`, if that is known. MemoryError if too many links are left of the rest.
    """
    label = np.arange(outward.nodes, dtype=np.uint32)
    if not outward.nodes:
        return label
    centre, forwards, backwards = parts or core(outward, inward)
    label[centre] = np.flatnonzero(centre)[-1]
    # No component is in two of these.
    part = centre * np.uint8(4) + forwards * np.uint8(2) + backwards * np.uint8(1)
    sources, targets = _rest(outward, part)
    while len(sources):
        sources, targets = _peel(sources, targets, outward.nodes)
        colour = _coloured(sources, targets, outward.nodes)
        same = colour[sources] == colour[targets]
        sources, targets = sources[same], targets[same]
        found = _roots_reached(sources, targets, colour)
        label[found] = colour[found]
        left = ~found[sources] & ~found[targets]
        sources, targets = sources[left], targets[left]
    return label


def _rest(outward: Rows, part: Array) -> tuple[Array, Array]:
    """Return the links outside the core that do not lead from one part to another."""
    found: list[tuple[Array, Array]] = []
    total = 0
    for first, end, targets in outward:
        sources = np.repeat(np.arange(first, end, dtype=np.uint32), outward.degrees[first:end])
        own = part[sources]
        wanted = (own < 4) & (own == part[targets]) & (sources != targets)
        found.append((sources[wanted], targets[wanted]))
        total += len(found[-1][0])
        if total > MOST_LINKS:
            raise MemoryError(f"more than {MOST_LINKS:,} links outside the largest component")
    if not found:
        return np.zeros(0, np.uint32), np.zeros(0, np.uint32)
    columns = zip(*found, strict=True)
    sources, targets = (np.concatenate(column) for column in columns)
    return sources, targets


def _peel(sources: Array, targets: Array, nodes: int) -> tuple[Array, Array]:
    """Return the links without those of pages that have none in or none out, again and again."""
    while len(sources):
        begins, ends = np.zeros(nodes, bool), np.zeros(nodes, bool)
        begins[sources] = True
        ends[targets] = True
        left = ends[sources] & begins[targets]
        if left.all():
            break
        sources, targets = sources[left], targets[left]
    return sources, targets


def _coloured(sources: Array, targets: Array, nodes: int) -> Array:
    """Return for each page the greatest one that reaches it."""
    colour = np.arange(nodes, dtype=np.uint32)
    while True:
        before = colour[targets]
        rising = colour[sources] > before
        if not rising.any():
            return colour
        np.maximum.at(colour, targets[rising], colour[sources[rising]])


def _roots_reached(sources: Array, targets: Array, colour: Array) -> Array:
    """Return a mask of the pages that reach the page of their colour; links are within colours."""
    found = np.zeros(len(colour), bool)
    found[targets[colour[targets] == targets]] = True
    found[sources[colour[sources] == sources]] = True
    while True:
        new = sources[found[targets] & ~found[sources]]
        if not len(new):
            return found
        found[new] = True
