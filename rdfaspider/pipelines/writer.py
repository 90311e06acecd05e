"""The thread that writes changes to the sink while the crawl goes on.

Layout: changes that wait, in order of arrival; the thread writes the first of them together while others
come. The busier the crawl, the more pages share the cost of making them durable. SQLite and the system
release Python's lock while they write. A change is on disk as a whole when `put` returns.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, islice
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfaspider.stores import Sink
    from rdfaspider.stores.changes import Change

    _Put = tuple[Sequence[Change], asyncio.Future[list[bool]]]

# Bytes of triples written together, beyond the first page.
_ENOUGH = 1 << 20


class Writer:
    """Puts changes into a sink, in their order."""

    def __init__(self, sink: Sink) -> None:
        self.sink = sink
        self._thread = ThreadPoolExecutor(1, "store")
        self._waiting: list[_Put] = []
        self._writing: list[_Put] = []

    async def put(self, changes: Sequence[Change]) -> list[bool]:
        """Make changes durable; return False for each that changes nothing."""
        are_new: asyncio.Future[list[bool]] = asyncio.get_running_loop().create_future()
        self._waiting.append((changes, are_new))
        if not self._writing:
            self._write_next()
        return await are_new

    def _write_next(self) -> None:
        count = size = 0
        while count < len(self._waiting) and size < _ENOUGH:
            size += sum(len(change.lines) for change in self._waiting[count][0])
            count += 1
        self._writing, self._waiting = self._waiting[:count], self._waiting[count:]
        groups = [changes for changes, _ in self._writing]
        loop = asyncio.get_running_loop()
        loop.run_in_executor(self._thread, self._write, groups).add_done_callback(self._written)

    def _written(self, done: asyncio.Future[list[list[bool] | Exception]]) -> None:
        for (_, are_new), answer in zip(self._writing, done.result(), strict=True):
            if are_new.done():  # its caller was cancelled
                continue
            if isinstance(answer, Exception):
                are_new.set_exception(answer)
            else:
                are_new.set_result(answer)
        self._writing = []
        if self._waiting:
            self._write_next()

    def _write(self, groups: list[Sequence[Change]]) -> list[list[bool] | Exception]:
        """Write all groups together or, if that fails, one by one, so that none fails because of another."""
        try:
            answers = iter(self.sink.put([*chain.from_iterable(groups)]))
        except Exception as error:
            if len(groups) == 1:
                return [error]
            return [answer for group in groups for answer in self._write([group])]
        except BaseException as error:  # Oxigraph's panics are not Exceptions
            return [OSError(f"The store has failed: {error}") for _ in groups]
        return [[*islice(answers, len(group))] for group in groups]

    def close(self) -> None:
        """End the thread; nobody may be waiting for a page."""
        self._thread.shutdown()
