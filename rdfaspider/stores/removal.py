"""Removes pages from wherever a crawl keeps their triples: the store, the outbox, what was refused.

What is removed is first counted. In between the store, or its outbox, is kept from other writers, so what was
counted is what goes. The outbox forgets first: if the process dies then, the graphs are still found in the
store, and it can be done again; the other way round the outbox would bring them back.
"""

from __future__ import annotations

from tempfile import TemporaryFile
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from rdfaspider.stores.journal import forget_refused, refused_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rdfaspider.stores import PageStore
    from rdfaspider.stores.selection import Selection
    from rdfaspider.stores.spool import Spool


class Found(NamedTuple):
    """Graphs in the store with their quads, and pages that wait for it or were refused by it."""

    graphs: int
    quads: int
    waiting: int


class Removal:
    """The pages of a selection in a store, and in its outbox or, if it is embedded, its directory.

    With `is_own`, only graphs for which it holds are removed from the store. The names of the graphs are in
    a temporary file, as there may be millions.
    """

    def __init__(
        self,
        selection: Selection,
        store: PageStore,
        *,
        spool: Spool | None = None,
        embedded: Path | None = None,
        is_own: Callable[[str], bool] = lambda graph: True,
    ) -> None:
        self._selection = selection
        self._store = store
        self._spool = spool
        self._embedded = embedded
        self._is_own = is_own
        self._file: BinaryIO = TemporaryFile()  # noqa: SIM115  # closed by __exit__
        self.found = self._find()

    def _find(self) -> Found:
        graphs = quads = 0
        for graph, count in self._store.sizes(self._selection):
            if self._is_own(graph):
                self._write(graph)
                graphs += 1
                quads += count
        # A page that is nowhere may have a digest all the same, by which it would not come back.
        for page in self._selection.pages:
            self._write(page)
        return Found(graphs, quads, self._find_waiting())

    def _find_waiting(self) -> int:
        count = 0
        for graph, waits in self._spool.graphs() if self._spool else ():
            if self._selection.has_page(graph):
                self._write(graph)
                count += waits
        for graph, _ in refused_in(self._embedded) if self._embedded else ():
            count += self._selection.has_page(graph)
        return count

    def _write(self, graph: str) -> None:
        self._file.write(f"{graph}\n".encode())

    def remove(self, show: Callable[[int], None] = lambda count: None) -> None:
        """Remove what was found; `show` is told how many graphs are on their way."""
        if self._spool and self._selection.is_everything:
            self._spool.forget_all()
        elif self._spool:
            self._spool.forget(self._names())
        if self._embedded:
            forget_refused(self._embedded, self._selection.has_page)
        self._store.remove(self._shown(show))

    def _names(self) -> Iterator[str]:
        self._file.seek(0)
        for line in self._file:
            yield line[:-1].decode()

    def _shown(self, show: Callable[[int], None]) -> Iterator[str]:
        for number, name in enumerate(self._names()):
            show(number)
            yield name

    def __enter__(self) -> Removal:
        return self

    def __exit__(self, *exception: object) -> None:
        self._file.close()
