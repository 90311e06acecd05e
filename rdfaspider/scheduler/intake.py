"""Adds seeds to the frontier.

Invariant: the note `seeds` is `incomplete` from before the first seed is taken in until after the last, so
after a kill in between, the next run asks for the seeds again. A batch is dropped here only when the
frontier has it.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable, Sequence

    from rdfaspider.frontier import Frontier

logger = logging.getLogger(__name__)

_NOTE = "seeds"
# Seeds in one write, which holds up the crawl for a tenth of a second.
_AT_ONCE = 2_000
# Seeds between two lines of progress.
_TOLD = 20_000


class Intake:
    """Passes seeds to a frontier, some at a time."""

    def __init__(
        self,
        frontier: Frontier,
        contexts_of: Callable[[Sequence[str]], Sequence[int]] = lambda urls: (),
    ) -> None:
        self._frontier = frontier
        self._contexts_of = contexts_of  # for the order
        self._left: Sequence[str] = ()
        self._is_noted = False

    @property
    def is_busy(self) -> bool:
        return bool(self._left)

    @property
    def was_cut_short(self) -> bool:
        """Return whether an earlier run ended before it had all its seeds."""
        return self._frontier.note(_NOTE) == b"incomplete"

    def expect(self, urls: Sequence[str]) -> None:
        """Note that seeds will come."""
        if urls:
            self._frontier.set_note(_NOTE, b"incomplete")
            self._is_noted = True

    async def take(self, urls: Sequence[str]) -> AsyncIterator[None]:
        """Take in seeds; yield after each batch, so that the crawl can go on."""
        self.expect(urls)
        self._left = urls
        total = len(urls)
        while self._left:
            self._take_some()
            yield
            taken = total - len(self._left)
            if self._left and taken % _TOLD < _AT_ONCE:
                logger.info("%s of %s seeds taken in.", f"{taken:,}", f"{total:,}")
            await asyncio.sleep(0)

    def finish(self) -> None:
        """Take in the rest at once. If none was passed in, the expected seeds came another way."""
        while self._left:
            self._take_some()
        if self._is_noted and self._frontier.counts().seen:
            self._complete()

    def _take_some(self) -> None:
        some = self._left[:_AT_ONCE]
        self._frontier.put(some, contexts=self._contexts_of(some))
        self._left = self._left[_AT_ONCE:]
        if not self._left:
            self._complete()

    def _complete(self) -> None:
        if self._is_noted:
            self._frontier.set_note(_NOTE, b"complete")
        self._is_noted = False
