"""Reasons in words, and what counts one thing in the singular."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfaspider.extensions.summary.reasons import in_words
from rdfaspider.terminal import number_of
from tests.stores.conftest import free_port

if TYPE_CHECKING:
    from tests.conftest import Scrapy


@pytest.mark.parametrize(
    ("state", "label", "count", "words"),
    [
        ("done", "page", 1, "1 page"),
        ("done", "page", 1234, "1,234 pages"),
        ("done", "redirect", 2, "2 redirects"),
        ("failed", "redirect", 2, "2 redirected to nowhere"),
        ("failed", "404", 3, "3 with status 404"),
        ("failed", "DownloadConnectionRefusedError", 1, "1 connection refused"),
        ("failed", "DownloadConnectionRefusedError", 2, "2 connections refused"),
        ("failed", "extract-timeout", 1, "1 extract-timeout"),
        ("failed", "OddHTTPError", 1, "1 odd HTTP error"),
        ("denied", "robots", 2, "2 by robots.txt"),
    ],
)
def test_a_reason_is_told_in_words(state: str, label: str, count: int, words: str) -> None:
    assert in_words(state, label, count) == words


def test_one_and_more() -> None:
    text = "page/pages that is/are cut"
    assert number_of(text, 1) == "page that is cut"
    assert number_of(text, 0) == number_of(text, 2) == "pages that are cut"


def test_the_summary_has_words_and_the_stats_have_names(scrapy: Scrapy) -> None:
    seed = f"http://127.0.0.1:{free_port()}/"
    settings = {"ROBOTS_OBEY": 0, "FRONTIER_RETRIES": 0, "STATS_DUMP": 1}
    output = scrapy("crawl", "rdfa", "-a", f"seeds={seed}", **settings).stderr
    assert "failed in this run: 1 connection refused\n" in output
    assert "  1 URL = 0 done + 1 failed + 0 denied + 0 waiting" in output
    assert "'frontier/failed/DownloadConnectionRefusedError': 1" in output
