"""A sketch of a text: 128 bytes, by which the similarity of two texts is estimated.

The similarity is Jaccard's: of all runs of three words in either text, the share that both have. A sketch is
a MinHash with one permutation (Li, Owen and Zhang, 2012): each run is hashed once, the hashes fall into 32
bins by their highest bits, and the least hash of each bin is kept. Two texts have the same least hash in a
bin with a probability that is their similarity. So the share of equal bins, among those that are not empty in
both, estimates it, with a standard error of 0.07 at 0.8.

The hash of a run is mixed from the checksums of its words, so that each word is read once. NumPy does that
in a third of the time; without it the sketches are the same.

A text without spaces between its words, such as Japanese, is cut into runs of six characters.
"""

from __future__ import annotations

from functools import cache
from struct import Struct
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

BINS = 32
SIZE = 4 * BINS
# The least hash of an empty bin.
EMPTY = 0xFFFFFFFF

_SHIFT = 27  # of 32 bits; the five above are the bin
_LAYOUT = Struct(f"<{BINS}I")
# Bins with a hash; fewer say too little, and by chance many pages of a few words would be alike.
_LEAST = 7
# Characters of a word on average from which on they are not taken for words.
_LONG = 16
# Characters that are read of a text.
MOST = 200_000

# Odd numbers of 64 bits, one for each word of a run. The upper half of the sum of products is the hash
# (multiply-shift, Dietzfelbinger et al., 1997).
_FIRST, _SECOND, _THIRD = 0x9E3779B97F4A7C15, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_MASK = (1 << 64) - 1


def sketch_of(text: str) -> tuple[int, bytes]:
    """Return the number of words of a text and its sketch, b"" if it is too short for one."""
    text = text[:MOST].lower()
    words = text.encode("utf-8", "replace").split()
    if len(text) > _LONG * len(words):
        signs = "".join(text.split())
        pieces = [signs[start : start + 6] for start in range(len(signs) - 5)]
        return len(words), _sketch([crc32(piece.encode("utf-8", "replace")) for piece in pieces])
    sums = map(crc32, words)
    if (numpy := _numpy()) is None or len(words) < 3:
        return len(words), _sketch(_runs([*sums]))
    return len(words), numpy(sums, len(words))


def _runs(sums: Sequence[int]) -> list[int]:
    """Return the hashes of all runs of three words, from the checksums of the words."""
    runs = zip(sums, sums[1:], sums[2:], strict=False)
    return [
        (one * _FIRST + two * _SECOND + three * _THIRD & _MASK) >> 32 for one, two, three in runs
    ]


def _sketch(hashes: Sequence[int]) -> bytes:
    """Return the least hash of each bin, b"" if too many bins are empty."""
    least = [EMPTY] * BINS
    for one in hashes:
        if one < least[one >> _SHIFT]:
            least[one >> _SHIFT] = one
    return _packed(least)


def _packed(least: Sequence[int]) -> bytes:
    return _LAYOUT.pack(*least) if least.count(EMPTY) <= BINS - _LEAST else b""


@cache
def _numpy() -> Callable[[Iterable[int], int], bytes] | None:
    """Return what does as `_runs` and `_sketch`, for a number of checksums; None without NumPy."""
    try:
        import numpy as np
    except ImportError:
        return None
    begins = np.arange(BINS, dtype=np.uint64) << np.uint64(_SHIFT)
    first, second, third, half = map(np.uint64, (_FIRST, _SECOND, _THIRD, 32))

    def sketch(sums: Iterable[int], count: int) -> bytes:
        each = np.fromiter(sums, np.uint64, count)
        hashes = each[:-2] * first
        hashes += each[1:-1] * second
        hashes += each[2:] * third
        hashes >>= half
        hashes.sort()
        starts = hashes.searchsorted(begins)
        least = hashes.take(starts, mode="clip").tolist()
        return _packed(
            [one if one >> _SHIFT == place else EMPTY for place, one in enumerate(least)]
        )

    return sketch


def similarity(one: bytes, other: bytes) -> float:
    """Return the estimated similarity of two texts by their sketches."""
    pairs = list(zip(_LAYOUT.unpack(one), _LAYOUT.unpack(other), strict=True))
    told = sum(not left == right == EMPTY for left, right in pairs)
    equal = sum(left == right != EMPTY for left, right in pairs)
    return equal / told if told else 0.0
