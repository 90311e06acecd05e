"""The clock of a run: the wall clock at the start, moved on by the monotonic clock.

The wall clock may be set while a crawl runs, even by hours. Delays and back-off are kept in seconds since the
epoch, because they outlive the process, but within a run they must not jump.
"""

from __future__ import annotations

import time as _time

_EPOCH = _time.time() - _time.monotonic()


def now() -> float:
    """Return the seconds since the epoch."""
    return _EPOCH + _time.monotonic()
