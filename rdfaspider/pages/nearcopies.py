"""Finds the near copies among all sketches of an analysis, and stores them in it. It needs numpy.

The sketches are copied to a file, which is mapped, so the system keeps as much of them in memory as it has
room for. Besides, some 60 bytes of memory are needed for each.
"""

from __future__ import annotations

from array import array
from tempfile import TemporaryFile
from typing import TYPE_CHECKING

from rdfaspider.pages.clusters import clusters, similarities
from rdfaspider.pages.row import KEY
from rdfaspider.pages.sketch import BINS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from rdfaspider.pages.analysis import AnalysisTable
    from rdfaspider.pages.clusters import Numbers, Sketches

# Members of clusters that are handed over at a time.
_CHUNK = 1 << 16
# How similar to its first a member of a cluster is at least: less than two neighbours in a chain are to each
# other, so that few are left alone.
ALIKE = 0.6
# Clusters that a chain is taken apart into; what is left then is alone.
_ROUNDS = 200


def find_near_copies(
    table: AnalysisTable, directory: Path, show: Callable[[str], None] = lambda text: None
) -> int:
    """Cluster all bodies; return how many are in a cluster with others.

    The first of a cluster is the one that was fetched first. A file in the directory is used meanwhile.
    """
    import numpy as np

    digests, times = bytearray(), array("I")
    with TemporaryFile(dir=directory) as file:
        for digest, fetched, sketch in table.sketches():
            file.write(sketch)
            digests += digest
            times.append(fetched)
            if not len(times) % _CHUNK:
                show(f"{len(times):,} sketches …")
        file.flush()
        if not times:
            return table.set_clusters(())
        sketches = np.memmap(file, np.dtype("<u4"), "r", shape=(len(times), BINS))
        labels = clusters(sketches, show=show)
        chosen = stars(sketches, labels, np.frombuffer(times, np.uint32))
        found = table.set_clusters(_named(*chosen, digests))
        del sketches
    return found


def stars(
    sketches: Sketches, labels: Numbers, times: Sketches, threshold: float = ALIKE
) -> tuple[Numbers, Numbers, NDArray[np.float32]]:
    """Return the members of clusters, the first of the cluster of each, and how similar it is to that.

    Joined pairs make chains, whose ends may have little in common. So each chain is taken apart: the page
    that was fetched first and all that are similar to it are a cluster, then the first of the rest, and so
    on.
    """
    import numpy as np

    rest = np.flatnonzero(np.bincount(labels, minlength=len(labels))[labels] > 1).astype(np.int32)
    rest = rest[np.lexsort((times[rest], labels[rest]))]
    found = []
    for _ in range(_ROUNDS):
        if not len(rest):
            break
        first = rest[_beginnings(labels[rest])]
        alike = similarities(sketches, rest, first)
        is_member = (alike >= threshold) | (rest == first)
        found.append((rest[is_member], first[is_member], alike[is_member]))
        rest = rest[~is_member]
    if not found:
        return rest, rest, np.zeros(0, np.float32)
    members, firsts, alike = (np.concatenate(parts) for parts in zip(*found, strict=True))
    has_others = np.bincount(firsts, minlength=len(labels))[firsts] > 1
    return members[has_others], firsts[has_others], alike[has_others]


def _beginnings(groups: Numbers) -> Numbers:
    """Return for each place of sorted groups the first place of its group."""
    import numpy as np

    places = np.arange(len(groups), dtype=np.int32)
    begins = np.ones(len(groups), bool)
    np.not_equal(groups[1:], groups[:-1], out=begins[1:])
    return np.maximum.accumulate(np.where(begins, places, 0))


def _named(
    members: Numbers, firsts: Numbers, alike: NDArray[np.float32], digests: bytearray
) -> Iterator[tuple[bytes, bytes, float]]:
    for start in range(0, len(members), _CHUNK):
        part = slice(start, start + _CHUNK)
        each = zip(members[part].tolist(), firsts[part].tolist(), alike[part].tolist(), strict=True)
        for one, other, share in each:
            own = bytes(digests[one * KEY : (one + 1) * KEY])
            yield own, bytes(digests[other * KEY : (other + 1) * KEY]), share
