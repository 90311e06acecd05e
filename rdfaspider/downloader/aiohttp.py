"""Scrapy's aiohttp download handler, behind the address guard, and with a limit to idle connections.

aiohttp keeps a connection for up to half a minute in case its host is asked again. A crawl that visits
hundreds of hosts per second would keep ten thousand open and soon run out of files. So only those used last
are kept.
"""

from __future__ import annotations

import resource
import socket
from functools import lru_cache, partial
from time import time
from typing import TYPE_CHECKING, Any

from aiohttp import ClientTimeout, ConnectionTimeoutError, SocketTimeoutError
from scrapy.core.downloader.handlers._aiohttp import AiohttpDownloadHandler
from scrapy.exceptions import DownloadConnectionRefusedError, DownloadTimeoutError
from scrapy.http import Headers
from scrapy.utils.url import add_http_if_no_scheme

from rdfaspider.downloader.capture import exchange_of
from rdfaspider.downloader.connection import StrictConnection
from rdfaspider.downloader.failures import (
    CertificateError,
    ConnectTimeoutError,
    FirstByteTimeoutError,
    certificate_fault,
)
from rdfaspider.fetchmeta import is_for_page, meta_of
from rdfaspider.resolver import installed_resolver
from rdfaspider.urls.hosts import host_and_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiohttp import ClientResponse
    from aiohttp.abc import ResolveResult
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from rdfaspider.resolver import Resolver

# Hosts to which connections are kept. A polite crawl comes back to a host after a second or more, so this is
# enough for hundreds of pages per second. They take at most a quarter of the files that may be open.
_KEPT = min(512, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)

# A download with more bytes than this counts as large: all large ones share a memory budget.
_LARGE = 64 * 1024
_NO_LIMIT = 1 << 62


class GuardedAiohttpDownloadHandler(AiohttpDownloadHandler):
    """Downloads through aiohttp, whose connector gets all its addresses from our resolver."""

    # `resolver/extension.py` lets a crawl start only with handlers that say so.
    is_guarded = True
    # Scrapy would warn at every start.
    experimental = False
    # The first request opens the session: a crawl that is refused leaves none behind, and `scrapy shell`
    # has no loop yet when it creates its handlers.
    lazy = True

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
        seconds = crawler.settings.getfloat
        head = seconds("FETCH_FIRST_BYTE_TIMEOUT", 60.0)
        connector._factory = partial(StrictConnection, connector._loop, head)
        connect = seconds("FETCH_CONNECT_TIMEOUT", 10.0)
        connector.connect = partial(_connect, connector.connect, connect)
        # The scheduler limits the fetches, and does not count all that only wait.
        connector._limit = 0
        self._most_bytes = crawler.settings.getint("EXTRACT_MAX_BYTES") + 1
        # Another downloader may have none.
        self._memory = getattr(getattr(crawler.engine, "downloader", None), "memory", None)
        self._archives = crawler.settings.getbool("ARCHIVE")
        # aiohttp would at once ask again a server that hangs up; that is for the frontier to decide.
        self._session._retry_connection = False

    @staticmethod
    def _extract_headers(response: ClientResponse) -> Headers:
        """Return the headers as they came; what aiohttp decodes cannot be encoded again if it is not
        UTF-8."""
        headers = Headers()
        for name, value in response.raw_headers:
            dict.setdefault(headers, name.title(), []).append(value)
        return headers

    async def _read_response(self, response: Any, request: Request) -> Response:
        response.asked_by = request
        if not self._archives:
            return await super()._read_response(response, request)
        began = time() - request.meta["download_latency"]
        answer = await super()._read_response(response, request)
        request.meta["exchange"] = exchange_of(request, response, answer, began)
        return answer

    def _iter_body_chunks(self, response: Any) -> AsyncIterator[bytes]:  # type: ignore[override]
        """Yield the body up to its limit; a large one waits while there is too little memory."""
        if (response.content_length or _LARGE) < _LARGE:
            chunks: AsyncIterator[bytes] = response.content.iter_any()
            return chunks
        return self._some_chunks(response)

    async def _some_chunks(self, response: Any) -> AsyncIterator[bytes]:
        request = response.asked_by
        most = self._most_bytes if is_for_page(request.meta) else _NO_LIMIT
        size = 0
        async for chunk in response.content.iter_any():
            size += len(chunk)
            if size >= most:
                response.is_cut = True
                yield chunk[: len(chunk) - (size - most)]
                return
            if size > _LARGE and self._memory is not None:
                await self._memory.hold(request, size)
            yield chunk

    async def download_request(self, request: Request) -> Response:
        _check_target(request)
        try:
            return await super().download_request(request)
        except DownloadTimeoutError as error:
            if isinstance(error.__cause__, ConnectionTimeoutError):
                raise ConnectTimeoutError(f"No connection for {request.url} in time.") from error
            if isinstance(error.__cause__, SocketTimeoutError):
                raise FirstByteTimeoutError(f"No answer to {request.url} in time.") from error
            raise
        except DownloadConnectionRefusedError as error:  # as Scrapy calls a bad certificate
            if fault := certificate_fault(error):
                raise CertificateError(fault) from error
            raise


def _check_target(request: Request) -> None:
    """Raise ForbiddenAddressError if the URL of a request names a refused address.

    Its proxy may be anywhere: the user's environment or code has chosen it.
    """
    resolver = installed_resolver()
    resolver.check_target(*host_and_port(request.url))
    proxy = meta_of(request).get("proxy")
    resolver.uses_proxy = proxy is not None
    if proxy:
        resolver.trust_proxy(*host_and_port(add_http_if_no_scheme(proxy)))


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
    while len(idle) > _KEPT:
        for protocol, _ in idle.pop(next(iter(idle))):
            protocol.close()
