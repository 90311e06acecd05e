"""What middlewares need of the frontier: its notes, and another turn for a page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.exceptions import IgnoreRequest, UsageError
from scrapy.utils.misc import load_object

from rdfaspider.compat import scheduler_of
from rdfaspider.frontier import FrontierUnavailable

if TYPE_CHECKING:
    from scrapy.crawler import Crawler

    from rdfaspider.frontier import Frontier


class Postponed(IgnoreRequest):
    """A URL has to wait for another turn of its host."""

    postpones = True


def frontier_of(crawler: Crawler) -> Frontier:
    """Return the frontier of a running crawl."""
    frontier: Frontier = scheduler_of(crawler).frontier
    return frontier


def demand_frontier(crawler: Crawler, part: object) -> None:
    """Raise UsageError if a crawl has no frontier: what asks for one could do nothing."""
    if not getattr(load_object(crawler.settings["SCHEDULER"]), "has_frontier", False):
        raise UsageError(
            f"{type(part).__name__} needs a frontier, SCHEDULER = 'rdfaspider.scheduler.Scheduler'. With"
            ' other schedulers, ADDONS = {"rdfaspider.Addon": 300} obeys robots.txt and is polite.'
        )


def noted(frontier: Frontier, name: str) -> bytes | None:
    """Return a note of the frontier; raise Postponed if it cannot be read now."""
    try:
        return frontier.note(name)
    except FrontierUnavailable as error:
        raise Postponed from error
