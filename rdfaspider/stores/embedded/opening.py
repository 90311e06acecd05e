"""Opening the directory of an embedded store, and the messages for one that cannot be opened.

A damaged store is never changed: it may be mended, or read by other means, as long as nobody writes to it.
"""

from __future__ import annotations

import fcntl
import re
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import pyoxigraph

from rdfaspider import rocksdb
from rdfaspider.stores import StoreInUse, StoreUnavailable
from rdfaspider.stores.embedded import merging
from rdfaspider.stores.embedded.journal import Journal

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")

_FAILURE = re.compile("Corruption|IO error|Column family not found|No such file")


def open_directory(path: Path, *, read_only: bool) -> pyoxigraph.Store:
    """Open the store in a directory; only a writer creates a missing one."""
    try:
        what = rocksdb.fault(path)
        if not what and Journal.waits_in(path / "journal") and not rocksdb.is_there(path):
            what = "its database is missing, and its journal is there"
        if what:
            raise StoreUnavailable(_damaged(path, what))
        with merging.lowered():
            return _open_to_read(path) if read_only else _open_to_write(path)
    except StoreUnavailable:
        raise
    except (OSError, RuntimeError) as error:
        raise _explained(path, error) from error


def _open_to_write(path: Path) -> pyoxigraph.Store:
    path.mkdir(parents=True, exist_ok=True)
    store = pyoxigraph.Store(str(path))
    rocksdb.note_opening(path)
    # A load that was killed, or found the disk full, leaves these.
    for leftover in path.glob("bulk-*.sst"):
        leftover.unlink()
    return store


def _open_to_read(path: Path) -> pyoxigraph.Store:
    if not rocksdb.is_there(path):
        raise StoreUnavailable(
            f"There is no store in {path}: run a crawl first, or name the crawl's directory with"
            " -s JOBDIR=DIRECTORY."
        )
    check_unlocked(path)
    try:
        return pyoxigraph.Store.read_only(str(path))
    except RuntimeError as error:
        if "Column family not found" in str(error) and not any(path.glob("*.sst")):
            return pyoxigraph.Store()  # the process that was creating it died, so it is empty
        raise


def check_unlocked(path: Path) -> None:
    """Refuse a store that is being written: reading it then is undefined behaviour in Oxigraph."""
    try:
        with (path / "LOCK").open("rb") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except OSError as error:
                raise StoreInUse(
                    f"The store {path} is in use by another crawl: wait until that one ends."
                ) from error
    except FileNotFoundError:
        return  # nobody has it open


def guarded(method: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """Make a method of a store with a `path` raise StoreUnavailable when RocksDB fails."""

    @wraps(method)
    def call(*arguments: Parameters.args, **options: Parameters.kwargs) -> Result:
        try:
            return method(*arguments, **options)
        except (OSError, RuntimeError) as error:
            store: Any = arguments[0]
            raise_for_damage(store.path, error)
            raise

    return call


def raise_for_damage(path: Path, error: object) -> None:
    """Raise StoreUnavailable if an error comes from RocksDB and not, say, from a query."""
    if isinstance(error, OSError | RuntimeError) and _FAILURE.search(str(error)):
        raise _explained(path, error, "used") from error


def _explained(path: Path, error: object, done: str = "opened") -> StoreUnavailable:
    """Return a sentence about an error of RocksDB or the system, and what to do about it.

    `done` says what cannot be done to the store.
    """
    words = " ".join(str(error).split())
    if re.search("lock hold by|While lock file", words):
        return StoreInUse(
            f"The store {path} is in use by another crawl: wait until that one ends, or give this one a"
            " store of its own with -s STORE_URL=DIRECTORY."
        )
    if re.search("Corruption|Column family not found|No such file", words):
        return StoreUnavailable(_damaged(path, words))
    return StoreUnavailable(f"The store {path} cannot be {done}: {words}")


def _damaged(path: Path, what: str) -> str:
    return (
        f"The store {path} is damaged ({what}): restore it from a backup, or move it away; what it had is"
        " fetched again by a new crawl with -s JOBDIR=DIRECTORY."
    )
