"""The PageRank of URLs, by number: a file beside the tables, two bytes a URL.

Layout of the file RANKS: a head (mark, number of URLs, pages with links on record), then for each URL its
rank on a logarithmic scale. The mean rank of all URLs is 1. Zero stands for none.

Invariant. The file is replaced as a whole, so it has the ranks of one moment, or is absent; a kill leaves the
last ones. URLs that came later have no rank yet. It can be computed again from the links, so a
copy of the frontier goes without it, and a damaged one counts as absent.
"""

from __future__ import annotations

import os
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rdfaspider.linkgraph.files.varints import Array
    from rdfaspider.linkgraph.growing import Ranking

NAME = "RANKS"

_MARK = b"ranks 1\n"
_HEAD = struct.Struct("<8sQQ")
# From 2 ** -8 to 2 ** 32 in steps of a twentieth of a per cent.
_LEAST, _STEPS = -8.0, 1638


class Ranks:
    """Reads the ranks of a frontier in a directory. `urls` have one, by the links of `pages`."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / NAME
        self._file = -1
        self.reload()

    def reload(self) -> None:
        """Read the file again, which may have been replaced."""
        self.close()
        self.urls = self.pages = 0
        try:
            self._file = os.open(self._path, os.O_RDONLY)
            mark, urls, pages = _HEAD.unpack(os.pread(self._file, _HEAD.size, 0))
            if mark == _MARK and os.fstat(self._file).st_size == _HEAD.size + 2 * urls:
                self.urls, self.pages = urls, pages
        except (OSError, struct.error):
            self.close()

    def of(self, number: int) -> float | None:
        """Return the PageRank of a URL, 1 for the mean; None if it has none yet."""
        if not 0 <= number < self.urls:
            return None
        try:
            step = int.from_bytes(os.pread(self._file, 2, _HEAD.size + 2 * number), "little")
        except OSError:  # a crawl goes on without
            return None
        return float(2.0 ** (step / _STEPS + _LEAST)) if step else None

    def of_all(self, numbers: Iterable[int]) -> list[float | None]:
        """Return the PageRank of each URL."""
        return [self.of(number) for number in numbers]

    def vector(self) -> Array | None:
        """Return all ranks as an array, None if there are none. It needs numpy."""
        if not self.urls:
            return None
        import numpy as np

        steps = np.fromfile(self._path, "<u2", self.urls, offset=_HEAD.size)
        if len(steps) < self.urls:
            return None
        vector: Array = np.exp2(steps / _STEPS + _LEAST)
        return vector

    def close(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
            self.urls = self.pages = 0


def write_ranks(folder: Path, ranking: Ranking) -> None:
    """Replace the ranks of a frontier."""
    import numpy as np

    from rdfaspider.linkgraph.files.arrays import create

    steps = np.clip(np.rint((np.log2(ranking.ranks) - _LEAST) * _STEPS), 1, 65_535)
    head = _HEAD.pack(_MARK, len(steps), ranking.pages)
    create(folder / NAME, np.frombuffer(head, np.uint8), steps.astype("<u2"))
