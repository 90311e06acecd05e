"""The log as the leader writes it, and the lease with it.

Layout. What is done collects in `_pending`, and the replies that tell of it in `_replies`. One call of Redis
at a time is under way: it adds all that is pending as one entry, and renews the lease. What comes meanwhile
goes with the next call.
Invariant: a reply leaves only when all that was done before it is in the log, under a lease that still held.
"""

from __future__ import annotations

import asyncio
import json
import logging
import zlib
from collections import deque
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

import redis

from rdfaspider.service.replica import LEASE, RENEWED, Gone
from rdfaspider.service.replica.registry import BEGINNING

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rdfaspider.service.replica.registry import Registry

logger = logging.getLogger(__name__)

# So much sooner than Redis the leader takes its lease for over.
_MARGIN = 1.0
_AGAIN = 0.2
# An entry may not grow without end: that much is room for many pages.
_MOST = 1_000

# Bytes of its entries that a leader keeps in the log, for standbys that are behind.
_KEPT = 64 << 20

_ENCODER = json.JSONEncoder(separators=(",", ":"))

Operation = tuple[Any, ...]


def pack(operations: list[Operation]) -> bytes:
    """Return operations as an entry."""
    return zlib.compress(_ENCODER.encode(operations).encode(), 1)


def unpack(entry: bytes) -> list[list[Any]]:
    """Return the operations of an entry."""
    operations: list[list[Any]] = json.loads(zlib.decompress(entry))
    return operations


class Journal:
    """Writes down what is done under a lease. `run` raises Gone when another node leads.

    `position` is that of the last entry, `first_to_keep` that of the first which is not too much.
    `renumbered` is called with this leader's number when Redis had lost entries and the log begins anew.
    """

    def __init__(
        self, registry: Registry, number: int, position: str, path: Path | None = None
    ) -> None:
        self.number = number
        self._path = path
        self.position = position
        self.renumbered: Callable[[int], None] = lambda number: None
        self._registry = registry
        self._count = 0
        self._pending: list[Operation] = []
        self._replies: list[Callable[[], None]] = []
        self._is_adding = False
        self._wake = asyncio.Event()
        self._good_until = 0.0
        self._sizes: deque[tuple[str, int]] = deque()
        self._size = 0
        self.first_to_keep = BEGINNING
        self._is_away = False
        self._is_lost = False

    async def begin(self, *, is_whole: bool) -> None:
        """Write down who leads now; if its copy is not what the log says, all others need one of it."""
        self._count = 1
        entry = pack([("lead", self.number, is_whole)])
        said = await self._registry.keep(self.number, 1, entry, begins=not is_whole)
        if said in ("gone", "lost"):
            raise Gone
        self.position = said

    def record(self, *operation: Any) -> None:
        """Write an operation down, before long."""
        self._pending.append(operation)
        self._wake.set()

    def commit(self, send: Callable[[], None]) -> None:
        """Send a reply when all that was done until now is in the log, and the lease holds."""
        if not (self._pending or self._is_adding or self.is_cut_off()):
            send()
        else:
            self._replies.append(send)
            self._wake.set()

    def is_cut_off(self) -> bool:
        """Tell whether nobody can be answered, because the lease may have run out."""
        return monotonic() >= self._good_until

    async def flush(self) -> None:
        """Wait until all that was done until now is in the log."""
        done = asyncio.Event()
        self.commit(done.set)
        await done.wait()

    async def run(self) -> None:
        """Write down what comes, and renew the lease."""
        while True:
            self._wake.clear()
            if not (self._pending or self._replies):
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._wake.wait(), RENEWED)
            await self._add()

    async def _add(self) -> None:
        operations, self._pending = self._pending[:_MOST], self._pending[_MOST:]
        # What waits for operations that are left over waits on.
        replies, self._replies = ([], self._replies) if self._pending else (self._replies, [])
        self._is_adding = True
        await self._keep(operations)
        self._is_adding = False
        for send in replies:
            send()

    async def _keep(self, operations: list[Operation]) -> None:
        """Have Redis keep an entry; try until it does, or another node leads."""
        entry = pack(operations) if operations else b""
        self._count += bool(entry)
        while True:
            began = monotonic()
            try:
                if self._is_lost:
                    await self._begin_anew()
                    self._count += bool(entry)
                said = await self._registry.keep(self.number, self._count, entry)
            except redis.RedisError as error:
                if not self._is_away:
                    logger.warning("Redis is away (%s): replies wait for it.", error)
                self._is_away = True
                await asyncio.sleep(_AGAIN)
                continue
            self._is_lost = said == "lost"
            if not self._is_lost:
                break
        if said == "gone":
            raise Gone
        if self._is_away:
            self._is_away = False
            logger.warning("Redis is back.")
        self._good_until = began + LEASE - _MARGIN
        if entry:
            self.position = said
            self._measure(len(entry))

    def _measure(self, size: int) -> None:
        """Find from which entry on the log is not too large."""
        self._sizes.append((self.position, size))
        self._size += size
        while self._size > _KEPT:
            self._size -= self._sizes.popleft()[1]
            self.first_to_keep = self._sizes[0][0] if self._sizes else self.position

    async def _begin_anew(self) -> None:
        """Lead under another number, because Redis has lost entries: the others need a new copy."""
        logger.warning("Redis has lost a part of the log: it begins anew with what this node has.")
        number = await self._registry.take(self.number, self._path)
        if not number:
            raise Gone
        self.number = number
        await self.begin(is_whole=False)
        self._is_lost = False  # not sooner: what follows without that beginning would leave a hole
        self.renumbered(number)
