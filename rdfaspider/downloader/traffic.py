"""Counts what is sent and received."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING

from scrapy.utils.python import global_object_name
from twisted.web.http import RESPONSES

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response
    from scrapy.statscollectors import StatsCollector

# Octets of the request line, the Host header and the empty line, without method, path and host.
_REQUEST_LINES = len("  HTTP/1.1\r\nHost: \r\n\r\n")


@cache
def _status_size(status: int) -> int:
    """Return the octets of a status line and the empty line, as Scrapy counts them."""
    return len(RESPONSES.get(status, b"")) + 17


class Traffic:
    """What was sent and received.

    Scrapy's middleware changes six stats for each page, which takes ten times as long as these plain numbers,
    reported once a second. Sizes are computed as in Scrapy, bodies as received.
    """

    def __init__(self) -> None:
        self._methods: Counter[str] = Counter()
        self._statuses: Counter[int] = Counter()
        self._errors: Counter[type] = Counter()
        self._sent = 0
        self._received = 0
        self.bodies = 0  # bytes

    def asked(self, request: Request) -> None:
        method, url = request.method, request.url
        self._methods[method] += 1
        # All of a URL except its scheme is sent: the host in its header, the rest in the first line.
        scheme = 8 if url.startswith("https") else 7
        self._sent += len(method) + len(url) - scheme + _REQUEST_LINES + len(request.body)
        for name, values in dict.items(request.headers):
            for value in values:
                self._sent += len(name) + len(value) + 4

    def answered(self, response: Response) -> None:
        status, headers = response.status, response.headers
        self._statuses[status] += 1
        self.bodies += len(response.body)
        size = len(response.body) + 2 * len(headers) + _status_size(status)
        for name, values in dict.items(headers):
            for value in values:
                size += len(name) + len(value) + 2
        self._received += size

    def failed(self, error: Exception) -> None:
        self._errors[type(error)] += 1

    def report(self, stats: StatsCollector) -> None:
        put = stats.set_value
        put("downloader/request_count", self._methods.total())
        put("downloader/request_bytes", self._sent)
        for method, count in self._methods.items():
            put(f"downloader/request_method_count/{method}", count)
        put("downloader/response_count", self._statuses.total())
        put("downloader/response_bytes", self._received)
        for status, count in self._statuses.items():
            put(f"downloader/response_status_count/{status}", count)
        if self._errors:
            put("downloader/exception_count", self._errors.total())
        for kind, count in self._errors.items():
            put(f"downloader/exception_type_count/{global_object_name(kind)}", count)
