"""(c) Scrapy with its frontier and its items in Redis (scrapy-redis), and extruct for the data."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import extruct
from scrapy.http import Response

from tests.benchmarks.speed.contender import COMMON, read_arguments, run
from tests.benchmarks.speed.links import Links

# As scrapy-redis' own example project has them.
SETTINGS = {
    **COMMON,
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "SCHEDULER_PERSIST": True,
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
    "ITEM_PIPELINES": {"scrapy_redis.pipelines.RedisPipeline": 400},
}


class RedisExtruct(Links):
    name = "extruct"

    def items(self, response: Response) -> Iterator[dict[str, Any]]:
        # The three syntaxes that rdfaspider reads; all six, the default, would take longer.
        found = extruct.extract(
            response.text, base_url=response.url, syntaxes=["rdfa", "json-ld", "microdata"]
        )
        yield {"url": response.url, **found}


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of scrapy-redis about Scrapy's older ways
    arguments = read_arguments()
    settings = {**SETTINGS, "REDIS_URL": arguments.redis}
    follow = "yes" * arguments.follow
    run(RedisExtruct, settings, arguments, pages=arguments.seeds, follow=follow)
