"""Oxigraph, on RocksDB, in a directory.

Oxigraph stores the value of an XML Schema literal, not its spelling: `"01"^^xsd:integer` comes
back as `"1"^^xsd:integer`.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from threading import Condition
from typing import TYPE_CHECKING, Any, cast

from pyoxigraph import NamedNode, Quad, RdfFormat, Store, parse

from rdfaspider import rocksdb
from rdfaspider.stores import PageStore
from rdfaspider.stores.changes import digest, removals, update
from rdfaspider.stores.embedded.journal import HELD
from rdfaspider.stores.embedded.opening import guarded, open_directory, raise_for_damage
from rdfaspider.stores.provenance import removal_of_fetches
from rdfaspider.stores.queries import names_its_graphs, syntax_fault
from rdfaspider.stores.selection import TYPE

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import IO

    from rdfaspider.stores.changes import Change
    from rdfaspider.stores.selection import Selection


# From this many quads on, it is cheaper to write sorted files than to insert each quad.
_BULK = 4_000
# From this many quads on, a thread is worth starting.
_SHARE = 10_000


def ask(store: Store, sparql: str) -> Any:
    """Return the results of a query over the union of all graphs, unless it names its graphs."""
    try:
        # The union would hide the graphs that a query chooses with FROM.
        return store.query(sparql, use_default_graph_as_union=not names_its_graphs(sparql))
    except SyntaxError as error:
        raise SyntaxError(syntax_fault(str(error), sparql)) from error


class OxigraphStore(PageStore):
    """A store in a directory, for one writing process at a time.

    A write is in RocksDB's log, and so survives the death of the process, when the call returns.
    """

    def __init__(self, path: str, *, read_only: bool = False) -> None:
        self.path = Path(path)
        self._read_only = read_only
        self._store = open_directory(self.path, read_only=read_only)
        self._turns = _Turns()

    @guarded
    def holds(self, change: Change) -> bool:
        """Tell whether the graph already has the content that the change would give it."""
        name = NamedNode(change.graph)
        if not self._store.contains_named_graph(name):
            return not change.quads
        stored = digest(self._store.quads_for_pattern(None, None, None, name))
        quads = list(_quads(change.nquads()))
        return stored == digest(quads) or stored == digest(_as_stored(quads))

    @guarded
    def size(self, graph: str) -> int:
        """Return the number of quads in a graph."""
        return sum(1 for _ in self._store.quads_for_pattern(None, None, None, NamedNode(graph)))

    def count_of_pages(self) -> int:
        """Return the number of quads in the graphs of pages."""
        names = (str(name)[1:-1] for name in self._store.named_graphs())
        others = (name for name in names if not name.startswith(("http:", "https:")))
        return self.count() - sum(map(self.size, others))

    def _forget_count(self) -> None:
        """Let the next crawl count the quads, because they change without its journal."""
        (self.path / "journal" / HELD).unlink(missing_ok=True)

    @guarded
    def load(self, changes: Sequence[Change], threads: int = 1) -> None:
        """Apply changes in the quickest way and make them durable; a failure may leave some half done.

        Several may be about one graph: then they come one after the other, the first may replace it, and the
        others add. What is only added has no blank nodes, or it would be doubled when it is loaded again.
        Another thread may load other graphs at the same time.
        """
        known = [change.graph for change in changes if change.replaces and self._knows(change)]
        count = sum(change.quads for change in changes)
        if count < _BULK:
            quads = [*_quads(b"".join(change.nquads() for change in changes))]
            with self._turns.alone():
                self._drop(known)
                self._store.extend(quads)
                self._store.flush()
            return
        if known:
            with self._turns.alone():
                self._drop(known)
                self._store.flush()
        if threads == 1 or count < threads * _SHARE:
            self._load_bulk(changes)
        else:
            with ThreadPoolExecutor(threads, "load") as pool:
                for _ in pool.map(self._load_bulk, _shares(changes, threads)):
                    pass  # it raises the first error when all have ended
        with self._turns.alone():
            self._store.flush()

    def _load_bulk(self, changes: Iterable[Change]) -> None:
        # Bytes would be read by several threads, each of which would rename blank nodes differently.
        text = cast("IO[bytes]", _Joined(change.nquads() for change in changes))
        with self._turns.beside_others():
            self._store.bulk_load(text, RdfFormat.N_QUADS, lenient=True)

    def _drop(self, graphs: Sequence[str]) -> None:
        if graphs:
            self._store.update("".join(f"DROP SILENT GRAPH <{graph}>;\n" for graph in graphs))

    def _knows(self, change: Change) -> bool:
        return self._store.contains_named_graph(NamedNode(change.graph))

    @guarded
    def add(self, quads: Iterable[Quad]) -> None:
        self._forget_count()
        self._store.extend(quads)

    @guarded
    def write(self, changes: Sequence[Change]) -> None:
        self._forget_count()
        # One update is one transaction; remove_graph and extend would be two.
        self._store.update(update(changes).decode())

    @guarded
    def query(self, sparql: str) -> Any:
        return ask(self._store, sparql)

    def quads(self) -> Iterator[Quad]:
        return self._store.quads_for_pattern(None, None, None)

    def select(self, selection: Selection) -> Iterator[Quad]:
        find = self._store.quads_for_pattern
        if selection.pages or selection.hosts:
            for name in self._graphs(selection):
                yield from selection.of_page(find(None, None, None, name))
        elif selection.types:
            for thing in self._things(selection.types):
                yield from selection.of_page(find(thing.subject, None, None, thing.graph_name))
        elif selection.predicates:
            for predicate in selection.predicates:
                yield from find(None, NamedNode(predicate), None)
        else:
            yield from self.quads()

    def _things(self, types: Sequence[str]) -> Iterator[Quad]:
        """Yield one type statement per page for each thing that has one of the types."""
        for number, name in enumerate(types):
            for quad in self._store.quads_for_pattern(None, TYPE, NamedNode(name)):
                earlier = (
                    Quad(quad.subject, TYPE, NamedNode(other), quad.graph_name)
                    for other in types[:number]
                )
                if not any(other in self._store for other in earlier):
                    yield quad

    def _graphs(self, selection: Selection) -> Iterator[NamedNode]:
        if selection.pages and not selection.hosts:
            yield from map(NamedNode, sorted(selection.pages))
            return
        for name in self._store.named_graphs():
            if isinstance(name, NamedNode) and selection.has_page(name.value):
                yield name

    def sizes(self, selection: Selection) -> Iterator[tuple[str, int]]:
        for name in self._graphs(selection):
            if count := sum(1 for _ in self._store.quads_for_pattern(None, None, None, name)):
                yield name.value, count

    @guarded
    def remove(self, graphs: Iterable[str]) -> None:
        self._forget_count()
        for changes in removals(graphs):
            names = [change.graph for change in changes]
            self._store.update(removal_of_fetches(names))
            self._drop(names)
        self._store.flush()

    @guarded
    def optimize(self) -> None:
        """Merge the files that loads have left, so that a query has fewer to look into."""
        self._store.flush()
        self._store.optimize()

    @guarded
    def copy_to(self, path: Path) -> None:
        """Copy the store to a new directory on the same disk, by links to its files."""
        self._store.backup(str(path))

    @guarded
    def count(self) -> int:
        return len(self._store)

    @guarded
    def close(self) -> None:
        try:
            if not self._read_only:
                self._store.flush()
        finally:
            del self._store
        if not self._read_only:
            rocksdb.seal(self.path)

    def __exit__(self, *exception: object) -> None:
        """Close the store; if unreadable data has ended the block, raise a sentence about it."""
        self.close()
        raise_for_damage(self.path, exception[1])


def _shares(changes: Iterable[Change], count: int) -> list[list[Change]]:
    """Return changes in shares of about as many quads; those of a graph are in one, in their order."""
    graphs = [[*same] for _, same in groupby(changes, attrgetter("graph"))]
    sizes = [sum(change.quads for change in same) for same in graphs]
    shares: list[list[Change]] = [[] for _ in range(count)]
    filled = [0] * count
    for at in sorted(range(len(graphs)), key=sizes.__getitem__, reverse=True):
        least = filled.index(min(filled))
        shares[least] += graphs[at]
        filled[least] += sizes[at]
    return shares


class _Turns:
    """Keeps threads that bring sorted files from one that writes or flushes.

    RocksDB flushes what was written before it takes in files, and two threads that flush at the same time
    have been seen to wait for ever. If all is flushed when they begin, they may bring files together.
    """

    def __init__(self) -> None:
        self._changed = Condition()
        self._together = 0

    @contextmanager
    def beside_others(self) -> Iterator[None]:
        with self._changed:
            self._together += 1
        try:
            yield
        finally:
            with self._changed:
                self._together -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        with self._changed:  # held to the end, so that nobody else begins
            self._changed.wait_for(lambda: not self._together)
            yield


class _Joined:
    """Pieces of bytes as a file to read, which spares the memory of joining them."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = memoryview(b"")

    def read(self, size: int) -> bytes:
        """Return the next bytes, as many as were asked for: each call waits for Python's lock."""
        parts: list[memoryview] = []
        while size and (self._rest or self._next()):
            parts.append(self._rest[:size])
            self._rest = self._rest[size:]
            size -= len(parts[-1])
        return b"".join(parts)

    def _next(self) -> bool:
        """Go on to the next piece that is not empty; return False if there is none."""
        self._rest = memoryview(next(filter(None, self._pieces), b""))
        return bool(self._rest)


def _as_stored(quads: Sequence[Quad]) -> Iterable[Quad]:
    """Return quads with their literals as the store would spell them."""
    memory = Store()
    memory.extend(quads)
    return memory.quads_for_pattern(None, None, None)


def _quads(nquads: bytes) -> Iterable[Quad]:
    return parse(nquads, RdfFormat.N_QUADS, lenient=True)
