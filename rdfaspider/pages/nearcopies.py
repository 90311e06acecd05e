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

    from rdfaspider.pages.analysis import AnalysisTable
    from rdfaspider.pages.clusters import Numbers, Sketches

# Members of clusters that are handed over at a time.
_CHUNK = 1 << 16


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
        members, firsts = _members(labels, np.frombuffer(times, np.uint32))
        found = table.set_clusters(_named(sketches, members, firsts, digests))
        del sketches
    return found


def _members(labels: Numbers, times: Sketches) -> tuple[Numbers, Numbers]:
    """Return those that are not alone in their cluster, and the first of the cluster of each."""
    import numpy as np

    members = np.flatnonzero(np.bincount(labels, minlength=len(labels))[labels] > 1)
    members = members[np.lexsort((times[members], labels[members]))]
    begins = np.empty(len(members), bool)
    begins[:1] = True
    np.not_equal(labels[members[1:]], labels[members[:-1]], out=begins[1:])
    places = np.maximum.accumulate(np.where(begins, np.arange(len(members)), 0))
    return members.astype(np.int32), members[places].astype(np.int32)


def _named(
    sketches: Sketches, members: Numbers, firsts: Numbers, digests: bytearray
) -> Iterator[tuple[bytes, bytes, float]]:
    for start in range(0, len(members), _CHUNK):
        some, first = members[start : start + _CHUNK], firsts[start : start + _CHUNK]
        alike = similarities(sketches, some, first)
        for one, other, share in zip(some.tolist(), first.tolist(), alike.tolist(), strict=True):
            own = bytes(digests[one * KEY : (one + 1) * KEY])
            yield own, bytes(digests[other * KEY : (other + 1) * KEY]), share
