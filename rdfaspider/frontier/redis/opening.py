"""How a crawl is begun in Redis, and how a worker finds that it can go on with one."""

from __future__ import annotations

import logging
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rdfaspider.frontier.partitions import PARTITIONINGS
from rdfaspider.frontier.redis.batch import LANDS, Batch
from rdfaspider.frontier.redis.board import Board
from rdfaspider.frontier.redis.crew import Clock
from rdfaspider.frontier.redis.desk import Desk
from rdfaspider.frontier.redis.scripts import Scripts

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.frontier.limits import FrontierLimits
    from rdfaspider.frontier.politeness import Politeness
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
    crew: Crew,
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
    if kept.get("kind") == "log":
        raise ValueError(
            "This crawl was begun with redis+log://: go on with it as it was begun, or begin another with"
            " crawl=NAME in FRONTIER_URL."
        )
    if limits.depth > int(kept["depth"]):
        raise ValueError(
            f"This crawl was begun with depth {kept['depth']}, and what lies deeper was not kept: to go"
            f" {limits.depth} deep, begin another with crawl=NAME in FRONTIER_URL."
        )
    terms = Terms(kept["epoch"], int(kept["partitions"]), PARTITIONINGS[kept["partitioning"]])
    if "begun" not in kept:  # else a script says so if a partition is lost
        _begin_partitions(crew, terms)
    return terms


def _begin_partitions(crew: Crew, terms: Terms) -> None:
    for partition in range(terms.partitions):
        crew.link.command("hsetnx", f"{{{crew.crawl}:{partition}}}", "buckets", 1)
        crew.link.command("hsetnx", f"{{{crew.crawl}:{partition}}}", "epoch", terms.epoch)
    crew.mark("begun", "yes")


def open_desk(
    link: RedisLink,
    crew: Crew,
    terms: Terms,
    politeness: Politeness,
    limits: FrontierLimits,
    lease: float,
    ahead: float,
) -> Desk:
    """Return an empty desk for a worker of a crawl."""
    count = terms.partitions
    scripts = Scripts(crew.crawl, terms.epoch, count, crew.name, politeness, limits, lease)

    def partition(host: str) -> int:
        return terms.partitioning(host, count)

    return Desk(link, crew, scripts, Board(count), partition, ahead)


def join(
    link: RedisLink,
    desk: Desk,
    now: float | None,
    clock: Callable[[], float],
    *,
    is_onlooker: bool,
) -> None:
    """Say that a worker is here, and put back what one of its name left in flight.

    `now` is the time that it is to be, None if that is told by Redis.
    """
    sent = clock()
    there = desk.crew.heard(link.one(desk.crew.beat({}, now, silent=True)))
    if now is None:
        desk.clock = Clock(-math.inf, math.inf)
        desk.clock.learn(there, sent, clock())
    desk.crew.claim(there)
    if desk.crew.state == "stop" and now is None:
        desk.crew.tell(state="run")
        desk.crew.told["state"] = "run"
    desk.notices.heed()
    _warn_of_eviction(link)
    batch = Batch()
    if not is_onlooker:
        for partition in range(desk.scripts.partitions):
            script = desk.scripts.evict(partition, there, desk.crew.name)
            batch.add(LANDS, script, desk.wake)
    desk.add_looks(batch, there, now, silent=is_onlooker)
    batch.deal_with(link.run(batch.stages))
    desk.board.conclude()


def _warn_of_eviction(link: RedisLink) -> None:
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
