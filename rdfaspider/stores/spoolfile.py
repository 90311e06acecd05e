"""The file of an outbox: its tables, its versions, and the lock that keeps a second writer out."""

from __future__ import annotations

import fcntl
import sqlite3
from typing import TYPE_CHECKING, BinaryIO

from rdfaspider.stores import StoreUnavailable

if TYPE_CHECKING:
    from pathlib import Path

_VERSION = 2
_COLUMNS = "number INTEGER PRIMARY KEY AUTOINCREMENT, graph TEXT, replaces INTEGER, quads INTEGER, body BLOB"
_TABLES = f"""
CREATE TABLE waiting ({_COLUMNS});
CREATE INDEX waiting_by_graph ON waiting (graph);
CREATE TABLE aside ({_COLUMNS}, status INTEGER, words TEXT);
CREATE INDEX aside_by_graph ON aside (graph);
CREATE TABLE digests (graph BLOB PRIMARY KEY, digest BLOB) WITHOUT ROWID;
CREATE TABLE target (url TEXT);
"""
# What the second format has beyond the first.
_SECOND = f"""
CREATE TABLE sent ({_COLUMNS});
CREATE INDEX sent_by_graph ON sent (graph);
ALTER TABLE target ADD COLUMN whole INTEGER NOT NULL DEFAULT 0;
ALTER TABLE target ADD COLUMN suspect INTEGER NOT NULL DEFAULT 0;
PRAGMA user_version = {_VERSION};
"""


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open the database beside whoever writes to it."""
    if path.exists():
        uri = f"{path.resolve().as_uri()}?mode=ro"
        database = sqlite3.connect(uri, uri=True, check_same_thread=False)
        # Until its tables are made, the format is 0.
        if database.execute("PRAGMA user_version").fetchone() != (0,):
            return database
        database.close()
    raise StoreUnavailable(
        f"There is no outbox in {path.parent}: run a crawl first, or name the crawl's"
        " directory with -s JOBDIR=DIRECTORY."
    )


def open_to_write(path: Path) -> tuple[sqlite3.Connection, BinaryIO]:
    """Open the database, or make it; return it with the file that is locked as long as it is open."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = (path.parent / "LOCK").open("wb")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.close()
        raise StoreUnavailable(
            f"The outbox {path.parent} is in use by another crawl: wait until that one ends,"
            " or give this one a directory of its own with -s JOBDIR=DIRECTORY."
        ) from error
    database = sqlite3.connect(path, check_same_thread=False, isolation_level=None, timeout=60)
    # In a write-ahead log a commit is safe from the death of the process without waiting for the disk.
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA synchronous = NORMAL")
    (version,) = database.execute("PRAGMA user_version").fetchone()
    if version == 0:
        database.executescript(f"BEGIN; {_TABLES} {_SECOND} COMMIT;")
    elif version == 1:
        database.executescript(f"BEGIN; {_SECOND} COMMIT;")
    elif version != _VERSION:
        database.close()
        lock.close()
        raise StoreUnavailable(
            f"The outbox {path.parent} has format {version}, and this version of rdfaspider"
            f" reads format {_VERSION}: send it with the version that wrote it."
        )
    return database, lock
