"""Memory of a process that handles page after page, and of a single call.

A page is parsed into some hundred kilobytes that are freed at once. glibc would give them back to the system
each time, which clears them before the next page gets them: a tenth of the time of a small page. So the C
library keeps them; with another one than glibc nothing is done.

Objects from before the first page, mostly modules and classes, live to the end; scanning them for garbage
again and again would stop everything for tens of milliseconds. A page makes thousands of objects and hardly
any cycle, so it is enough to collect now and then. Together that saves a tenth of the time.
"""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# The parameters of glibc's mallopt.
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3

# Free bytes at the end of the heap that are kept.
_KEPT = 32 << 20
# Larger pieces are given back as soon as they are free.
_LARGE = 4 << 20
# New objects, minus deleted ones, before the young generation is collected: those of some pages.
_YOUNG = 20_000

_PROCESS = Path("/proc/self")


def keep_freed() -> None:
    """Keep some freed memory from now on, in this process."""
    with suppress(OSError, AttributeError):  # another C library
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_TRIM_THRESHOLD, _KEPT)
        mallopt(_MMAP_THRESHOLD, _LARGE)


def tune() -> None:
    """Leave the objects that exist alone from now on, collect the others less often, keep freed memory."""
    keep_freed()
    gc.freeze()  # less than two in a hundred are garbage, which is not worth a search
    gc.set_threshold(_YOUNG, *gc.get_threshold()[1:])


@contextmanager
def limited(size: int) -> Iterator[None]:
    """Raise MemoryError in the block once it takes more than so many bytes.

    The system limits the process as a whole, so this does nothing in one that has other threads, or where
    there is no /proc.
    """
    try:
        is_alone = len([*(_PROCESS / "task").iterdir()]) == 1
        pages = int((_PROCESS / "statm").read_bytes().split()[0])
    except OSError:
        is_alone = False
    if not is_alone:
        yield
        return
    import resource  # only Unix has it

    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    limit = pages * resource.getpagesize() + size
    if soft == resource.RLIM_INFINITY or limit < soft:
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
