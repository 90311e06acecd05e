"""Pages that are larger than what is read of them: no more is downloaded, and not all at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import FATES, read_fates
from tests.hostile import MEGABYTE, addresses, crawl, huge, name_of, pages, serving, with_robots

pytestmark = pytest.mark.slow

MOST_READ = 300_000
# What is on its way between two sockets, and in their libraries.
UNDERWAY = 16 * MEGABYTE


def test_a_page_is_downloaded_as_far_as_it_is_read(tmp_path: Path) -> None:
    sizes: list[int] = []
    with serving({"127.0.0.1": with_robots(huge(1 << 20, sizes))}) as web:
        crawled = crawl(
            tmp_path,
            [f"http://127.0.0.1:{web.port}/"],
            EXTRACT_MAX_BYTES=MOST_READ,
            FEEDS=FATES,
        )
    assert [fate for _, fate in read_fates(tmp_path / "fates.csv")] == ["done/page"]
    assert crawled.stat("extract/cut/body") == 1
    assert "1 page cut at its first bytes: EXTRACT_MAX_BYTES=300000" in crawled.output
    assert len(sizes) == 1
    assert sizes[0] < UNDERWAY


def test_many_large_pages_share_a_budget_of_memory(tmp_path: Path) -> None:
    large, small = addresses(3, 60), addresses(2, 5)
    hosts = dict.fromkeys(large, with_robots(huge(16))) | dict.fromkeys(small, pages(10))
    with serving(hosts) as web:
        seeds = [f"http://{address}:{web.port}/" for address in large]
        seeds += [f"http://{name_of(address, 'good.com')}:{web.port}/" for address in small]
        crawled = crawl(
            tmp_path,
            seeds,
            until=lambda: len(web.pages_of(set(small))) == 50,
            POLITENESS_DELAY=0.1,
            EXTRACT_PROCESSES=2,
        )
        assert len(web.pages_of(set(small))) == 50
    assert crawled.megabytes < 400, "60 hosts hold 300 MB otherwise, or 960 without an end to each"
