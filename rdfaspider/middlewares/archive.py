"""Hands what is fetched besides pages, robots.txt above all, to the archive."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy.exceptions import NotConfigured

from rdfaspider.signals import exchanged

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

# Bodies are kept as they are packed, and replay tools cannot unpack zstd.
_ENCODINGS = b"gzip, deflate, br"


class ArchiveMiddleware:
    """Waits until what is no page of the frontier is safe; pages are archived when they have been read."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not crawler.settings.getbool("ARCHIVE"):
            raise NotConfigured
        return cls(crawler)

    def process_request(self, request: Request) -> None:
        request.headers.setdefault(b"Accept-Encoding", _ENCODINGS)

    def process_response(
        self, request: Request, response: Response
    ) -> Response | Awaitable[Response]:
        if "host" in request.meta or "exchange" not in request.meta:
            return response
        return self._keep(request, response)

    async def _keep(self, request: Request, response: Response) -> Response:
        exchange = request.meta.pop("exchange")
        await self.crawler.signals.send_catch_log_async(exchanged, exchange=exchange)
        return response
