"""Gives each request the headers of DEFAULT_REQUEST_HEADERS."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from scrapy.http.headers import Headers
from scrapy.utils.python import without_none_values

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler


class DefaultHeadersMiddleware:
    """Does what Scrapy's does, but writes the names and values once and not for each request."""

    def __init__(self, headers: Headers) -> None:
        self._headers: list[tuple[bytes, list[bytes]]] = [*dict.items(headers)]

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(Headers(without_none_values(crawler.settings["DEFAULT_REQUEST_HEADERS"])))

    def process_request(self, request: Request) -> None:
        headers = request.headers
        for name, values in self._headers:
            if not dict.__contains__(headers, name):
                dict.__setitem__(headers, name, values.copy())
