"""Writes pages into the embedded store beside the crawl, in a thread.

Layout: pages that wait, in order of arrival; the thread writes the first of them, in one transaction, while
others come. So the crawl does not stand still meanwhile, and the busier it is, the more pages share a
transaction. Oxigraph lets go of Python's lock while it writes.
What survives a kill: a page is in the store, whole, when `replace` returns; before that it may be or not.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, NamedTuple

from pyoxigraph import RdfFormat, parse

if TYPE_CHECKING:
    from rdfaspider.stores.oxigraph import OxigraphStore

# Bytes of N-Quads in one transaction, beyond the first page.
_ENOUGH = 1 << 20


class _Written(NamedTuple):
    graph: str
    nquads: bytes
    is_new: asyncio.Future[bool]


class Writer:
    """Replaces graphs of a store, one transaction after the other."""

    def __init__(self, store: OxigraphStore) -> None:
        self.store = store
        self._thread = ThreadPoolExecutor(1, "store")
        self._waiting: list[_Written] = []
        self._writing: list[_Written] = []

    async def replace(self, graph: str, nquads: bytes) -> bool:
        """Make N-Quads the whole content of a graph; False if they are already."""
        is_new: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting.append(_Written(graph, nquads, is_new))
        if not self._writing:
            self._write_next()
        return await is_new

    def _write_next(self) -> None:
        count = size = 0
        while count < len(self._waiting) and size < _ENOUGH:
            size += len(self._waiting[count].nquads)
            count += 1
        self._writing, self._waiting = self._waiting[:count], self._waiting[count:]
        pages = [page[:2] for page in self._writing]
        loop = asyncio.get_running_loop()
        loop.run_in_executor(self._thread, self._write, pages).add_done_callback(self._written)

    def _written(self, done: asyncio.Future[list[bool | Exception]]) -> None:
        for page, answer in zip(self._writing, done.result(), strict=True):
            if page.is_new.done():  # whoever waited for it was cancelled
                continue
            if isinstance(answer, Exception):
                page.is_new.set_exception(answer)
            else:
                page.is_new.set_result(answer)
        self._writing = []
        if self._waiting:
            self._write_next()

    def _write(self, pages: list[tuple[str, bytes]]) -> list[bool | Exception]:
        """Write all, or, if that fails, each alone, so that none fails for another."""
        try:
            return [*self._replace(pages)]
        except Exception as error:
            if len(pages) == 1:
                return [error]
            return [answer for page in pages for answer in self._write([page])]
        except BaseException as error:  # Oxigraph's panics are no Exceptions
            return [OSError(f"The store has failed: {error}") for _ in pages]

    def _replace(self, pages: list[tuple[str, bytes]]) -> list[bool]:
        return self.store.replace_all(
            [(graph, [*parse(nquads, RdfFormat.N_QUADS, lenient=True)]) for graph, nquads in pages]
        )

    def close(self) -> None:
        """End the thread; nobody may be waiting for a page."""
        self._thread.shutdown()
