"""Answers that take long to find, and are kept."""

from __future__ import annotations

import asyncio
from time import monotonic
from typing import TYPE_CHECKING, Generic, TypeVar

from rdfaspider.frontier import FrontierUnavailable

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

Found = TypeVar("Found")

# Seconds to wait for an answer before one goes on without it.
_PATIENCE = 0.2
# Seconds for which it is kept: at least, and for each second of CPU time that it took.
_FRESH, _SHARE = 2.0, 20.0


class Refreshed(Generic[Found]):
    """Has the latest answer, while the next is looked for in the background.

    `find` returns an answer and the CPU seconds that it took.
    """

    def __init__(self, find: Callable[[], Awaitable[tuple[Found, float]]]) -> None:
        self._find = find
        self._of: object = None
        self._task: asyncio.Task[None] | None = None
        self._next = 0.0
        self._latest: Found | None = None

    async def get(self, of: object) -> Found | None:
        """Return the latest answer, None if there is none yet. `of` is what it depends on."""
        if self._task is None and of != self._of and monotonic() >= self._next:
            self._task = asyncio.get_running_loop().create_task(self._look(of))
        if self._task is not None:
            await asyncio.wait({self._task}, timeout=_PATIENCE)
        return self._latest

    async def _look(self, of: object) -> None:
        spent = 0.0
        try:
            self._latest, spent = await self._find()
            self._of = of
        except FrontierUnavailable:
            pass  # whoever asks the frontier itself gets the sentence
        finally:
            self._next = monotonic() + max(_FRESH, _SHARE * spent)
            self._task = None
