"""How many shards a replicated crawl has.

The crawl NAME has its number of shards in {NAME}:crawl. Each shard has a leader, standbys, a lease and a
log of its own: shard K is stored as the crawl NAME/K would be. With one shard, the crawl is NAME itself.
"""

from __future__ import annotations

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.redislink import AsyncRedisLink
from rdfaspider.service.replica import scripts
from rdfaspider.service.replica.registry import Keys, looking

# Seconds after which a Redis call has failed.
_TIMEOUT = 5.0


def agree_on_shards(url: str, wanted: int | None, *, begins: bool = True) -> int:
    """Return how many shards a crawl has; a crawl that begins here gets as many as are wanted.

    None is as many as it has. FrontierUnavailable if it has another number, or Redis is away.
    """
    with looking(url) as onlooker:
        total = onlooker.shards(wanted if begins and wanted else 1)
    if wanted not in (None, total):
        raise FrontierUnavailable(
            f"The crawl {onlooker.keys.name} was begun with FRONTIER_SHARDS={total} and cannot go on with"
            f" {wanted}: leave that out, or give this one another name with crawl=NAME in FRONTIER_URL."
        )
    return total


def path_of(path: str, number: int) -> str:
    """Return the directory of the copy of a shard."""
    return f"{path}-{number + 1}"


class ShardCount:
    """Keeps the number in Redis, for the node of one shard.

    If Redis loses everything, its nodes write the number again. Otherwise a worker that names no number
    would begin another crawl beside this one, with one shard.
    """

    def __init__(self, keys: Keys, total: int) -> None:
        self._total = total
        # In a cluster this key may be on another server than the shard's.
        name = keys.name.rpartition("/")[0]
        self._key = f"{{{name}}}:crawl"
        self._redis = AsyncRedisLink(keys.url, name, _TIMEOUT)

    async def keep(self) -> None:
        """Write the number if it is gone; redis.RedisError if Redis is away."""
        if self._total > 1:
            await self._redis.run(scripts.SHARDS, [self._key], self._total)

    async def close(self) -> None:
        await self._redis.close()
