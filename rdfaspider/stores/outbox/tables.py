"""What an outbox does with whole tables (`database.py` has their layout): it keeps what it has sent, to fill
its store again, and deletes graphs as if they had never come."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from rdfaspider.stores.outbox.file import ROW, key_of
from rdfaspider.stores.provenance import CRAWL, without_fetches

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

    from rdfaspider.stores.changes import Change

_TABLES = ("waiting", "aside", "sent")


# --- rebuilding the store ---


def set_target(database: sqlite3.Connection, target: str, *, keep: bool) -> None:
    """Name the store; forget what another one was sent, and what was kept if nothing is kept now."""
    before = database.execute("SELECT url FROM target").fetchone()
    if before != (target,):
        for table in ("target", "digests", "sent"):
            database.execute(f"DELETE FROM {table}")
        database.execute("INSERT INTO target (url) VALUES (?)", (target,))
    if not keep:
        database.execute("DELETE FROM sent")
        database.execute("UPDATE target SET whole = 0, suspect = 0")


def keep(database: sqlite3.Connection, number: int, change: Change) -> None:
    """Copy a change that the store has taken to what was sent."""
    graph, triples, quads, replaces = change[:4]
    if replaces:
        database.execute("DELETE FROM sent WHERE graph = ?", (graph,))
    copy = f"INSERT INTO sent SELECT {ROW} FROM waiting WHERE number = ?"
    if not database.execute(copy, (number,)).rowcount:
        # It was superseded while it was being sent, but the store holds it for now.
        row = number, graph, replaces, quads, zlib.compress(triples, 1)
        database.execute(f"INSERT INTO sent ({ROW}) VALUES (?, ?, ?, ?, ?)", row)


def start_over(database: sqlite3.Connection, *, keep: bool) -> None:
    """Let what was sent wait again; the store is whole from now on, if what is sent is kept."""
    if database.execute("SELECT whole FROM target").fetchone() == (0,):
        database.execute("DELETE FROM digests")
    # They come before what waits, because they keep their numbers.
    database.execute(
        f"INSERT INTO waiting SELECT {ROW} FROM sent"
        " WHERE graph NOT IN (SELECT graph FROM waiting WHERE replaces)"
    )
    database.execute("DELETE FROM sent")
    database.execute("UPDATE target SET whole = ?, suspect = 0", (keep,))


# --- removing pages ---


def forget(database: sqlite3.Connection, graphs: Iterable[str]) -> None:
    """Delete what waits, was refused or was sent of graphs, and the provenance of their pages."""
    database.execute("CREATE TEMP TABLE gone (graph TEXT PRIMARY KEY) WITHOUT ROWID")
    database.executemany("INSERT OR IGNORE INTO gone VALUES (?)", ((graph,) for graph in graphs))
    for table in _TABLES:
        database.execute(f"DELETE FROM {table} WHERE graph IN (SELECT graph FROM gone)")
        _forget_fetches(database, table)
    keys = ((key_of(graph),) for (graph,) in database.execute("SELECT graph FROM gone"))
    database.executemany("DELETE FROM digests WHERE graph = ?", keys)
    database.execute("DROP TABLE gone")


def forget_all(database: sqlite3.Connection) -> None:
    """Delete everything."""
    for table in (*_TABLES, "digests"):
        database.execute(f"DELETE FROM {table}")


def _forget_fetches(database: sqlite3.Connection, table: str) -> None:
    def is_gone(page: str) -> bool:
        return bool(database.execute("SELECT 1 FROM gone WHERE graph = ?", (page,)).fetchone())

    # The names of provenance graphs end in hexadecimal digits, which sort before g.
    find = f"SELECT number FROM {table} WHERE graph BETWEEN ? AND ?"
    for (number,) in database.execute(find, (CRAWL, CRAWL + "g")).fetchall():
        find = f"SELECT body, replaces FROM {table} WHERE number = ?"
        body, replaces = database.execute(find, (number,)).fetchone()
        lines = zlib.decompress(body).splitlines(keepends=True)
        kept = without_fetches(lines, is_gone)
        if not kept and not replaces:
            database.execute(f"DELETE FROM {table} WHERE number = ?", (number,))
        elif len(kept) < len(lines):
            change = f"UPDATE {table} SET body = ?, quads = ? WHERE number = ?"
            database.execute(change, (zlib.compress(b"".join(kept), 1), len(kept), number))
