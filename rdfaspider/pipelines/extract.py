"""Turns the body of a page into links and quads, and does as its robots directives say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Self

from rdfaspider.extract import Limits, Options, extract

if TYPE_CHECKING:
    from collections.abc import Iterable

    from scrapy.crawler import Crawler
    from scrapy.statscollectors import StatsCollector

    from rdfaspider.extract import Facts
    from rdfaspider.items import Page

# Directives with a value: what stands before their colon is no agent.
_WITH_VALUE = ("unavailable_after", "max-snippet", "max-image-preview", "max-video-preview")


class ExtractPipeline:
    """Reads each page once.

    A page that says `noindex`, in its head or by the header X-Robots-Tag, gives no quads; one that
    says `nofollow` no links (row R16).
    """

    def __init__(self, stats: StatsCollector, options: Options) -> None:
        self.stats = stats
        self.options = options

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        limits = Limits(links=crawler.settings.getint("EXTRACT_MAX_LINKS"))
        return cls(crawler.stats, Options(limits=limits, agent=crawler.settings["BOT_NAME"]))

    def process_item(self, page: Page) -> Page:
        if page.body:
            extraction = extract(page.body, page.url, page.content_type, self.options)
            header = header_directives(page.robots_header, self.options.agent)
            noindex = extraction.facts.noindex or not header.isdisjoint(("noindex", "none"))
            nofollow = extraction.facts.nofollow or not header.isdisjoint(("nofollow", "none"))
            page.quads = [] if noindex else extraction.quads
            page.links = [] if nofollow else extraction.links
            self._count(extraction.facts, noindex, nofollow)
        return page

    def _count(self, facts: Facts, noindex: bool, nofollow: bool) -> None:
        count = self.stats.inc_value
        for name, quads in facts.quads.items():
            if quads:
                count(f"extract/pages/{name}")
                count(f"extract/quads/{name}", quads)
        for name in facts.cuts:
            count(f"extract/cut/{name}")
        if noindex:
            count("extract/noindex")
        if nofollow:
            count("extract/nofollow")


def header_directives(values: Iterable[str], agent: str) -> set[str]:
    """Return the directives of X-Robots-Tag headers that are for everybody or for `agent`.

    `noindex, googlebot: nofollow` tells everybody noindex and Googlebot nofollow: a name holds for
    what follows it in the same header.
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
