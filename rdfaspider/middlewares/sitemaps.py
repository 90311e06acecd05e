"""Reads the sitemaps that robots.txt names, as URLs of the frontier like any other."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from scrapy.exceptions import NotConfigured

from rdfaspider.fetchmeta import meta_of
from rdfaspider.frontier.limits import MAX_REDIRECTS
from rdfaspider.middlewares.contenttype import moved_to
from rdfaspider.middlewares.turns import demand_frontier, frontier_of, noted
from rdfaspider.robots.feeds import read_listing
from rdfaspider.settings.defaults import completed
from rdfaspider.urls import as_linked, normalise

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


# Sitemaps of one service; large sites have some hundreds.
_MOST_SITEMAPS = 500
# How deep indexes may nest: sitemaps.org allows no nesting, but some sites do it.
_DEEPEST_INDEX = 1


class _Note(NamedTuple):
    """How a sitemap was found: behind how many indexes and redirects, and whose robots.txt names it."""

    level: int
    hops: int
    owner: str

    @classmethod
    def read(cls, data: bytes) -> Self:
        level, *hops, owner = data.decode().split(" ")
        return cls(int(level), int(hops[0]) if hops else 0, owner)

    def write(self) -> bytes:
        return f"{self.level} {self.hops} {self.owner}".encode()


class SitemapsMiddleware:
    """Marks the requests for sitemaps by a list in `meta["sitemap"]`, and fills it with pages.

    A note in the frontier says that a URL is a sitemap, whose robots.txt names it, and how many indexes and
    redirects led there, so a restart knows it. Sitemaps have depth 0, wherever they were found, so the
    pages in them are one link away from a seed. Only sitemaps within the scope of the crawl are read, and
    a limited number per service: a robots.txt cannot send the crawl elsewhere.
    """

    def __init__(self, crawler: Crawler, most_urls: int) -> None:
        self.crawler = crawler
        self.most_urls = most_urls

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = completed(crawler.settings)
        if not settings.getbool("ROBOTS_SITEMAPS"):
            raise NotConfigured
        middleware = cls(crawler, settings.getint("ROBOTS_SITEMAP_URLS"))
        demand_frontier(crawler, middleware)
        return middleware

    def process_request(self, request: Request) -> None:
        if (
            "host" in request.meta
            and noted(frontier_of(self.crawler), _name(request.url)) is not None
        ):
            meta_of(request)["sitemap"] = []

    async def process_response(self, request: Request, response: Response) -> Response:
        if "sitemap" not in request.meta or response.status >= 400 or response.status == 304:
            return response
        note = _Note.read(noted(frontier_of(self.crawler), _name(request.url)) or b"0 0 ")
        if response.status >= 300 and "Location" in response.headers:
            if note.hops < MAX_REDIRECTS:
                announce(self.crawler, [moved_to(response)], note._replace(hops=note.hops + 1))
        else:
            await self._read(request, response, note)
        return response

    async def _read(self, request: Request, response: Response, note: _Note) -> None:
        sitemap = await asyncio.to_thread(
            read_listing, response.body, request.url, owner=note.owner, most=self.most_urls
        )
        count = self.crawler.stats.inc_value
        count("robots/sitemaps")
        if sitemap.cut:
            count("robots/sitemaps/cut")
        if not sitemap.is_index:
            meta_of(request)["sitemap"] = sitemap.urls
            meta_of(request)["sitemap_dates"] = list(sitemap.dates.items())
            count("robots/sitemaps/urls", len(sitemap.urls))
        elif note.level <= _DEEPEST_INDEX:
            announce(self.crawler, sitemap.urls, note._replace(level=note.level + 1))


def announce(crawler: Crawler, urls: Iterable[str], note: _Note | str) -> None:
    """Add URLs as sitemaps: named by the robots.txt of a service, an index or a redirect."""
    note = _Note(0, 0, note) if isinstance(note, str) else note
    frontier = frontier_of(crawler)
    spider: Any = crawler.spider
    counter = f"sitemaps {note.owner}"
    count = int(noted(frontier, counter) or 0)
    sitemaps: list[str] = []
    for text in list(urls)[:_MOST_SITEMAPS]:
        try:
            url = as_linked(normalise(text), note.owner)
        except ValueError:
            continue
        if noted(frontier, _name(url)) is not None:
            continue
        if url not in spider.scope:
            crawler.stats.inc_value("robots/sitemaps/rejected/scope")
        elif count + len(sitemaps) >= _MOST_SITEMAPS:
            crawler.stats.inc_value("robots/sitemaps/rejected/count")
        else:
            frontier.set_note(_name(url), note.write())
            sitemaps.append(url)
    if sitemaps:
        frontier.set_note(counter, str(count + len(sitemaps)).encode())
        frontier.put(sitemaps, depth=0)


def _name(url: str) -> str:
    return f"sitemap {url}"
