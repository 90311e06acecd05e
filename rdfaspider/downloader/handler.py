"""The download handler: the check of a target, the limits, the archive."""

from __future__ import annotations

import asyncio
from functools import lru_cache
from logging import getLogger
from time import time
from typing import TYPE_CHECKING, Any

import pycurl  # type: ignore[import-untyped]
from scrapy import signals
from scrapy.exceptions import StopDownload
from scrapy.http import Headers, Response
from scrapy.responsetypes import responsetypes
from twisted.python.failure import Failure

from rdfaspider.archive.exchange import Exchange
from rdfaspider.compat import DownloadCancelledError, ResponseDataLossError
from rdfaspider.downloader.client import Client, tls_options
from rdfaspider.downloader.failures import CutShort
from rdfaspider.downloader.request import wanted
from rdfaspider.downloader.transfer import Enough, Timeouts, Transfer
from rdfaspider.fetchmeta import is_for_page, meta_of
from rdfaspider.resolver import installed_resolver
from rdfaspider.signals import is_heard
from rdfaspider.urls import without_userinfo
from rdfaspider.urls.hosts import host_and_port

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

    from rdfaspider.archive.exchange import Truncation
    from rdfaspider.downloader.memory import DownloadMemory
    from rdfaspider.downloader.request import Wanted
    from rdfaspider.downloader.transfer import Head
    from rdfaspider.resolver import Resolver

logger = getLogger(__name__)

# A body of more bytes than this counts as large: all large ones share a memory budget.
_LARGE = 64 * 1024
_NO_LIMIT = 1 << 62


@lru_cache(maxsize=256)
def _kind_of(content_type: bytes) -> type[Response] | None:
    """Return the class of responses of a media type; None if Scrapy looks at more than that."""
    kind = responsetypes.from_content_type(content_type)
    return None if kind is Response else kind


class GuardedHttpDownloadHandler:
    """Downloads by libcurl, from addresses of our resolver."""

    # `resolver/extension.py` lets a crawl start only with handlers that say so.
    is_guarded = True
    # The first request opens the client: a crawl that is refused leaves none behind, and `scrapy shell` has
    # no loop yet when it creates its handlers.
    lazy = True

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        settings = crawler.settings
        self.connect_seconds = settings.getfloat("FETCH_CONNECT_TIMEOUT", 10.0)
        self.head_seconds = settings.getfloat("FETCH_FIRST_BYTE_TIMEOUT", 60.0)
        self.whole_seconds = settings.getfloat("DOWNLOAD_TIMEOUT")
        self.largest_page = settings.getint("EXTRACT_MAX_BYTES") + 1
        self.largest = settings.getint("DOWNLOAD_MAXSIZE")
        self.large = settings.getint("DOWNLOAD_WARNSIZE")
        self.fails_on_loss = settings.getbool("DOWNLOAD_FAIL_ON_DATALOSS")
        self.archives = settings.getbool("ARCHIVE")
        self.reads_all = True  # also the bodies of redirects and errors
        self.resolver: Resolver | None = None  # that of the reactor when there is a request
        # Another downloader may have none.
        self.memory: DownloadMemory | None = getattr(
            getattr(crawler.engine, "downloader", None), "memory", None
        )
        options = tls_options(
            verify=settings.getbool("DOWNLOAD_VERIFY_CERTIFICATES"),
            ciphers=settings.get("DOWNLOADER_CLIENT_TLS_CIPHERS") or "",
            minimum=settings.get("DOWNLOAD_TLS_MIN_VERSION") or "",
            maximum=settings.get("DOWNLOAD_TLS_MAX_VERSION") or "",
        )
        if address := settings.get("DOWNLOAD_BIND_ADDRESS"):
            host, port = (address, 0) if isinstance(address, str) else address
            options |= {pycurl.INTERFACE: f"host!{host}", pycurl.LOCALPORT: port}
        options[pycurl.CONNECTTIMEOUT_MS] = int(self.connect_seconds * 1000)
        self._client = Client(options)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> GuardedHttpDownloadHandler:
        return cls(crawler)

    async def download_request(self, request: Request) -> Response:
        if (resolver := self.resolver) is None:
            self.resolver = resolver = installed_resolver()
        resolver.uses_proxy = meta_of(request).get("proxy") is not None
        if resolver.uses_proxy:  # else its addresses are checked when they are looked up
            resolver.check_target(*host_and_port(request.url))
        asked = wanted(request)
        timeouts = Timeouts(
            self.connect_seconds,
            self.head_seconds,
            request.meta.get("download_timeout", self.whole_seconds),
        )
        download = _Download(self, request, asked, timeouts)
        await download.look_up(resolver)
        flags: list[str] = []
        try:
            await self._client.carry_out(download)
        except CutShort as error:
            if request.meta.get("download_fail_on_dataloss", self.fails_on_loss):
                raise ResponseDataLossError(str(error)) from error
            flags.append("dataloss")
        finally:
            download.release()
        return download.response(flags)

    async def close(self) -> None:
        self._client.close()


class _Download(Transfer):
    """A transfer for Scrapy."""

    def __init__(
        self,
        handler: GuardedHttpDownloadHandler,
        request: Request,
        asked: Wanted,
        timeouts: Timeouts,
    ) -> None:
        super().__init__(asked, timeouts)
        self._handler = handler
        self._request = request
        self._headers = Headers()
        self._began_at = time()
        self._stop: StopDownload | None = None
        self._is_cut = False
        self._holding: asyncio.Task[None] | None = None
        self._most = handler.largest_page if is_for_page(request.meta) else _NO_LIMIT
        self._largest = request.meta.get("download_maxsize", handler.largest) or _NO_LIMIT
        self._large = request.meta.get("download_warnsize", handler.large) or _NO_LIMIT

    def head_came(self) -> None:
        assert self.head is not None
        self._request.meta["download_latency"] = self._loop.time() - self._began
        for name, value in self.head.headers:
            dict.setdefault(self._headers, name.title(), []).append(value)
        lengths = dict.get(self._headers, b"Content-Length", ())
        length = int(lengths[-1][:18]) if lengths and lengths[-1].isdigit() else None
        self._check_size(length or 0, "announces")
        self._tell(signals.headers_received, headers=self._headers, body_length=length)
        if self.head.status >= 300 and not self._handler.reads_all:
            raise Enough

    def piece_came(self, piece: bytes) -> Any:
        size = self.size + len(piece)
        if size >= self._most:
            piece, self._is_cut = piece[: len(piece) - (size - self._most)], True
        elif size > _LARGE and self._must_wait(size):
            return pycurl.WRITEFUNC_PAUSE
        super().piece_came(piece)
        self._tell(signals.bytes_received, data=piece)
        self._check_size(self.size, "has")
        if self._is_cut:
            raise Enough
        return None

    def response(self, flags: list[str]) -> Response:
        """Return the answer for Scrapy, and note the exchange for the archive."""
        head, request = self.head, self._request
        assert head is not None
        body = b"".join(self.body)
        kind = self._kind() or responsetypes.from_args(
            headers=self._headers, url=request.url, body=body
        )
        response = kind(
            request.url,
            head.status,
            body=body,
            flags=flags,
            ip_address=self.address,
            protocol=f"HTTP/{head.version}",
        )
        # Given as an argument they would be copied, and each normalised once more.
        response.headers = self._headers
        if self._stop is not None:
            response.flags.append("download_stopped")
        if self._handler.archives:
            request.meta["exchange"] = self._exchange(head, response)
        if self._stop is not None and self._stop.fail:
            self._stop.response = response
            raise self._stop
        return response

    def _exchange(self, head: Head, response: Response) -> Exchange:
        """Return what went over the line, for the archive, without passwords: of the URL, or in a form."""
        truncation: Truncation = "unspecified" if self._stop is not None else ""
        if self._is_cut:
            truncation = "length"
        elif "dataloss" in response.flags:
            truncation = "disconnect"
        return Exchange(
            url=without_userinfo(self._request.url),
            method=self._request.method,
            asked=self.wanted.headers,
            sent=b"",
            version=head.version,
            status=head.status,
            reason=head.reason,
            headers=tuple(head.headers),
            body=response.body,
            address="" if self._request.meta.get("proxy") else str(self.address),
            began=self._began_at,
            seconds=time() - self._began_at,
            truncated=truncation,
        )

    def release(self) -> None:
        """Stop waiting for memory."""
        if self._holding is not None:
            self._holding.cancel()

    def _kind(self) -> type[Response] | None:
        """Return the class of a response if its media type alone says it, as it mostly does."""
        values = dict.get(self._headers, b"Content-Type")
        if not values or dict.__contains__(self._headers, b"Content-Encoding"):
            return None
        return _kind_of(values[-1])

    def _tell(self, signal: object, **what: Any) -> None:
        """Send a signal; raise Enough if who hears it stops the download."""
        crawler = self._handler.crawler
        if not is_heard(crawler.signals.sender, signal):
            return
        for _, result in crawler.signals.send_catch_log(
            signal=signal, request=self._request, spider=crawler.spider, **what
        ):
            if isinstance(result, Failure) and isinstance(result.value, StopDownload):
                self._stop = result.value
                raise Enough

    def _check_size(self, size: int, verb: str) -> None:
        if size > self._largest:
            message = f"{self._request} {verb} {size} bytes, more than {self._largest}."
            logger.warning(message)
            raise DownloadCancelledError(message)
        if size > self._large:
            logger.warning("%s %s %d bytes, which is large.", self._request, verb, size)
            self._large = _NO_LIMIT

    def _must_wait(self, size: int) -> bool:
        """Return whether there is too little memory for a body of a size; it goes on when there is enough."""
        memory = self._handler.memory
        if memory is None or memory.admits(self._request, size):
            return False
        self._holding = asyncio.ensure_future(self._hold(memory, size))
        return True

    async def _hold(self, memory: DownloadMemory, size: int) -> None:
        try:
            await memory.hold(self._request, size)
        except Exception as error:
            self.fail(error)
        else:
            self.go_on()
