"""The stats that dashboards of Scrapy expect, and limits that count items."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web

if TYPE_CHECKING:
    from tests.conftest import Crawler

SITE = Parameters(
    seed=4, levels=2, pages=5, missing=0.1, redirected=0.1, dropped=0.1, disallowed=0.2
)


def stats_of(output: str) -> dict[str, int]:
    """Return the numbers that STATS_DUMP prints."""
    return {name: int(count) for name, count in re.findall(r"'([\w/.]+)': (\d+)[,}]", output)}


def test_the_stats_of_a_crawl_are_those_of_its_server(crawl: Crawler, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    with running(SITE, log=log) as origin:
        found = crawl(f"{origin}/", STATS_DUMP=1)
    served = Counter(line.split()[4] for line in log.read_text().splitlines())
    errors = Counter(fate for fate in found.fates.values() if fate.endswith("Error"))
    dropped = errors.total()
    assert dropped
    reach = Oracle(Web(SITE)).reachable([f"{origin}/"], 99, agent="rdfaspider")
    requests = 1 + len(reach.fetched)  # robots.txt
    stats = stats_of(found.output)
    assert stats["downloader/request_count"] == requests
    assert stats["downloader/request_method_count/GET"] == requests
    assert stats["downloader/response_count"] == requests - dropped
    assert stats["response_received_count"] == requests - dropped
    served["200"] -= dropped  # of which the server sent a part
    for status, count in served.items():
        assert stats[f"downloader/response_status_count/{status}"] == count
    for fate, count in errors.items():
        name = f"scrapy.exceptions.{fate.removeprefix('failed/')}"
        assert stats[f"downloader/exception_type_count/{name}"] == count
    names = [name for name in stats if name.startswith("downloader/exception_type_count/")]
    assert stats["downloader/exception_count"] == sum(stats[name] for name in names)
    assert stats["downloader/request_bytes"] > 100 * requests
    assert stats["downloader/response_bytes"] > 100 * requests
    heads = stats["downloader/response_bytes"] - stats["fetch/bytes"]
    assert 50 < heads / stats["downloader/response_count"] < 500
    assert stats["item_scraped_count"] == len(reach.pages)
    assert stats["log_count/INFO"]


def test_scrapys_switch_is_heeded(crawl: Crawler) -> None:
    with running(Parameters(levels=0)) as origin:
        found = crawl(f"{origin}/", STATS_DUMP=1, DOWNLOADER_STATS=0)
    stats = stats_of(found.output)
    assert stats["item_scraped_count"] == 1
    assert not any(name.startswith("downloader/") for name in stats)
    assert stats["fetch/bytes"]


def test_the_limit_of_items_counts_pages_that_were_read(crawl: Crawler) -> None:
    parameters = Parameters(levels=2, pages=6, redirected=0.5)
    with running(parameters) as origin:
        found = crawl(
            f"{origin}/",
            CLOSESPIDER_ITEMCOUNT=8,
            POLITENESS_AT_ONCE=1,
            STATS_DUMP=1,
        )
    assert "Spider closed (closespider_itemcount)" in found.output
    redirects = sum(fate == "done/redirect" for fate in found.fates.values())
    assert redirects > 2
    # One fetch at a time: at most the next page is under way when the limit is reached.
    assert 8 <= len(found.pages) <= 9
    assert stats_of(found.output)["item_scraped_count"] == len(found.pages)


FAULTY = """
from rdfaspider.spiders import RdfaSpider

class Faulty(RdfaSpider):
    name = "rdfa"

    def parse(self, response, **kwargs):
        raise ValueError("a mistake in the spider")
"""


def test_the_limit_of_errors_counts_mistakes_of_the_spider(
    crawl: Crawler, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "faulty.py").write_text(FAULTY)
    parameters = Parameters(levels=1, pages=9)
    with running(parameters) as origin:
        seeds = ",".join(
            url.strip() for url in Oracle(Web(parameters)).reachable([f"{origin}/"], 9).pages
        )
        found = crawl(
            seeds,
            CLOSESPIDER_ERRORCOUNT=3,
            POLITENESS_AT_ONCE=1,
            SPIDER_MODULES="faulty",
            STATS_DUMP=1,
        )
    assert "Spider closed (closespider_errorcount)" in found.output
    assert 3 <= stats_of(found.output)["spider_exceptions/ValueError"] <= 4
    assert re.search(r"10 URLs = 0 done \+ [34] failed", found.output)
