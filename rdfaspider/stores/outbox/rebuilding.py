"""What an outbox keeps of what it sent, in the tables of `database.py`, to fill its store again."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from rdfaspider.stores.outbox.file import ROW

if TYPE_CHECKING:
    import sqlite3

    from rdfaspider.stores.changes import Change


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
    graph, triples, quads, replaces = change
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
