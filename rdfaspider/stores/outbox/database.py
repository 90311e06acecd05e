"""The database of an outbox: pages that wait to be sent to a store, in five SQLite tables.

    waiting   number, graph, replaces, quads, body     changes not sent yet, in the order they came
    sent      the same                                 changes that the store took, if these are kept
    aside     the same, and status, words              changes that the store refused, with its words
    digests   hash of a graph's name, digest, quads    of the last replacement of each graph
    target    url, whole, suspect                      the store: its one row

Bodies are compressed N-Triples. Invariant: no change, waiting or refused, replaces a graph that another one
is about, because a replacement supersedes everything before it. A digest describes what is in the store
or waits; a refused graph has none. The store is `whole` if it was new and empty when the outbox began to
keep what it sends: then it can be filled again from here. It is `suspect` when it died during a write.
Every method is one transaction. It survives the death of the process at any instant, and `close`, or the
next checkpoint, makes it survive the death of the machine. Other processes may read while one writes.
"""

from __future__ import annotations

import sqlite3
import threading
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from rdfaspider.closable import Closable
from rdfaspider.stores import StoreUnavailable
from rdfaspider.stores.changes import Change
from rdfaspider.stores.outbox import tables
from rdfaspider.stores.outbox.file import ROW, damaged, key_of, open_to_read, open_to_write

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rdfaspider.stores import Refused

_KNOWN = "SELECT digest, quads FROM digests WHERE graph = ?"
_PUT = "INSERT INTO waiting (graph, replaces, quads, body) VALUES (?, ?, ?, ?)"
_SIZE = "COALESCE(SUM(LENGTH(body) + LENGTH(graph)), 0)"
_TOTALS = f"SELECT COUNT(*), COALESCE(SUM(quads), 0), {_SIZE} FROM waiting"

# A batch has no more N-Triples than this, unless a single page does.
_BATCH_BYTES = 16 << 20


class Entry(NamedTuple):
    """A change with its number and its size in the database."""

    number: int
    size: int
    change: Change


def _change(number: int, graph: str, replaces: int, quads: int, body: bytes) -> Change:
    return Change(graph, zlib.decompress(body), quads, bool(replaces))


class OutboxDatabase(Closable):
    """The durable queue between a crawl and its store; any thread may call its methods.

    `pages` and `quads` count what waits, `size` is the number of bytes that wait or were refused, and `held`
    the number of quads of all digests. With `keep`, what was sent is kept too. `target` names the store; None
    leaves the one from before.
    """

    def __init__(
        self,
        directory: str,
        *,
        target: str | None = "",
        keep: bool = False,
        read_only: bool = False,
    ) -> None:
        self.path = Path(directory) / "outbox.sqlite"
        self._keep = keep
        self._lock = threading.Lock()
        self._lock_file: BinaryIO | None = None
        self.pages, self.quads, self.size, self.held = 0, 0, 0, 0
        if read_only:
            self._database = open_to_read(self.path)
        else:
            self._database, self._lock_file = open_to_write(self.path)
        try:
            if target is not None and not read_only:
                with self._transaction() as database:
                    tables.set_target(database, target, keep=keep)
            with self._readable():
                self._recount()
        except StoreUnavailable:
            self.close()
            raise

    def put(self, changes: Sequence[tuple[Change, bytes]]) -> list[bool]:
        """Accept changes with their digests, all or none; return False for each that changes nothing."""
        bodies = [zlib.compress(change.triples, 1) for change, _ in changes]
        with self._transaction() as database:
            return [
                self._put(database, *item, body) for item, body in zip(changes, bodies, strict=True)
            ]

    def _put(
        self, database: sqlite3.Connection, change: Change, digest: bytes, body: bytes
    ) -> bool:
        if digest:
            key = key_of(change.graph)
            known, quads = database.execute(_KNOWN, (key,)).fetchone() or (b"", 0)
            if known == digest:
                return False
            row = (key, digest, change.quads)
            database.execute("INSERT OR REPLACE INTO digests VALUES (?, ?, ?)", row)
            self.held += change.quads - quads
        if change.replaces:
            self._supersede(database, change.graph)
        database.execute(_PUT, (change.graph, change.replaces, change.quads, body))
        self._count(1, change.quads, len(body) + len(change.graph))
        return True

    def _supersede(self, database: sqlite3.Connection, graph: str) -> None:
        pages, quads, size = database.execute(f"{_TOTALS} WHERE graph = ?", (graph,)).fetchone()
        find = f"SELECT {_SIZE} FROM aside WHERE graph = ?"
        (refused,) = database.execute(find, (graph,)).fetchone()
        for table in ("waiting", "aside"):
            database.execute(f"DELETE FROM {table} WHERE graph = ?", (graph,))
        self._count(-pages, -quads, -size - refused)

    def batch(self, quads: int) -> list[Entry]:
        """Return the changes that waited longest, up to a number of quads, but at least one change."""
        entries: list[Entry] = []
        space = _BATCH_BYTES
        find = f"SELECT {ROW} FROM waiting ORDER BY number"
        with self._lock, self._readable():
            for row in self._database.execute(find):
                try:
                    change = _change(*row)
                except zlib.error:
                    if entries:
                        break  # those before it can be sent
                    raise
                quads -= change.quads
                space -= len(change.lines)
                if entries and (quads < 0 or space < 0):
                    break
                entries.append(Entry(row[0], len(row[-1]) + len(change.graph), change))
        return entries

    def remove(self, entries: Sequence[Entry]) -> None:
        """Delete what the store has taken, or keep it as sent."""
        with self._transaction() as database:
            for entry in entries:
                if self._keep:
                    tables.keep(database, entry.number, entry.change)
                self._delete(database, entry)

    def refuse(self, entry: Entry, refusal: Refused) -> None:
        """Keep a change that the store refused, with its words."""
        with self._transaction() as database:
            database.execute(
                "INSERT INTO aside (graph, replaces, quads, body, status, words)"
                " SELECT graph, replaces, quads, body, ?, ? FROM waiting WHERE number = ?",
                (refusal.status, refusal.words, entry.number),
            )
            key = (key_of(entry.change.graph),)
            _, quads = database.execute(_KNOWN, key).fetchone() or (b"", 0)
            database.execute("DELETE FROM digests WHERE graph = ?", key)
            self.held -= quads
            if self._delete(database, entry):
                self.size += entry.size

    def _delete(self, database: sqlite3.Connection, entry: Entry) -> bool:
        """Delete a waiting change; return False if it was superseded while it was being sent."""
        done = database.execute("DELETE FROM waiting WHERE number = ?", (entry.number,))
        if done.rowcount:
            self._count(-1, -entry.change.quads, -entry.size)
        return bool(done.rowcount)

    def retry_refused(self) -> None:
        """Let everything that was refused wait again."""
        with self._transaction() as database:
            database.execute(
                "INSERT INTO waiting (graph, replaces, quads, body)"
                " SELECT graph, replaces, quads, body FROM aside ORDER BY number"
            )
            database.execute("DELETE FROM aside")
            self._recount()

    # --- looking at it ---

    def refused(self) -> Iterator[tuple[Change, int, str]]:
        """Yield each refused change with the status and the words of the store."""
        find = f"SELECT {ROW}, status, words FROM aside ORDER BY number"
        with self._readable():
            for *row, status, words in self._database.execute(find):
                yield _change(*row), status, words

    def waiting(self) -> Iterator[Change]:
        """Yield what waits, in order."""
        with self._readable():
            for row in self._database.execute(f"SELECT {ROW} FROM waiting ORDER BY number"):
                yield _change(*row)

    def graphs(self) -> Iterator[tuple[str, bool]]:
        """Yield each graph that is kept here, and whether it waits or was refused."""
        find = " UNION ALL ".join(
            f"SELECT graph, {waits} AS waits FROM {table}"
            for table, waits in (("waiting", 1), ("aside", 1), ("sent", 0))
        )
        for graph, waits in self._database.execute(
            f"SELECT graph, MAX(waits) FROM ({find}) GROUP BY graph"
        ):
            yield graph, bool(waits)

    def has_sent(self, graph: str) -> bool:
        """Tell whether the store has this graph from here, as far as is known."""
        find = "SELECT 1 FROM digests WHERE graph = ?"
        return self._value(find, (key_of(graph),)) is not None

    @property
    def target(self) -> str:
        """The name of the store that this is the outbox of."""
        return self._value("SELECT url FROM target") or ""

    # --- rebuilding the store ---

    @property
    def is_suspect(self) -> bool:
        """Tell whether the store died during a write and can be filled again from here."""
        return bool(self._value("SELECT whole AND suspect FROM target"))

    def suspect(self) -> None:
        with self._transaction() as database:
            database.execute("UPDATE target SET suspect = 1")

    def disown(self) -> None:
        """Never suspect the store again, because it holds the data of others too.

        What was sent is still kept, in case somebody removes the store.
        """
        with self._transaction() as database:
            database.execute("UPDATE target SET whole = 0, suspect = 0")

    @property
    def known_quads(self) -> int:
        """The greatest number of quads that the store can hold from here."""
        return int(self._value("SELECT COALESCE(SUM(quads), 0) FROM sent")) + self.quads

    def start_over(self) -> None:
        """Send again what was sent and kept, and forget the rest: the store is new and empty."""
        with self._transaction() as database:
            tables.start_over(database, keep=self._keep)
            self._recount()

    # --- removing pages ---

    def forget(self, graphs: Iterable[str]) -> None:
        """Delete graphs as if they had never come; the next version of each counts as new."""
        self._forget(lambda database: tables.forget(database, graphs))

    def forget_all(self) -> None:
        """Delete everything."""
        self._forget(tables.forget_all)

    def _forget(self, work: Callable[[sqlite3.Connection], None]) -> None:
        # Overwrites what is deleted, because people may have a right to that.
        self._database.execute("PRAGMA secure_delete = ON")
        with self._transaction() as database:
            work(database)
            self._recount()
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self._database.close()
        if self._lock_file is not None:
            self._lock_file.close()

    def _recount(self) -> None:
        self.pages, self.quads, self.size = self._database.execute(_TOTALS).fetchone()
        self.size += self._database.execute(f"SELECT {_SIZE} FROM aside").fetchone()[0]
        find = "SELECT COALESCE(SUM(quads), 0) FROM digests"
        self.held = self._database.execute(find).fetchone()[0]

    def _count(self, pages: int, quads: int, size: int) -> None:
        self.pages += pages
        self.quads += quads
        self.size += size

    def _value(self, find: str, parameters: tuple[bytes, ...] = ()) -> Any:
        """Return the value that a query finds, None if it finds nothing."""
        with self._lock:
            row = self._database.execute(find, parameters).fetchone()
        return row[0] if row else None

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Turn a failure to read into a sentence."""
        try:
            yield
        except (sqlite3.DatabaseError, zlib.error) as error:
            raise StoreUnavailable(damaged(self.path, str(error))) from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            before = self.pages, self.quads, self.size, self.held
            try:
                self._database.execute("BEGIN IMMEDIATE")
                yield self._database
                self._database.execute("COMMIT")
            except BaseException as error:
                self.pages, self.quads, self.size, self.held = before
                # A full disk may have rolled back already.
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise StoreUnavailable(
                        f"The outbox {self.path} cannot be written: {error}."
                    ) from error
                raise
