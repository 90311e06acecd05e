"""POLITENESS_OFF_FOR_OWN_SERVERS is for these, and nobody else's suffer from it."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

from scrapy.settings import Settings

from rdfaspider.scheduler.options import frontier_options
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from tests.manyhosts import Serve, page, serve

if TYPE_CHECKING:
    import pytest

    from tests.conftest import Crawler, Scrapy

__all__ = ["serve"]


def test_other_hosts_keep_their_delay(crawl: Crawler, serve: Serve) -> None:
    pages = {f"http://other.test/{n}": page() for n in range(3)}
    mine = {f"http://mine.test/{n}": page() for n in range(3)}
    asked = serve({**pages, **mine})
    found = crawl(
        ",".join((*pages, *mine)),
        POLITENESS_OFF_FOR_OWN_SERVERS=1,
        POLITENESS_DELAY=1,
        POLITENESS_AT_ONCE=1,
        RESOLVER_ALLOW="mine.test",
    )
    assert found.pages == {*pages, *mine}
    times = sorted(time for url, time in asked.times if "other.test" in url)
    assert min(b - a for a, b in pairwise(times)) >= 0.99
    own = sorted(time for url, time in asked.times if "mine.test" in url)
    assert own[-1] - own[0] < 1.9


def test_a_crawl_of_this_machine_does_not_wait(scrapy: Scrapy) -> None:
    with running(Parameters(seed=1, levels=2, pages=5)) as origin:
        seed = f"seeds={origin}/"
        crawled = scrapy(
            "crawl", "rdfa", "-a", seed, POLITENESS_OFF_FOR_OWN_SERVERS=1, STATS_DUMP=1
        )
    assert crawled.returncode == 0, crawled.stderr
    assert "31 URLs = 31 done" in crawled.stderr
    seconds = float(crawled.stderr.split("'elapsed_time_seconds': ")[1].split(",")[0])
    assert seconds < 30, "with politeness it would take more than thirty"


def test_a_shared_crawl_says_that_it_has_no_effect(caplog: pytest.LogCaptureFixture) -> None:
    settings = Settings()
    settings.setmodule("rdfaspider.settings")
    settings.set("FRONTIER_URL", "redis://127.0.0.1:1/0")
    settings.set("POLITENESS_OFF_FOR_OWN_SERVERS", 1)
    frontier_options(settings, None)
    assert "has no effect on a crawl that workers share" in caplog.text
