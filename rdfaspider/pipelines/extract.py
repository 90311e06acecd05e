"""Extraction: turns the body of a page into links and quads, and obeys its robots directives."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Self

from scrapy.exceptions import UsageError

from rdfaspider import extract as extractor
from rdfaspider.children import ChildrenUnavailable
from rdfaspider.compat import refuse
from rdfaspider.extract import Limits, Options
from rdfaspider.extract.own import check_formats
from rdfaspider.extract.pool import ExtractionFailed, Pool
from rdfaspider.frontier.orders import order_class
from rdfaspider.items import BESIDE, LINKS, STATEMENTS, Page
from rdfaspider.pages.language import check_detector
from rdfaspider.pipelines.rights import rights_of
from rdfaspider.settings.defaults import completed
from rdfaspider.signals import time_is_over
from rdfaspider.terminal import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

    from rdfaspider.extract import Extraction, Facts
    from rdfaspider.extract.rdfa.vocabulary import Vocabularies
    from rdfaspider.pipelines.rendering import Renderer

logger = logging.getLogger(__name__)

# Directives with a value: the word before their colon is not an agent.
_WITH_VALUE = ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")

# Characters of text that the topics pipeline reads of a page.
_READ_FOR_TOPICS = 20_000


class ExtractPipeline:
    """Reads each page once, in a process of the pool or, without one, in this process.

    A page that says `noindex`, in its head or in the header X-Robots-Tag, gives no quads; one that
    says `nofollow` gives no links (row R16). What it reserves is kept with it; pages with a signal of
    EXTRACT_REFUSE give no quads either. A page that no worker can read fails. A page for which the
    pool has no room is postponed. In both cases its host is left alone for a while. If no worker can be
    started, the crawl stops.
    """

    def __init__(
        self,
        stats: StatsCollector,
        options: Options,
        pool: Pool | None = None,
        refused: Iterable[str] = (),
    ) -> None:
        self.stats = stats
        self.options = options
        self.pool = pool
        self.refused = frozenset(refused)
        self.crawler: Crawler | None = None
        self.renderer: Renderer | None = None

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = completed(crawler.settings)
        options = options_from(settings)
        pool = None
        if processes := settings.getint("EXTRACT_PROCESSES"):
            pool = Pool(
                processes,
                options,
                timeout=settings.getfloat("EXTRACT_TIMEOUT"),
                memory=settings.getint("EXTRACT_MEMORY_MB"),
                on_crash=lambda: crawler.stats.inc_value("extract/retried/crash"),
            )
            pool.launch()
            crawler.signals.connect(pool.hurry, time_is_over)
        pipeline = cls(crawler.stats, options, pool, settings.getlist("EXTRACT_REFUSE"))
        pipeline.crawler = crawler
        if settings["RENDER"] != "never":
            from rdfaspider.pipelines.rendering import Renderer

            pipeline.renderer = Renderer.from_crawler(crawler)
            crawler.signals.connect(pipeline.renderer.hurry, time_is_over)
        return pipeline

    async def open_spider(self) -> None:
        parts = [each for each in (self.pool, self.renderer) if each is not None]
        # Scrapy's own downloader has no pace.
        pace: Any = getattr(self.crawler.engine.downloader, "pace", None) if self.crawler else None
        if pace is not None and parts:
            pace.is_behind = lambda: any(part.is_behind() for part in parts)
        try:
            for part in parts:
                await part.open()
        except ChildrenUnavailable as error:
            logger.error("The crawl stops: %s Mend it and run the same command to resume.", error)
            assert self.crawler is not None
            refuse(self.crawler, error.finish_reason)

    async def process_item(self, page: Page) -> Page:
        if not isinstance(page, Page) or not page.is_read:
            return page  # an item of the user's, or not a page
        try:
            extraction = await self._extract(page)
            if self.renderer is not None and not self._is_left_out(page, extraction.facts):
                extraction = await self.renderer.improve(page, extraction, self._extract)
            self.fill(page, extraction)
        except ExtractionFailed as failure:
            fail(page, failure)
        return page

    def fill(self, page: Page, extraction: Extraction) -> None:
        """Give a page what was found in it, as far as its robots directives allow."""
        if extraction.facts.errors and not _is_usable(page, extraction.facts):
            return
        header = header_directives(page.robots_header, self.options.agent)
        rights = rights_of(
            page.url,
            extraction.facts,
            header,
            (page.tdm_file, page.tdm_header),
            no_training=page.no_training,
        )
        page.signals, page.policy, page.license = rights
        refused = [name for name in rights.signals if name in self.refused]
        noindex = extraction.facts.noindex or not header.isdisjoint(("noindex", "none"))
        noindex = noindex or bool(refused)
        nofollow = extraction.facts.nofollow or not header.isdisjoint(("nofollow", "none"))
        page.take(
            extraction, (() if noindex else STATEMENTS) + (() if nofollow else LINKS) + BESIDE
        )
        if nofollow:  # the header may ask so where the page does not
            page.nofollow = [*extraction.links, *extraction.nofollow]
        facts = extraction.facts
        page.title, page.language, page.text = facts.title, facts.language, facts.text
        page.encoding, page.digest = facts.encoding, bytes.fromhex(facts.digest)
        if self.options.analyse:
            sketch = bytes.fromhex(facts.sketch)
            page.analysis = (facts.detected, facts.certainty, facts.words, sketch)
        if not noindex:
            page.found = facts.quads
        page.noarchive, page.noindex = facts.noarchive, noindex
        page.problems = facts.faults
        self._count(extraction.facts, noindex, nofollow)
        for name in rights.signals:
            self.stats.inc_value(f"extract/signal/{name}")
        for name in refused:
            self.stats.inc_value(f"extract/refused/{name}")
        if facts.reference is not None:
            self._compare(page.url, *facts.reference)

    def _is_left_out(self, page: Page, facts: Facts) -> bool:
        """Return whether no triple of a page is kept, by its header or EXTRACT_REFUSE."""
        header = header_directives(page.robots_header, self.options.agent)
        refused = self.refused.intersection((*facts.signals, *header))
        return bool(refused) or not header.isdisjoint(("noindex", "none"))

    async def _extract(self, page: Page) -> Extraction:
        body, content_type = page.html
        if self.pool is None:
            extraction = extractor.extract(body, page.url, content_type, self.options)
            if extraction.facts.is_out_of_memory:
                raise ExtractionFailed("memory")
            return extraction
        return await self.pool.extract(body, page.url, content_type)

    async def close_spider(self) -> None:
        for part in (self.renderer, self.pool):
            if part is not None:
                await part.close()

    def _compare(self, url: str, ours: int, theirs: int) -> None:
        self.stats.inc_value(f"extract/reference/{'differs' if ours or theirs else 'same'}")
        if ours or theirs:
            logger.info(
                "%s: %d triples of RDFa are not pyRdfa3's, and %d of its are not ours; %s extract"
                " --compare shows them.",
                url,
                ours,
                theirs,
                PROGRAM,
            )

    def _count(self, facts: Facts, noindex: bool, nofollow: bool) -> None:
        count = self.stats.inc_value
        for name, quads in facts.quads.items():
            if quads:
                count(f"extract/pages/{name}")
                count(f"extract/quads/{name}", quads)
        for name in facts.cuts:
            count(f"extract/cut/{name}")
        for name in facts.warnings:
            count(f"extract/warning/{name}")
        if noindex:
            count("extract/noindex")
        if nofollow:
            count("extract/nofollow")


def fail(page: Page, failure: ExtractionFailed) -> None:
    """Note why a page could not be read."""
    page.outcome = "postponed" if failure.reason == "busy" else "failed"
    page.reason = f"extract-{failure.reason}"
    page.strikes = failure.strikes
    logger.debug("%s could not be read: %s.", page.url, failure.reason)


def _is_usable(page: Page, facts: Facts) -> bool:
    """Log the readers that failed, each of which has a bug; fail the page if nothing could be read."""
    for reader, trace in facts.errors.items():
        error = trace.rpartition("\n")[2]
        logger.warning("%s could not be read (%s): %s.", page.url, reader, error)
        logger.debug("%s", trace)
    if "page" in facts.errors:
        page.outcome, page.reason = "failed", "extract-error"
        return False
    return True


def options_from(settings: BaseSettings) -> Options:
    """Return the options of the EXTRACT_ settings; raise UsageError if one is wrong."""
    limits = Limits(
        # A bound for hostile pages; the spider decides how many links are followed.
        links=max(Limits().links, settings.getint("EXTRACT_MAX_LINKS")),
        body=settings.getint("EXTRACT_MAX_BYTES"),
        quads=settings.getint("EXTRACT_MAX_QUADS"),
    )
    formats = frozenset(settings.getlist("EXTRACT_FORMATS"))
    try:
        check_formats(formats)
    except ValueError as error:
        raise UsageError(f"EXTRACT_FORMATS is wrong: {error}") from error
    return Options(
        formats=formats,
        limits=limits,
        role=settings.getbool("EXTRACT_ROLE"),
        vocabularies=_vocabularies() if settings.getbool("EXTRACT_EXPAND") else {},
        anchors=bool(order_class(settings["FRONTIER_ORDER"]).advice),
        agent=settings["BOT_NAME"],
        text=max(
            _READ_FOR_TOPICS if settings["FRONTIER_TOPICS"] else 0,
            settings.getint("SEARCH_TEXT") if settings.getbool("SEARCH") else 0,
        ),
        reference=reference if (reference := settings["EXTRACT_REFERENCE"]) != "off" else "",
        digest=settings.getbool("PAGES"),
        analyse=_analyses(settings),
    )


def _vocabularies() -> Vocabularies:
    from rdfaspider.extract.rdfa.vocabulary import bundled  # with all that reads RDFa

    return bundled()


def _analyses(settings: BaseSettings) -> bool:
    """Tell whether pages are analysed while they are crawled; raise UsageError if they cannot be."""
    if not settings.getbool("PAGES") or settings["PAGES_ANALYSE"] != "during":
        return False
    try:
        check_detector()
    except ValueError as error:
        raise UsageError(f"PAGES_ANALYSE=during: {error}") from error
    return True


def header_directives(values: Iterable[str], agent: str) -> set[str]:
    """Return the directives of X-Robots-Tag headers that are for everybody or for `agent`.

    `noindex, googlebot: nofollow` means noindex for everybody and nofollow for Googlebot: a name
    applies to what follows it in the same header.
    """
    directives: set[str] = set()
    for value in values:
        addressed = True
        for part in value.lower().split(","):
            name, colon, rest = part.strip().partition(":")
            if colon and name.strip() not in _WITH_VALUE:
                addressed = name.strip() == agent
                name = rest
            if addressed:
                directives.add(name.strip())
    return directives
