"""Which name is looked up next."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rdfaspider.resolver.addresses import Address

logger = logging.getLogger(__name__)

Waiter = Callable[["tuple[Address, ...]"], None]

# Names to be looked up in advance beyond this many are left to be looked up when they are needed.
MAX_PREFETCH = 10_000


class Lookups:
    """Starts look-ups, each name once however many wait for it, and a limited number at a time.

    Layout: a dictionary of open names -> those who wait for them, two queues of names to start
    (wanted and prefetched), and the set of names whose look-up runs. A prefetched name that is
    wanted before its turn stands in both queues.
    Invariant: every open name runs or stands in a queue; at most `at_once` run.
    Prefetching takes up at most half of those, so that a wanted name seldom waits behind it.
    """

    def __init__(self, start: Callable[[str], None], at_once: int) -> None:
        """`start(name)` begins a look-up; its end is told by `answered`."""
        if at_once < 1:
            raise ValueError(f"With {at_once} look-ups at a time nothing is ever found.")
        self.at_once = at_once
        self._start = start
        self._waiters: dict[str, list[Waiter]] = {}
        self._wanted: deque[str] = deque()
        self._prefetched: deque[str] = deque()
        self._running: set[str] = set()

    def want(self, name: str, waiter: Waiter) -> None:
        """Have `waiter` called with the addresses of a name, none if it has none."""
        waiters = self._waiters.setdefault(name, [])
        if not waiters and name not in self._running:
            self._wanted.append(name)
        waiters.append(waiter)
        self._start_more()

    def prefetch(self, name: str) -> None:
        if name not in self._waiters and len(self._prefetched) < MAX_PREFETCH:
            self._waiters[name] = []
            self._prefetched.append(name)
            self._start_more()

    def answered(self, name: str, addresses: tuple[Address, ...]) -> None:
        self._running.remove(name)
        for waiter in self._waiters.pop(name):
            try:
                waiter(addresses)
            except Exception:  # it holds nobody else up
                logger.exception("Nobody took the addresses of %s.", name)
        self._start_more()

    def _start_more(self) -> None:
        while (name := self._next()) is not None:
            self._running.add(name)
            self._start(name)

    def _next(self) -> str | None:
        for queue, limit in (
            (self._wanted, self.at_once),
            (self._prefetched, (self.at_once + 1) // 2),
        ):
            while queue and len(self._running) < limit:
                name = queue.popleft()
                if name in self._waiters and name not in self._running:
                    return name
        return None
