"""Reads robots.txt as RFC 9309 asks, for Scrapy's own middleware: ROBOTSTXT_PARSER."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Self

from scrapy.robotstxt import RobotParser
from scrapy.utils.python import to_unicode

from rdfaspider.robots import Robots
from rdfaspider.urls import normalise

if TYPE_CHECKING:
    from scrapy.crawler import Crawler


class RobotsParser(RobotParser):
    """The rules of one robots.txt, for any agent."""

    def __init__(self, body: bytes) -> None:
        self._rules = lru_cache(8)(lambda agent: Robots(body, agent))

    @classmethod
    def from_crawler(cls, crawler: Crawler, robotstxt_body: bytes) -> Self:
        return cls(robotstxt_body)

    def allowed(self, url: str | bytes, user_agent: str | bytes) -> bool:
        try:
            wanted = normalise(to_unicode(url))
        except ValueError:  # nothing that robots.txt could speak of
            return True
        return self._rules(to_unicode(user_agent)).allows(wanted)

    def allows_training(self, url: str, user_agent: str | bytes) -> bool:
        """Return whether the file allows an agent to train with a page; `url` is in normal form."""
        return self._rules(to_unicode(user_agent)).allows_training(url)

    def crawl_delay(self, user_agent: str | bytes) -> float | None:
        """Return the seconds that the file asks an agent to wait between requests, None for nothing."""
        return self._rules(to_unicode(user_agent)).crawl_delay
