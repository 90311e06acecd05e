"""The download handler over our own client of HTTP/1: the check of a target, the limits, the archive."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import lru_cache
from time import time
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.core.downloader.handlers._base_streaming import BaseStreamingDownloadHandler
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadTimeoutError,
)
from scrapy.http import Response
from scrapy.responsetypes import responsetypes
from scrapy.utils._download_handlers import check_stop_download, make_response
from scrapy.utils.ssl import _log_sslobj_debug_info, _make_ssl_context

from rdfaspider.downloader.capture import exchange_of
from rdfaspider.downloader.failures import (
    CertificateError,
    ConnectTimeoutError,
    FirstByteTimeoutError,
    certificate_fault,
)
from rdfaspider.downloader.http1.connection import CutShort
from rdfaspider.downloader.http1.pool import NoAddress, Pool, Unreachable
from rdfaspider.downloader.http1.reception import Reception
from rdfaspider.downloader.http1.request import wanted
from rdfaspider.fetchmeta import is_for_page, meta_of
from rdfaspider.resolver import installed_resolver
from rdfaspider.signals import is_heard
from rdfaspider.urls.hosts import host_and_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.exceptions import StopDownload
    from scrapy.http import Headers

    from rdfaspider.downloader.http1.connection import Connection
    from rdfaspider.downloader.http1.request import Place

# A body of more bytes than this counts as large: all large ones share a memory budget. A smaller one is taken
# at once if it is there.
_LARGE = 64 * 1024
_NO_LIMIT = 1 << 62


@lru_cache(maxsize=256)
def _kind_of(content_type: bytes) -> type[Response] | None:
    """Return the class of responses of a media type; None if Scrapy looks at more than that."""
    kind = responsetypes.from_content_type(content_type)
    return None if kind is Response else kind


class GuardedHttpDownloadHandler(BaseStreamingDownloadHandler[Reception]):
    """Downloads over connections of our own, to addresses of our resolver."""

    # `resolver/extension.py` lets a crawl start only with handlers that say so.
    is_guarded = True
    # The first request opens the client: a crawl that is refused leaves none behind, and `scrapy shell` has
    # no loop yet when it creates its handlers.
    lazy = True

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        address = settings.get("DOWNLOAD_BIND_ADDRESS")
        self._head_seconds = settings.getfloat("FETCH_FIRST_BYTE_TIMEOUT", 60.0)
        self._connect_seconds = settings.getfloat("FETCH_CONNECT_TIMEOUT", 10.0)
        self._most_bytes = settings.getint("EXTRACT_MAX_BYTES") + 1
        # Another downloader may have none.
        self._memory = getattr(getattr(crawler.engine, "downloader", None), "memory", None)
        self._archives = settings.getbool("ARCHIVE")
        self._loop = asyncio.get_running_loop()
        self._pool = Pool(
            _make_ssl_context(settings),
            local_address=(address, 0) if isinstance(address, str) else address,
        )

    async def download_request(self, request: Request) -> Response:
        _check_target(request)
        try:
            return await super().download_request(request)
        except DownloadConnectionRefusedError as error:  # as Scrapy calls a bad certificate
            if fault := certificate_fault(error):
                raise CertificateError(fault) from error
            raise

    @asynccontextmanager
    async def _make_request(self, request: Request, timeout: float) -> AsyncIterator[Reception]:
        asked = wanted(request)
        deadline = self._loop.time() + timeout
        connection = self._pool.take(asked.place)
        if connection is None:
            connection = await self._connect(asked.place, request, timeout)
        try:
            connection.ask(asked, self._head_seconds, deadline)
            answer = await connection.receive_head()
            yield Reception(request, asked, connection, answer)
        except FirstByteTimeoutError:
            raise FirstByteTimeoutError(f"No answer to {request.url} in time.") from None
        except DownloadTimeoutError:
            raise DownloadTimeoutError(
                f"Getting {request.url} took longer than {timeout} seconds."
            ) from None
        finally:
            if connection.finish():
                self._pool.keep(connection)

    async def _connect(self, place: Place, request: Request, timeout: float) -> Connection:
        """Find a host and connect to it in time."""
        try:
            async with asyncio.timeout(min(timeout, self._connect_seconds)):
                return await self._pool.connect(place)
        except TimeoutError:
            if timeout < self._connect_seconds:
                raise DownloadTimeoutError(
                    f"Getting {request.url} took longer than {timeout} seconds."
                ) from None
            raise ConnectTimeoutError(f"No connection for {request.url} in time.") from None
        except NoAddress as error:
            raise CannotResolveHostError(str(error)) from error
        except Unreachable as error:
            raise DownloadConnectionRefusedError(str(error)) from error

    async def _read_response(self, response: Reception, request: Request) -> Response:
        if self._archives:
            began = time() - request.meta["download_latency"]
            answer = await super()._read_response(response, request)
            exchange = exchange_of(request, response.line, answer, began, response.is_cut)
            request.meta["exchange"] = exchange
            return answer
        if self._tls_verbose_logging or (body := self._small_body(response)) is None:
            return await super()._read_response(response, request)
        return self._at_once(response, request, body)

    def _small_body(self, response: Reception) -> bytes | None:
        """Return a body that has come at once, as small ones do; None if there is more to check."""
        meta = response.request.meta
        most = min(
            _LARGE,
            self._most_bytes,
            meta.get("download_maxsize", self._default_maxsize) or _LARGE,
            meta.get("download_warnsize", self._default_warnsize) or _LARGE,
        )
        # The length may be that of a body that does not come, if HEAD was asked.
        if (response.content_length or 0) > most:
            return None
        return response.connection.take_whole(most)

    def _at_once(self, response: Reception, request: Request, body: bytes) -> Response:
        """Return a response without the steps that Scrapy takes for pieces of a body."""
        headers = response.headers
        arguments = self._build_base_response_args(response, request, headers)
        length = response.content_length
        if stop := self._tell(
            signals.headers_received, request, headers=headers, body_length=length
        ):
            return make_response(**arguments, stop_download=stop)
        if body and (stop := self._tell(signals.bytes_received, request, data=body)):
            return make_response(**arguments, body=body, stop_download=stop)
        kind = self._kind(headers) or responsetypes.from_args(
            headers=headers, url=request.url, body=body
        )
        # Given as an argument they would be copied, and each normalised once more.
        del arguments["headers"]
        answer = kind(**arguments, body=body)
        answer.headers = headers
        return answer

    def _kind(self, headers: Headers) -> type[Response] | None:
        """Return the class of a response if its media type alone says it, as it mostly does."""
        values = dict.get(headers, b"Content-Type")
        if not values or dict.__contains__(headers, b"Content-Encoding"):
            return None
        return _kind_of(values[-1])

    def _tell(self, signal: object, request: Request, **what: Any) -> StopDownload | None:
        if not is_heard(self.crawler.signals.sender, signal):
            return None
        return check_stop_download(signal, self.crawler, request, **what)

    def _iter_body_chunks(  # type: ignore[override]  # a method here, a static one in Scrapy
        self, response: Reception
    ) -> AsyncIterator[bytes]:
        """Yield the body up to its limit; a large one waits while there is too little memory."""
        if (response.content_length or _LARGE) < _LARGE:
            return response.pieces()
        return self._some_pieces(response)

    async def _some_pieces(self, response: Reception) -> AsyncIterator[bytes]:
        request = response.request
        most = self._most_bytes if is_for_page(request.meta) else _NO_LIMIT
        size = 0
        async for piece in response.pieces():
            size += len(piece)
            if size >= most:
                response.is_cut = True
                yield piece[: len(piece) - (size - most)]
                return
            if size > _LARGE and self._memory is not None:
                await self._memory.hold(request, size)
            yield piece

    @staticmethod
    def _extract_headers(response: Reception) -> Headers:
        return response.headers

    @staticmethod
    def _build_base_response_args(response: Reception, request: Request, headers: Headers) -> Any:
        return {
            "status": response.head.status,
            "url": request.url,
            "headers": headers,
            "certificate": response.connection.certificate,
            "ip_address": response.connection.address,
            "protocol": f"HTTP/{response.head.version}",
        }

    @staticmethod
    def _is_dataloss_exception(exc: Exception) -> bool:
        return isinstance(exc, CutShort)

    def _log_tls_info(self, response: Reception, request: Request) -> None:
        if (tls := response.connection.info("ssl_object")) is not None:
            _log_sslobj_debug_info(tls)

    async def close(self) -> None:
        self._pool.close()


def _check_target(request: Request) -> None:
    """Raise ForbiddenAddressError if the URL of a request names a refused address."""
    resolver = installed_resolver()
    resolver.check_target(*host_and_port(request.url))
    resolver.uses_proxy = meta_of(request).get("proxy") is not None
