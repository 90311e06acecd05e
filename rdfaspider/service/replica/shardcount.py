"""How many shards a crawl has, as its nodes know it: a Redis that has lost everything is told again.

Else a worker that names no number would begin another crawl beside this one, which has one shard.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.redislink import AsyncRedisLink
from rdfaspider.service.replica import scripts

if TYPE_CHECKING:
    from rdfaspider.service.replica.registry import Keys

# Seconds after which a call of Redis has failed.
_TIMEOUT = 5.0


class ShardCount:
    """Keeps the number in Redis, for the node of one shard of a crawl, whose keys are its own."""

    def __init__(self, keys: Keys, total: int) -> None:
        self._total = total
        # In a cluster another server than that of the shard may have it.
        name = keys.name.rpartition("/")[0]
        self._key = f"{{{name}}}:crawl"
        self._redis = AsyncRedisLink(keys.url, name, _TIMEOUT)

    async def keep(self) -> None:
        """Write the number down if it is gone; redis.RedisError if Redis is away."""
        if self._total > 1:
            await self._redis.run(scripts.SHARDS, [self._key], self._total)

    async def close(self) -> None:
        await self._redis.close()
