"""Unpacks bodies: small ones at once, others in a thread, and only a few layers of encoding."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from scrapy import signals
from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.exceptions import IgnoreRequest

from rdfaspider.compat import private
from rdfaspider.fetchmeta import is_for_page
from rdfaspider.settings.defaults import completed

if TYPE_CHECKING:
    from collections.abc import Awaitable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    Unpacked = tuple[bytes, list[bytes]]

# One is usual; a proxy may add a second. Each may cost as much as the largest page.
_MOST_ENCODINGS = 3

# Bytes, packed or not, that are unpacked in the event loop, within a millisecond or so.
_SMALL = 256 * 1024

# They release Python's lock while they unpack. Each may need twice DOWNLOAD_MAXSIZE.
_THREADS = 2


class PackedTooOftenError(IgnoreRequest):
    """A body has more encodings than are unpacked."""

    problem = f"it is packed more than {_MOST_ENCODINGS} times"


class _Large(Exception):
    """A body is so large that a thread must unpack it."""


class CompressionMiddleware(HttpCompressionMiddleware):
    """Scrapy's middleware, with a limit to the encodings of a body; one with more is not read.

    No more of a page is passed on than is parsed.
    """

    def __init__(self, *, crawler: Crawler) -> None:
        super().__init__(crawler=crawler)
        private(super(), "_handle_encoding")
        self._most_read = completed(crawler.settings).getint("EXTRACT_MAX_BYTES") + 1
        self._largest = crawler.settings.getint("DOWNLOAD_MAXSIZE")
        self._threads = ThreadPoolExecutor(_THREADS, "unpack")
        # The result of a thread for the body that is being processed.
        self._unpacked: Unpacked | Exception | None = None
        crawler.signals.connect(self._close, signals.engine_stopped)

    def _close(self) -> None:
        self._threads.shutdown(wait=False)

    def process_response(  # type: ignore[override]  # without an argument that Scrapy has deprecated
        self, request: Request, response: Response
    ) -> Request | Response | Awaitable[Request | Response]:
        values: list[bytes] = dict.get(response.headers, b"Content-Encoding", [])
        if not values:
            return response
        if len(values) + sum(value.count(b",") for value in values) > _MOST_ENCODINGS:
            raise PackedTooOftenError
        try:
            return super().process_response(request, response)
        except _Large:
            return self._process_large(request, response, values)

    async def _process_large(
        self, request: Request, response: Response, encodings: list[bytes]
    ) -> Request | Response:
        max_size = request.meta.get("download_maxsize", self._largest)
        most = self._most_read if is_for_page(request.meta) else None
        unpack = super()._handle_encoding
        loop = asyncio.get_running_loop()
        unpacked: Unpacked | Exception
        try:
            body, kept = await loop.run_in_executor(
                self._threads, unpack, response.body, encodings, max_size
            )
            unpacked = body[:most], kept
        except Exception as error:
            # Its frames would keep all that was unpacked until the next garbage collection.
            unpacked = error.with_traceback(None)
        self._unpacked = unpacked
        try:
            return super().process_response(request, response)
        finally:
            self._unpacked = None
            del unpacked

    def _handle_encoding(
        self, body: bytes, content_encoding: list[bytes], max_size: int
    ) -> Unpacked:
        if isinstance(self._unpacked, Exception):
            raise self._unpacked
        if self._unpacked is not None:
            return self._unpacked
        if len(body) > _SMALL:
            raise _Large
        limit = min(max_size or _SMALL, _SMALL)
        try:
            return super()._handle_encoding(body, content_encoding, limit)
        except ValueError as error:  # it unpacks to more, or cannot be unpacked
            if limit == max_size or not hasattr(error, "decompressed_size"):
                raise
            raise _Large from None
