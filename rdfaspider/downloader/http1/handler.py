"""The download handler over our own client of HTTP/1."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from scrapy import signals
from scrapy.exceptions import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadTimeoutError,
)
from scrapy.http import Response
from scrapy.responsetypes import responsetypes
from scrapy.utils._download_handlers import check_stop_download, make_response
from scrapy.utils.ssl import _log_sslobj_debug_info, _make_ssl_context

from rdfaspider.downloader.capture import Line
from rdfaspider.downloader.failures import ConnectTimeoutError, FirstByteTimeoutError
from rdfaspider.downloader.guarded import MOST_KEPT, GuardedDownloadHandler
from rdfaspider.downloader.http1.connection import CutShort
from rdfaspider.downloader.http1.pool import NoAddress, Pool, Unreachable
from rdfaspider.downloader.http1.request import wanted
from rdfaspider.signals import is_heard

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.exceptions import StopDownload
    from scrapy.http import Headers

    from rdfaspider.downloader.http1.answer import Answer, Head
    from rdfaspider.downloader.http1.connection import Connection
    from rdfaspider.downloader.http1.request import Place, Wanted


# Bytes of a body that is taken at once if it is there.
_SMALL = 64 * 1024


@lru_cache(maxsize=256)
def _kind_of(content_type: bytes) -> type[Response] | None:
    """Return the class of responses of a media type; None if Scrapy looks at more than that."""
    kind = responsetypes.from_content_type(content_type)
    return None if kind is Response else kind


class Reception:
    """An answer whose head is there, and the connection over which its body comes."""

    __slots__ = ("asked_by", "connection", "content_length", "head", "is_cut", "wanted")

    asked_by: Request
    is_cut: bool

    def __init__(self, wanted: Wanted, connection: Connection, answer: Answer) -> None:
        assert answer.head is not None
        self.wanted = wanted
        self.connection = connection
        self.head: Head = answer.head
        self.content_length = answer.length

    @property
    def raw_headers(self) -> list[tuple[bytes, bytes]]:
        return self.head.headers


class GuardedHttpDownloadHandler(GuardedDownloadHandler[Reception]):
    """Downloads over connections of our own, to addresses of our resolver."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        address = settings.get("DOWNLOAD_BIND_ADDRESS")
        self._loop = asyncio.get_running_loop()
        self._pool = Pool(
            _make_ssl_context(settings),
            most=MOST_KEPT,
            local_address=(address, 0) if isinstance(address, str) else address,
        )

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
            yield Reception(asked, connection, answer)
        except FirstByteTimeoutError:
            raise FirstByteTimeoutError(f"No answer to {request.url} in time.") from None
        except DownloadTimeoutError:
            raise DownloadTimeoutError(
                f"Getting {request.url} took longer than {timeout} seconds."
            ) from None
        finally:
            if connection.finish():
                self._pool.keep(connection)

    async def _read_response(self, response: Reception, request: Request) -> Response:
        """Take an answer that has come at once, as small ones do, without the steps for pieces of a body."""
        if self._archives or self._tls_verbose_logging:
            return await super()._read_response(response, request)
        meta = request.meta
        most = min(
            _SMALL,
            self._most_bytes,
            meta.get("download_maxsize", self._default_maxsize) or _SMALL,
            meta.get("download_warnsize", self._default_warnsize) or _SMALL,
        )
        length = response.content_length  # of what HEAD was asked for, too
        if (length or 0) > most or (body := response.connection.take_whole(most)) is None:
            return await super()._read_response(response, request)
        headers = self._extract_headers(response)
        arguments = self._build_base_response_args(response, request, headers)
        if stop := self._tell(
            signals.headers_received, request, headers=headers, body_length=length
        ):
            return make_response(**arguments, stop_download=stop)
        if body and (stop := self._tell(signals.bytes_received, request, data=body)):
            return make_response(**arguments, body=body, stop_download=stop)
        kind = self._kind(headers) or responsetypes.from_args(
            headers=headers, url=request.url, body=body
        )
        # Given as an argument they would be copied, and written anew one by one.
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

    def _log_tls_info(self, response: Reception, request: Request) -> None:
        if (tls := response.connection.info("ssl_object")) is not None:
            _log_sslobj_debug_info(tls)

    async def _pieces(self, response: Reception) -> AsyncIterator[bytes]:
        receive = response.connection.receive
        while piece := await receive():
            yield piece

    def _line(self, response: Reception) -> Line:
        head = response.head
        return Line(response.wanted.headers, head.version, head.reason, tuple(head.headers))

    @staticmethod
    def _is_dataloss_exception(exc: Exception) -> bool:
        return isinstance(exc, CutShort)

    async def close(self) -> None:
        self._pool.close()
