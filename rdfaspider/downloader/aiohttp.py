"""Scrapy's aiohttp download handler, behind the address guard, and with a limit to idle connections.

aiohttp keeps a connection for up to half a minute in case its host is asked again. A crawl that visits
hundreds of hosts per second would keep ten thousand open and soon run out of files. So only those used last
are kept.
"""

from __future__ import annotations

import socket
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any

from aiohttp import ClientTimeout, ConnectionTimeoutError, SocketTimeoutError
from scrapy.core.downloader.handlers._aiohttp import AiohttpDownloadHandler
from scrapy.exceptions import DownloadTimeoutError

from rdfaspider.downloader.capture import Line
from rdfaspider.downloader.connection import StrictConnection
from rdfaspider.downloader.failures import ConnectTimeoutError, FirstByteTimeoutError
from rdfaspider.downloader.guarded import MOST_KEPT, GuardedDownloadHandler
from rdfaspider.resolver import installed_resolver

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiohttp.abc import ResolveResult
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from rdfaspider.resolver import Resolver


class GuardedAiohttpDownloadHandler(GuardedDownloadHandler[Any], AiohttpDownloadHandler):
    """Downloads through aiohttp, whose connector gets all its addresses from our resolver."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        # A resolver given to aiohttp never sees literal addresses; this method sees both.
        connector: Any = self._session.connector
        for name in ("_resolve_host", "_release", "_factory", "connect"):
            if not callable(getattr(connector, name, None)):
                raise RuntimeError(
                    f"This version of aiohttp has no {name}, so the address guard cannot be installed."
                )
        connector._resolve_host = _resolve_host
        connector._release = partial(_release, connector, connector._release)
        connector._factory = partial(StrictConnection, connector._loop, self._head_seconds)
        connector.connect = partial(_connect, connector.connect, self._connect_seconds)
        # The scheduler limits the fetches, and does not count all that only wait.
        connector._limit = 0
        # aiohttp would at once ask again a server that hangs up; that is for the frontier to decide.
        self._session._retry_connection = False

    def _pieces(self, response: Any) -> AsyncIterator[bytes]:
        pieces: AsyncIterator[bytes] = response.content.iter_any()
        return pieces

    def _line(self, response: Any) -> Line:
        # aiohttp makes text of bytes in a way that leads back to them.
        asked = tuple(
            (name.encode(), value.encode("utf-8", "surrogateescape"))
            for name, value in response.request_info.headers.items()
        )
        version = response.version
        return Line(
            asked,
            f"{version.major}.{version.minor}" if version else "1.1",
            (response.reason or "").encode("utf-8", "surrogateescape"),
            tuple(response.raw_headers),
        )

    async def download_request(self, request: Request) -> Response:
        try:
            return await super().download_request(request)
        except DownloadTimeoutError as error:
            if isinstance(error.__cause__, ConnectionTimeoutError):
                raise ConnectTimeoutError(f"No connection for {request.url} in time.") from error
            if isinstance(error.__cause__, SocketTimeoutError):
                raise FirstByteTimeoutError(f"No answer to {request.url} in time.") from error
            raise


async def _connect(connect: Any, seconds: float, request: Any, traces: Any, timeout: Any) -> Any:
    """Find a host and connect to it in time."""
    return await connect(request, traces, _connecting(timeout.total, seconds))


@lru_cache(16)
def _connecting(total: float | None, seconds: float) -> ClientTimeout:
    return ClientTimeout(total=total, connect=seconds)


async def _resolve_host(host: str, port: int, traces: object = None) -> list[ResolveResult]:
    return await resolved(installed_resolver(), host, port)


async def resolved(resolver: Resolver, host: str, port: int) -> list[ResolveResult]:
    """Return the allowed addresses of a host, in the form that aiohttp needs."""
    return [
        {
            "hostname": host,
            "host": str(address),
            "port": port,
            "family": socket.AF_INET if address.version == 4 else socket.AF_INET6,
            "proto": 0,
            "flags": 0,
        }
        for address in await resolver.resolve(host, port)
    ]


def _release(
    connector: Any, release: Any, key: object, connection: StrictConnection, **options: Any
) -> None:
    """Keep a connection for later, and close those that were unused longest."""
    connection.keep()
    release(key, connection, **options)
    idle = connector._conns  # the host used last is at the end
    while len(idle) > MOST_KEPT:
        for protocol, _ in idle.pop(next(iter(idle))):
            protocol.close()
