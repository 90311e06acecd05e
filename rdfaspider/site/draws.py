"""Numbers that follow from a key: the only source of chance in the generated web."""

from __future__ import annotations

from hashlib import blake2b
from random import Random


def whole(*key: str | int) -> int:
    """Return the 64-bit number that belongs to `key`, the same in every process."""
    text = "\x1f".join(map(str, key))
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")


def draw(*key: str | int) -> float:
    """Return the number in [0, 1) that belongs to `key`."""
    # 53 bits are what a float holds: all 64 would round up to 1.0 now and then.
    return (whole(*key) >> 11) / (1 << 53)


def stream(*key: str | int) -> Random:
    """Return the endless sequence of numbers that belongs to `key`; use `.random()` alone.

    Python promises the same sequence in every version for `random()`, and for no other method.
    """
    return Random(whole(*key))
