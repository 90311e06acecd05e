"""(b) Scrapy as it comes, following links with its LinkExtractor."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from scrapy import Request, Spider
from scrapy.http import Response, TextResponse
from scrapy.linkextractors import LinkExtractor

from tests.benchmarks.speed.contender import COMMON, read_arguments, run


class Links(Spider):
    """Follows the links of each page; `items` says what else a page gives."""

    name = "links"
    pages = ""
    follow = ""

    async def start(self) -> AsyncIterator[Any]:
        for url in Path(self.pages).read_text().split():
            yield Request(url)

    def parse(self, response: Response, **kwargs: Any) -> Iterator[Any]:
        yield from self.items(response)
        if self.follow and isinstance(response, TextResponse):
            for link in LinkExtractor().extract_links(response):
                yield Request(link.url)

    def items(self, response: Response) -> Iterator[dict[str, Any]]:
        yield from ()


if __name__ == "__main__":
    arguments = read_arguments()
    run(Links, COMMON, arguments, pages=arguments.seeds, follow="yes" * arguments.follow)
