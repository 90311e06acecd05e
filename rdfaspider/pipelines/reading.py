"""Makes statements of answers that were kept, by the pipelines and settings of a crawl."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TYPE_CHECKING, Self, cast

from rdfaspider import __version__
from rdfaspider.extract.pool import ExtractionFailed, Pool
from rdfaspider.items import Page
from rdfaspider.pipelines.extract import ExtractPipeline, fail, options_from
from rdfaspider.pipelines.filter import FilterPipeline, rules_of
from rdfaspider.settings.declarations import OWN
from rdfaspider.urls import normalise

if TYPE_CHECKING:
    from collections.abc import Sequence

    from scrapy.settings import BaseSettings
    from scrapy.statscollectors import StatsCollector

    from rdfaspider.archive.answers import Answer


class Tally(Counter[str]):
    """Counts as the pipelines do in a crawl."""

    def inc_value(self, key: str, count: int = 1) -> None:
        self[key] += count

    def as_stats(self) -> StatsCollector:
        return cast("StatsCollector", self)


@dataclass(frozen=True)
class Reading:
    """Extracts pages, and drops what the filter drops."""

    extract: ExtractPipeline
    filters: FilterPipeline
    pool: Pool | None

    @classmethod
    def from_settings(
        cls, settings: BaseSettings, tally: Tally, processes: int = 0, text: int | None = None
    ) -> Self:
        """Read as the crawl with these settings would, in this process or in others.

        With `text`, read only the titles of pages and this many characters of their texts.
        """
        options = options_from(settings)
        # Nobody follows the links or looks for copies.
        limits = replace(options.limits, links=0)
        options = replace(options, anchors=False, digest=False, limits=limits)
        if text is not None:
            options = replace(options, formats=frozenset(), text=text, analyse=False, reference="")
        pool = None
        if processes:
            timeout = settings.getfloat("EXTRACT_TIMEOUT")
            memory = settings.getint("EXTRACT_MEMORY_MB")
            pool = Pool(processes, options, timeout=timeout, memory=memory)
        stats = tally.as_stats()
        filters = FilterPipeline(stats, *rules_of(settings))
        refused = settings.getlist("EXTRACT_REFUSE")
        return cls(ExtractPipeline(stats, options, pool, refused), filters, pool)

    async def read(self, pages: Sequence[Page]) -> None:
        """Give pages their statements, or the reason why they have none."""
        if self.pool is None:
            for page in pages:
                await self.extract.process_item(page)
        else:
            requests = [((html := page.html)[0], page.url, html[1]) for page in pages]
            found = await self.pool.extract_all(requests)
            for page, extraction in zip(pages, found, strict=True):
                if isinstance(extraction, ExtractionFailed):
                    fail(page, extraction)
                else:
                    self.extract.fill(page, extraction)
        for page in pages:
            self.filters.process_item(page)


def terms_of(settings: BaseSettings) -> str:
    """Return a digest of what decides which statements a page has: our version, and these settings."""
    names = [setting.name for part in OWN.values() for setting in part]
    values = {
        name: str(settings[name])
        for name in sorted(names)
        if name.startswith(("EXTRACT_", "FILTER_")) or name == "STORE_PROVENANCE"
    }
    del values["EXTRACT_PROCESSES"]
    return sha256(json.dumps([__version__, values]).encode()).hexdigest()


def page_of(answer: Answer) -> Page:
    """Return the page of an answer, to be read; ValueError if its URL is none."""
    return Page(
        normalise(answer.url),
        0,
        content_type=answer.content_type,
        robots_header=answer.robots,
        tdm_header=answer.tdm,
        body=answer.body,
        rendered=answer.rendered,
        status=answer.status,
        fetched=answer.fetched,
        source=answer.source,
    )
