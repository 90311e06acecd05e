"""A node as long as it leads: it serves workers, keeps the log short, and hands over in the end."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from time import monotonic
from typing import TYPE_CHECKING, Any

import redis

from rdfaspider.service.handler import Handler
from rdfaspider.service.messages import MakeCopy, ReadCopy
from rdfaspider.service.partitions import Division
from rdfaspider.service.replica import AWAY_AFTER, RENEWED, end
from rdfaspider.service.replica.copying import Copies
from rdfaspider.service.replica.logged import Standing
from rdfaspider.service.replica.registry import BEGINNING, place_of
from rdfaspider.service.server import Service
from rdfaspider.service.wire import Security

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from rdfaspider.service.replica.journal import Journal
    from rdfaspider.service.replica.logged import LoggedFrontier
    from rdfaspider.service.replica.registry import Registry
    from rdfaspider.service.wire import Address

logger = logging.getLogger(__name__)

# A node that is to end waits so long for another one that can go on.
HANDING_OVER = 25.0
# One that was not heard of for longer may be dead.
LATELY = 3.0
_LOOK = 0.2
_FLUSHING = 5.0


def has_heir(nodes: Iterable[dict[str, Any]]) -> bool:
    """Tell whether there is a standby that has a copy and stays."""
    return any(
        each.get("role") == "standby" and "position" in each and not each.get("ending")
        for each in nodes
    )


class Leader:
    """Serves a frontier under a lease. `about` is what is told of the node.

    `worker` is the name of the worker that ends when this node is stopped, if it has one, and `division` says
    which worker gets which hosts.
    """

    def __init__(
        self,
        registry: Registry,
        journal: Journal,
        frontier: LoggedFrontier,
        path: Path,
        about: dict[str, Any],
    ) -> None:
        self._registry = registry
        self._journal = journal
        self._frontier = frontier
        self._about = about
        self._path = path
        self.security = Security()
        self.worker = ""
        self.division = Division()

    async def run(
        self,
        listen: Address,
        clock: Callable[[], float],
        keeping: asyncio.Task[None],
        stopped: asyncio.Event,
    ) -> None:
        """Hand the frontier out while the journal is kept; close it in the end. Gone if another leads."""
        journal, frontier = self._journal, self._frontier
        self._mark(has_led=True)
        frontier.record = journal.record
        journal.renumbered = lambda number: self._mark(has_led=True)
        copies = Copies(frontier, journal, self._path)
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
        journal = self._journal
        identity = self._registry.identity
        self._frontier.stand(Standing(identity, journal.number, journal.position, has_led))

    async def _serve(self, service: Service, handler: Handler, stopped: asyncio.Event) -> None:
        await service.start()
        self._about |= {"role": "leader", "address": str(service.address)}
        await self._beat()
        logger.info("This node leads as number %d, at %s.", self._journal.number, service.address)
        await service.until(stopped)
        handler.bury(self.worker)  # if it has not said goodbye it was killed
        self._about["ending"] = True
        await self._beat()
        await self._await_heir(handler)
        await service.close()
        self._frontier.record = lambda *operation: None
        try:
            await asyncio.wait_for(self._journal.flush(), _FLUSHING)
            self._mark(has_led=False)
        except TimeoutError:
            logger.warning("Redis is away: this node has what others do not know yet.")

    async def _beat(self) -> None:
        with suppress(redis.RedisError):
            await self._registry.beat(**self._about)

    async def _trim(self) -> None:
        """Drop from the log what all standbys have done, and what is too much."""
        journal = self._journal
        while True:
            await asyncio.sleep(RENEWED)
            self._about["position"] = journal.position
            with suppress(redis.RedisError):
                standbys = await self._standbys(AWAY_AFTER)
                positions = [each.get("position", BEGINNING) for each in standbys]
                slowest = min(positions, key=place_of, default=BEGINNING)
                first = max(slowest, journal.first_to_keep, key=place_of)
                await self._registry.trim(journal.number, first)

    async def _standbys(self, within: float) -> list[dict[str, Any]]:
        """Return what is known of the other nodes that were heard of lately; a dead leader is none."""
        nodes = (await self._registry.look(within)).nodes
        nodes.pop(self._registry.name, None)
        return [each for each in nodes.values() if each.get("role") != "leader"]

    async def _await_heir(self, handler: Handler) -> None:
        """Wait until another node can go on, or no worker is left that would need one."""
        until = monotonic() + HANDING_OVER
        while not handler.workers.is_deserted and monotonic() < until:
            with suppress(redis.RedisError):
                if has_heir(await self._standbys(LATELY)):
                    return
            await asyncio.sleep(_LOOK)
