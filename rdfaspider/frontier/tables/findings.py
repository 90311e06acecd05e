"""A finding: how a URL was found, in one number, because there is one for each link.

It is the smallest depth at which the URL was found, below the hint of the order. Loops over links use the two
constants, which cost no call.
"""

from __future__ import annotations

DEPTH = 255  # the bits of the depth
HINT = 8  # the hint is above so many bits

# More than any depth.
NO_DEPTH = 256


def finding(depth: int, hint: int) -> int:
    return depth | hint << HINT


def parts(found: int) -> tuple[int, int]:
    """Return depth and hint."""
    return found & DEPTH, found >> HINT
