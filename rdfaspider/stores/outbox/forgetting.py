"""Deletes graphs from the tables of an outbox (`database.py`) as if they had never come."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from rdfaspider.stores.outbox.file import key_of
from rdfaspider.stores.provenance import CRAWL, without_fetches

if TYPE_CHECKING:
    import sqlite3
    from collections.abc import Iterable

_TABLES = ("waiting", "aside", "sent")


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
