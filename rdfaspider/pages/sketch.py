"""A sketch of a text: 128 bytes, by which the similarity of two texts is estimated.

The similarity is Jaccard's: of all runs of three words in either text, the share that both have. A sketch is
a MinHash with one permutation (Li, Owen and Zhang, 2012): each run is hashed once, the hashes fall into 32
bins by their highest bits, and the least hash of each bin is kept. Two texts have the same least hash in a
bin with a probability that is their similarity. So the share of equal bins, among those that are not empty in
both, estimates it, with a standard error of 0.07 at 0.8.

A text without spaces between its words, such as Japanese, is cut into runs of six characters.
"""

from __future__ import annotations

from struct import Struct
from typing import TYPE_CHECKING
from zlib import crc32

if TYPE_CHECKING:
    from collections.abc import Iterable

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


def sketch_of(text: str) -> tuple[int, bytes]:
    """Return the number of words of a text and its sketch, b"" if it is too short for one."""
    text = text[:MOST].lower()
    words = text.encode("utf-8", "replace").split()
    if len(text) > _LONG * len(words):
        signs = "".join(text.split())
        pieces = [signs[start : start + 6] for start in range(len(signs) - 5)]
        return len(words), _sketch(crc32(piece.encode("utf-8", "replace")) for piece in pieces)
    # The checksum of three words is that of the third, which goes on from that of the first two.
    hashes = map(crc32, words[2:], map(crc32, words[1:], map(crc32, words)))
    return len(words), _sketch(hashes)


def _sketch(hashes: Iterable[int]) -> bytes:
    """Return the least hash of each bin, b"" if too many bins are empty."""
    least = [EMPTY] * BINS
    for one in hashes:
        if one < least[one >> _SHIFT]:
            least[one >> _SHIFT] = one
    return _LAYOUT.pack(*least) if least.count(EMPTY) <= BINS - _LEAST else b""


def similarity(one: bytes, other: bytes) -> float:
    """Return the estimated similarity of two texts by their sketches."""
    pairs = list(zip(_LAYOUT.unpack(one), _LAYOUT.unpack(other), strict=True))
    told = sum(not left == right == EMPTY for left, right in pairs)
    equal = sum(left == right != EMPTY for left, right in pairs)
    return equal / told if told else 0.0
