"""Stores the triples of every page that a spider gets, whatever the spider does with the page."""

from __future__ import annotations

import asyncio
from logging import getLogger
from typing import TYPE_CHECKING, Any, Self

from scrapy import signals
from scrapy.exceptions import NotConfigured, UsageError
from scrapy.http.request import NO_CALLBACK
from scrapy.utils.misc import build_from_crawler

from rdfaspider import clock
from rdfaspider.compat import close_spider
from rdfaspider.extensions.summary.hints import query_of
from rdfaspider.items import Page
from rdfaspider.middlewares.contenttype import header_text, tdm_of, unwanted
from rdfaspider.parts.rights import Rights
from rdfaspider.parts.trials import is_trial
from rdfaspider.pipelines.extract import ExtractPipeline
from rdfaspider.pipelines.filter import FilterPipeline
from rdfaspider.pipelines.quota import QuotaPipeline
from rdfaspider.pipelines.store import StorePipeline
from rdfaspider.settings.defaults import completed
from rdfaspider.settings.places import store_url
from rdfaspider.stores import StoreInUse, StoreUnavailable
from rdfaspider.stores.kinds import is_embedded, is_queried, shown
from rdfaspider.urls import normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response

logger = getLogger(__name__)

KEY = "rdfaspider"
_READING = (ExtractPipeline, FilterPipeline)
_KEEPING = (QuotaPipeline, StorePipeline)


class TriplesMiddleware:
    """Passes each answer through the pipelines of this project, as a Page, and then on to the spider.

    The callback finds the Page in `response.meta["rdfaspider"]`: its triples are stored by then, and are in
    `quads` and `nquads`. It is no item, so pipelines and feeds of the project do not see it; a spider that
    yields it makes it one. It belongs to its response alone: requests that are made with the same meta lose
    it. Only answers to GET are pages. A request with `meta={"rdfaspider": False}` is left alone.

    A page that cannot be read reaches the spider all the same. If triples cannot be stored, the crawl stops.
    `scrapy shell` and other commands that try a page store nothing.
    """

    def __init__(self, crawler: Crawler, pipelines: Sequence[Any], rights: Rights) -> None:
        self.crawler = crawler
        self.pipelines = pipelines
        self.rights = rights
        self._closing: asyncio.Task[None] | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        pipelines: list[Any] = []
        for pipeline in _READING if is_trial(crawler) else (*_READING, *_KEEPING):
            try:
                pipelines.append(build_from_crawler(pipeline, crawler))
            except NotConfigured:  # nothing is limited
                continue
            except StoreInUse as error:
                url = store_url(completed(crawler.settings))
                other = ", or give this one another with -s STORE_URL=DIRECTORY"
                raise UsageError(
                    f"The store {shown(url)} is in use by another crawl of this project: wait until that"
                    f" one ends{other if is_embedded(url) else ''}."
                ) from error
            except StoreUnavailable as error:
                raise UsageError(str(error)) from error
        middleware = cls(crawler, pipelines, Rights.from_crawler(crawler))
        crawler.signals.connect(middleware.spider_opened, signals.spider_opened)
        crawler.signals.connect(middleware.request_scheduled, signals.request_scheduled)
        crawler.signals.connect(middleware.spider_closed, signals.spider_closed)
        return middleware

    async def spider_opened(self) -> None:
        for pipeline in self.pipelines:
            if (opened := getattr(pipeline, "open_spider", lambda: None)()) is not None:
                await opened

    def request_scheduled(self, request: Request) -> None:
        """Take away the page of the response that a request was made from, before it is written to disk."""
        if isinstance(request.meta.get(KEY), Page):
            del request.meta[KEY]

    def process_request(self, request: Request, spider: Any = None) -> None:
        self.request_scheduled(request)  # one that was not scheduled, or that is tried again

    # Scrapy 2.13 always gives the spider.
    async def process_response(
        self, request: Request, response: Response, spider: Any = None
    ) -> Response:
        page = self._page(request, response)
        if page is None:
            return response
        page.no_training = self.rights.forbids_training(page.url)
        page.tdm_file = await self.rights.reserved(page.url)
        try:
            for pipeline in self.pipelines:
                done = pipeline.process_item(page)
                if not isinstance(done, Page):
                    await done
        except OSError as error:
            self._stop(error)
            return response
        self._count(page)
        request.meta[KEY] = page
        return response

    def _stop(self, error: OSError) -> None:
        """Close the spider: later pages would be lost too, and nobody would notice."""
        self.crawler.stats.inc_value("triples/lost")
        if self._closing is None:
            logger.error("The crawl stops, because triples cannot be stored: %s", error)
            # It waits for all requests, and so for the one that this is called for.
            self._closing = asyncio.ensure_future(close_spider(self.crawler, "store"))

    def _page(self, request: Request, response: Response) -> Page | None:
        """Return what is to be read of an answer, None if it is no page of the spider's."""
        if request.callback is NO_CALLBACK or request.meta.get(KEY) is False:
            return None  # robots.txt or a file, or the spider's own affair
        if request.method != "GET" or not 200 <= response.status < 300:
            return None  # an answer to something else, or what a server says in place of a page
        if unwanted(response.headers):
            return None
        try:
            url = normalise(response.url)
        except ValueError:  # file:, data: and the like
            return None
        return Page(
            url,
            request.meta.get("depth", 0),
            content_type=header_text(response.headers, "Content-Type"),
            robots_header=[
                value.decode("latin-1") for value in response.headers.getlist("X-Robots-Tag")
            ],
            tdm_header=tdm_of(response.headers),
            body=response.body,
            status=response.status,
            fetched=clock.now(),
        )

    def _count(self, page: Page) -> None:
        page.body = b""  # the response has it
        count = self.crawler.stats.inc_value
        count(f"triples/pages/{page.outcome}")
        if page.outcome != "done":
            count(f"triples/failed/{page.reason}")
            logger.warning("%s: its triples could not be read (%s).", page.url, page.reason)

    async def spider_closed(self) -> None:
        for pipeline in self.pipelines:
            if (closed := getattr(pipeline, "close_spider", lambda: None)()) is not None:
                await closed
        if not any(isinstance(pipeline, StorePipeline) for pipeline in self.pipelines):
            return
        get = self.crawler.stats.get_value
        store = store_url(completed(self.crawler.settings))
        logger.info(
            "%d pages were read; %d triples of them are new, in %s.",
            get("triples/pages/done", 0),
            get("store/quads", 0),
            shown(store),
        )
        if is_queried(store):
            logger.info("Query them: %s", query_of(store))
