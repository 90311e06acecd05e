"""Table 7 of the RDFa Web Spider: twenty generated sites, each page and each triple found.

A site of n levels with n pages below each page has 1 + n + … + nⁿ pages: 2, 7, 40, 341, 3906. The
paper counts 8 in its second rows where its generator made 7, and 8 triples on 2 pages of 2; the
arithmetic, not the misprint, is tested here. And not the counts alone: the sets are equal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web

if TYPE_CHECKING:
    from tests.conftest import Crawler

PAGES = {1: 2, 2: 7, 3: 40, 4: 341, 5: 3906}


def marks(size: int, triples: int) -> list[pytest.MarkDecorator]:
    """Return no mark for one site of the middle: the largest take a while, and all together do, too."""
    if (size, triples) == (3, 2):
        return []
    return [pytest.mark.slow, *[pytest.mark.campaign] * (size == 5)]


SITES = [
    pytest.param(size, triples, marks=marks(size, triples))
    for size in PAGES
    for triples in range(4)
]


@pytest.mark.parametrize(("size", "triples"), SITES)
def test_all_pages_and_all_triples_are_found(crawl: Crawler, size: int, triples: int) -> None:
    parameters = Parameters(
        seed=triples, levels=size, pages=size, triples=triples, rdfa=1, jsonld=0, microdata=0
    )
    oracle = Oracle(Web(parameters))
    with running(parameters) as origin:
        found = crawl(f"{origin}/")
    expected = set(oracle.urls(origin=origin))
    assert len(expected) == PAGES[size]
    assert found.pages == expected
    assert set(found.fates.values()) == {"done/page"}
    quads = frozenset(quad for url in expected for quad in oracle.triples(url))
    assert len(quads) == PAGES[size] * triples
    assert found.quads == quads
