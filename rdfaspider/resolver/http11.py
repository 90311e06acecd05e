"""Scrapy's default download handler, behind the address guard and with an end to every head."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.core.downloader.handlers import http11
from scrapy.core.downloader.handlers.http11 import HTTP11DownloadHandler
from scrapy.exceptions import CannotResolveHostError
from twisted.web._newclient import ParseError

from rdfaspider.resolver.requests import check_request, host_and_port

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
        self._pool._factory = _Factory

    async def download_request(self, request: Request) -> Response:
        resolver = check_request(request)
        try:
            return await super().download_request(request)
        except CannotResolveHostError:
            # To Twisted a refused name is one without an address; say which it was.
            resolver.check_answer(*host_and_port(request.url))
            raise


class _Parser(http11._LenientHTTPClientParser):
    _head = 0

    def lineReceived(self, line: bytes) -> None:
        self._head += len(line)
        if self._head > MAX_HEAD:
            raise ParseError("The head of the answer does not end", line[:80])  # type: ignore[no-untyped-call]
        super().lineReceived(line)


class _Protocol(http11._LenientHTTP11ClientProtocol):
    def request(self, request: Any) -> Any:
        answer = super().request(request)
        assert self._parser is not None  # as in Scrapy, which exchanges the parser in the same way
        self._parser.__class__ = _Parser
        return answer


class _Factory(http11._LenientHTTP11ClientFactory):
    def buildProtocol(self, addr: IAddress | None) -> _Protocol:
        return _Protocol(self._quiescentCallback)  # type: ignore[no-untyped-call]
