"""Renders one page without a crawl: a browser runs its scripts, and asks for nothing past the address guard.

As the page itself, what its scripts ask for is fetched because a user wants it, without a look at robots.txt.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rdfaspider.commands.trials._webpage import downloading, follow
from rdfaspider.pipelines.rendering import options_of
from rdfaspider.rendering.browsers import Browsers, BrowsersUnavailable
from rdfaspider.rendering.process import RenderingFailed
from rdfaspider.rendering.resources import Resource, Wish, headers_for
from rdfaspider.urls import normalise

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def rendered(body: bytes, url: str, content_type: str, settings: BaseSettings) -> bytes:
    """Return the document that the scripts of a page leave; ValueError says in a sentence why not."""
    try:
        return asyncio.run(_rendered(body, url, content_type, settings))
    except RenderingFailed as failure:
        raise ValueError(f"{url} cannot be rendered: {failure.reason}.") from failure
    except BrowsersUnavailable as error:
        raise ValueError(str(error)) from error


async def _rendered(body: bytes, url: str, content_type: str, settings: BaseSettings) -> bytes:
    browsers = Browsers(1, options_of(settings))
    left = settings.getint("RENDER_MAX_BYTES")
    async with downloading(url, settings) as (handler, unpacking):

        async def fetch(wish: Wish) -> Resource:
            nonlocal left
            try:
                response = await follow(normalise(wish.url), settings, handler, unpacking)
            except ValueError as error:
                return Resource(refused=str(error))
            left -= len(response.body)
            if left < 0:
                return Resource(refused="bytes")
            return Resource(response.status, headers_for(response.headers), response.body)

        try:
            return (await browsers.render(url, content_type, body, fetch)).document
        finally:
            await browsers.close()
