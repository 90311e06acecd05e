"""Tells each shard at which depth the others have something unfinished.

A shard keeps the links of finished pages while a shorter way to them may be found (outlinks.py), by a page of
any shard. Two rounds of what all shards say are put together, because a link may be on its way in one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider import clock
from rdfaspider.service.messages import OtherFloor

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rdfaspider.service.client import ServedFrontier


class Floors:
    def __init__(self, shards: Sequence[ServedFrontier]) -> None:
        self._shards = shards
        self._began = 0.0
        self._before = [0] * len(shards)
        self._told = [0] * len(shards)

    def tell(self) -> None:
        """Tell the shards what is new, when all have said where they are."""
        sessions = [shard.session for shard in self._shards]
        if self._shards[0].is_at_once or any(
            session.looked_at <= self._began for session in sessions
        ):
            return
        self._began = clock.now()
        floors = [session.floor for session in sessions]
        least = [min(pair) for pair in zip(floors, self._before, strict=True)]
        self._before = floors
        for number, session in enumerate(sessions):
            elsewhere = min(least[:number] + least[number + 1 :])
            if elsewhere != self._told[number]:
                self._told[number] = elsewhere
                session.do(OtherFloor(elsewhere))
