"""An answer whose head is there, as the download handler sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.http import Headers

from rdfaspider.downloader.capture import Line

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy import Request

    from rdfaspider.downloader.http1.answer import Answer, Head
    from rdfaspider.downloader.http1.connection import Connection
    from rdfaspider.downloader.http1.request import Wanted


class Reception:
    """The answer to a request, and the connection over which its body comes.

    `is_cut` tells that the body was cut at the limit of pages.
    """

    __slots__ = ("connection", "content_length", "head", "is_cut", "request", "wanted")

    def __init__(
        self, request: Request, wanted: Wanted, connection: Connection, answer: Answer
    ) -> None:
        assert answer.head is not None
        self.request = request
        self.wanted = wanted
        self.connection = connection
        self.head: Head = answer.head
        self.content_length = answer.length
        self.is_cut = False

    @property
    def headers(self) -> Headers:
        """Return the headers as they came; they need not be UTF-8."""
        headers = Headers()
        for name, value in self.head.headers:
            dict.setdefault(headers, name.title(), []).append(value)
        return headers

    @property
    def line(self) -> Line:
        """Return what the archive keeps of what went over the line."""
        head = self.head
        return Line(self.wanted.headers, head.version, head.reason, tuple(head.headers))

    async def pieces(self) -> AsyncIterator[bytes]:
        """Yield the body as it comes."""
        receive = self.connection.receive
        while piece := await receive():
            yield piece
