"""The latest things of many, as long as they are not too large together."""

from __future__ import annotations

from collections import OrderedDict
from typing import Generic, TypeVar

Thing = TypeVar("Thing")


class Kept(Generic[Thing]):
    """Things by name with their sizes, the least recently used first; all sizes are at most `most`."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._things: OrderedDict[str, tuple[Thing, int]] = OrderedDict()
        self._size = 0

    def __len__(self) -> int:
        return len(self._things)

    def at_hand(self, name: str) -> Thing | None:
        if name not in self._things:
            return None
        self._things.move_to_end(name)
        return self._things[name][0]

    def keep(self, name: str, thing: Thing, size: int) -> Thing:
        self._forget(name)
        self._things[name] = (thing, size)
        self._size += size
        while self._size > self._most:
            self._forget(next(iter(self._things)))
        return thing

    def _forget(self, name: str) -> None:
        _, size = self._things.pop(name, (None, 0))
        self._size -= size
