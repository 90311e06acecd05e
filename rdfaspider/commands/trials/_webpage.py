"""Fetches one page with the download handler of a crawl, but without a crawl.

The URL that the user gives may name a server on this machine or network, as a seed may. Redirects must lead
to public servers, or to those in RESOLVER_ALLOW: each URL is checked before it is requested, and each address
before it is connected to, as in a crawl.
"""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from http import HTTPStatus
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast
from urllib.request import getproxies, proxy_bypass

from scrapy import Request
from scrapy.http import Response
from scrapy.signalmanager import SignalManager

from rdfaspider.compat import (
    CannotResolveHostError,
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
)
from rdfaspider.downloader.handler import GuardedHttpDownloadHandler
from rdfaspider.frontier.limits import MAX_REDIRECTS
from rdfaspider.middlewares.compression import CompressionMiddleware
from rdfaspider.middlewares.problems import problem_of
from rdfaspider.resolver import ForbiddenAddressError, Resolver
from rdfaspider.settings.identity import user_agent
from rdfaspider.urls import normalise, redirect_target, unfit_authority
from rdfaspider.urls.hosts import host_and_port

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from scrapy.settings import BaseSettings

_FAILURES = (
    DownloadCancelledError,
    DownloadConnectionRefusedError,
    DownloadFailedError,
    DownloadTimeoutError,
    ResponseDataLossError,
)


def fetch(url: str, settings: BaseSettings) -> Response:
    """Return the page at a URL, unpacked; ValueError says in a sentence why there is none.

    It must come within DOWNLOAD_TIMEOUT, redirects included. Certificates must be valid by default.
    """
    return asyncio.run(_fetch(normalise(url), settings))


@asynccontextmanager
async def downloading(
    first: str, settings: BaseSettings
) -> AsyncIterator[tuple[GuardedHttpDownloadHandler, CompressionMiddleware]]:
    """Give what downloads and what unpacks; the server of a URL may be the user's own."""
    settings = settings.copy()
    settings.set("DOWNLOAD_VERIFY_CERTIFICATES", True)
    parts = {"engine": None, "spider": None, "stats": None, "signals": SignalManager()}
    crawler: Any = SimpleNamespace(settings=settings, **parts)
    handler = GuardedHttpDownloadHandler(crawler)
    loop: Any = SimpleNamespace(callFromThread=asyncio.get_running_loop().call_soon_threadsafe)
    handler.resolver = Resolver.from_crawler(crawler, loop)
    handler.resolver.allow_seeds([first])
    handler.reads_all = False
    try:
        yield handler, CompressionMiddleware(crawler=crawler)
    finally:
        await handler.close()


async def _fetch(first: str, settings: BaseSettings) -> Response:
    async with downloading(first, settings) as (handler, unpacking):
        return await follow(first, settings, handler, unpacking)


async def follow(
    first: str,
    settings: BaseSettings,
    handler: GuardedHttpDownloadHandler,
    unpacking: CompressionMiddleware,
) -> Response:
    """Return what is at a URL in the end, unpacked; ValueError as `fetch`."""
    headers = settings.getdict("DEFAULT_REQUEST_HEADERS") | {"User-Agent": user_agent(settings)}
    seconds = settings.getfloat("DOWNLOAD_TIMEOUT")
    url = first
    try:
        async with asyncio.timeout(seconds):
            for _ in range(MAX_REDIRECTS + 1):
                meta = {"verbatim_url": True, "proxy": _proxy(url)}
                request = Request(url, headers=headers, meta=meta)
                unpacking.process_request(request)
                response = await handler.download_request(request)
                if 200 <= response.status < 300:
                    return await _unpacked(unpacking, request, response)
                if not 300 <= response.status < 400 or "Location" not in response.headers:
                    raise ValueError(f"{url} answers {_status(response.status)}.")
                url = _target(response)
    except (ForbiddenAddressError, CannotResolveHostError) as error:
        raise ValueError(_by(first, url) + str(error)) from error
    except _FAILURES as error:
        problem = f"{url} cannot be fetched: {problem_of(error)}."
        raise ValueError(_by(first, url) + problem) from error
    except TimeoutError:
        raise ValueError(
            f"{first} has not answered in full within {seconds:g} seconds (DOWNLOAD_TIMEOUT)."
        ) from None
    raise ValueError(f"{first} redirects more than {MAX_REDIRECTS} times.")


async def _unpacked(
    unpacking: CompressionMiddleware, request: Request, response: Response
) -> Response:
    try:
        found: Any = unpacking.process_response(request, response)
        return found if isinstance(found, Response) else cast("Response", await found)
    except Exception as error:  # each way of packing has its own
        raise ValueError(f"{request.url} cannot be unpacked: {problem_of(error)}.") from error


def _target(response: Response) -> str:
    """Return the URL that an answer redirects to."""
    location = (response.headers.get("Location") or b"").decode("utf-8", "surrogateescape")
    try:
        target = redirect_target(location, response.url)
        if unfit := unfit_authority(target):
            raise ValueError(f"No page can be at the {unfit} of {target}.")
        return target
    except ValueError as error:
        raise ValueError(f"{response.url} redirects to what cannot be fetched. {error}") from error


def _by(first: str, url: str) -> str:
    return "" if url == first else f"{first} redirects to {url}: "


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
