"""Scrapy's default download handler, behind the address guard and with an end to every head."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn
from weakref import WeakKeyDictionary

from scrapy import signals
from scrapy.core.downloader.handlers import http11
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.exceptions import CannotResolveHostError, DownloadFailedError, StopDownload
from twisted.web._newclient import ParseError

from rdfaspider.items import is_for_page
from rdfaspider.resolver.certificates import CertificateError, certificate_fault
from rdfaspider.resolver.requests import check_request, host_and_port
from rdfaspider.resolver.timeouts import ConnectTimeoutError, FirstByteTimeoutError, Timeouts

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from twisted.internet.interfaces import IAddress

# Octets of the head of an answer, as in browsers. Twisted limits a line and not their number.
MAX_HEAD = 256 * 1024


class GuardedHTTP11DownloadHandler(HTTP11DownloadHandler):
    """Downloads through Twisted, which asks the reactor's resolver for every host, literals too."""

    def __init__(self, crawler: Crawler) -> None:
        super().__init__(crawler)
        timeouts = Timeouts.of(crawler.settings)
        pool: Any = self._pool
        pool._factory = partial(_Factory, patience=timeouts.first_byte)
        pool.getConnection = partial(_connected, pool.getConnection, timeouts.connect)
        self._most_bytes = crawler.settings.getint("EXTRACT_MAX_BYTES") + 1
        self._sizes: WeakKeyDictionary[Request, int] = WeakKeyDictionary()
        crawler.signals.connect(self._received, signals.bytes_received)

    def _received(self, data: bytes, request: Request) -> None:
        """End the download of a page when there is as much as is read of it."""
        size = self._sizes[request] = self._sizes.get(request, 0) + len(data)
        if size >= self._most_bytes and is_for_page(request.meta):
            raise StopDownload(fail=False)

    async def download_request(self, request: Request) -> Response:
        resolver = check_request(request)
        try:
            return await super().download_request(request)
        except CannotResolveHostError:
            # To Twisted a refused name is one without an address; say which it was.
            resolver.check_answer(*host_and_port(request.url))
            raise
        except DownloadFailedError as error:
            if fault := certificate_fault(error):
                raise CertificateError(fault) from error
            raise


def _connected(connect: Any, seconds: float, key: object, endpoint: object) -> Any:
    """Find a host and connect to it within so many seconds."""
    return _within(seconds, connect(key, endpoint), ConnectTimeoutError)


def _within(seconds: float, result: Any, error: type[Exception]) -> Any:
    from twisted.internet import reactor

    def fail(_: object, seconds: float) -> NoReturn:
        raise error(f"Nothing within {seconds:g} seconds.")

    return result.addTimeout(seconds, reactor, fail)


class _Parser(http11._LenientHTTPClientParser):
    _head = 0

    def lineReceived(self, line: bytes) -> None:
        self._head += len(line)
        if self._head > MAX_HEAD:
            raise ParseError("The head of the answer does not end", line[:80])  # type: ignore[no-untyped-call]
        super().lineReceived(line)


class _Protocol(http11._LenientHTTP11ClientProtocol):
    patience = 0.0

    def request(self, request: Any) -> Any:
        answer = _within(self.patience, super().request(request), FirstByteTimeoutError)
        assert self._parser is not None  # as in Scrapy, which exchanges the parser in the same way
        self._parser.__class__ = _Parser
        return answer


class _Factory(http11._LenientHTTP11ClientFactory):
    def __init__(self, *arguments: Any, patience: float) -> None:
        super().__init__(*arguments)  # type: ignore[no-untyped-call]
        self.patience = patience

    def buildProtocol(self, addr: IAddress | None) -> _Protocol:
        protocol = _Protocol(self._quiescentCallback)  # type: ignore[no-untyped-call]
        protocol.patience = self.patience
        return protocol
