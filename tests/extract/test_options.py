from __future__ import annotations

import pytest
from scrapy.settings import Settings

from rdfaspider import settings as defaults
from rdfaspider.extract import Limits
from rdfaspider.pipelines.extract import options_from


def settings(**changes: object) -> Settings:
    read = Settings()
    read.setmodule(defaults)
    read.update(changes, priority="cmdline")
    return read


@pytest.mark.parametrize(
    ("order", "read"), [("breadth", False), ("harvest", True), ("topics", True)]
)
def test_anchors_are_read_for_orders_that_judge_links_by_them(order: str, read: bool) -> None:
    assert options_from(settings(FRONTIER_ORDER=order)).anchors is read


def test_a_page_gives_all_its_links_however_many_are_followed() -> None:
    assert options_from(settings(EXTRACT_MAX_LINKS=1)).limits.links == Limits().links


def test_limits_are_settings() -> None:
    options = options_from(settings(EXTRACT_MAX_BYTES=7, EXTRACT_MAX_QUADS=3))
    assert (options.limits.body, options.limits.quads) == (7, 3)
