"""Which part of the processors RocksDB's merging gets.

RocksDB merges its files in threads of its own, as soon as there are a few. That can wait: the more has come
meanwhile, the less CPU it takes for each quad. What is not merged when a store is closed is merged after it
is opened for writing again; until then, queries have to look through more files. So these threads are as nice
as the workers that read pages. If they were much nicer, they would fall behind until RocksDB lets the next
load wait for them.

Only Linux gives a single thread its own priority; elsewhere nothing is done.
"""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

# How much nicer than the crawl they are. It takes 4 to 15 % less CPU than 0 does; at 10, loads have to wait
# for the merging (docs/results.md).
_NICE = 5
_TASKS = Path("/proc/self/task")
# What RocksDB calls them.
_NAME = b"rocksdb:low"


@contextmanager
def lowered() -> Iterator[None]:
    """Lower the priority of the threads for merging that are started inside.

    The first store that a process opens starts those of all its stores. A frontier has others.
    """
    before = _threads()
    yield
    priority = os.getpriority(os.PRIO_PROCESS, 0) + _NICE
    for thread in _threads() - before:
        with suppress(OSError):  # the user has lowered it further
            os.setpriority(os.PRIO_PROCESS, thread, priority)


def _threads() -> set[int]:
    """Return the threads of this process that merge, so far as that can be told."""
    found = set()
    with suppress(OSError):  # there is no /proc
        for task in _TASKS.iterdir():
            with suppress(OSError):  # it has ended
                if (task / "comm").read_bytes().rstrip() == _NAME:
                    found.add(int(task.name))
    return found
