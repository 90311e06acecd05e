"""How a crawl is begun in Redis, and how a worker finds that it can go on with one."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.partitions import PARTITIONINGS

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.frontier.limits import FrontierLimits
    from rdfaspider.frontier.redis.crew import Crew
    from rdfaspider.frontier.redis.link import RedisLink

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a crawl keeps from its beginning. The epoch is written in each partition, to notice its loss."""

    epoch: str
    partitions: int
    partitioning: Callable[[str, int], int]


def begin(
    link: RedisLink,
    crew: Crew,
    crawl: str,
    order: str,
    limits: FrontierLimits,
    partitions: int,
    partitioning: str,
    now: float,
) -> Terms:
    """Begin a crawl, or go on with one; ValueError if it cannot go on like this."""
    if order != "breadth":
        raise ValueError(f"A shared crawl has the order breadth; {order} is for a local one.")
    if partitioning not in PARTITIONINGS:
        raise ValueError(f"There is no partitioning {partitioning}: {', '.join(PARTITIONINGS)}.")
    kept = crew.begin(
        {
            "epoch": f"{now} {crew.name}",
            "depth": str(limits.depth),
            "partitions": str(partitions),
            "partitioning": partitioning,
        }
    )
    if limits.depth > int(kept["depth"]):
        raise ValueError(
            f"This crawl was begun with depth {kept['depth']}, and what lies deeper was not kept: to go"
            f" {limits.depth} deep, begin another with crawl=NAME in FRONTIER_URL."
        )
    epoch, count = kept["epoch"], int(kept["partitions"])
    for partition in range(count):
        root = f"{{{crawl}:{partition}}}"
        if "begun" not in kept:
            link.command("hsetnx", root, "buckets", 1)
            link.command("hsetnx", root, "epoch", epoch)
        elif not link.command("exists", root):
            raise FrontierUnavailable(
                f"Redis at {link.url} has lost the partition {root} of the crawl {crawl}: it was"
                " restarted without its data, or evicts keys. Restore it from a backup, or begin anew"
                " with another crawl=NAME in FRONTIER_URL."
            )
    if "begun" not in kept:
        crew.mark("begun", "yes")
    return Terms(epoch, count, PARTITIONINGS[kept["partitioning"]])


def warn_of_eviction(link: RedisLink) -> None:
    """Name a server that throws keys away when its memory is full."""
    for memory, policy, evicted in link.policies():
        if evicted or (memory and policy != "noeviction"):
            logger.warning(
                "Redis at %s evicts keys when its memory is full (maxmemory-policy %s, %d so far): a"
                " crawl would lose URLs. Set maxmemory-policy noeviction.",
                link.url,
                policy,
                evicted,
            )
