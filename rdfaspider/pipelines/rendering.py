"""Rendering in a crawl: which pages go through a browser, and what is read of them then.

The middleware in `subresources.py` fetches what scripts ask for.
"""

from __future__ import annotations

import os
from logging import getLogger
from time import monotonic
from typing import TYPE_CHECKING, Protocol, Self

from scrapy.exceptions import UsageError

from rdfaspider.extract.pool import ExtractionFailed
from rdfaspider.rendering.browsers import Browsers, find_browser
from rdfaspider.rendering.choice import LearntChoice
from rdfaspider.rendering.process import RenderingFailed
from rdfaspider.settings.identity import user_agent
from rdfaspider.signals import subresources_wanted
from rdfaspider.urls import redirect_target

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings

    from rdfaspider.extract import Extraction
    from rdfaspider.items import Page
    from rdfaspider.rendering.process import Rendered

logger = getLogger(__name__)

_HTML = "text/html"


class Choice(Protocol):
    """Decides which pages are rendered, and learns from what that brings."""

    def wants(self, page: Page, raw: Extraction) -> bool:
        """Tell whether to render a page, of which this is read without."""

    def learn(
        self, page: Page, raw: Extraction, rendered: Extraction | None, seconds: float
    ) -> None:
        """Take note of what a browser has brought in so many seconds; None if it has failed."""


class Always:
    """Renders every page."""

    def wants(self, page: Page, raw: Extraction) -> bool:
        return True

    def learn(
        self, page: Page, raw: Extraction, rendered: Extraction | None, seconds: float
    ) -> None:
        pass


def options_of(settings: BaseSettings) -> dict[str, Any]:
    """Return the options of the browsers; raise UsageError if there is none."""
    try:
        browser = find_browser(settings["RENDER_BROWSER"])
    except ValueError as error:
        raise UsageError(f"RENDER={settings['RENDER']}: {error}") from error
    return {
        "browser": browser,
        "sandbox": os.geteuid() != 0,  # Chromium has none for root
        "agent": user_agent(settings),
        "timeout": settings.getfloat("RENDER_TIMEOUT"),
        "memory": settings.getint("RENDER_MEMORY_MB") << 20,
        "requests": settings.getint("RENDER_REQUESTS"),
        "bytes": settings.getint("EXTRACT_MAX_BYTES"),
    }


def choice_of(settings: BaseSettings) -> Choice:
    """Return what decides which pages are rendered."""
    if settings["RENDER"] == "always":
        return Always()
    return LearntChoice(settings.getfloat("RENDER_SHARE"))


class Renderer:
    """Has pages rendered, and read once more."""

    def __init__(self, crawler: Crawler, browsers: Browsers, choice: Choice) -> None:
        self._stats = crawler.stats
        self._browsers = browsers
        self._choice = choice
        self._crawler = crawler
        self._fetching: Any = None  # opens what fetches for a page
        self.close = browsers.close
        self.hurry, self.is_behind = browsers.hurry, browsers.is_behind

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        settings = crawler.settings
        choice, options = choice_of(settings), options_of(settings)
        browsers = Browsers(
            settings.getint("RENDER_PROCESSES"),
            options,
            on_crash=lambda: crawler.stats.inc_value("render/retried/crash"),
        )
        return cls(crawler, browsers, choice)

    async def open(self) -> None:
        """Start the first browser; raise BrowsersUnavailable if none can."""

        def take(fetching: Any) -> None:
            self._fetching = fetching

        self._crawler.signals.send_catch_log(subresources_wanted, give=take)
        await self._browsers.open()

    async def improve(
        self, page: Page, raw: Extraction, read: Callable[[Page], Awaitable[Extraction]]
    ) -> Extraction:
        """Return what a page holds when its scripts have run, else what it holds without.

        A page whose rendering fails is read without. Raise ExtractionFailed if the crawl ends first.
        """
        if not _may_gain(page, raw) or not self._choice.wants(page, raw):
            return raw
        began = monotonic()
        try:
            found = await self._render(page)
        except RenderingFailed as failure:
            if failure.reason == "busy":
                raise ExtractionFailed("busy") from failure
            self._count(f"failed/{failure.reason}")
            logger.debug("%s could not be rendered: %s.", page.url, failure.reason)
            self._choice.learn(page, raw, None, monotonic() - began)
            return raw
        seconds = monotonic() - began
        page.rendered = found.document
        extraction = await self._read(page, raw, read)
        if extraction is raw:
            self._choice.learn(page, raw, None, seconds)
            return raw
        _heed(extraction, raw)
        _add_moves(extraction, found.moves, page.url)
        self._choice.learn(page, raw, extraction, seconds)
        self._count("pages")
        self._count("seconds", seconds)
        if found.is_cut:
            self._count("cut")
        for name, more in (
            ("quads", sum(extraction.facts.quads.values()) - sum(raw.facts.quads.values())),
            ("links", len({*extraction.links} - {*raw.links})),
        ):
            if more > 0:
                self._count(f"gained/{name}", more)
        return extraction

    async def _read(
        self, page: Page, raw: Extraction, read: Callable[[Page], Awaitable[Extraction]]
    ) -> Extraction:
        """Read a rendered page; return what it holds without if it cannot be read."""
        try:
            extraction = await read(page)
        except ExtractionFailed as failure:
            if failure.reason == "busy":
                raise
            reason = failure.reason
        else:
            if "page" not in extraction.facts.errors:
                return extraction
            reason = "error"
        page.rendered = b""
        self._count(f"failed/{reason}")
        return raw

    async def _render(self, page: Page) -> Rendered:
        async with self._fetching(page) as fetch:
            return await self._browsers.render(page.url, page.content_type, page.body, fetch)

    def _count(self, name: str, count: float = 1) -> None:
        self._stats.inc_value(f"render/{name}", count)  # type: ignore[arg-type]


def _may_gain(page: Page, raw: Extraction) -> bool:
    """Tell whether a page is HTML that may be kept; others are read as they came."""
    kind = page.content_type.partition(";")[0].strip().lower()
    return kind in ("", _HTML) and not raw.facts.noindex and not raw.facts.errors


def _heed(extraction: Extraction, raw: Extraction) -> None:
    """Keep what a page asks of robots, whatever its scripts make of that."""
    extraction.facts.noarchive |= raw.facts.noarchive
    extraction.facts.nofollow |= raw.facts.nofollow
    extraction.facts.signals = sorted({*extraction.facts.signals, *raw.facts.signals})
    if raw.facts.reservation >= extraction.facts.reservation:
        extraction.facts.reservation = raw.facts.reservation
        extraction.facts.policy = raw.facts.policy


def _add_moves(extraction: Extraction, moves: list[str], url: str) -> None:
    """Add the places to which scripts wanted to go as links."""
    known = {*extraction.links}
    for move in moves:
        try:
            target = redirect_target(move, url)
        except ValueError:
            continue
        if target != url and target not in known:
            extraction.links.append(target)
            if extraction.relations:
                extraction.relations.append("")
                extraction.texts.append("")
