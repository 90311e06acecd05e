"""Tells the frontier how a host answers; the frontier decides what follows."""

from __future__ import annotations

from logging import getLogger
from typing import TYPE_CHECKING, NoReturn, Self

from scrapy.exceptions import IgnoreRequest

from rdfaspider import clock
from rdfaspider.compat import DownloadCancelledError
from rdfaspider.fetchmeta import meta_of
from rdfaspider.frontier.politeness import Demand, Experience
from rdfaspider.middlewares.problems import is_shortage
from rdfaspider.middlewares.turns import Postponed, demand_frontier, frontier_of
from rdfaspider.robots.feeds import mail_date
from rdfaspider.urls.own import server_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


logger = getLogger(__name__)

# The server says that it is overloaded.
REFUSALS = (429, 503)

# Seconds until some connections have ended and released their files.
_PAUSE = 2.0


class PolitenessMiddleware:
    """Reports latency, refusals with their Retry-After, and failures of the hosts of pages."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._has_warned = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        middleware = cls(crawler)
        demand_frontier(crawler, middleware)
        return middleware

    def process_response(self, request: Request, response: Response) -> Response:
        host = meta_of(request).get("host")
        if host is not None:
            now, frontier = clock.now(), frontier_of(self.crawler)
            if response.ip_address is not None and "proxy" not in request.meta:
                frontier.set_address(host, server_of(response.ip_address))  # it may have moved
            if response.status in REFUSALS:
                self.crawler.stats.inc_value(f"politeness/refused/{response.status}")
            frontier.report(host, now, experience_of(request, response, now))
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        host = meta_of(request).get("host")
        if is_shortage(exception):
            self._postpone(host, exception)
        if host is None or isinstance(exception, IgnoreRequest):
            return
        # It may have answered, with more than we wanted.
        has_answered = isinstance(exception, DownloadCancelledError)
        experience = _answered(request) if has_answered else Experience()
        frontier_of(self.crawler).report(host, clock.now(), experience)

    def _postpone(self, host: int | None, exception: Exception) -> NoReturn:
        """Postpone a page that failed because no more files can be opened."""
        if not self._has_warned:
            self._has_warned = True
            logger.warning(
                "No more files can be opened, so pages are put off: raise the limit (ulimit -n), or"
                " lower CONCURRENT_REQUESTS."
            )
        if host is not None:
            self.crawler.stats.inc_value("politeness/shortages")
            frontier_of(self.crawler).slow_down(host, clock.now(), Demand(pause=_PAUSE))
        raise Postponed from exception


def experience_of(request: Request, response: Response, now: float) -> Experience:
    """Return what an answer tells about its host."""
    if response.status in REFUSALS:
        wanted = retry_after(response.headers.get("Retry-After"), now)
        return Experience(refused=True, wanted=wanted)
    return Experience() if response.status >= 500 else _answered(request)


def _answered(request: Request) -> Experience:
    return Experience(meta_of(request).get("download_latency", 0.0))


def retry_after(value: bytes | None, now: float) -> float | None:
    """Return the seconds that a Retry-After header asks for, as a number or a date, None if none."""
    text = (value or b"").decode("latin-1").strip()
    if text.isdecimal() and text.isascii():
        return float(text)
    date = mail_date(value)
    return None if date is None else max(0.0, date - now)
