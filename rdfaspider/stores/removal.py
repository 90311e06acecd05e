"""Removal of pages from everywhere a crawl keeps their triples: the store, the outbox, what was refused, and
the stream of changes.

Pages are counted before they are removed. Other writers are locked out from then on, so that what was counted
is what goes. The outbox forgets first: if the process dies after that, the graphs are still in the store and
can be removed again. The other way round, the outbox would bring them back.
"""

from __future__ import annotations

from dataclasses import dataclass
from tempfile import TemporaryFile
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

from rdfaspider.closable import Closable
from rdfaspider.stores import stream
from rdfaspider.stores.embedded.journal import forget_refused, refused_in

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rdfaspider.stores import PageStore
    from rdfaspider.stores.outbox.database import OutboxDatabase
    from rdfaspider.stores.selection import Selection


class Found(NamedTuple):
    """The graphs in the store, their quads, and the pages that wait for it or were refused."""

    graphs: int
    quads: int
    waiting: int


@dataclass(eq=False)
class Removal(Closable):
    """The selected pages in a store, in its outbox or, if it is embedded, its directory, and in the stream of
    changes. `forget` removes pages from what else the crawl keeps.

    Only graphs for which `is_own` holds are removed from the store. The names of the graphs are in a
    temporary file, because there may be millions.
    """

    selection: Selection
    store: PageStore
    outbox: OutboxDatabase | None = None
    embedded: Path | None = None
    changes: Path | None = None
    forget: Callable[[Callable[[str], bool]], object] = lambda is_removed: None
    is_own: Callable[[str], bool] = lambda graph: True

    def __post_init__(self) -> None:
        self._file: BinaryIO = TemporaryFile()  # noqa: SIM115  # closed by close
        self.found = self._find()

    def _find(self) -> Found:
        graphs = quads = 0
        for graph, count in self.store.sizes(self.selection):
            if self.is_own(graph):
                self._write(graph)
                graphs += 1
                quads += count
        # A page that is stored nowhere may still have a digest, which would keep it from coming back.
        for page in self.selection.pages:
            self._write(page)
        return Found(graphs, quads, self._find_waiting())

    def _find_waiting(self) -> int:
        count = 0
        for graph, waits in self.outbox.graphs() if self.outbox else ():
            if self.selection.has_page(graph):
                self._write(graph)
                count += waits
        for graph, _ in refused_in(self.embedded) if self.embedded else ():
            count += self.selection.has_page(graph)
        return count

    def _write(self, graph: str) -> None:
        self._file.write(f"{graph}\n".encode())

    def remove(self, show: Callable[[int], None] = lambda count: None) -> None:
        """Remove what was found; call `show` with the number of graphs so far."""
        if self.outbox and self.selection.is_everything:
            self.outbox.forget_all()
        elif self.outbox:
            self.outbox.forget(self._names())
        if self.embedded:
            forget_refused(self.embedded, self.selection.has_page)
        if self.changes:
            stream.forget(self.changes, self.selection.has_page)
        self.forget(self.selection.has_page)
        self.store.remove(self._shown(show))

    def _names(self) -> Iterator[str]:
        self._file.seek(0)
        for line in self._file:
            yield line[:-1].decode()

    def _shown(self, show: Callable[[int], None]) -> Iterator[str]:
        for number, name in enumerate(self._names()):
            show(number)
            yield name

    def close(self) -> None:
        self._file.close()
