"""What our download handlers share: the check of a target, the limits of size and memory, the archive."""

from __future__ import annotations

import resource
from abc import abstractmethod
from time import time
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from scrapy.core.downloader.handlers._base_streaming import BaseStreamingDownloadHandler
from scrapy.exceptions import DownloadConnectionRefusedError
from scrapy.http import Headers
from scrapy.utils.url import add_http_if_no_scheme

from rdfaspider.downloader.capture import exchange_of
from rdfaspider.downloader.failures import CertificateError, certificate_fault
from rdfaspider.fetchmeta import is_for_page, meta_of
from rdfaspider.resolver import installed_resolver
from rdfaspider.urls.hosts import host_and_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from rdfaspider.downloader.capture import Line

# Connections that are kept. A polite crawl comes back to a host after a second or more, so this is enough
# for hundreds of pages per second. They take at most a quarter of the files that may be open.
MOST_KEPT = min(512, resource.getrlimit(resource.RLIMIT_NOFILE)[0] // 4)

# A download with more bytes than this counts as large: all large ones share a memory budget.
_LARGE = 64 * 1024
_NO_LIMIT = 1 << 62


class Received(Protocol):
    """An answer whose head is there, as a client gives it."""

    # Set by the handler: the request, and whether the body was cut at its limit.
    asked_by: Request
    is_cut: bool

    @property
    def content_length(self) -> int | None: ...

    @property
    def raw_headers(self) -> Iterable[tuple[bytes, bytes]]: ...


ReceivedT = TypeVar("ReceivedT", bound=Received)


class GuardedDownloadHandler(BaseStreamingDownloadHandler[ReceivedT]):
    """A download handler whose client gets all its addresses from our resolver."""

    # `resolver/extension.py` lets a crawl start only with handlers that say so.
    is_guarded = True
    # Scrapy would warn at every start.
    experimental = False
    # The first request opens the client: a crawl that is refused leaves none behind, and `scrapy shell` has
    # no loop yet when it creates its handlers.
    lazy = True

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        settings = crawler.settings
        self._head_seconds = settings.getfloat("FETCH_FIRST_BYTE_TIMEOUT", 60.0)
        self._connect_seconds = settings.getfloat("FETCH_CONNECT_TIMEOUT", 10.0)
        self._most_bytes = settings.getint("EXTRACT_MAX_BYTES") + 1
        # Another downloader may have none.
        self._memory = getattr(getattr(crawler.engine, "downloader", None), "memory", None)
        self._archives = settings.getbool("ARCHIVE")

    @abstractmethod
    def _pieces(self, response: ReceivedT) -> AsyncIterator[bytes]:
        """Yield the body as it comes."""

    @abstractmethod
    def _line(self, response: ReceivedT) -> Line:
        """Return what the archive keeps of what went over the line."""

    @staticmethod
    def _extract_headers(response: Any) -> Headers:
        """Return the headers as they came; what a client decodes cannot be encoded again if it is not
        UTF-8."""
        headers = Headers()
        for name, value in response.raw_headers:
            dict.setdefault(headers, name.title(), []).append(value)
        return headers

    async def _read_response(self, response: ReceivedT, request: Request) -> Response:
        response.asked_by = request
        response.is_cut = False
        if not self._archives:
            return await super()._read_response(response, request)
        began = time() - request.meta["download_latency"]
        answer = await super()._read_response(response, request)
        line = self._line(response)
        request.meta["exchange"] = exchange_of(request, line, answer, began, response.is_cut)
        return answer

    def _iter_body_chunks(  # type: ignore[override]  # a method here, a static one in Scrapy
        self, response: ReceivedT
    ) -> AsyncIterator[bytes]:
        """Yield the body up to its limit; a large one waits while there is too little memory."""
        if (response.content_length or _LARGE) < _LARGE:
            return self._pieces(response)
        return self._some_pieces(response)

    async def _some_pieces(self, response: ReceivedT) -> AsyncIterator[bytes]:
        request = response.asked_by
        most = self._most_bytes if is_for_page(request.meta) else _NO_LIMIT
        size = 0
        async for piece in self._pieces(response):
            size += len(piece)
            if size >= most:
                response.is_cut = True
                yield piece[: len(piece) - (size - most)]
                return
            if size > _LARGE and self._memory is not None:
                await self._memory.hold(request, size)
            yield piece

    async def download_request(self, request: Request) -> Response:
        _check_target(request)
        try:
            return await super().download_request(request)
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
