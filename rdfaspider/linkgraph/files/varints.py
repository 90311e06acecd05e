"""Many varints at once (LEB128, as in edges.py), with numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def encode(numbers: Array) -> bytes:
    """Return unsigned numbers as varints."""
    numbers = numbers.astype(np.uint64)
    lengths = np.ones(len(numbers), np.int64)
    for bits in range(7, 64, 7):
        longer = numbers >= np.uint64(1 << bits)
        if not longer.any():
            break
        lengths += longer
    ends = np.cumsum(lengths)
    packed = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    starts = ends - lengths
    for step in range(int(lengths.max(initial=0))):
        which = lengths > step
        byte = (numbers[which] >> np.uint64(7 * step)) & np.uint64(127)
        byte[lengths[which] > step + 1] |= np.uint64(128)
        packed[starts[which] + step] = byte
    return packed.tobytes()


def decode(data: bytes) -> Array:
    """Return the numbers of varints; ValueError if they are damaged."""
    packed = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(packed < 128)
    if len(packed) and (not len(ends) or ends[-1] != len(packed) - 1):
        raise ValueError("The numbers of a link graph are cut off.")
    starts = np.empty_like(ends)
    starts[:1] = 0
    starts[1:] = ends[:-1] + 1
    lengths = ends - starts + 1
    most = int(lengths.max(initial=0))
    if most > 9:
        raise ValueError("A number of a link graph is too large.")
    numbers = (packed[starts] & 127).astype(np.uint64)
    for step in range(1, most):
        which = np.flatnonzero(lengths > step)
        byte = (packed[starts[which] + step] & 127).astype(np.uint64)
        numbers[which] |= byte << np.uint64(7 * step)
    return numbers


def zigzag(numbers: Array) -> Array:
    """Return signed numbers as unsigned ones, the small ones small."""
    numbers = numbers.astype(np.int64)
    return ((numbers << 1) ^ (numbers >> 63)).astype(np.uint64)


def unzigzag(numbers: Array) -> Array:
    """Return the signed numbers."""
    half = (numbers >> np.uint64(1)).astype(np.int64)
    return np.where(numbers & np.uint64(1), -half - 1, half)


def rows_to_gaps(own: Array, degrees: Array, targets: Array) -> Array:
    """Return sorted rows of targets as gaps: the first of a row from the row's `own` number, zigzag coded,
    the others from the one before, less one."""
    gaps = np.empty(len(targets), np.uint64)
    signed = targets.astype(np.int64)
    gaps[1:] = (signed[1:] - signed[:-1] - 1).astype(np.uint64)
    firsts = _firsts(degrees)
    gaps[firsts] = zigzag(signed[firsts] - own[degrees > 0].astype(np.int64))
    return gaps


def gaps_to_rows(own: Array, degrees: Array, gaps: Array) -> Array:
    """Return the targets of rows that were coded as gaps."""
    firsts = _firsts(degrees)
    steps = gaps.astype(np.int64) + 1
    steps[firsts] = unzigzag(gaps[firsts]) + own[degrees > 0].astype(np.int64)
    sums = np.cumsum(steps)
    before = np.zeros(len(firsts), np.int64)
    before[1:] = sums[firsts[1:] - 1]
    return sums - np.repeat(before, degrees[degrees > 0])


def _firsts(degrees: Array) -> Array:
    """Return where the rows that are not empty begin."""
    ends = np.cumsum(degrees, dtype=np.int64)
    return (ends - degrees)[degrees > 0]
