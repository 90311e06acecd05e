"""Fetches one page behind the address guard, without a crawl.

The URL that the user gives may name a server on this machine or network, as a seed may. Redirects must lead
to public servers, or to those in RESOLVER_ALLOW: each URL is checked before it is requested, and each address
before it is connected to, as in a crawl.
"""

from __future__ import annotations

import asyncio
import os
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import getproxies, proxy_bypass

import pycurl  # type: ignore[import-untyped]
from scrapy import Request

from rdfaspider.compat import (
    CannotResolveHostError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
)
from rdfaspider.downloader.client import Client, tls_options
from rdfaspider.downloader.failures import CertificateError, CutShort, TlsError
from rdfaspider.downloader.request import wanted
from rdfaspider.downloader.transfer import Enough, Timeouts, Transfer
from rdfaspider.frontier.limits import MAX_REDIRECTS
from rdfaspider.resolver.cache import Cache
from rdfaspider.resolver.directory import Directory
from rdfaspider.resolver.guard import Guard
from rdfaspider.resolver.resolver import ForbiddenAddressError, Resolver
from rdfaspider.urls import normalise, redirect_target, unfit_authority
from rdfaspider.urls.hosts import host_and_port

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_FAILURES = (CannotResolveHostError, DownloadConnectionRefusedError, DownloadFailedError)


class FetchFailed(Exception):
    """Says in a sentence why there is no page."""


class FetchedPage(NamedTuple):
    """A page, its final URL, and the content type that its server gives."""

    body: bytes
    url: str
    content_type: str


def fetch(
    url: str,
    *,
    headers: Mapping[str, str],
    allow: Iterable[str] = (),
    timeout: float = 30.0,
    limit: int = 0,
) -> FetchedPage:
    """Return the page at a URL, or raise FetchFailed.

    headers  what to send with each request
    allow    what RESOLVER_ALLOW says
    timeout  seconds until all of the page must be there, redirects included
    limit    bytes that the unpacked page may have; 0 sets no limit
    """
    try:
        return asyncio.run(_fetch(url, headers, allow, timeout, limit))
    except (TimeoutError, DownloadTimeoutError):
        raise FetchFailed(
            f"{url} has not answered in full within {timeout:g} seconds (DOWNLOAD_TIMEOUT)."
        ) from None
    except ValueError as error:  # a bad URL, or a bad entry of `allow`
        raise FetchFailed(str(error)) from error


async def _fetch(
    url: str, headers: Mapping[str, str], allow: Iterable[str], timeout: float, limit: int
) -> FetchedPage:
    first = url = normalise(url)
    resolver = _resolver(allow)
    resolver.allow_seeds([url])
    unpacks = {pycurl.ACCEPT_ENCODING: "", pycurl.HTTP_CONTENT_DECODING: 1}
    client = Client(tls_options(verify=True) | unpacks)
    try:
        async with asyncio.timeout(timeout):
            for _ in range(MAX_REDIRECTS + 1):
                try:
                    page = await _answer(client, resolver, url, headers, timeout, limit)
                except (ForbiddenAddressError, CutShort, *_FAILURES) as error:
                    by = "" if url == first else f"{first} redirects to {url}: "
                    raise FetchFailed(by + _sentence(url, error)) from error
                if isinstance(page, FetchedPage):
                    return page
                url = page
    finally:
        client.close()
    raise FetchFailed(f"{first} redirects more than {MAX_REDIRECTS} times.")


async def _answer(
    client: Client,
    resolver: Resolver,
    url: str,
    headers: Mapping[str, str],
    timeout: float,
    limit: int,
) -> FetchedPage | str:
    """Return the page at a URL, or the URL that it redirects to."""
    resolver.check_target(*host_and_port(url))
    meta = {"verbatim_url": True, "proxy": _proxy(url)}
    asked = wanted(Request(url, headers=dict(headers), meta=meta))
    download = _Download(asked, Timeouts(timeout, timeout, timeout))
    download.limit = limit
    await download.look_up(resolver)
    await client.carry_out(download)
    assert download.head is not None
    status = download.head.status
    location = download.header(b"location")
    if 300 <= status < 400 and location:
        return _redirected(url, location)
    if not 200 <= status < 300:
        raise FetchFailed(f"{url} answers {_status(status)}.")
    if limit and download.size > limit:
        raise FetchFailed(f"{url} has more than {limit:,} bytes (DOWNLOAD_MAXSIZE).")
    return FetchedPage(b"".join(download.body), url, download.header(b"content-type"))


class _Download(Transfer):
    """A transfer that ends when there is more than a page may have, or no page."""

    limit = 0

    def head_came(self) -> None:
        assert self.head is not None
        if not 200 <= self.head.status < 300:
            raise Enough

    def piece_came(self, piece: bytes) -> None:
        super().piece_came(piece)
        if self.limit and self.size > self.limit:
            raise Enough

    def header(self, name: bytes) -> str:
        """Return the first value of a header."""
        assert self.head is not None
        found = (value for each, value in self.head.headers if each.lower() == name)
        return next(found, b"").decode("utf-8", "surrogateescape")


def _redirected(url: str, location: str) -> str:
    try:
        target = redirect_target(location, url)
        if unfit := unfit_authority(target):
            raise ValueError(f"No page can be at the {unfit} of {target}.")
        return target
    except ValueError as error:
        raise FetchFailed(f"{url} redirects to what cannot be fetched. {error}") from error


def _resolver(allow: Iterable[str]) -> Resolver:
    """Return a resolver for the running loop, without a reactor."""
    directory = Directory(
        Guard(allow),
        Cache(size=100, hit_seconds=60, miss_seconds=60),
        threads=1,
        look_up=Resolver.look_up,
        clock=monotonic,
        call_from_thread=asyncio.get_running_loop().call_soon_threadsafe,
    )
    return Resolver(None, directory)


def _proxy(url: str) -> str | None:
    """Return the proxy that the user's environment names for a URL."""
    host, _ = host_and_port(url)
    return None if proxy_bypass(host) else getproxies().get(url.partition(":")[0])


def _status(status: int) -> str:
    """Return a status with its standard name; the server's own text is not trusted."""
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)


def _sentence(url: str, error: Exception) -> str:
    host, port = host_and_port(url)
    if isinstance(error, ForbiddenAddressError | CannotResolveHostError):
        return str(error)
    if isinstance(error, CertificateError | TlsError):
        return f"{host} does not prove who it is, or speaks no TLS: {error.fault}."
    if isinstance(error, DownloadConnectionRefusedError):
        cause = error.__cause__
        words = os.strerror(cause.errno) if isinstance(cause, OSError) and cause.errno else error
        return f"No connection to {host}, port {port}: {str(words).removesuffix('.')}."
    if isinstance(error, CutShort):
        return f"The answer of {url} breaks off, or cannot be unpacked."
    return f"{host}, port {port}: {error}."
