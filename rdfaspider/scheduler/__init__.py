"""The scheduler: a thin plug between Scrapy's engine and the frontier.

A URL becomes a Request when it is taken and not before. Every Page that leaves the pipelines ends its
URL in the frontier, together with the links to follow, in one step; so a URL is done when its triples
are stored, and its links are known when it is done. When the store or the frontier cannot write any
more, or no page can be read, the crawl stops: what is in flight then waits for the next start.

scheduler.py  `Scheduler`: what the engine asks for, and what it is told
outcomes.py   ends URLs in the frontier by what became of their pages
lanes.py      how many fetches are under way, of fast hosts and of slow ones
placing.py    the addresses of hosts, before their turn comes
intake.py     seeds on their way into the frontier; memory.py what the spider remembers
advice.py     what an order is told of pages and links; guessing.py URLs that may be there too
own.py        requests of the spider that are not the frontier's
alarm.py      wakes the engine when a host gets ready
options.py    the frontier that the settings ask for
counting.py, loglines.py  what the workers of a shared crawl tell of themselves
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from scrapy.utils.misc import load_object

from rdfaspider.scheduler.scheduler import Scheduler

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings

__all__ = ["Scheduler", "uses_frontier"]


def uses_frontier(settings: BaseSettings) -> bool:
    """Tell whether a crawl with these settings takes its URLs from a frontier."""
    # Scrapy's schedulers have an issubclass of their own, which is true of all that look like one.
    return Scheduler in load_object(settings["SCHEDULER"]).__mro__
