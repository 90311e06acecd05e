"""A crawl with a console that goes on for as long as a test needs it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.console.crawls import Console, crawling

# Some hosts, some failures, and more pages than are fetched in a test.
WEB = Parameters(
    seed=5,
    hosts=12,
    levels=4,
    pages=6,
    links_across=3,
    redirected=0.05,
    missing=0.05,
    disallowed=0.05,
)


@pytest.fixture(scope="module")
def console(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """Return the console of a crawl that tests may look at, but not steer."""
    with running(WEB) as proxy:
        seed = Web(WEB).url(0, 0)
        with crawling(
            tmp_path_factory.mktemp("crawl"),
            *("-a", f"seeds={seed}", "-a", "scope=all"),
            proxy=proxy,
            POLITENESS_DELAY=0.05,
            POLITENESS_SERVER_DELAY=0,
            SEARCH=1,
            ARCHIVE=1,
        ) as console:
            console.until(lambda: console.counts()["done"] > 20)
            yield console
