"""Runs a service until it is stopped."""

from __future__ import annotations

import asyncio
import logging
import signal
from typing import TYPE_CHECKING

from rdfaspider import clock
from rdfaspider.heap import tune
from rdfaspider.service.server.handler import Handler
from rdfaspider.service.server.network import Service
from rdfaspider.terminal import as_typed

if TYPE_CHECKING:
    from rdfaspider.frontier.engine.local import LocalFrontier
    from rdfaspider.frontier.sharding import Shard
    from rdfaspider.service.address import Address, Security
    from rdfaspider.service.server.partitions import Division

logger = logging.getLogger(__name__)


def serve(
    frontier: LocalFrontier, address: Address, security: Security, division: Division | None = None
) -> None:
    """Serve a frontier until SIGINT or SIGTERM; FrontierUnavailable if that fails."""
    tune()
    handler = Handler(frontier, clock.now, division=division)
    asyncio.run(_serve(Service(handler, address, security), frontier.shard))


def stop_signal() -> asyncio.Event:
    """Return an event that SIGINT or SIGTERM sets."""
    loop, stopped = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    return stopped


async def _serve(service: Service, shard: Shard) -> None:
    await service.start()
    stopped = stop_signal()
    others = ",…" if shard.total > 1 else ""
    command = f"scrapy crawl rdfa -s JOBDIR=worker1 -s FRONTIER_URL={service.address}{others}"
    print(f"Workers join with: {as_typed(command)}", flush=True)
    if others:
        print(f"This is shard {shard}: they name the addresses of all shards.", flush=True)
    print("Each has a JOBDIR of its own; seeds come with any of them (-a seeds=…).", flush=True)
    try:
        await service.until(stopped)
        logger.info("The service ends: what is in flight will be handed out again.")
    finally:
        await service.close()
