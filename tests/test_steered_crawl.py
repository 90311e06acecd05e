"""PageRank is computed beside real crawls, of one process, of workers, and of shards, and loses no page."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from rdfaspider.frontier.views.reader import FrontierReader
from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.frontier.served import ServiceProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.conftest import Scrapy

# More pages than two shards need to rank a thousand each, so that the crawl goes on meanwhile.
SITE = Parameters(seed=6, hosts=20, levels=3, pages=5, links_across=2)
SETTINGS = {
    "POLITENESS_DELAY": 0.05,  # otherwise it would end before it is ranked
    "FRONTIER_RETRIES": 0,
    "FRONTIER_RANK_EVERY": 0.5,
}
ARGUMENTS = ("-a", f"seeds={Web(SITE).url(0, 0)}", "-a", "scope=all", "-a", "depth=99")


@pytest.fixture(autouse=True)
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with running(SITE) as url:
        monkeypatch.setenv("http_proxy", url)
        yield


def check(paths: list[Path]) -> None:
    """Demand that all pages are done, and that each frontier has ranks that differ."""
    seed = Web(SITE).url(0, 0)
    expected = Oracle(Web(SITE)).reachable([seed], 99, agent="rdfaspider")
    done = 0
    for path in paths:
        with FrontierReader(str(path), delay=0.0) as reader:
            done += reader.counts().done
            views = [view for url in expected.fetched if (view := reader.url(url)) is not None]
        ranks = {view.rank for view in views if view.rank}
        assert len(ranks) > 10, f"{path} was not ranked"
    assert done == len(expected.fetched)


@pytest.mark.slow
@pytest.mark.parametrize(("order", "workers"), [("profit", 2), ("harvest", 1)])
def test_a_crawl_is_steered(scrapy: Scrapy, tmp_path: Path, workers: int, order: str) -> None:
    options = {**SETTINGS, "FRONTIER_ORDER": order, "WORKERS": workers, "JOBDIR": "job"}
    done = scrapy("crawl", "rdfa", *ARGUMENTS, **options)
    assert done.returncode == 0, done.stderr
    check([tmp_path / "job" / "frontier"])


@pytest.mark.slow
def test_shards_are_steered(scrapy: Scrapy, tmp_path: Path) -> None:
    with ExitStack() as stack:
        places = [tmp_path / "one", tmp_path / "two"]
        services = []
        for number, place in enumerate(places, start=1):
            place.mkdir()
            service = ServiceProcess(place, "profit", SETTINGS, f"{number}/2")
            services.append(stack.enter_context(service))
        url = ",".join(service.url for service in services)
        done = scrapy("crawl", "rdfa", *ARGUMENTS, FRONTIER_URL=url, **SETTINGS)
        assert done.returncode == 0, done.stderr
    check([place / "frontier" for place in places])
