"""URLs that a person types: their servers may be private, like those of seeds; in the shell also files."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any, Self

from scrapy import Request, signals
from scrapy.core.downloader.handlers.file import FileDownloadHandler

from rdfaspider.resolver.resolver import installed_resolver
from rdfaspider.urls import normalise

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.crawler import Crawler


class StartRequests:
    """A spider middleware that allows the servers of the requests that `start` yields.

    No page chooses these. Requests of callbacks may come from links, and allow nothing.
    """

    async def process_start(self, start: AsyncIterator[Any]) -> AsyncIterator[Any]:
        async for item_or_request in start:
            if isinstance(item_or_request, Request):
                _open(item_or_request.url)
            yield item_or_request


class TypedRequests:
    """An extension that allows the servers of all requests except redirects, for `scrapy shell`."""

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        extension = cls()
        crawler.signals.connect(extension.request_scheduled, signals.request_scheduled)
        return extension

    def request_scheduled(self, request: Request) -> None:
        if "redirect_times" not in request.meta:
            _open(request.url)


class TypedFileDownloadHandler(FileDownloadHandler):
    """Reads files for `scrapy shell`; in a crawl pages could lead to them."""

    is_guarded = True


def _open(url: str) -> None:
    with suppress(ValueError):  # not a URL of the web
        installed_resolver().allow_seeds([normalise(url)])
