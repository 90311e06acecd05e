"""Scrapy's aiohttp download handler, behind the address guard."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

from scrapy.core.downloader.handlers._aiohttp import AiohttpDownloadHandler

from rdfaspider.resolver.requests import check_request
from rdfaspider.resolver.resolver import installed_resolver

if TYPE_CHECKING:
    from aiohttp.abc import ResolveResult
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class GuardedAiohttpDownloadHandler(AiohttpDownloadHandler):
    """Downloads through aiohttp, whose connector gets all its addresses from our resolver."""

    # Scrapy would warn at every start. Our tests of downloads run over this handler and over http11 alike.
    experimental = False

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        # aiohttp keeps literals from the resolver it can be given; this method sees both.
        connector: Any = self._session.connector
        if not callable(getattr(connector, "_resolve_host", None)):
            raise RuntimeError("This version of aiohttp has no place for the address guard.")
        connector._resolve_host = _resolve_host
        # It would ask a server that hangs up once more at once; when to do so is for the frontier to say.
        self._session._retry_connection = False

    async def download_request(self, request: Request) -> Response:
        check_request(request)
        return await super().download_request(request)


async def _resolve_host(host: str, port: int, traces: object = None) -> list[ResolveResult]:
    return [
        {
            "hostname": host,
            "host": str(address),
            "port": port,
            "family": socket.AF_INET if address.version == 4 else socket.AF_INET6,
            "proto": 0,
            "flags": 0,
        }
        for address in await installed_resolver().resolve(host, port)
    ]
