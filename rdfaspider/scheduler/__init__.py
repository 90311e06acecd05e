"""The scheduler: a thin plug between Scrapy's engine and the frontier.

A URL becomes a Request only when it is taken. Every Page that leaves the pipelines ends its URL in the
frontier, together with the links to follow, in one step; so a URL is done when its triples are stored, and
its links are known when it is done. When the store or the frontier cannot write any more, or no page can be
read, the crawl stops: what is in flight then waits for the next start.

scheduler.py  `Scheduler`, which Scrapy's engine calls
options.py    the options of the frontier, from the settings
intake.py     adds seeds to the frontier; memory.py stores the spider's state
lanes.py      which fetches may begin, so that slow hosts leave room for fast ones
placing.py    has hosts resolved before their turn comes
alarm.py      wakes the engine when a host gets ready
own.py        the spider's own requests, which bypass the frontier
answers/      what answers mean to the frontier: outcomes, advice for orders, the next visit
control/      what users and other workers tell a running crawl, and what it reports
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.misc import load_object

from rdfaspider.scheduler.scheduler import Scheduler

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

__all__ = ["Scheduler", "uses_frontier"]


def uses_frontier(settings: BaseSettings) -> bool:
    """Return whether a crawl with these settings takes its URLs from a frontier."""
    return getattr(load_object(settings["SCHEDULER"]), "has_frontier", False)
