"""Scrapy's aiohttp download handler, behind the address guard, and with an end to idle connections.

aiohttp keeps a connection for up to half a minute in case its host is asked again. A crawl that comes to
hundreds of hosts a second would have ten thousand of them open and soon be out of files; so only those
used last are kept.
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

from rdfaspider.items import is_for_page
from rdfaspider.resolver.capture import exchange_of
from rdfaspider.resolver.certificates import CertificateError, certificate_fault
from rdfaspider.resolver.connection import Connection
from rdfaspider.resolver.requests import check_request
from rdfaspider.resolver.resolver import installed_resolver
from rdfaspider.resolver.timeouts import ConnectTimeoutError, FirstByteTimeoutError, Timeouts

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from aiohttp import ClientResponse
    from aiohttp.abc import ResolveResult
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from rdfaspider.resolver.resolver import Resolver

# Hosts to which connections are kept. A polite crawl comes back to a host after a second or more, so these
# serve hundreds of pages a second; of the files that a process may have open they take a quarter at most.
_KEPT = min(512, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)

# Bytes from which on a download counts among those that must not take too much memory together.
_LARGE = 64 * 1024
_NO_LIMIT = 1 << 62


class GuardedAiohttpDownloadHandler(AiohttpDownloadHandler):
    """Downloads through aiohttp, whose connector gets all its addresses from our resolver."""

    # Scrapy would warn at every start. Our tests of downloads run over this handler and over http11 alike.
    experimental = False
    # Opens its session with the first request: a crawl that is refused leaves none behind, and `scrapy
    # shell` has no loop yet when it makes its handlers.
    lazy = True

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        # aiohttp keeps literals from the resolver it can be given; this method sees both.
        connector: Any = self._session.connector
        for name in ("_resolve_host", "_release", "_factory", "connect"):
            if not callable(getattr(connector, name, None)):
                raise RuntimeError(
                    f"This version of aiohttp has no {name}, and so no place for a guard."
                )
        connector._resolve_host = _resolve_host
        connector._release = partial(_release, connector, connector._release)
        timeouts = Timeouts.of(crawler.settings)
        connector._factory = partial(Connection, connector._loop, timeouts.first_byte)
        connector.connect = partial(_connect, connector.connect, timeouts.connect)
        # How many fetches there are is decided by the scheduler, which does not count all that only wait.
        connector._limit = 0
        self._most_bytes = crawler.settings.getint("EXTRACT_MAX_BYTES") + 1
        # Our downloader has one; that of others may not.
        self._memory = getattr(getattr(crawler.engine, "downloader", None), "memory", None)
        self._archives = crawler.settings.getbool("ARCHIVE")
        # It would ask a server that hangs up once more at once; when to do so is for the frontier to say.
        self._session._retry_connection = False

    @staticmethod
    def _extract_headers(response: ClientResponse) -> Headers:
        """Return the headers as they came; Scrapy cannot take those back that aiohttp made text of
        though they are not UTF-8."""
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
        """Yield what is read of a page, and hold up a large one while there is too little memory for it."""
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
        check_request(request)
        try:
            return await super().download_request(request)
        except DownloadTimeoutError as error:
            if isinstance(error.__cause__, ConnectionTimeoutError):
                raise ConnectTimeoutError(f"No connection for {request.url} in time.") from error
            if isinstance(error.__cause__, SocketTimeoutError):
                raise FirstByteTimeoutError(f"No answer to {request.url} in time.") from error
            raise
        except DownloadConnectionRefusedError as error:  # which is how Scrapy calls it
            if fault := certificate_fault(error):
                raise CertificateError(fault) from error
            raise


async def _connect(connect: Any, seconds: float, request: Any, traces: Any, timeout: Any) -> Any:
    """Find a host and connect to it within so many seconds."""
    return await connect(request, traces, _connecting(timeout.total, seconds))


@lru_cache(16)
def _connecting(total: float | None, seconds: float) -> ClientTimeout:
    return ClientTimeout(total=total, connect=seconds)


async def _resolve_host(host: str, port: int, traces: object = None) -> list[ResolveResult]:
    return await resolved(installed_resolver(), host, port)


async def resolved(resolver: Resolver, host: str, port: int) -> list[ResolveResult]:
    """Return the addresses that a host may be connected to at, as aiohttp wants them."""
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
    connector: Any, release: Any, key: object, connection: Connection, **options: Any
) -> None:
    """Keep a connection that is no longer used, but let go of those unused for longest."""
    connection.keep()
    release(key, connection, **options)
    idle = connector._conns  # a host goes to the end when it was used
    while len(idle) > _KEPT:
        for protocol, _ in idle.pop(next(iter(idle))):
            protocol.close()
