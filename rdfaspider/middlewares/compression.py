"""Unpacks bodies, but not as often as a server likes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.downloadermiddlewares.httpcompression import HttpCompressionMiddleware
from scrapy.exceptions import IgnoreRequest

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response

# One is usual, two come from a proxy that packs again. Each may cost as much as the largest page.
_MOST_ENCODINGS = 3


class CompressionMiddleware(HttpCompressionMiddleware):
    """Scrapy's, with a limit to how many encodings are stacked; a body with more is not read."""

    def process_response(  # type: ignore[override]  # without the argument that Scrapy has given up
        self, request: Request, response: Response
    ) -> Request | Response:
        values = response.headers.getlist("Content-Encoding")
        if len(values) + sum(value.count(b",") for value in values) > _MOST_ENCODINGS:
            raise IgnoreRequest(f"{response} is packed more than {_MOST_ENCODINGS} times.")
        return super().process_response(request, response)
