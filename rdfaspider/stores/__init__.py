"""Where triples go: the Store protocol and the way to open one by its URL.

A page's triples live in one named graph, called by the page's URL and replaced as a whole.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, Self

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyoxigraph import Quad

__all__ = ["Store", "StoreUnavailable", "open_store"]


class StoreUnavailable(OSError):
    """Says in a sentence why a store cannot be opened and what to do about it."""


class Store(Protocol):
    """What the crawl needs of a triple store.

    `replace` is atomic: a reader, or a crawl that died, sees the old graph or the new one.
    What `replace` and `add` took survives the death of the process; `close` makes it survive
    the death of the machine.
    """

    def replace(self, graph: str, quads: Iterable[Quad]) -> None:
        """Make `quads` the whole content of the named graph `graph`."""

    def add(self, quads: Iterable[Quad]) -> None:
        """Add quads to whatever their graphs hold already."""

    def query(self, sparql: str) -> Any:
        """Answer a SPARQL query over the union of all graphs (pyoxigraph's result types)."""

    def count(self) -> int:
        """Return how many quads are stored."""

    def close(self) -> None:
        """Write everything to disk and let go of the store."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


def open_store(url: str, *, read_only: bool = False) -> Store:
    """Open the store that `url` names: so far a directory, which is an embedded Oxigraph store."""
    if "://" in url:
        raise StoreUnavailable(
            f"The store URL {url} is not one this version can open: give the path of a directory."
        )
    from rdfaspider.stores.oxigraph import OxigraphStore

    return OxigraphStore(url, read_only=read_only)
