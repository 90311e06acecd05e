"""Which part of the processors RocksDB's merging gets.

RocksDB merges its files in threads of its own, as soon as there are a few. That has time: the more has come
meanwhile, the less CPU it takes for each quad, and what is not merged when a store is closed is merged after
it is opened again. So these threads are as nice as the workers that read pages. If they were much nicer, they
would fall behind until RocksDB lets the next load wait for them.

Only Linux gives a single thread its own priority; elsewhere nothing is done.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# How much nicer than the crawl they are. While two workers were busy, 60 loads took a fifth less CPU than
# without this, and as long by the clock; with 10 the loads had to wait for the merging.
_NICE = 5
# What RocksDB calls them.
_NAME = "rocksdb:low"


@contextmanager
def lowered() -> Iterator[None]:
    """Lower the priority of merging for the databases that are opened inside."""
    before = _threads()
    yield
    priority = os.getpriority(os.PRIO_PROCESS, 0) + _NICE
    for thread in _threads() - before:
        with suppress(OSError):  # the user has lowered it further
            os.setpriority(os.PRIO_PROCESS, thread, priority)


def _threads() -> set[int]:
    """Return the threads of this process that merge."""
    found = set()
    if sys.platform == "linux":
        for task in Path("/proc/self/task").iterdir():
            with suppress(OSError):  # it has ended
                if (task / "comm").read_text().rstrip() == _NAME:
                    found.add(int(task.name))
    return found
