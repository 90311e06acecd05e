"""The limits of Scrapy count as users count, and are kept."""

from __future__ import annotations

import re
import socket
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running

if TYPE_CHECKING:
    from tests.conftest import Crawler

SITE = Parameters(seed=4, levels=3, pages=4)


def fetched(log: Path) -> list[str]:
    """Return the URLs that a server was asked for, robots.txt left out."""
    urls = [line.split()[3] for line in log.read_text().splitlines()]
    return [url for url in urls if not url.endswith("/robots.txt")]


@pytest.mark.parametrize("limit", [1, 7])
def test_as_many_pages_are_fetched_as_asked_for(crawl: Crawler, tmp_path: Path, limit: int) -> None:
    with running(SITE, log=tmp_path / "access.log") as origin:
        found = crawl(f"{origin}/", CLOSESPIDER_PAGECOUNT=limit)
    assert len(fetched(tmp_path / "access.log")) == limit
    assert f"done in this run: {limit} page" in found.output
    assert "stopped by CLOSESPIDER_PAGECOUNT" in found.output


def test_redirects_are_not_pages(crawl: Crawler, tmp_path: Path) -> None:
    site = Parameters(seed=4, levels=3, pages=4, redirected=0.5)
    with running(site, log=tmp_path / "access.log") as origin:
        found = crawl(f"{origin}/", CLOSESPIDER_PAGECOUNT=10)
    assert re.search(r"done in this run: .*\b10 page\b", found.output), found.output
    assert re.search(r"done in this run: .*\b\d+ redirect\b", found.output)


def test_items_are_pages_that_were_read(crawl: Crawler) -> None:
    site = Parameters(seed=4, levels=3, pages=4, redirected=0.3, missing=0.3)
    with running(site) as origin:
        found = crawl(f"{origin}/", CLOSESPIDER_ITEMCOUNT=10, POLITENESS_AT_ONCE=1)
    pages = re.search(r"done in this run: (\d+) page", found.output)
    assert pages
    assert 10 <= int(pages[1]) <= 11


def test_a_time_limit_is_kept_though_pages_are_slow(crawl: Crawler) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it accepts and never answers
        seed = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        started = time.monotonic()
        found = crawl(seed, CLOSESPIDER_TIMEOUT=3, ROBOTS_OBEY=False)
        assert time.monotonic() - started < 15, "DOWNLOAD_TIMEOUT is 30"
    assert "1 URLs = 0 done + 0 failed + 0 denied + 1 waiting" in found.output
    assert "Traceback" not in found.output
