"""The embedded store: Oxigraph on RocksDB in a directory of its own.

Oxigraph stores the value of an XML Schema literal, not its spelling: `"01"^^xsd:integer` comes
back as `"1"^^xsd:integer`.
"""

from __future__ import annotations

import fcntl
import re
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import pyoxigraph
from pyoxigraph import NamedNode

from rdfaspider.stores import StoreUnavailable
from rdfaspider.stores.changes import Change, digest, update

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyoxigraph import Quad


class OxigraphStore:
    """A Store in a directory, for one writing process at a time.

    A write is in RocksDB's log, and so safe from the death of the process, when the call returns.
    """

    def __init__(self, path: str, *, read_only: bool = False) -> None:
        self.path = Path(path)
        self._read_only = read_only
        try:
            self._store = self._open_to_read() if read_only else self._open_to_write()
        except StoreUnavailable:
            raise
        except OSError as error:
            if re.search("lock hold by|While lock file", str(error)):
                raise StoreUnavailable(_in_use(self.path)) from error
            raise StoreUnavailable(f"The store {self.path} cannot be opened: {error}") from error

    def _open_to_write(self) -> pyoxigraph.Store:
        self.path.mkdir(parents=True, exist_ok=True)
        return pyoxigraph.Store(str(self.path))

    def _open_to_read(self) -> pyoxigraph.Store:
        lock = self.path / "LOCK"
        if not lock.exists():
            raise StoreUnavailable(
                f"There is no store in {self.path}: run a crawl first, or name the crawl's"
                " directory with -s JOBDIR=DIRECTORY."
            )
        # Reading beside a writer is undefined behaviour in Oxigraph, so ask RocksDB's own lock first.
        with lock.open("r+b") as file:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError as error:
                raise StoreUnavailable(_in_use(self.path)) from error
        return pyoxigraph.Store.read_only(str(self.path))

    def create(self) -> bool:
        return False

    def replace(self, graph: str, quads: Iterable[Quad]) -> bool:
        name = NamedNode(graph)
        if not self._store.contains_named_graph(name):
            self._store.extend(quads)
            return True
        quads = list(quads)
        if digest(self._store.quads_for_pattern(None, None, None, name)) == digest(quads):
            return False
        # One update is one transaction; remove_graph and extend would be two.
        self.write([Change.replacing(graph, quads)])
        return True

    def replace_all(self, graphs: Sequence[tuple[str, Sequence[Quad]]]) -> list[bool]:
        """Replace several graphs; those that are not there yet are written in one transaction."""
        new: dict[str, Sequence[Quad]] = {}
        answers = []
        for graph, quads in graphs:
            if graph in new:  # twice: one after the other
                self._store.extend(new.pop(graph))
            if self._store.contains_named_graph(NamedNode(graph)):
                answers.append(self.replace(graph, quads))
            else:
                new[graph] = quads
                answers.append(True)
        self._store.extend(chain.from_iterable(new.values()))
        return answers

    def add(self, quads: Iterable[Quad]) -> None:
        self._store.extend(quads)

    def write(self, changes: Sequence[Change]) -> None:
        self._store.update(update(changes).decode())

    def query(self, sparql: str) -> Any:
        return self._store.query(sparql, use_default_graph_as_union=True)

    def quads(self) -> Iterator[Quad]:
        return self._store.quads_for_pattern(None, None, None)

    def count(self) -> int:
        return len(self._store)

    def close(self) -> None:
        if not self._read_only:
            self._store.flush()
        del self._store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def _in_use(path: Path) -> str:
    return (
        f"The store {path} is in use by another crawl: wait until that one ends,"
        " or give this one a directory of its own with -s JOBDIR=DIRECTORY."
    )
