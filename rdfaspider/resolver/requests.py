"""The check that every guarded download handler makes of a request."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from scrapy.utils.url import add_http_if_no_scheme

from rdfaspider.resolver.resolver import installed_resolver

if TYPE_CHECKING:
    from scrapy import Request

    from rdfaspider.resolver.resolver import Resolver


def check_request(request: Request) -> Resolver:
    """Return the resolver that a request is to be made with.

    Raise ForbiddenAddressError if its URL names a refused address. Its proxy may be anywhere: that
    is chosen by the user's environment or code.
    """
    resolver = installed_resolver()
    resolver.check_target(*host_and_port(request.url))
    proxy = request.meta.get("proxy")
    resolver.uses_proxy = proxy is not None
    if proxy:
        resolver.trust_proxy(*host_and_port(add_http_if_no_scheme(proxy)))
    return resolver


def host_and_port(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
