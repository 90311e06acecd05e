"""The pages that wait to be sent to a store, on disk: an SQLite database of five tables.

    waiting   number, graph, replaces, quads, body     changes not yet sent, in the order they came
    sent      the same                                 changes the store took, if these are kept
    aside     the same, and status, words              changes the store refused, with its words
    digests   hash of a graph's name, digest           of what each graph was last replaced by
    target    url, whole, suspect                      the store: its one row

Bodies are N-Triples, compressed. Invariant: no change, waiting or aside, replaces a graph that another
one is about: a replacement takes the place of everything before it. A digest is of what is in the
store or waits; a graph that was refused has none. The store is `whole` if it was new and empty when
the keeping began: then what was sent is all that it holds, and it can be filled anew from here.
It is `suspect` when it died in the midst of a write.
Every change of state is one transaction. It survives the death of the process at any instant, and
`close`, or the next checkpoint, makes it survive the death of the machine. Other processes may read
beside the one that writes.
"""

from __future__ import annotations

import sqlite3
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple, Self

from rdfaspider.stores import StoreUnavailable
from rdfaspider.stores.changes import Change
from rdfaspider.stores.forgetting import forget, forget_all, key_of
from rdfaspider.stores.spoolfile import damaged, open_to_read, open_to_write

_PUT = "INSERT INTO waiting (graph, replaces, quads, body) VALUES (?, ?, ?, ?)"
_ROW = "number, graph, replaces, quads, body"
_SIZE = "COALESCE(SUM(LENGTH(body) + LENGTH(graph)), 0)"
_TOTALS = f"SELECT COUNT(*), COALESCE(SUM(quads), 0), {_SIZE} FROM waiting"

# No more than this of N-Triples goes into a batch, but for a page that is larger by itself.
_BATCH_BYTES = 16 << 20


class Entry(NamedTuple):
    """A change with its number in the spool and its size there."""

    number: int
    size: int
    change: Change


class Spool:
    """The durable queue between a crawl and its store; its methods may be called by any thread.

    `pages` and `quads` tell what waits, `size` how many bytes wait or were kept aside. With `keep`,
    what was sent is kept too. Without a `target`, None, it is opened for the store that it was for.
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
        self.pages, self.quads, self.size = 0, 0, 0
        if read_only:
            self._database = open_to_read(self.path)
        else:
            self._database, self._lock_file = open_to_write(self.path)
        try:
            if target is not None and not read_only:
                self._aim_at(target)
            with self._readable():
                self._recount()
        except StoreUnavailable:
            self.close()
            raise

    def _aim_at(self, target: str) -> None:
        """Forget what the last store was sent when this crawl has another one."""
        with self._transaction() as database:
            before = database.execute("SELECT url FROM target").fetchone()
            if before != (target,):
                for table in ("target", "digests", "sent"):
                    database.execute(f"DELETE FROM {table}")
                database.execute("INSERT INTO target (url) VALUES (?)", (target,))
            if not self._keep:
                database.execute("DELETE FROM sent")
                database.execute("UPDATE target SET whole = 0, suspect = 0")

    def put(self, change: Change, digest: bytes = b"") -> bool:
        """Take a change in; False if its digest says that nothing would change."""
        return self.put_all([(change, digest)])[0]

    def put_all(self, changes: Sequence[tuple[Change, bytes]]) -> list[bool]:
        """Take changes with their digests in, all or none."""
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
            find = "SELECT digest FROM digests WHERE graph = ?"
            if database.execute(find, (key,)).fetchone() == (digest,):
                return False
            database.execute("INSERT OR REPLACE INTO digests VALUES (?, ?)", (key, digest))
        if change.replaces:
            self._supersede(database, change.graph)
        database.execute(_PUT, (change.graph, change.replaces, change.quads, body))
        self._count(1, change.quads, len(body) + len(change.graph))
        return True

    def _supersede(self, database: sqlite3.Connection, graph: str) -> None:
        pages, quads, size = database.execute(f"{_TOTALS} WHERE graph = ?", (graph,)).fetchone()
        find = f"SELECT {_SIZE} FROM aside WHERE graph = ?"
        (aside,) = database.execute(find, (graph,)).fetchone()
        for table in ("waiting", "aside"):
            database.execute(f"DELETE FROM {table} WHERE graph = ?", (graph,))
        self._count(-pages, -quads, -size - aside)

    def batch(self, quads: int) -> list[Entry]:
        """Return the changes that waited longest, at least one if there is any, of so many quads."""
        entries: list[Entry] = []
        space = _BATCH_BYTES
        find = f"SELECT {_ROW} FROM waiting ORDER BY number"
        with self._lock, self._readable():
            for number, graph, replaces, count, body in self._database.execute(find):
                try:
                    change = Change(graph, zlib.decompress(body), count, bool(replaces))
                except zlib.error:
                    if entries:
                        break  # those before it can be sent
                    raise
                quads -= count
                space -= len(change.triples)
                if entries and (quads < 0 or space < 0):
                    break
                entries.append(Entry(number, len(body) + len(graph), change))
        return entries

    def remove(self, entries: Sequence[Entry]) -> None:
        """Let what the store has taken wait no longer."""
        with self._transaction() as database:
            for entry in entries:
                if self._keep:
                    self._copy(database, entry)
                self._delete(database, entry)

    def _copy(self, database: sqlite3.Connection, entry: Entry) -> None:
        if entry.change.replaces:
            database.execute("DELETE FROM sent WHERE graph = ?", (entry.change.graph,))
        copy = f"INSERT INTO sent SELECT {_ROW} FROM waiting WHERE number = ?"
        if not database.execute(copy, (entry.number,)).rowcount:
            # It was superseded while it was being sent, but it is what the store holds for now.
            number, _, (graph, triples, quads, replaces) = entry
            row = number, graph, replaces, quads, zlib.compress(triples, 1)
            database.execute(f"INSERT INTO sent ({_ROW}) VALUES (?, ?, ?, ?, ?)", row)

    def set_aside(self, entry: Entry, status: int, words: str) -> None:
        """Keep a change that the store refused, with what it said."""
        with self._transaction() as database:
            database.execute(
                "INSERT INTO aside (graph, replaces, quads, body, status, words)"
                " SELECT graph, replaces, quads, body, ?, ? FROM waiting WHERE number = ?",
                (status, words, entry.number),
            )
            database.execute("DELETE FROM digests WHERE graph = ?", (key_of(entry.change.graph),))
            if self._delete(database, entry):
                self.size += entry.size

    def _delete(self, database: sqlite3.Connection, entry: Entry) -> bool:
        """Tell whether it was there: one superseded while it was being sent is gone already."""
        done = database.execute("DELETE FROM waiting WHERE number = ?", (entry.number,))
        if done.rowcount:
            self._count(-1, -entry.change.quads, -entry.size)
        return bool(done.rowcount)

    def replay(self) -> int:
        """Let everything that was kept aside wait again; return how many changes that are."""
        with self._transaction() as database:
            rows = database.execute("SELECT graph, replaces, quads, body FROM aside").fetchall()
            database.execute("DELETE FROM aside")
            database.executemany(_PUT, rows)
            self._count(len(rows), sum(quads for _, _, quads, _ in rows), 0)
        return len(rows)

    def aside(self) -> list[tuple[str, int, str]]:
        """Return graph, status and words of each change that was refused."""
        with self._lock:
            find = "SELECT graph, status, words FROM aside ORDER BY number"
            return self._database.execute(find).fetchall()

    def changes(self, *, aside: bool = False) -> Iterator[Change]:
        """Yield what waits, or what was kept aside, in order."""
        table = "aside" if aside else "waiting"
        find = f"SELECT graph, body, quads, replaces FROM {table} ORDER BY number"
        with self._readable():
            for graph, body, quads, replaces in self._database.execute(find):
                yield Change(graph, zlib.decompress(body), quads, bool(replaces))

    @property
    def is_suspect(self) -> bool:
        """Tell whether the store died in the midst of a write, and can be filled anew from here."""
        with self._lock:
            find = "SELECT whole AND suspect FROM target"
            return bool(self._database.execute(find).fetchone()[0])

    def suspect(self) -> None:
        with self._transaction() as database:
            database.execute("UPDATE target SET suspect = 1")

    def disown(self) -> None:
        """Suspect the store no more, whatever happens: it has become the store of others too.

        What was sent is still kept, should somebody remove the store.
        """
        with self._transaction() as database:
            database.execute("UPDATE target SET whole = 0, suspect = 0")

    @property
    def known_quads(self) -> int:
        """Return how many quads the store can hold at most that came from here and are kept."""
        with self._lock:
            find = "SELECT COALESCE(SUM(quads), 0) FROM sent"
            return int(self._database.execute(find).fetchone()[0]) + self.quads

    def start_over(self) -> None:
        """Let wait again what was sent and kept, and forget the rest: the store is new and empty."""
        with self._transaction() as database:
            if database.execute("SELECT whole FROM target").fetchone() == (0,):
                database.execute("DELETE FROM digests")
            # They come before what waits, for they keep their numbers.
            database.execute(
                f"INSERT INTO waiting SELECT {_ROW} FROM sent"
                " WHERE graph NOT IN (SELECT graph FROM waiting WHERE replaces)"
            )
            database.execute("DELETE FROM sent")
            database.execute("UPDATE target SET whole = ?, suspect = 0", (self._keep,))
            self._recount()

    @property
    def target(self) -> str:
        """The store that this is the outbox of."""
        with self._lock:
            row = self._database.execute("SELECT url FROM target").fetchone()
        return row[0] if row else ""

    def graphs(self) -> Iterator[tuple[str, bool]]:
        """Yield each graph of which something is kept, and whether it waits or was refused."""
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
        with self._lock:
            find = "SELECT 1 FROM digests WHERE graph = ?"
            return self._database.execute(find, (key_of(graph),)).fetchone() is not None

    def forget(self, graphs: Iterable[str]) -> None:
        """Drop graphs as if they had never come; the next version of each is new, even if it is the same."""
        self._forget(lambda database: forget(database, graphs))

    def forget_all(self) -> None:
        """Drop everything."""
        self._forget(forget_all)

    def _forget(self, work: Callable[[sqlite3.Connection], None]) -> None:
        # What is dropped is written over, for people may have a right to that.
        self._database.execute("PRAGMA secure_delete = ON")
        with self._transaction() as database:
            work(database)
            self._recount()
        self._database.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        self._database.close()
        if self._lock_file is not None:
            self._lock_file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _recount(self) -> None:
        self.pages, self.quads, self.size = self._database.execute(_TOTALS).fetchone()
        self.size += self._database.execute(f"SELECT {_SIZE} FROM aside").fetchone()[0]

    def _count(self, pages: int, quads: int, size: int) -> None:
        self.pages += pages
        self.quads += quads
        self.size += size

    @contextmanager
    def _readable(self) -> Iterator[None]:
        """Say in a sentence what cannot be read."""
        try:
            yield
        except (sqlite3.DatabaseError, zlib.error) as error:
            raise StoreUnavailable(damaged(self.path, str(error))) from error

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            before = self.pages, self.quads, self.size
            try:
                self._database.execute("BEGIN IMMEDIATE")
                yield self._database
                self._database.execute("COMMIT")
            except BaseException as error:
                self.pages, self.quads, self.size = before
                # A full disk may have rolled back already.
                if self._database.in_transaction:
                    self._database.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise StoreUnavailable(
                        f"The outbox {self.path} cannot be written: {error}."
                    ) from error
                raise
