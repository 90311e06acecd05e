"""Requests of other people's spiders on disk, beside a frontier that knows URLs alone.

Layout: an SQLite file with a row for each request that waits or is under way. Its key is what the frontier
has for its URL: the normal form; for a request with another method or a body its fingerprint follows, after
#. Its value is the request as Scrapy's `to_dict` gives it, written as Python's literals, which no reader
executes. Invariant: a row is written before the frontier gets its key, and removed after that has ended.
What a kill leaves in between is put into the frontier again at the next start. Rows survive a kill of the
process; if the machine dies, the last moments may be missing.
"""

from __future__ import annotations

import ast
import sqlite3
from typing import TYPE_CHECKING, Any

from scrapy.utils.request import request_from_dict

from rdfaspider.urls import normalise

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from scrapy import Request, Spider

# What a fragment says of a request that its URL does not.
_MARK = "#"


def key_of(request: Request, fingerprint: Callable[[Request], bytes]) -> str:
    """Return what the frontier has for a request; ValueError if it can have nothing."""
    url = normalise(request.url)
    if request.method == "GET" and not request.body:
        return url
    return f"{url}{_MARK}{fingerprint(request).hex()}"


def again(key: str, number: int) -> str:
    """Return another key, for a request that is to be made although it was made before."""
    return f"{key}{'' if _MARK in key else _MARK}!{number}"


def first(key: str) -> str:
    """Return the key that `again` made others of."""
    url, _, rest = key.partition(_MARK)
    fingerprint = rest.partition("!")[0]
    return f"{url}{_MARK}{fingerprint}" if fingerprint else url


def written(request: Request, spider: Spider) -> str:
    """Return a request as text; ValueError if it cannot be kept."""
    kept = request.to_dict(spider=spider)
    text = repr(kept)
    if _read(text) != kept:
        raise ValueError(f"{request} has something that cannot be written to disk.")
    return text


def _read(text: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError, TypeError) as error:
        raise ValueError(f"A request cannot be read: {text[:100]}.") from error
    return found


class Requests:
    """The table of requests in a file."""

    def __init__(self, path: Path) -> None:
        self._rows = sqlite3.connect(path, isolation_level=None)
        self._rows.execute("PRAGMA journal_mode = WAL")
        self._rows.execute("PRAGMA synchronous = NORMAL")
        self._rows.execute(
            "CREATE TABLE IF NOT EXISTS requests (key TEXT PRIMARY KEY, request TEXT) WITHOUT ROWID"
        )

    def __contains__(self, key: str) -> bool:
        query = "SELECT 1 FROM requests WHERE key = ?"
        return self._rows.execute(query, [key]).fetchone() is not None

    def add(self, key: str, text: str) -> None:
        self._rows.execute("INSERT OR REPLACE INTO requests VALUES (?, ?)", [key, text])

    def find(self, key: str, spider: Spider) -> Request | None:
        """Return the request with a key; ValueError if it cannot be made any more."""
        query = "SELECT request FROM requests WHERE key = ?"
        found = self._rows.execute(query, [key]).fetchone()
        return None if found is None else request_from_dict(_read(found[0]), spider=spider)

    def remove(self, key: str) -> None:
        self._rows.execute("DELETE FROM requests WHERE key = ?", [key])

    def keys(self) -> Iterator[str]:
        for (key,) in self._rows.execute("SELECT key FROM requests"):
            yield key

    def close(self) -> None:
        self._rows.close()
