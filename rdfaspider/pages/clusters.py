"""Near copies among millions of sketches. It needs numpy.

Two sketches are compared if they agree in one of eight bands of four bins: pages with a similarity of 0.8 do
with a probability of 0.985. For each band all sketches are sorted by it, so that those which agree are
neighbours, and each is compared with its neighbour and with the first of its run. If enough of their bins are
equal, they are in one cluster; clusters are joined by union.

The sketches may be mapped from a file. Besides them, memory for n of them is some 40 n bytes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.pages.sketch import BINS, EMPTY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy as np
    from numpy.typing import NDArray

    Sketches = NDArray[np.uint32]
    Numbers = NDArray[np.int32]

_BANDS, _ROWS = 8, 4
# The estimate for two pages of similarity 0.8 is below this once in thirty times (docs/pages.md).
THRESHOLD = 0.66
# Sketches, or pairs of them, that are read at a time: 16 MB.
_CHUNK = 1 << 17


def check_numpy() -> None:
    """Raise ValueError if numpy is not installed."""
    try:
        import numpy as np  # noqa: F401
    except ImportError as error:
        raise ValueError(
            "Near copies need numpy, which is not installed: pip install 'rdfaspider[analysis]'."
        ) from error


def clusters(
    sketches: Sketches,
    threshold: float = THRESHOLD,
    show: Callable[[str], None] = lambda text: None,
) -> Numbers:
    """Return the smallest index in the cluster of each sketch, its own if it is alone."""
    import numpy as np

    labels = np.arange(len(sketches), dtype=np.int32)
    for band in range(_BANDS):
        show(f"near copies: band {band + 1} of {_BANDS} …")
        pairs = []
        for one, other in _candidates(sketches, band):
            # Most candidates are joined already, by an earlier band.
            apart = labels[one] != labels[other]
            one, other = one[apart], other[apart]
            alike = similarities(sketches, one, other) >= threshold
            pairs.append((one[alike], other[alike]))
        if pairs:
            _join(labels, *(np.concatenate(side) for side in zip(*pairs, strict=True)))
    return labels


def similarities(sketches: Sketches, one: Numbers, other: Numbers) -> NDArray[np.float32]:
    """Return the estimated similarity of each pair of sketches."""
    import numpy as np

    found = np.zeros(len(one), np.float32)
    for start in range(0, len(one), _CHUNK):
        part = slice(start, start + _CHUNK)
        left, right = sketches[one[part]], sketches[other[part]]
        is_told = (left != EMPTY) | (right != EMPTY)
        equal = ((left == right) & is_told).sum(axis=1)
        found[part] = equal / np.maximum(is_told.sum(axis=1), 1)
    return found


def _candidates(sketches: Sketches, band: int) -> Iterator[tuple[Numbers, Numbers]]:
    """Yield pairs that agree in a band: neighbours in its order, then each and the first of its run."""
    import numpy as np

    keys = _keys(sketches, band)
    order = np.argsort(keys).astype(np.int32)
    # Below the hash of this band each key has that of the next: those that agree there too are neighbours.
    ordered = (keys[order] >> np.uint64(32)).astype(np.uint32)
    del keys
    order = order[ordered != 0]  # an empty band says nothing
    ordered = ordered[ordered != 0]
    if not len(order):
        return
    begins = np.empty(len(order), bool)
    begins[0] = True
    np.not_equal(ordered[1:], ordered[:-1], out=begins[1:])
    members = np.flatnonzero(~begins)
    del ordered
    for start in range(0, len(members), _CHUNK):
        some = members[start : start + _CHUNK]
        yield order[some], order[some - 1]
    first = np.maximum.accumulate(np.where(begins, np.arange(len(order), dtype=np.int32), 0))
    far = members[first[members] != members - 1]
    for start in range(0, len(far), _CHUNK):
        some = far[start : start + _CHUNK]
        yield order[some], order[first[some]]


def _keys(sketches: Sketches, band: int) -> NDArray[np.uint64]:
    """Return the hash of a band above that of the next; the upper half is 0 if the band is empty."""
    import numpy as np

    keys = np.empty(len(sketches), np.uint64)
    for start in range(0, len(sketches), _CHUNK):
        part = np.asarray(sketches[start : start + _CHUNK])
        upper, is_empty = _hashes(part, band)
        lower, _ = _hashes(part, (band + 1) % _BANDS)
        upper |= np.uint32(1)
        upper[is_empty] = 0
        keys[start : start + len(part)] = upper.astype(np.uint64) << np.uint64(32) | lower
    return keys


def _hashes(part: Sketches, band: int) -> tuple[NDArray[np.uint32], NDArray[np.bool_]]:
    import numpy as np

    columns = part[:, band * _ROWS : (band + 1) * _ROWS]
    mixed = np.zeros(len(part), np.uint64)
    for row in range(_ROWS):
        mixed = (mixed ^ columns[:, row]) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    return mixed.astype(np.uint32), (columns == EMPTY).all(axis=1)


def _join(labels: Numbers, one: Numbers, other: Numbers) -> None:
    """Join the clusters of pairs; the smallest index becomes the label of all."""
    import numpy as np

    while len(one):
        left, right = labels[one], labels[other]
        apart = left != right
        one, other, left, right = one[apart], other[apart], left[apart], right[apart]
        if not len(one):
            return
        least = np.minimum(left, right)
        np.minimum.at(labels, left, least)
        np.minimum.at(labels, right, least)
        # A label whose own label has changed takes that, until all are labels of themselves.
        while not np.array_equal(above := labels[labels], labels):
            labels[:] = above


assert BINS == _BANDS * _ROWS
