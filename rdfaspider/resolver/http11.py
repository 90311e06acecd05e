"""Scrapy's default download handler, behind the address guard."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.exceptions import CannotResolveHostError

from rdfaspider.resolver.requests import check_request, host_and_port

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response


class GuardedHTTP11DownloadHandler(HTTP11DownloadHandler):
    """Downloads through Twisted, which asks the reactor's resolver for every host, literals too."""

    async def download_request(self, request: Request) -> Response:
        resolver = check_request(request)
        try:
            return await super().download_request(request)
        except CannotResolveHostError:
            # To Twisted a refused name is one without an address; say which it was.
            resolver.check_answer(*host_and_port(request.url))
            raise
