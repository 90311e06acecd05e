"""Two hundred kills of one crawl. Run by `make bench`, or by name with -s; it takes some minutes."""

from __future__ import annotations

from pathlib import Path

import pytest

from rdfaspider.site.parameters import Parameters
from tests.test_kills import crawl_through_kills

PARAMETERS = Parameters(
    seed=7,
    hosts=60,
    levels=3,
    pages=5,
    links_across=3,
    missing=0.03,
    redirected=0.05,
    looping=0.02,
    latency=0.1,
)


@pytest.mark.timeout(1_800)
def test_two_hundred_kills(tmp_path: Path) -> None:
    crawl_through_kills(tmp_path, PARAMETERS, kills=200, seed=2)
