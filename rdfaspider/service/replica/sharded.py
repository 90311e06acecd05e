"""A replicated frontier of several shards, each with leader, standbys, lease and log of its own.

The crawl NAME has its number of shards in {NAME}:crawl, and shard K is what the crawl NAME/K would be. With
one shard, the crawl is NAME itself.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.sharding import Shard
from rdfaspider.service.replica.client import ReplicatedFrontier
from rdfaspider.service.replica.registry import Keys, Onlooker, absent, shard_url
from rdfaspider.service.shards.opening import open_shards

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.service.shards.frontier import ShardedFrontier


def agree_on_shards(url: str, wanted: int | None, *, begins: bool = True) -> int:
    """Return how many shards a crawl has; if nobody has begun it, and this does, so many as are wanted.

    None is as many as it has. FrontierUnavailable if it has another number, or Redis is away.
    """
    onlooker = Onlooker(Keys(url))
    try:
        total = onlooker.shards(wanted if begins and wanted else 1)
    except ConnectionError as error:
        raise FrontierUnavailable(absent(onlooker.keys, error)) from error
    finally:
        onlooker.close()
    if wanted not in (None, total):
        raise FrontierUnavailable(
            f"The crawl {onlooker.keys.name} was begun with FRONTIER_SHARDS={total} and cannot go on with"
            f" {wanted}: leave that out, or give this one another name with crawl=NAME in FRONTIER_URL."
        )
    return total


def open_replicated(
    url: str,
    *,
    shards: int | None = None,
    path: str = "frontier",
    onlooks: bool = False,
    **options: Any,
) -> ReplicatedFrontier | ShardedFrontier:
    """Open a replicated frontier with so many shards, or as many as it has."""
    total = agree_on_shards(url, shards, begins=not onlooks)
    if total == 1:
        return ReplicatedFrontier(url, path=path, onlooks=onlooks, **options)

    def opener(number: int) -> Callable[..., ReplicatedFrontier]:
        return partial(
            ReplicatedFrontier,
            shard_url(url, number),
            path=path_of(path, number),
            shard=Shard(number, total),
            onlooks=onlooks,
        )

    return open_shards([opener(number) for number in range(total)], **options)


def path_of(path: str, number: int) -> str:
    """Return the directory of the copy of a shard."""
    return f"{path}-{number + 1}"
