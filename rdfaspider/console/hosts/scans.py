"""Long looks at a frontier, in slices, so that neither the crawl nor the console waits for them.

A frontier in this process belongs to the event loop, so a scan of it runs there, some rows at a time, and the
loop gets its turn in between. One that is served is asked in a thread. Either stops after some time of work:
a browser shows the beginning, and says that there is more.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Generator
from contextlib import aclosing
from itertools import islice
from time import thread_time
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable

Row = TypeVar("Row")

# Rows at a time: about a millisecond.
_SLICE = 500
# Seconds of CPU time for one answer.
LIMIT = 0.05


class Scan(Generic[Row]):
    """Iterates over lists of rows. Afterwards `is_whole` tells whether these were all."""

    def __init__(
        self,
        rows: Iterable[Row | None],
        *,
        run: Callable[[Callable[[], list[Row | None]]], Awaitable[list[Row | None]]] | None = None,
        limit: float = LIMIT,
        clock: Callable[[], float] = thread_time,
        may_go_on: Callable[[], bool] = lambda: True,
    ) -> None:
        self._rows = iter(rows)
        self._run = run or _here
        self._limit = limit
        self._clock = clock
        self._may_go_on = may_go_on
        self.is_whole = False
        self.spent = 0.0

    async def __aiter__(self) -> AsyncGenerator[list[Row]]:
        try:
            while self.spent < self._limit:
                if not self._may_go_on():
                    return
                part = await self._run(self._next)
                yield [row for row in part if row is not None]
                if len(part) < _SLICE:
                    self.is_whole = True
                    return
        finally:
            await self._run(self._close)

    def _next(self) -> list[Row | None]:
        begin = self._clock()
        part = list(islice(self._rows, _SLICE))
        self.spent += self._clock() - begin
        return part

    def _close(self) -> list[Row | None]:
        """End a generator now: it may have a connection open."""
        if isinstance(self._rows, Generator):
            self._rows.close()
        return []

    async def first(
        self, most: int, accepts: Callable[[Row], bool] = lambda row: True
    ) -> list[Row]:
        """Return the first rows that are accepted."""
        found: list[Row] = []
        async with aclosing(self.__aiter__()) as parts:
            async for part in parts:
                found += filter(accepts, part)
                if len(found) > most:
                    self.is_whole = False
                    break
        return found[:most]

    async def all(self) -> list[Row]:
        found: list[Row] = []
        async for part in self:
            found += part
        return found


async def _here(call: Callable[[], list[Row]]) -> list[Row]:
    """Run a slice on the event loop, after everything else that is due."""
    await asyncio.sleep(0)
    return call()
