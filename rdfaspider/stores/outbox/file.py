"""The file of an outbox: its tables, its versions, and the lock against a second writer."""

from __future__ import annotations

import fcntl
import sqlite3
from contextlib import contextmanager
from hashlib import blake2b
from typing import TYPE_CHECKING, BinaryIO

from rdfaspider.stores import StoreInUse, StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_VERSION = 2
# The columns of a change.
ROW = "number, graph, replaces, quads, body"
_COLUMNS = "number INTEGER PRIMARY KEY AUTOINCREMENT, graph TEXT, replaces INTEGER, quads INTEGER, body BLOB"
_TABLES = f"""
CREATE TABLE waiting ({_COLUMNS});
CREATE INDEX waiting_by_graph ON waiting (graph);
CREATE TABLE aside ({_COLUMNS}, status INTEGER, words TEXT);
CREATE INDEX aside_by_graph ON aside (graph);
CREATE TABLE digests (graph BLOB PRIMARY KEY, digest BLOB, quads INTEGER) WITHOUT ROWID;
CREATE TABLE sent ({_COLUMNS});
CREATE INDEX sent_by_graph ON sent (graph);
CREATE TABLE target (url TEXT, whole INTEGER NOT NULL DEFAULT 0, suspect INTEGER NOT NULL DEFAULT 0);
PRAGMA user_version = {_VERSION};
"""

# What SQLite keeps beside a database that was not closed.
_LOG = "outbox.sqlite-wal"


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open the database while another process may write to it."""
    with _explained(path):
        _check(path)
        if path.exists():
            # If nobody uses the database, this keeps SQLite from creating files beside it.
            alone = "" if _is_in_use(path) else "&immutable=1"
            uri = f"{path.resolve().as_uri()}?mode=ro{alone}"
            return sqlite3.connect(uri, uri=True, check_same_thread=False)
    raise StoreUnavailable(
        f"There is no outbox in {path.parent}: run a crawl first, or name the crawl's"
        " directory with -s JOBDIR=DIRECTORY."
    )


def open_to_write(path: Path) -> tuple[sqlite3.Connection, BinaryIO]:
    """Open or create the database; return it with the file that is locked while it is open."""
    with _explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = (path.parent / "LOCK").open("wb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise StoreInUse(
            f"The outbox {path.parent} is in use by another crawl: wait until that one ends,"
            " or give this one a directory of its own with -s JOBDIR=DIRECTORY."
        ) from error
    try:
        with _explained(path):
            _check(path)
            if not path.exists():
                _create(path)
            return _open(path), lock
    except BaseException:
        lock.close()
        raise


def _open(path: Path) -> sqlite3.Connection:
    database = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=60)
    try:
        # In a write-ahead log, a commit survives the death of the process without waiting for the disk.
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        (version,) = database.execute("PRAGMA user_version").fetchone()
        if version != _VERSION:
            raise StoreUnavailable(
                f"The outbox {path.parent} has format {version}, and this version of rdfaspider"
                f" reads format {_VERSION}: send it with the version that wrote it."
            )
    except BaseException:
        database.close()
        raise
    return database


def _is_in_use(path: Path) -> bool:
    """Tell whether a crawl has the database open, or had it open when it was killed."""
    if (path.parent / _LOG).exists():
        return True
    try:
        with (path.parent / "LOCK").open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _create(path: Path) -> None:
    """Create the database under another name, so that there is never an empty one under its own."""
    new = path.with_suffix(".new")
    new.unlink(missing_ok=True)
    database = sqlite3.connect(new, isolation_level=None)
    database.executescript(f"BEGIN; {_TABLES} COMMIT;")
    database.close()
    new.replace(path)


def _check(path: Path) -> None:
    """Refuse what SQLite would take for a new, empty database."""
    log = path.parent / _LOG
    if path.is_dir():
        raise StoreUnavailable(damaged(path, "it is a directory"))
    if not path.exists() and log.exists() and log.stat().st_size:
        raise StoreUnavailable(damaged(path, f"it is missing, and {log.name} is there"))
    if path.exists() and not path.stat().st_size:
        raise StoreUnavailable(damaged(path, "it is empty"))


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Turn an error of SQLite or the system into a sentence."""
    try:
        yield
    except StoreUnavailable:
        raise
    except sqlite3.OperationalError as error:
        raise StoreUnavailable(f"The outbox {path} cannot be opened: {error}.") from error
    except sqlite3.DatabaseError as error:
        raise StoreUnavailable(damaged(path, str(error))) from error
    except OSError as error:
        raise StoreUnavailable(f"The outbox {path.parent} cannot be opened: {error}.") from error


def key_of(graph: str) -> bytes:
    """Return the key of a graph's digest."""
    return blake2b(graph.encode(), digest_size=16).digest()


def damaged(path: Path, what: str) -> str:
    """Return a sentence about an outbox that cannot be read, and what to do about it."""
    return (
        f"The outbox {path} is damaged ({what}): restore it from a backup, or move it away; then the pages"
        " that waited in it are not in the store, and all others are."
    )
