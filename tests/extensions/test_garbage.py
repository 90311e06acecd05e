from __future__ import annotations

import gc
from collections.abc import Iterator

import pytest
from scrapy import signals
from scrapy.utils.test import get_crawler

from rdfaspider.extensions.garbage import Garbage


@pytest.fixture
def restored() -> Iterator[None]:
    threshold = gc.get_threshold()
    yield
    gc.set_threshold(*threshold)
    gc.unfreeze()


@pytest.mark.usefixtures("restored")
def test_what_was_there_before_is_not_looked_at_and_new_cycles_still_are() -> None:
    crawler = get_crawler()
    garbage = Garbage.from_crawler(crawler)
    assert not gc.get_freeze_count()
    crawler.signals.send_catch_log(signals.spider_opened, spider=None)
    assert gc.get_freeze_count() > 10_000
    found = gc.get_stats()[0]["collected"]
    while gc.get_stats()[0]["collected"] == found:  # else the test runs into its time limit
        cycle: list[object] = [garbage]
        cycle.append(cycle)
