"""A spider's own requests, which the frontier cannot keep: to log in, to call an API, to fill in a form."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.core.scheduler import Scheduler as ScrapyScheduler
from scrapy.dupefilters import RFPDupeFilter
from scrapy.utils.misc import load_object

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler

# They wait for their host inside the downloader; more would leave too little room for pages.
_AT_ONCE = 8


def callback_of(spider: Any) -> Any:
    """Return what is called with an answer if a request does not say."""
    return getattr(spider, "visited", spider.parse)


class OwnRequests(ScrapyScheduler):
    """Scrapy's scheduler, in memory: the next start of the spider makes these requests again.

    A URL is all that the frontier keeps. So a request is the spider's own if it has a callback other than
    `parse`, a method other than GET, or a body.
    """

    @classmethod
    def of(cls, crawler: Crawler) -> OwnRequests:
        settings = crawler.settings
        return cls(
            RFPDupeFilter(fingerprinter=crawler.request_fingerprinter),
            mqclass=load_object(settings["SCHEDULER_MEMORY_QUEUE"]),
            pqclass=load_object(settings["SCHEDULER_PRIORITY_QUEUE"]),
            stats=crawler.stats,
            crawler=crawler,
        )

    def includes(self, request: Request) -> bool:
        spider: Any = self.spider
        is_of_frontier = request.callback in (None, spider.parse, callback_of(spider))
        return not is_of_frontier or request.method != "GET" or bool(request.body)

    def next_request(self) -> Request | None:
        if not self.has_pending_requests():
            return None
        assert self.crawler is not None
        slots = self.crawler.engine.downloader.slots.values()
        if sum(len(slot.active) for slot in slots) >= _AT_ONCE:
            return None
        return super().next_request()
