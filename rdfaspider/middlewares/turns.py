"""What middlewares need of the frontier: its notes, and another turn for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest

from rdfaspider.frontier import FrontierUnavailable

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from rdfaspider.frontier import Frontier


class Postponed(IgnoreRequest):
    """A URL has to wait for another turn of its host."""

    postpones = True


def frontier_of(crawler: Crawler) -> Frontier:
    """Return the frontier of a running crawl."""
    frontier: Frontier = crawler.engine.scheduler.frontier  # type: ignore[union-attr]
    return frontier


def noted(frontier: Frontier, name: str) -> bytes | None:
    """Return a note of the frontier; raise Postponed if it cannot be read now."""
    try:
        return frontier.note(name)
    except FrontierUnavailable as error:
        raise Postponed from error
