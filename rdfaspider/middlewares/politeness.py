"""Tells the frontier how a host answers; the frontier decides what follows."""

from __future__ import annotations

from email.utils import parsedate_to_datetime
from logging import getLogger
from typing import TYPE_CHECKING, NoReturn, Self

from scrapy.exceptions import DownloadCancelledError, IgnoreRequest

from rdfaspider import clock
from rdfaspider.frontier.politeness import Experience
from rdfaspider.middlewares.problems import is_shortage
from rdfaspider.middlewares.turns import Postponed, frontier_of
from rdfaspider.urls.own import server_of

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


logger = getLogger(__name__)

# The server says that it is overloaded.
_REFUSALS = (429, 503)

# Seconds until some connections have ended and released their files.
_PAUSE = 2.0


class PolitenessMiddleware:
    """Reports latency, refusals with their Retry-After, and failures of the hosts of pages."""

    def __init__(self, crawler: Crawler) -> None:
        self.crawler = crawler
        self._has_warned = False

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def process_response(self, request: Request, response: Response) -> Response:
        host = request.meta.get("host")
        if host is not None:
            now = clock.now()
            if response.ip_address is not None and "proxy" not in request.meta:
                frontier_of(self.crawler).set_address(
                    host, server_of(response.ip_address)
                )  # it may have moved
            if response.status in _REFUSALS:
                wanted = retry_after(response.headers.get("Retry-After"), now)
                self.crawler.stats.inc_value(f"politeness/refused/{response.status}")
                frontier_of(self.crawler).report(host, now, Experience(refused=True, wanted=wanted))
            elif response.status >= 500:
                frontier_of(self.crawler).report(host, now, Experience())
            else:
                latency = request.meta.get("download_latency", 0.0)
                frontier_of(self.crawler).report(host, now, Experience(latency))
        return response

    def process_exception(self, request: Request, exception: Exception) -> None:
        host = request.meta.get("host")
        if is_shortage(exception):
            self._postpone(host, exception)
        if host is None or isinstance(exception, IgnoreRequest):
            return
        if isinstance(exception, DownloadCancelledError):
            # It answered, with more than we wanted.
            latency = request.meta.get("download_latency", 0.0)
            frontier_of(self.crawler).report(host, clock.now(), Experience(latency))
        else:
            frontier_of(self.crawler).report(host, clock.now(), Experience())

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
            frontier_of(self.crawler).slow_down(host, until=clock.now() + _PAUSE)
        raise Postponed from exception


def retry_after(value: bytes | None, now: float) -> float | None:
    """Return the seconds that a Retry-After header asks for, as a number or a date, None if none."""
    text = (value or b"").decode("latin-1").strip()
    if text.isdecimal() and text.isascii():
        return float(text)
    try:
        return max(0.0, parsedate_to_datetime(text).timestamp() - now)
    except (ValueError, TypeError, OverflowError):
        return None
