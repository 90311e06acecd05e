"""(a) Scrapy that fetches the same pages and looks at none: what nothing built on it can outrun."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response

from tests.benchmarks.speed.contender import COMMON, read_arguments, run


class Bare(Spider):
    name = "bare"
    pages = ""

    async def start(self) -> AsyncIterator[Any]:
        for url in Path(self.pages).read_text().split():
            yield Request(url, dont_filter=True)

    def parse(self, response: Response, **kwargs: Any) -> None:
        """Do nothing."""


if __name__ == "__main__":
    arguments = read_arguments()
    # 100, the default, starts 101 tasks for each answer.
    run(Bare, {**COMMON, "CONCURRENT_ITEMS": 1}, arguments, pages=arguments.seeds)
