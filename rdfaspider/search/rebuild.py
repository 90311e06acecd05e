"""Fills an index from a store, which has the triples of pages, and an archive, which has titles and texts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pyoxigraph import RdfFormat, Triple, serialize

from rdfaspider.search.index import PageWords, batches
from rdfaspider.stores.provenance import CRAWL
from rdfaspider.stores.selection import Selection
from rdfaspider.terminal import plural

if TYPE_CHECKING:
    from rdfaspider.search.index import Index
    from rdfaspider.stores import PageStore


# The title and text of an archived page, and whether that was its last answer.
Archived = tuple[PageWords, bool]
# Yields archived pages, some at a time, unless they are known.
Texts = Callable[[Callable[[str], bool]], Iterator[list[Archived]]]


def no_texts(is_known: Callable[[str], bool]) -> Iterator[list[Archived]]:
    """Yield nothing, for a crawl without an archive."""
    return iter(())


def pages_in(
    store: PageStore, texts: Texts, is_known: Callable[[str], bool]
) -> Iterator[tuple[list[PageWords], bool]]:
    """Yield the pages of a store, some at a time, and whether they are archived: those come first.

    The archive has pages without triples, too.
    """
    for batch in texts(is_known):
        pages = [(page._replace(triples=_triples(store, page.url)), last) for page, last in batch]
        yield [page for page, is_last in pages if page.triples or is_last], True
    graphs = (graph for graph, _ in store.sizes(Selection()) if not graph.startswith(CRAWL))
    for rest in batches(PageWords(graph, _triples(store, graph)) for graph in graphs):
        yield [page for page in rest if not is_known(page.url)], False


def _triples(store: PageStore, graph: str) -> bytes:
    quads = store.select(Selection(pages=frozenset((graph,))))
    triples = [Triple(quad.subject, quad.predicate, quad.object) for quad in quads]
    return serialize(triples, format=RdfFormat.N_TRIPLES) or b""


def rebuild(
    index: Index, store: PageStore, tell: Callable[[int], None], texts: Texts = no_texts
) -> tuple[int, int]:
    """Index all pages of a store that are not indexed; return how many, and how many lack their text.

    `tell` hears how many so far.
    """
    count = without_text = 0
    for pages, is_archived in pages_in(store, texts, index.has):
        index.put(pages)
        count += len(pages)
        without_text += 0 if is_archived else len(pages)
        tell(count)
    index.set_whole()
    return count, without_text


def lacking(pages: int) -> str:
    """Return a sentence about pages without their text."""
    return (
        f"The search index has only the triples of {plural(pages, 'page')}, and lacks pages without triples,"
        " because no archive has their texts; they come back when they are fetched again."
    )
