from __future__ import annotations

import asyncio
from typing import Any

import pytest
from scrapy import Request

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.middlewares.robots import RobotsMiddleware
from rdfaspider.middlewares.sitemaps import SitemapsMiddleware
from rdfaspider.middlewares.turns import Postponed, noted


class Away:
    """A frontier whose notes cannot be read now, as the middlewares reach it."""

    def __init__(self) -> None:
        self.engine = self.scheduler = self.frontier = self

    def note(self, name: str) -> bytes | None:
        raise FrontierUnavailable("Redis is away")


def test_a_page_waits_while_notes_cannot_be_read() -> None:
    frontier: Any = Away()
    with pytest.raises(Postponed):
        noted(frontier, "robots http://a.test")


def test_both_middlewares_postpone_the_page() -> None:
    crawler: Any = Away()
    request = Request("http://a.test/", meta={"host": 1})
    with pytest.raises(Postponed):
        asyncio.run(RobotsMiddleware(crawler, "us", 0, 0.0).process_request(request))
    with pytest.raises(Postponed):
        SitemapsMiddleware(crawler, 1).process_request(request)
