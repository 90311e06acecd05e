"""Middlewares and pipelines of a user: a crawl with them stores what one without stores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfaspider.site.oracle import Oracle
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.test_crawl import ROUGH

if TYPE_CHECKING:
    from tests.conftest import Crawler

pytestmark = pytest.mark.slow

OWN = '''
from pathlib import Path

def note(kind):
    with Path("called.txt").open("a") as file:
        file.write(f"{kind}\\n")

class Downloads:
    """A downloader middleware."""

    def process_request(self, request):
        note("request")

    async def process_response(self, request, response):
        note("response")
        return response

    def process_exception(self, request, exception):
        note("exception")

class Old:
    """A downloader middleware as they were until Scrapy 2.12."""

    def process_request(self, request, spider):
        assert spider.name == "rdfa"
        note("request")

    def process_response(self, request, response, spider):
        note("response")
        return response

    def process_exception(self, request, exception, spider):
        note("exception")

class Spiders:
    """A spider middleware."""

    async def process_spider_output(self, response, result):
        note("response")
        async for item in result:
            yield item

class Items:
    """An item pipeline."""

    async def process_item(self, item):
        note("response")
        return item

class OldItems:
    def process_item(self, item, spider):
        note("response")
        return item
'''
ALL = {"request", "response", "exception"}


@pytest.mark.parametrize(
    ("setting", "name", "called", "is_slower"),
    [
        ("DOWNLOADER_MIDDLEWARES", "Downloads", ALL, False),
        ("DOWNLOADER_MIDDLEWARES", "Old", ALL, False),
        ("SPIDER_MIDDLEWARES", "Spiders", {"response"}, True),
        ("ITEM_PIPELINES", "Items", {"response"}, False),
        ("ITEM_PIPELINES", "OldItems", {"response"}, False),
    ],
)
def test_a_crawl_with_parts_of_a_user_stores_the_same(
    setting: str, name: str, called: set[str], is_slower: bool, crawl: Crawler, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(OWN)
    oracle = Oracle(Web(ROUGH))
    with running(ROUGH) as origin:
        found = crawl(f"{origin}/", **{setting: f'{{"own.{name}": 543}}'})
    reach = oracle.reachable([f"{origin}/"], depth=99, agent="rdfaspider")
    assert found.fates.keys() == reach.fetched.keys() | reach.denied.keys()
    assert found.quads == {quad for url in reach.pages for quad in oracle.triples(url)}
    assert found.output.count(f"Because of own.{name} the crawl goes") == is_slower
    assert found.output.count("Because of") == is_slower
    calls = (tmp_path / "called.txt").read_text().splitlines()
    assert set(calls) == called
    assert calls.count("response") >= len(reach.pages)
