"""A node while it leads: it serves workers, trims the log, and hands over at the end."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

import redis

from rdfaspider.service.messages import MakeCopy, ReadCopy
from rdfaspider.service.replica import AWAY_AFTER, RENEWED, end
from rdfaspider.service.replica.copying import Copies
from rdfaspider.service.replica.logged import Standing
from rdfaspider.service.replica.registry import BEGINNING, place_of
from rdfaspider.service.server.handler import Handler
from rdfaspider.service.server.network import Service

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from rdfaspider.service.address import Address, Security
    from rdfaspider.service.replica.journal import Journal
    from rdfaspider.service.replica.logged import LoggedFrontier
    from rdfaspider.service.replica.registry import Registry
    from rdfaspider.service.server.partitions import Division

logger = logging.getLogger(__name__)

# Seconds for which a node that ends waits for a successor.
HANDING_OVER = 25.0
# A node that was silent for longer may be dead.
LATELY = 3.0
_LOOK = 0.2
_FLUSHING = 5.0


def has_heir(nodes: Iterable[dict[str, Any]]) -> bool:
    """Return whether there is a standby that has a copy and is not ending."""
    return any(
        each.get("role") == "standby" and "position" in each and not each.get("ending")
        for each in nodes
    )


@dataclass(eq=False)
class Leader:
    """Serves a frontier under a lease. `about` describes the node in Redis.

    `worker` is the name of the worker that ends when this node is stopped, if it has one; `division`
    assigns hosts to workers.
    """

    registry: Registry
    journal: Journal
    frontier: LoggedFrontier
    path: Path
    about: dict[str, Any]
    security: Security
    worker: str
    division: Division

    async def run(
        self,
        listen: Address,
        clock: Callable[[], float],
        keeping: asyncio.Task[None],
        stopped: asyncio.Event,
    ) -> None:
        """Serve the frontier while the journal is kept; close it at the end. Gone if another node leads."""
        journal, frontier = self.journal, self.frontier
        self._mark(has_led=True)
        frontier.record = journal.record
        journal.renumbered = lambda number: self._mark(has_led=True)
        copies = Copies(frontier, journal, self.path)
        handler = Handler(frontier, clock, journal.number, self.division)
        service = Service(handler, listen, self.security)
        service.commit = journal.commit
        service.is_cut_off = journal.is_cut_off
        service.others |= {MakeCopy: copies.make, ReadCopy: copies.read}
        trimming = asyncio.create_task(self._trim())
        serving = asyncio.create_task(self._serve(service, handler, stopped))
        try:
            done, _ = await asyncio.wait((keeping, serving), return_when=asyncio.FIRST_COMPLETED)
            for task in done:
                task.result()
        finally:
            await end(trimming, serving)
            await service.close()
            copies.close()
        frontier.close()

    def _mark(self, *, has_led: bool) -> None:
        journal = self.journal
        identity = self.registry.identity
        self.frontier.stand(Standing(identity, journal.number, journal.position, has_led))

    async def _serve(self, service: Service, handler: Handler, stopped: asyncio.Event) -> None:
        await service.start()
        self.about |= {"role": "leader", "address": str(service.address)}
        await self._beat()
        logger.info("This node leads as number %d, at %s.", self.journal.number, service.address)
        await service.until(stopped)
        handler.remove_worker(self.worker)  # if it has not left, it was killed
        self.about["ending"] = True
        await self._beat()
        await self._await_heir(handler)
        await service.close()
        self.frontier.record = lambda *operation: None
        try:
            await asyncio.wait_for(self.journal.flush(), _FLUSHING)
            self._mark(has_led=False)
        except TimeoutError:
            logger.warning("Redis is away: this node has changes that are not in the log yet.")

    async def _beat(self) -> None:
        with suppress(redis.RedisError):
            await self.registry.beat(**self.about)

    async def _trim(self) -> None:
        """Drop from the log what all standbys have done, and what exceeds the limit."""
        journal = self.journal
        while True:
            await asyncio.sleep(RENEWED)
            self.about["position"] = journal.position
            with suppress(redis.RedisError):
                standbys = await self._standbys(AWAY_AFTER)
                positions = [each.get("position", BEGINNING) for each in standbys]
                slowest = min(positions, key=place_of, default=BEGINNING)
                first = max(slowest, journal.first_to_keep, key=place_of)
                await self.registry.trim(journal.number, first)

    async def _standbys(self, within: float) -> list[dict[str, Any]]:
        """Describe the other nodes that showed life lately; a dead leader is not among them."""
        nodes = (await self.registry.look(within)).nodes
        nodes.pop(self.registry.name, None)
        return [each for each in nodes.values() if each.get("role") != "leader"]

    async def _await_heir(self, handler: Handler) -> None:
        """Wait until another node can take over, or no worker is left that would need one."""
        until = monotonic() + HANDING_OVER
        while not handler.workers.is_deserted and monotonic() < until:
            with suppress(redis.RedisError):
                if has_heir(await self._standbys(LATELY)):
                    return
            await asyncio.sleep(_LOOK)
