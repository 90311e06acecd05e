"""What the answer to a revisit means for the graph of a page: whether it stays, or is cleared, and why.

    410                           cleared
    404                           cleared if it was missing before, and that was a day ago
    301, 308                      cleared when the page that it moved to, perhaps by several stops, is stored;
                                  if that one is not part of the crawl, or has not come for a week, as for 302
    302, 303, 307                 cleared if it was so before, and that was a day ago
    200 that says noindex         cleared
    200 that is no page           cleared
    robots.txt forbids it         stays; it is marked as stale
    5xx, 403, timeout, no name …  stays, as if it redirects to itself

A day is FRONTIER_REVISIT_MISSED, a week seven of these. Pages that were never visited before have no graph,
and pass through.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

from scrapy.exceptions import NotConfigured

from rdfaspider import clock
from rdfaspider.compat import scheduler_of
from rdfaspider.frontier.moves import Moves
from rdfaspider.items import Page

if TYPE_CHECKING:
    from collections.abc import Callable

    from scrapy.crawler import Crawler

    from rdfaspider.frontier import Frontier

_FOR_GOOD = (301, 308)
# Two visits a day apart may be a little less than that.
_NEARLY = 0.9
# Days for which a page that has moved for good waits for its target: it may be gone, or redirect back.
_WEEK = 7


class EndsPipeline:
    """Says of each page that was visited before whether its graph is cleared."""

    def __init__(
        self,
        frontier: Callable[[], Frontier],
        may_follow: Callable[[str], bool],
        missed: float,
    ) -> None:
        self._frontier = frontier
        self._may_follow = may_follow
        self._missed = missed

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        if not crawler.settings.getbool("FRONTIER_REVISIT"):
            raise NotConfigured

        def frontier() -> Any:
            return scheduler_of(crawler).frontier

        def may_follow(url: str) -> bool:
            return bool(crawler.spider.may_follow(url))  # type: ignore[union-attr]

        return cls(frontier, may_follow, crawler.settings.getfloat("FRONTIER_REVISIT_MISSED"))

    def process_item(self, page: Page) -> Page:
        if isinstance(page, Page) and page.outcome != "postponed":
            if page.is_read:
                self._arrive(page)
            elif page.reason == "redirect" and page.outcome == "done":
                self._pass_on(page)
            if page.visit is not None:
                self._judge(page)
        return page

    def _arrive(self, page: Page) -> None:
        """Have the graphs of pages cleared that have moved to this one."""
        if not page.hops and page.visit is None:  # nobody was redirected here so far
            return
        moves = Moves(self._frontier())
        page.replaces = [url for url in moves.waiting_for(page.url) if url != page.url]
        if page.visit is not None and page.visit.misses:
            moves.come_back(page.url)

    def _pass_on(self, page: Page) -> None:
        """Let pages that have moved here wait for the next stop, if it is for good."""
        (target,) = page.links
        if page.status in _FOR_GOOD and self._may_follow(target):
            moves = Moves(self._frontier())
            waiting = [url for url in moves.waiting_for(page.url) if url not in (page.url, target)]
            for url in waiting:
                moves.depart(url, target)
            if waiting:
                self._frontier().expect([(target, clock.now())])

    def _judge(self, page: Page) -> None:
        if page.is_read:
            page.cleared = "noindex" if page.noindex else ""
        elif page.reason in ("type", "feed", "sitemap"):
            page.cleared = "type"
        elif page.status == 410:
            page.missed, page.cleared = True, "410"
        elif page.status == 404:
            page.missed = True
            page.cleared = "404" if self._is_second(page) else ""
        elif page.reason == "redirect" and page.outcome == "done":
            page.missed = True
            self._depart(page)

    def _is_second(self, page: Page) -> bool:
        """Tell whether a page was missing before, and long enough ago."""
        return self._away(page) >= _NEARLY * self._missed

    def _away(self, page: Page) -> float:
        """Return for how long a page has been missing at the visits before."""
        visit = page.visit
        return clock.now() - visit.missed_since if visit.misses else 0.0

    def _depart(self, page: Page) -> None:
        (target,) = page.links
        is_for_good = page.status in _FOR_GOOD and self._may_follow(target)
        if is_for_good and self._away(page) < _WEEK * self._missed:
            if Moves(self._frontier()).depart(page.url, target):
                # One that is known already is visited, so that it can take over.
                self._frontier().expect([(target, clock.now())])
        elif self._is_second(page):
            page.cleared, page.moved_to = "moved", target
