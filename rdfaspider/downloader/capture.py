"""A request and its answer, as the archive keeps them."""

from __future__ import annotations

from time import time
from typing import TYPE_CHECKING, NamedTuple

from rdfaspider.archive.exchange import Exchange, Headers, Truncation
from rdfaspider.urls import without_userinfo

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.http import Response


class Line(NamedTuple):
    """What went over the line: the headers that were sent, and the head of the answer."""

    asked: Headers
    version: str
    reason: bytes
    headers: Headers


def exchange_of(
    request: Request, line: Line, response: Response, began: float, is_cut: bool
) -> Exchange:
    """Return the exchange of a request; `response` is what Scrapy has of it.

    Nobody who reads the archive may learn a password: the URL is without it, and a form that was sent is left
    out.
    """
    is_direct = not request.meta.get("proxy")
    return Exchange(
        without_userinfo(request.url),
        request.method,
        line.asked,
        b"",
        line.version,
        response.status,
        line.reason,
        line.headers,
        response.body,
        str(response.ip_address) if is_direct and response.ip_address else "",
        began,
        time() - began,
        _truncation(response, is_cut),
    )


def _truncation(response: Response, is_cut: bool) -> Truncation:
    if is_cut:
        return "length"
    if "dataloss" in response.flags:
        return "disconnect"
    return "unspecified" if "download_stopped" in response.flags else ""
