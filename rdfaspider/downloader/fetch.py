"""Fetches one page behind the address guard, without a crawl.

The URL that the user gives may name a server on this machine or network, as a seed may. Redirects must lead
to public servers, or to those in RESOLVER_ALLOW: each URL is checked before it is requested, and each address
before it is connected to, as in a crawl.
"""

from __future__ import annotations

import asyncio
import os
import socket
from http import HTTPStatus
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple
from urllib.request import getproxies, proxy_bypass

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from rdfaspider.frontier.limits import MAX_REDIRECTS
from rdfaspider.resolver.cache import Cache
from rdfaspider.resolver.directory import Directory
from rdfaspider.resolver.guard import Guard
from rdfaspider.resolver.resolver import ForbiddenAddressError, Resolver
from rdfaspider.urls import normalise, redirect_target, unfit_authority
from rdfaspider.urls.hosts import host_and_port

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from aiohttp.abc import ResolveResult

_CHUNK = 64 * 1024


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
    except TimeoutError:
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
    guarded = _Guarded(resolver)
    connector = aiohttp.TCPConnector(resolver=guarded, use_dns_cache=False)
    async with (
        asyncio.timeout(timeout),
        aiohttp.ClientSession(
            connector=connector,
            headers=headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=aiohttp.ClientTimeout(total=None),
        ) as session,
    ):
        for _ in range(MAX_REDIRECTS + 1):
            try:
                answer = await _answer(session, guarded, url, limit)
            except (ForbiddenAddressError, aiohttp.ClientError) as error:
                by = "" if url == first else f"{first} redirects to {url}: "
                raise FetchFailed(by + _sentence(url, error)) from error
            if isinstance(answer, FetchedPage):
                return answer
            url = answer
    raise FetchFailed(f"{first} redirects more than {MAX_REDIRECTS} times.")


async def _answer(
    session: aiohttp.ClientSession, guarded: _Guarded, url: str, limit: int
) -> FetchedPage | str:
    """Return the page at a URL, or the URL that it redirects to."""
    guarded.resolver.check_target(*host_and_port(url))
    proxy = _proxy(url)
    guarded.is_for_proxy = bool(proxy)
    target = URL(url, encoded=True)
    async with session.get(target, allow_redirects=False, proxy=proxy) as response:
        location = response.headers.get("Location", "")
        if 300 <= response.status < 400 and location:
            return _redirected(url, location)
        if not 200 <= response.status < 300:
            raise FetchFailed(f"{url} answers {_status(response.status)}.")
        body = bytearray()
        async for chunk in response.content.iter_chunked(_CHUNK):
            body += chunk
            if limit and len(body) > limit:
                raise FetchFailed(f"{url} has more than {limit:,} bytes (DOWNLOAD_MAXSIZE).")
        return FetchedPage(bytes(body), url, response.headers.get("Content-Type", ""))


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


class _Guarded(AbstractResolver):
    """Gives aiohttp the addresses that the guard admits.

    If the request `is_for_proxy`, only the proxy is looked up. It may be anywhere: no page has chosen it.
    """

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.is_for_proxy = False

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        return [
            {
                "hostname": host,
                "host": str(address),
                "port": port,
                "family": socket.AF_INET if address.version == 4 else socket.AF_INET6,
                "proto": 0,
                "flags": 0,
            }
            for address in await self.resolver.resolve(host, port, is_trusted=self.is_for_proxy)
        ]

    async def close(self) -> None:
        """Do nothing: look-ups end with the process."""


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
    if isinstance(error, ForbiddenAddressError):
        return str(error)
    if isinstance(error, aiohttp.ClientSSLError):
        return f"{host} does not prove who it is, or speaks no TLS: {_tls_fault(error)}."
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return f"{error.host} has no address."
    if isinstance(error, aiohttp.ClientConnectorError):
        fault = os.strerror(error.errno) if error.errno else "no address of it answers"
        return f"No connection to {error.host}, port {error.port}: {fault}."
    if isinstance(error, aiohttp.ClientPayloadError):
        return f"The answer of {url} breaks off, or cannot be unpacked."
    if isinstance(error, aiohttp.ServerDisconnectedError | aiohttp.ClientOSError):
        return f"{host}, port {port}, hangs up without an answer."
    if isinstance(error, aiohttp.ClientResponseError):
        return f"{host}, port {port}, does not answer in HTTP."
    return f"{url} cannot be fetched: {error}."


def _tls_fault(error: aiohttp.ClientSSLError) -> str:
    fault = getattr(error, "certificate_error", None) or error.os_error
    return getattr(fault, "verify_message", "") or getattr(fault, "reason", "") or str(fault)
