"""Seeds that people push to Redis, as they know it from scrapy-redis: NAME:start_urls.

A seed is a URL, or JSON with `url` and, if wanted, `depth` or `meta` with a depth. The key is a list, a
set or a sorted set. A worker moves seeds to a list of its own, and takes them out of it when they are in
the frontier; of a worker that is gone they are pushed back.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from rdfaspider.frontier.redis.link import Script
from rdfaspider.seedlist import read_seed

if TYPE_CHECKING:
    from rdfaspider.frontier.redis.link import RedisLink

logger = logging.getLogger(__name__)

# Seeds read at a time.
_MOST = 5_000


class SeedList:
    def __init__(self, crawl: str, worker: str) -> None:
        self.key = f"{crawl}:start_urls"
        self._worker = worker
        self._taken_in: list[bytes] = []

    @property
    def is_reading(self) -> bool:
        """Tell whether the last look found seeds, so that there may be more."""
        return bool(self._taken_in)

    def read(self) -> Script:
        """Return the script that reads seeds, and says that those read before are safe."""
        return Script("seeds", (self.key, self._mine(self._worker)), (_MOST, *self._taken_in))

    def acknowledge(self) -> Script:
        """Return the script that says that the seeds read before are safe, and reads no more."""
        return Script("seeds", (self.key, self._mine(self._worker)), (0, *self._taken_in))

    def give_up(self, worker: str) -> Script:
        """Return the script that pushes back what a worker was taking in."""
        return Script("seeds", (self.key, self._mine(worker)), (-1,))

    def waiting(self, link: RedisLink) -> int:
        """Return how many seeds wait to be read."""
        kind = link.command("type", self.key).decode()
        size = {"list": "llen", "set": "scard", "zset": "zcard"}.get(kind)
        return int(link.command(size, self.key)) if size else 0

    def seeds(self, reply: list[bytes]) -> list[tuple[str, int]]:
        """Return the good ones of the seeds that were read, with their depths; others are named."""
        self._taken_in = reply
        found = []
        for item in reply:
            try:
                found.append(read_seed(item))
            except (ValueError, RecursionError) as error:
                logger.warning("Skipped the seed %s in %s: %s", item[:200], self.key, error)
        return found

    def _mine(self, worker: str) -> str:
        # The braces put it on the node of the list.
        return f"{{{self.key}}}:{worker}"
