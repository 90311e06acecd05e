"""How many fetches the event loop and the readers of pages keep up with.

Every fetch under way is some work in each turn of the loop. Where the processor is the limit, hundreds of
them make a turn of a second, in which timers are late and the console does not answer. Fewer at a time are as
many in the end. So when turns take long, fewer are begun, and more again when they do not. What counts is CPU
time: on a machine that is busy with something else, fewer fetches would not help.

It is the same where many pages wait to be read. More of them would only take memory, and time: what many
fetches bring at once is out of the caches of the processor when its turn comes.
"""

from __future__ import annotations

import asyncio
from time import thread_time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

# Seconds of CPU time in a turn that nobody minds.
_SHORT = 0.05
# What becomes of the number when a turn was longer or pages wait, and otherwise. It is never below the least.
_LESS = 0.95
_MORE = 1.0
_LEAST = 32


class Pace:
    """Says how many fetches may be under way, at most `most`; turns are timed when somebody asks.

    Whoever reads the pages puts in `is_behind`, which tells whether many of them wait.
    """

    def __init__(self, most: int) -> None:
        self.most = most
        self.is_behind: Callable[[], bool] = lambda: False
        self._allowed = float(most)
        self._begun: float | None = None

    def allowed(self) -> int:
        if self._begun is None:
            self._begun = thread_time()
            asyncio.get_running_loop().call_soon(self._turned)
        return int(min(self._allowed, self.most))

    def _turned(self) -> None:
        assert self._begun is not None
        seconds, self._begun = thread_time() - self._begun, None
        if seconds > _SHORT or self.is_behind():
            self._allowed = max(_LEAST, self._allowed * _LESS)
        else:
            self._allowed = min(self.most, self._allowed + _MORE)
