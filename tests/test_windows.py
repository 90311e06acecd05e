"""The window of an order as people set it (row T11)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.manyhosts import Serve, page, serve

if TYPE_CHECKING:
    from tests.conftest import Crawler, Scrapy

__all__ = ["serve"]


@pytest.mark.slow
def test_a_crawl_goes_on_with_its_window_and_with_no_other(
    crawl: Crawler, scrapy: Scrapy, serve: Serve
) -> None:
    serve(
        {"http://a.test/": page("/1", "/2"), "http://a.test/1": page(), "http://a.test/2": page()}
    )
    window = {"FRONTIER_WINDOW": 3, "FRONTIER_RANKING": "profit"}
    found = crawl("http://a.test/", FRONTIER_ORDER="leafwindow", **window)
    assert len(found.pages) == 3
    assert scrapy("crawl", "rdfa", JOBDIR="crawl").returncode == 0, "without saying so again"
    refused = scrapy("crawl", "rdfa", JOBDIR="crawl", FRONTIER_WINDOW=4)
    assert refused.returncode != 0
    assert "begun with FRONTIER_WINDOW=3 and FRONTIER_RANKING=profit" in refused.stderr
    seeds = ("-a", "seeds=http://a.test/")
    refused = scrapy("crawl", "rdfa", *seeds, JOBDIR="other", FRONTIER_RANKING="profit")
    assert refused.returncode != 0
    assert "The order breadth has no window" in refused.stderr
