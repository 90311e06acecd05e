"""Files that one process writes and names when they are whole, and what becomes of them if it dies.

A writer holds the lock of its file. A file that has no name yet and is not locked was left by a dead one.
"""

from __future__ import annotations

import fcntl
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def create_locked(path: Path) -> int:
    """Create a file that nobody else has, and return it, open for appending and locked."""
    while True:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o644)
        # Whoever cleans up may have taken it for left before it was locked.
        if _is_ours(path, file):
            return file
        os.close(file)


def _is_ours(path: Path, file: int) -> bool:
    fcntl.flock(file, fcntl.LOCK_EX)
    return path.exists()


def lock_left(path: Path) -> int | None:
    """Return a file that its writer has left, open and locked; None if it is written to, or gone."""
    try:
        file = os.open(path, os.O_RDWR)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if path.exists():  # else its writer has named it meanwhile
            return file
    except BlockingIOError:
        pass
    os.close(file)
    return None


def remove_left(path: Path) -> None:
    """Remove a file if its writer has left it."""
    if (file := lock_left(path)) is not None:
        path.unlink()
        os.close(file)
