"""How far the forecast at a third of a crawl is from its end, in seconds and in pages.

    pytest -m campaign -s tests/benchmarks/test_forecast.py

Each crawl takes about a minute, most of which is delay, so the figures hardly depend on the machine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfaspider.extensions.history.samples import NAME, read
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Scrapy

SITE = Parameters(levels=4, pages=4)
HOSTS = Parameters(seed=3, hosts=40, levels=2, pages=3, links_across=2)
LARGE = Parameters(levels=6, pages=4)
CASES: dict[str, tuple[Parameters, dict[str, object]]] = {
    "one site of 341 pages": (SITE, {"POLITENESS_DELAY": 0.18}),
    "40 hosts of 13 pages, found one by one": (HOSTS, {"POLITENESS_DELAY": 4}),
    "40 hosts, best pages first": (HOSTS, {"POLITENESS_DELAY": 4, "FRONTIER_ORDER": "harvest"}),
    "250 pages of a site of 5,461": (
        LARGE,
        {"POLITENESS_DELAY": 0.25, "CLOSESPIDER_PAGECOUNT": 250},
    ),
    "a minute of a site of 5,461": (LARGE, {"POLITENESS_DELAY": 0.25, "CLOSESPIDER_TIMEOUT": 60}),
}


@pytest.mark.campaign
@pytest.mark.timeout(300)
@pytest.mark.parametrize("case", CASES)
def test_the_error_of_a_forecast(
    scrapy: Scrapy, tmp_path: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    web, settings = CASES[case]
    with running(web) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        done = scrapy(
            "crawl", "rdfa", "-a", f"seeds={Web(web).url(0, 0)}", "-a", "scope=all",
            HISTORY_INTERVAL=1, POLITENESS_SERVER_DELAY=0, EXTRACT_PROCESSES=0, **settings,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    samples = read(tmp_path / "crawl" / NAME)
    last = samples[-1]
    third = next(each for each in samples if each.seconds >= last.seconds / 3)
    time, pages = third.end / last.seconds - 1, third.end_pages / last.pages - 1
    print(
        f"\n{case}: {last.seconds:.0f} s and {last.pages} pages; foretold after {third.seconds:.0f} s:"
        f" {third.end} s ({time:+.0%}) and {third.end_pages} pages ({pages:+.0%})"
    )
    assert third.end, "no end was foretold"
    assert abs(time) < 1
