"""Has the C library keep memory that pages free, for the pages that come after them.

A page is parsed into some hundred kilobytes that are freed at once. glibc would give them back to the system
each time, which clears them before the next page gets them: a tenth of the time of a small page. Elsewhere
nothing is done.
"""

from __future__ import annotations

import ctypes
from contextlib import suppress

# The parameters of glibc's mallopt.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3

# Free bytes at the end of the heap that are kept.
_KEPT = 32 << 20
# Larger pieces are given back as soon as they are free.
_LARGE = 4 << 20


def keep_freed() -> None:
    """Keep some freed memory from now on, in this process."""
    with suppress(OSError, AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_TRIM_THRESHOLD, _KEPT)
        mallopt(_MMAP_THRESHOLD, _LARGE)
