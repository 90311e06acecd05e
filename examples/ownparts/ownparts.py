"""Parts of a crawl that are this example's own: an order, a rule, a filter, an extractor, columns, a store.

The settings name each by its dotted path; README.md has a crawl that uses all of them.
"""

from __future__ import annotations

import re
import sqlite3
from html import unescape
from typing import TYPE_CHECKING, Any

from pyoxigraph import Literal, NamedNode, RdfFormat, Triple, parse
from pyoxigraph import Store as Oxigraph

from rdfaspider.frontier.orders.order import Order
from rdfaspider.stores import PageStore, StoreDown, StoreUnavailable
from rdfaspider.stores.queries import names_its_graphs

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pyoxigraph import Quad

    from rdfaspider.items import Page
    from rdfaspider.stores.changes import Change

TITLE = NamedNode("http://purl.org/dc/terms/title")


class DeepFirst(Order):
    """Deep pages come first: the opposite of breadth."""

    def rank(self, key: bytes, depth: int, hint: int) -> bytes:
        return bytes((255 - depth,))


def is_print_view(url: str) -> bool:
    """Reject what another page shows already (a rule of URLS_REJECT)."""
    return "print=1" in url or url.endswith("/print")


def is_empty(quad: Quad) -> bool:
    """Drop literals without any text (a rule of FILTER_DROP)."""
    return isinstance(quad.object, Literal) and not quad.object.value.strip()


def title(body: bytes, url: str, content_type: str) -> Iterator[Triple]:
    """Make a triple of the title of a page (one of EXTRACT_FORMATS)."""
    if found := re.search(rb"<title>([^<]+)</title>", body[:10_000], re.IGNORECASE):
        text = " ".join(unescape(found[1].decode("utf-8", "replace")).split())
        yield Triple(NamedNode(url), TITLE, Literal(text))


def scripts(page: Page) -> int:
    """Count the scripts of a page (a column of PAGES_COLUMNS)."""
    return page.body.lower().count(b"<script")


class Ages:
    """Days since a page was changed, by its server (a column of PAGES_COLUMNS)."""

    def __call__(self, page: Page) -> float | None:
        return (page.fetched - page.modified) / 86_400 if page.modified else None


class SqliteStore(PageStore):
    """Quads in one SQLite file, a row each (STORE_URL); the crawl sends them in batches.

    Layout: the name of the graph, and the triple as a line of N-Triples. A batch is one transaction.
    """

    def __init__(self, place: str, *, read_only: bool = False) -> None:
        try:
            # The outbox writes in a thread of its own, and only there.
            self._rows = sqlite3.connect(place, check_same_thread=False)
            self._rows.execute("CREATE TABLE IF NOT EXISTS quads (graph TEXT, triple BLOB)")
            self._rows.execute("CREATE INDEX IF NOT EXISTS graphs ON quads (graph)")
        except sqlite3.Error as error:
            raise StoreUnavailable(f"The file {place} cannot be used: {error}.") from error

    def write(self, changes: Sequence[Change]) -> None:
        try:
            with self._rows:
                for change in changes:
                    if change.replaces:
                        self._rows.execute("DELETE FROM quads WHERE graph = ?", [change.graph])
                    rows = [(change.graph, line) for line in change.triples.splitlines()]
                    old = "DELETE FROM quads WHERE graph = ? AND triple = ?"
                    self._rows.executemany(old, rows)
                    self._rows.executemany("INSERT INTO quads VALUES (?, ?)", rows)
        except sqlite3.Error as error:  # the crawl tries again
            raise StoreDown(f"SQLite does not write: {error}.", "sqlite") from error

    def quads(self) -> Iterator[Quad]:
        for graph, triple in self._rows.execute("SELECT graph, triple FROM quads"):
            line = triple.removesuffix(b" .") + f" <{graph}> .".encode()
            yield from parse(line, RdfFormat.N_QUADS)

    def query(self, sparql: str) -> Any:
        memory = Oxigraph()
        memory.extend(self.quads())
        # A query without FROM is about all graphs.
        return memory.query(sparql, use_default_graph_as_union=not names_its_graphs(sparql))

    def count(self) -> int:
        (count,) = self._rows.execute("SELECT COUNT(*) FROM quads").fetchone()
        return int(count)

    def close(self) -> None:
        self._rows.close()
