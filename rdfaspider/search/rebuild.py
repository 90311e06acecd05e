"""Fills an index from a store: pages by their graphs, without their titles and texts, which no store has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyoxigraph import RdfFormat, Triple, serialize

from rdfaspider.search.index import PageWords, batches
from rdfaspider.stores.provenance import CRAWL
from rdfaspider.stores.selection import Selection

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rdfaspider.search.index import Index
    from rdfaspider.stores import PageStore


def pages_in(store: PageStore) -> Iterator[list[PageWords]]:
    """Yield the pages of a store, some at a time."""
    graphs = (graph for graph, _ in store.sizes(Selection()) if not graph.startswith(CRAWL))
    return batches(_page(store, graph) for graph in graphs)


def _page(store: PageStore, graph: str) -> PageWords:
    quads = store.select(Selection(pages=frozenset((graph,))))
    triples = [Triple(quad.subject, quad.predicate, quad.object) for quad in quads]
    return PageWords(graph, serialize(triples, format=RdfFormat.N_TRIPLES) or b"")


def rebuild(index: Index, store: PageStore, tell: Callable[[int], None]) -> int:
    """Index all pages of a store that are not indexed; return how many. `tell` hears how many so far."""
    count = 0
    for batch in pages_in(store):
        missing = [page for page in batch if not index.has(page.url)]
        if missing:
            index.put(missing)
        count += len(missing)
        tell(count)
    index.set_whole()
    return count
