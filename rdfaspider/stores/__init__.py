"""Where triples go: the protocols of stores and sinks, and how to open one by its URL.

A page's triples live in one named graph, named by the page's URL and replaced as a whole. Two things
take them:

* a `Store` holds triples and answers queries: Oxigraph in a directory (`embedded/`), a server over HTTP
  (`server/`), or compressed files (`nquads/`). Commands and notebooks open one with `open_store`.
* a `Sink` is what a crawl writes into. It makes pages durable at once and passes them on to a store in
  batches: the journal of the embedded store (`embedded/`), or the outbox of any other (`outbox/`). The
  store pipeline opens one with `open_sink`.

Both take a `Change` (`changes.py`): the triples that replace a graph, or are added to it. `kinds.py` lists
the kinds of stores, and is where another one is added. `log.py` is the log on disk beneath the journal and
the N-Quads files, `provenance.py` records fetches, `selection.py` picks pages and triples, `queries.py` reads
SPARQL text, `dump.py` writes RDF files, `removal.py` removes pages. `stream/` records what changes.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from itertools import chain
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from rdfaspider.closable import Closable

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyoxigraph import Quad

    from rdfaspider.stores.changes import Change
    from rdfaspider.stores.outbox import Outbox
    from rdfaspider.stores.selection import Selection
    from rdfaspider.stores.server.access import Access


class StoreUnavailable(OSError):
    """Says in a sentence why a store cannot be opened and what to do about it."""


class StoreInUse(StoreUnavailable):
    """Another process has the store open to write."""


class StoreDown(StoreUnavailable):
    """The store failed, but not because of the data: try again later.

    `label` names the cause in a counter: a status, `connection` or `timeout`; `words` are the server's.
    """

    def __init__(self, sentence: str, label: str, words: str = "") -> None:
        super().__init__(sentence)
        self.label = label
        self.words = words


class Refused(ValueError):
    """The server will never accept this data; `words` is its reason."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(f"{status}: {words}")
        self.status = status
        self.words = words


class Store(Closable, Protocol):
    """A triple store.

    Replacing a graph is atomic: a reader, or a crawl that died, sees the old graph or the new one.
    What was written survives the death of the process; `close` makes it survive the death of the
    machine. Writing may raise StoreDown or Refused. Writing the same change twice is harmless.
    """

    def write(self, changes: Sequence[Change]) -> None:
        """Apply changes; no graph may be replaced twice in one call."""

    def query(self, sparql: str) -> Any:
        """Answer a SPARQL query over the union of all graphs.

        The answer is one of pyoxigraph's: solutions, a boolean, or an iterable of triples.
        """

    @property
    def hint(self) -> str:
        """A sentence about what the last query could not see, "" if it saw everything."""
        return ""

    def quads(self) -> Iterator[Quad]:
        """Yield every quad."""

    def count(self) -> int:
        """Return the number of quads."""

    def close(self) -> None:
        """Write everything to disk and release the store."""

    def create(self) -> bool:
        """Create the store if it is missing, and tell whether it was."""
        return False

    def test(self) -> None:
        """Write a statement and remove it again, in one request where the server can do that."""
        from rdfaspider.stores.changes import TEST

        self.write([TEST])
        self.write([TEST._replace(lines=b"", quads=0)])

    def replace(self, graph: str, quads: Iterable[Quad]) -> None:
        """Make `quads` the whole content of the graph."""
        from rdfaspider.stores.changes import Change

        self.write([Change.replacing(graph, quads)])

    def add(self, quads: Iterable[Quad]) -> None:
        """Add quads, which may not have blank nodes, to their named graphs."""
        from rdfaspider.stores.changes import Change

        self.write(Change.adding(quads))


class PageStore(Store, Protocol):
    """A store whose pages can be selected and removed; here by reading all of it, which most need not do."""

    def select(self, selection: Selection) -> Iterator[Quad]:
        """Yield the selected quads; those of a page may come in any order."""
        pages = defaultdict(list)
        for quad in self.quads():
            if selection.has_page(name := str(quad.graph_name)[1:-1]):
                pages[name].append(quad)
        return chain.from_iterable(selection.of_page(quads) for quads in pages.values())

    def sizes(self, selection: Selection) -> Iterator[tuple[str, int]]:
        """Yield the graph name and the number of quads of each selected page that is not empty."""
        names = (str(quad.graph_name)[1:-1] for quad in self.quads())
        yield from Counter(name for name in names if selection.has_page(name)).items()

    def remove(self, graphs: Iterable[str]) -> None:
        """Remove graphs and the provenance of their pages.

        Provenance goes first: if this fails half way, the graphs that are left show what to do again.
        """
        from rdfaspider.stores.changes import Change, removals
        from rdfaspider.stores.provenance import CRAWL, without_fetches

        gone = frozenset(graphs)
        crawls = defaultdict(list)
        for quad in self.quads():
            if (name := str(quad.graph_name)[1:-1]).startswith(CRAWL):
                crawls[name].append(quad)
        for name, quads in crawls.items():
            lines = Change.replacing(name, quads).triples.splitlines(keepends=True)
            kept = without_fetches(lines, gone.__contains__)
            self.write([Change(name, b"".join(kept), len(kept))])
        for batch in removals(gone):
            self.write(batch)


class Backlog(NamedTuple):
    """What a store does not have yet: pages, bytes, quads. `held` are all quads of pages, with these."""

    pages: int = 0
    size: int = 0
    quads: int = 0
    held: int = 0


class Sink(Closable, Protocol):
    """What a crawl writes into.

    A change is durable when `put` returns. While `is_full`, writers should wait; nothing is refused.
    `counters` counts what reached the store: batches, quads, milliseconds, refused pages, failed/LABEL,
    and how often the store was rebuilt.
    """

    counters: Counter[str]

    def put(self, changes: Sequence[Change]) -> list[bool]:
        """Make changes durable together; return False for each that changes nothing."""

    @property
    def is_full(self) -> bool: ...

    @property
    def backlog(self) -> Backlog: ...

    def copy_store(self, path: Path) -> bool:
        """Pass on what waits, and copy the store to a new directory, while writing goes on; return False if
        the store is not in this process."""
        return False

    def close(self) -> None:
        """Pass on what is left, as far as possible, and close the store."""


def open_store(
    url: str, *, read_only: bool = False, access: Access | None = None, owner: str = ""
) -> PageStore:
    """Open the store that `url` names.

        DIRECTORY                                        an embedded Oxigraph store
        rdf4j+http://HOST/rdf4j-server/repositories/ID   a repository of an RDF4J server
        gsp+http://HOST/PATH                             a SPARQL 1.1 Graph Store
        update+http://HOST/PATH                          a SPARQL 1.1 Update endpoint
        nquads:DIRECTORY                                 compressed N-Quads files
        python:package.module.Name:PLACE                 a store of another package, Name(PLACE)

    A missing repository is created: a NativeStore, or with ?sail=lmdb an LmdbStore. `access` holds the
    credentials for a server, and `owner` marks a repository that is created. What a killed crawl left in a
    journal is loaded first.
    """
    from rdfaspider.stores.kinds import KINDS, Opening, parts_of

    kind, place = parts_of(url)
    return KINDS[kind].opened(Opening(place, access, owner, read_only))


def open_sink(url: str, outbox: str, **options: Any) -> Sink:
    """Open what a crawl writes into to fill the store that `url` names.

    The embedded store has a journal, all others an outbox: `outbox` is its directory, `options` are those
    of `open_outbox`.
    """
    from rdfaspider.stores.embedded import Embedded
    from rdfaspider.stores.embedded.oxigraph import OxigraphStore
    from rdfaspider.stores.kinds import is_embedded

    if not is_embedded(url):
        return open_outbox(url, outbox, **options)
    return Embedded(OxigraphStore(url))


def open_outbox(
    url: str, outbox: str, *, access: Access | None = None, rebuild: bool = False, **options: Any
) -> Outbox:
    """Open the outbox of a store with the `options` of `Outbox`. Only some stores can be rebuilt."""
    from rdfaspider.stores.kinds import target_of
    from rdfaspider.stores.outbox import Outbox, Rebuildable

    store = open_store(url, access=access, owner=_owner(outbox))
    rebuilt = store if rebuild and isinstance(store, Rebuildable) else None
    return Outbox(store, outbox, rebuilt=rebuilt, target=target_of(url), **options)


def _owner(outbox: str) -> str:
    """Return the token that marks a repository as created for this outbox; it moves with the directory."""
    path = Path(outbox) / "ID"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_text(token_hex(8))
        new.replace(path)
    return path.read_text()
