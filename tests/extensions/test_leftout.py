"""What was left out, and by which setting."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfaspider.extensions import leftout
from rdfaspider.extensions.summary import reasons
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running

if TYPE_CHECKING:
    from tests.conftest import Crawler, Scrapy

pytestmark = pytest.mark.slow


def test_a_sentence_names_count_and_setting() -> None:
    counts = {"urls/rejected/links": 1234, "urls/rejected/extension": 2, "extract/cut/depth": 1}
    assert reasons.sentences(counts, {"EXTRACT_MAX_LINKS": 100}) == [
        "1,234 links beyond the per-page limit: EXTRACT_MAX_LINKS=100",
        "2 links rejected by extension: URLS_REJECT",
        "1 page cut by a limit (depth)",
    ]


def test_what_is_not_left_out_is_not_counted() -> None:
    stats = {"frontier/done/page": 5, "frontier/failed/404": 2, "frontier/failed/size": 1}
    assert reasons.counts_of(stats) == {"frontier/failed/size": 1}


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[1]", b'{"counts": 5}', b'{"counts": {"a": "b"}}']
)
def test_a_damaged_file_counts_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "left_out.json").write_bytes(content)
    assert leftout.read(tmp_path / "left_out.json") == (Counter(), {})


SITE = Parameters(seed=2, levels=2, pages=6, disallowed=0.3)


def test_the_summary_and_the_report_name_what_was_left_out(crawl: Crawler, scrapy: Scrapy) -> None:
    with running(SITE) as origin:
        settings = {"EXTRACT_MAX_LINKS": 5, "FRONTIER_HOST_URLS": 10}
        found = crawl(f"{origin}/", "-a", "depth=1", **settings)
    assert "Left out in this run:" in found.output
    assert "links beyond the per-page limit: EXTRACT_MAX_LINKS=5" in found.output
    assert "links of pages at the depth limit: FRONTIER_DEPTH=1" in found.output
    report = scrapy("report")
    assert report.returncode == 0, report.stderr
    assert "links beyond the per-page limit: EXTRACT_MAX_LINKS=5" in report.stdout


def test_the_report_adds_up_several_runs(crawl: Crawler, tmp_path: Path) -> None:
    with running(SITE) as origin:
        crawl(f"{origin}/", EXTRACT_MAX_LINKS=2, CLOSESPIDER_PAGECOUNT=2)
        first, _ = leftout.read(tmp_path / "crawl" / leftout.NAME)
        crawl(f"{origin}/", EXTRACT_MAX_LINKS=2)
        both, values = leftout.read(tmp_path / "crawl" / leftout.NAME)
    assert 0 < first["urls/rejected/links"] < both["urls/rejected/links"]
    assert values["EXTRACT_MAX_LINKS"] == 2


def test_a_resumed_crawl_blames_the_depth_it_was_begun_with(crawl: Crawler) -> None:
    with running(SITE) as origin:
        crawl(f"{origin}/", "-a", "depth=1", CLOSESPIDER_PAGECOUNT=2)
        found = crawl(f"{origin}/")
    assert "links of pages at the depth limit: FRONTIER_DEPTH=1" in found.output
