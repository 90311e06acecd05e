"""What aiohttp knows of a request and its answer, as the archive keeps it."""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING, Any

from rdfaspider.archive.exchange import Exchange, Truncation
from rdfaspider.urls import without_userinfo

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response


def exchange_of(request: Request, received: Any, response: Response, began: float) -> Exchange:
    """Return the exchange of a request; `received` is aiohttp's answer, `response` Scrapy's of it.

    Nobody who reads the archive may learn a password: the URL is without it, and a form that was sent is left
    out.
    """
    # aiohttp makes text of bytes in a way that leads back to them.
    asked = tuple(
        (name.encode(), value.encode("utf-8", "surrogateescape"))
        for name, value in received.request_info.headers.items()
    )
    version = received.version
    is_direct = not request.meta.get("proxy")
    return Exchange(
        without_userinfo(request.url),
        request.method,
        asked,
        b"",
        f"{version.major}.{version.minor}" if version else "1.1",
        response.status,
        (received.reason or "").encode("utf-8", "surrogateescape"),
        tuple(received.raw_headers),
        response.body,
        str(response.ip_address) if is_direct and response.ip_address else "",
        began,
        time() - began,
        _truncation(received, response),
    )


def _truncation(received: Any, response: Response) -> Truncation:
    if getattr(received, "is_cut", False):
        return "length"
    if "dataloss" in response.flags:
        return "disconnect"
    return "unspecified" if "download_stopped" in response.flags else ""
