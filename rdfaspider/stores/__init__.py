"""Where triples go: the Store protocol and the way to open one by its URL.

A page's triples live in one named graph, called by the page's URL and replaced as a whole.
"""

from __future__ import annotations

from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Any, Protocol, Self
from urllib.parse import parse_qs, urlsplit

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyoxigraph import Quad

    from rdfaspider.stores.changes import Change
    from rdfaspider.stores.http import Access
    from rdfaspider.stores.selection import Selection

__all__ = [
    "PageStore",
    "Refused",
    "Store",
    "StoreDown",
    "StoreUnavailable",
    "is_embedded",
    "open_pages",
    "open_store",
    "shown",
    "target_of",
]


class StoreUnavailable(OSError):
    """Says in a sentence why a store cannot be opened and what to do about it."""


class StoreDown(StoreUnavailable):
    """A server did not do as asked, through no fault of what it was given: try again later.

    `label` names the cause in a counter: a status, `connection` or `timeout`.
    """

    def __init__(self, sentence: str, label: str) -> None:
        super().__init__(sentence)
        self.label = label


class Refused(ValueError):
    """A server will never take what it was given, and said so in `words`."""

    def __init__(self, status: int, words: str) -> None:
        super().__init__(f"{status}: {words}")
        self.status = status
        self.words = words


class Store(Protocol):
    """What the crawl needs of a triple store.

    Replacing a graph is atomic: a reader, or a crawl that died, sees the old graph or the new one.
    What was written survives the death of the process; `close` makes it survive the death of the
    machine. Writing may raise StoreDown or Refused; writing the same once more is harmless.
    """

    def create(self) -> bool:
        """Make the store if it is missing, and tell whether it was."""

    def replace(self, graph: str, quads: Iterable[Quad]) -> bool:
        """Make `quads` the whole content of the named graph; False if they are already."""

    def add(self, quads: Iterable[Quad]) -> None:
        """Add quads, without blank nodes, to whatever their named graphs hold already."""

    def write(self, changes: Sequence[Change]) -> None:
        """Make changes of which none replaces a graph that another one is about."""

    def query(self, sparql: str) -> Any:
        """Answer a SPARQL query over the union of all graphs.

        The answer is one of pyoxigraph's: solutions, a boolean, or an iterable of triples.
        """

    def quads(self) -> Iterator[Quad]:
        """Yield everything that is stored."""

    def count(self) -> int:
        """Return how many quads are stored."""

    def close(self) -> None:
        """Write everything to disk and let go of the store."""

    def __enter__(self) -> Self: ...

    def __exit__(self, *exception: object) -> None: ...


class PageStore(Store, Protocol):
    """A store itself, without an outbox or a journal before it, whose pages can be picked and removed."""

    def select(self, selection: Selection) -> Iterator[Quad]:
        """Yield the quads that are meant; those of a page may come in any order."""

    def sizes(self, selection: Selection) -> Iterator[tuple[str, int]]:
        """Yield the name of each page's graph that is meant and is not empty, and how many quads it has."""

    def remove(self, graphs: Iterable[str]) -> None:
        """Remove graphs, and what is known of the fetches of their pages.

        What is known goes first: when this fails half way, the graphs that are left tell what to do again.
        """


def open_store(
    url: str,
    *,
    read_only: bool = False,
    access: Access | None = None,
    outbox: str = "",
    **options: Any,
) -> Store:
    """Open the store that `url` names.

        DIRECTORY                                        an embedded Oxigraph store
        rdf4j+http://HOST/rdf4j-server/repositories/ID   a repository of an RDF4J server
        gsp+http://HOST/PATH                             a SPARQL 1.1 Graph Store
        update+http://HOST/PATH                          a SPARQL 1.1 Update endpoint
        nquads:DIRECTORY                                 compressed N-Quads files

    A repository that is missing is made: a NativeStore, or with ?sail=lmdb an LmdbStore.
    `access` says how to identify to a server. With `outbox`, a directory, all but the embedded one
    are written to from there, by the `options` of Outbox, and the embedded one through its journal;
    only RDF4J's can be rebuilt.
    """
    if read_only or not outbox:
        return open_pages(url, read_only=read_only, access=access)
    kind, place = _parts(url)
    if not kind:
        from rdfaspider.stores.embedded import Embedded
        from rdfaspider.stores.oxigraph import OxigraphStore

        return Embedded(OxigraphStore(place))
    from rdfaspider.stores.outbox import Outbox

    if kind != "rdf4j":
        options["rebuild"] = False
    store = _nquads(place, False) if kind == "nquads" else _remote(kind, place, access, outbox)
    return Outbox(store, outbox, target=target_of(url), **options)


def open_pages(url: str, *, read_only: bool = False, access: Access | None = None) -> PageStore:
    """Open the store that `url` names itself; what a crawl that died left in its journal is loaded first."""
    kind, place = _parts(url)
    if kind:
        return _nquads(place, read_only) if kind == "nquads" else _remote(kind, place, access)
    from rdfaspider.stores.embedded import Embedded
    from rdfaspider.stores.journal import Journal
    from rdfaspider.stores.oxigraph import OxigraphStore

    if Journal.waits_in(Path(place) / "journal"):
        Embedded(OxigraphStore(place)).close()
    return OxigraphStore(place, read_only=read_only)


def is_embedded(url: str) -> bool:
    """Tell whether a store is in this process, with a journal instead of an outbox."""
    return not _parts(url)[0]


def target_of(url: str) -> str:
    """Return what the store of a URL is called in its outbox: no user, no password, no options."""
    kind, place = _parts(url)
    return f"{kind}:{place if kind == 'nquads' else place.rpartition('@')[2].partition('?')[0]}"


def shown(url: str) -> str:
    """Return the URL of a store as people may see it, without a user and a password."""
    kind, place = _parts(url)
    if kind in ("", "nquads"):
        return place
    scheme, _, rest = place.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _parts(url: str) -> tuple[str, str]:
    """Return the kind of a store, "" for an embedded one, and its place."""
    kind, _, place = url.partition(":") if url.startswith("nquads:") else url.partition("+")
    if kind in ("rdf4j", "gsp", "update", "nquads"):
        return kind, place
    if "://" in url:
        raise StoreUnavailable(
            f"The store URL {url.rpartition('@')[2]} is of no known kind: give the path of a"
            " directory, rdf4j+http://…, gsp+http://…, update+http://… or nquads:DIRECTORY."
        )
    return "", url


def _nquads(path: str, read_only: bool) -> PageStore:
    from rdfaspider.stores.nquads import NQuadsStore

    return NQuadsStore(path, read_only=read_only)


def _remote(kind: str, place: str, access: Access | None, outbox: str = "") -> PageStore:
    from rdfaspider.stores.graphstore import GraphStore, UpdateStore
    from rdfaspider.stores.http import Client
    from rdfaspider.stores.rdf4j import Rdf4jStore

    client = Client(place, access)
    if kind == "gsp":
        return GraphStore(client)
    if kind == "update":
        return UpdateStore(client)
    sail = parse_qs(urlsplit(place).query).get("sail", ["native"])[0]
    return Rdf4jStore(client, sail, _owner(outbox) if outbox else "")


def _owner(outbox: str) -> str:
    """Return the word that marks what was made for an outbox; it moves with its directory."""
    path = Path(outbox) / "ID"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        new = path.with_suffix(".new")
        new.write_text(token_hex(8))
        new.replace(path)
    return path.read_text()
