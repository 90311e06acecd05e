"""The last version of each page in the stream of changes, and patches on their way to the files.

A database of SQLite beside the files, `versions.sqlite`, with three tables:

    versions   graph, digest, body   the last version of each page in the stream; compressed statements
    pending    number, text          patches that may not be in the files yet
    crawl      token                 its one row: the name of this crawl in ids

A version and its patch are written in one transaction. So every patch starts from the version that the patch
before it led to, and any version is found by undoing patches from the last one backwards. A patch stays
pending until a transaction after it was appended to the files. What survives: a kill at any instant; patches
that are pending and not in the files are appended at the next start.
"""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import contextmanager
from secrets import token_hex
from typing import TYPE_CHECKING, Any

from rdfaspider.closable import Closable
from rdfaspider.stores import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

NAME = "versions.sqlite"

_TABLES = """
CREATE TABLE versions (graph TEXT PRIMARY KEY, digest BLOB, body BLOB) WITHOUT ROWID;
CREATE TABLE pending (number INTEGER PRIMARY KEY AUTOINCREMENT, text BLOB);
CREATE TABLE crawl (token TEXT);
PRAGMA user_version = 1;
"""


class Versions(Closable):
    """The database; one process writes, others may read meanwhile. Not for several threads at once."""

    def __init__(self, directory: Path, *, read_only: bool = False) -> None:
        self.path = directory / NAME
        with self._explained():
            if read_only:
                uri = f"{self.path.resolve().as_uri()}?mode=ro"
                self._database = sqlite3.connect(uri, uri=True, isolation_level=None, timeout=60)
            else:
                directory.mkdir(parents=True, exist_ok=True)
                self._database = sqlite3.connect(
                    self.path, isolation_level=None, timeout=60, check_same_thread=False
                )
                self._create()
            (self.crawl,) = self._database.execute("SELECT token FROM crawl").fetchone()

    def _create(self) -> None:
        # In a write-ahead log, a commit survives the death of the process without waiting for the disk.
        self._database.execute("PRAGMA journal_mode = WAL")
        self._database.execute("PRAGMA synchronous = NORMAL")
        if self._database.execute("PRAGMA user_version").fetchone() == (0,):
            token = f"INSERT INTO crawl VALUES ('{token_hex(8)}');"
            self._database.executescript(f"BEGIN; {_TABLES} {token} COMMIT;")

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Have all or nothing of the block survive."""
        with self._explained():
            self._database.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._database.execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                raise

    def digest(self, graph: str) -> bytes | None:
        """Return the digest of the last version, None if the page is not in the stream."""
        rows = self._ask("SELECT digest FROM versions WHERE graph = ?", graph)
        return rows[0][0] if rows else None

    def statements(self, graph: str) -> list[bytes] | None:
        """Return the statements of the last version, None if the page is not in the stream."""
        with self._explained():
            rows = self._ask("SELECT body FROM versions WHERE graph = ?", graph)
            return zlib.decompress(rows[0][0]).splitlines() if rows else None

    def last(self, graph: str) -> tuple[list[bytes] | None, int, list[tuple[int, bytes]]]:
        """Return the statements of the last version, the number of the patch that comes next, and those that
        are pending, as they are at one moment."""
        with self._explained():
            self._database.execute("BEGIN")
            try:
                return self.statements(graph), self.next_number(), self.pending()
            finally:
                self._database.execute("COMMIT")

    def set(self, graph: str, digest: bytes, statements: list[bytes]) -> None:
        body = zlib.compress(b"\n".join(statements), 1)
        put = "INSERT OR REPLACE INTO versions VALUES (?, ?, ?)"
        self._database.execute(put, (graph, digest, body))

    def next_number(self) -> int:
        """Return the number of the next patch."""
        rows = self._ask("SELECT seq FROM sqlite_sequence WHERE name = 'pending'")
        return rows[0][0] + 1 if rows else 1

    def add(self, number: int, text: bytes) -> None:
        self._database.execute("INSERT INTO pending VALUES (?, ?)", (number, text))

    def pending(self) -> list[tuple[int, bytes]]:
        return self._ask("SELECT number, text FROM pending ORDER BY number")

    def settle(self, last: int) -> None:
        """Forget the patches that are in the files."""
        self._database.execute("DELETE FROM pending WHERE number <= ?", (last,))

    def forget(self, is_removed: Callable[[str], bool]) -> None:
        """Delete the versions of removed pages, overwriting them, and all patches that are pending."""
        self._database.execute("PRAGMA secure_delete = ON")
        with self.transaction():
            find = self._database.execute("SELECT graph FROM versions").fetchall()
            gone = [row for row in find if is_removed(row[0])]
            self._database.executemany("DELETE FROM versions WHERE graph = ?", gone)
            self._database.execute("DELETE FROM pending")
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self._database.close()

    def _ask(self, question: str, *words: str) -> list[tuple[Any, ...]]:
        with self._explained():
            return self._database.execute(question, words).fetchall()

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, zlib.error, TypeError) as error:
            raise StoreUnavailable(
                f"The stream of changes in {self.path.parent} cannot be used ({error}): move the directory"
                " away to begin another."
            ) from error
