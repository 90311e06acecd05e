"""The clock of a run: the wall clock as it was at the start, moved on by the monotonic one.

Somebody may set the wall clock while a crawl runs, by hours even. Delays and back-off are kept in seconds
since the epoch, because they outlive the process, but within a run they must not jump.
"""

from __future__ import annotations

import time as _time

_EPOCH = _time.time() - _time.monotonic()


def now() -> float:
    """Return the seconds since the epoch."""
    return _EPOCH + _time.monotonic()
