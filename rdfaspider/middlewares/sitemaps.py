"""Reads the sitemaps that robots.txt names, as URLs of the frontier like any other."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Self

from scrapy.exceptions import NotConfigured

from rdfaspider.middlewares.contenttype import header_text
from rdfaspider.middlewares.turns import noted
from rdfaspider.robots.sitemaps import read_sitemap
from rdfaspider.urls import normalise

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

    from rdfaspider.frontier import Frontier

# Of one robots.txt or index; large sites name some hundreds.
_MOST_SITEMAPS = 500
# How deep an index may be in others: sitemaps.org has none in another, yet some sites do.
_DEEPEST_INDEX = 1


class SitemapsMiddleware:
    """Marks the requests for sitemaps by a list in their `meta["sitemap"]`, and fills it with pages.

    That a URL is a sitemap, whose robots.txt says so, and how many indexes led there is noted with
    the frontier, so a restart knows it. Sitemaps have depth 0, wherever they were found, so what they
    list is one link away from a seed.
    """

    def __init__(self, crawler: Crawler, most_urls: int) -> None:
        self.crawler = crawler
        self.most_urls = most_urls

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not crawler.settings.getbool("ROBOTS_SITEMAPS"):
            raise NotConfigured
        return cls(crawler, crawler.settings.getint("ROBOTS_SITEMAP_URLS"))

    def process_request(self, request: Request) -> None:
        if "host" in request.meta and noted(self._frontier, _name(request.url)) is not None:
            request.meta["sitemap"] = []

    async def process_response(self, request: Request, response: Response) -> Response:
        if "sitemap" not in request.meta or response.status >= 400:
            return response
        note = noted(self._frontier, _name(request.url)) or b"0 "
        level, _, owner = note.decode().partition(" ")
        if response.status >= 300 and "Location" in response.headers:
            announce(self._frontier, [_target(response)], owner, int(level))
        else:
            await self._read(request, response, int(level), owner)
        return response

    async def _read(self, request: Request, response: Response, level: int, owner: str) -> None:
        sitemap = await asyncio.to_thread(
            read_sitemap, response.body, request.url, owner=owner, most=self.most_urls
        )
        count = self.crawler.stats.inc_value
        count("robots/sitemaps")
        if sitemap.cut:
            count("robots/sitemaps/cut")
        if not sitemap.is_index:
            request.meta["sitemap"] = sitemap.urls
            count("robots/sitemaps/urls", len(sitemap.urls))
        elif level <= _DEEPEST_INDEX:
            announce(self._frontier, sitemap.urls, owner, level + 1)

    @property
    def _frontier(self) -> Frontier:
        frontier: Frontier = self.crawler.engine.scheduler.frontier  # type: ignore[union-attr]
        return frontier


def announce(frontier: Frontier, urls: Iterable[str], owner: str, level: int = 0) -> None:
    """Take in URLs as sitemaps that speak for `owner`, found behind `level` indexes."""
    sitemaps = []
    for url in list(urls)[:_MOST_SITEMAPS]:
        try:
            sitemaps.append(normalise(url))
        except ValueError:
            continue
    for url in sitemaps:
        if noted(frontier, _name(url)) is None:
            frontier.set_note(_name(url), f"{level} {owner}".encode())
    frontier.put(sitemaps, depth=0)


def _target(response: Response) -> str:
    try:
        return normalise(header_text(response.headers, "Location"), response.url)
    except ValueError:
        return ""


def _name(url: str) -> str:
    return f"sitemap {url}"
