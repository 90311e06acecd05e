"""The links to a URL, and their worth, decide what comes first among equals."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest

from rdfaspider.focus.topics import hint_of
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.orders import ORDERS
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.linkgraph.weights import ONE, Sums, byte_of, weight_of

RANKED = [name for name, order in ORDERS.items() if order.reads_ranks]
ONCE, OFTEN = "http://z.test/a/once", "http://z.test/a/often"


def opened(path: Path, order: str) -> LocalFrontier:
    rules = Politeness(delay=0.0, at_once=1000)
    return LocalFrontier(str(path / "frontier"), order=order, politeness=rules)


def crawl_hub(frontier: LocalFrontier, order: str, pages: int, *, sieves: bool) -> None:
    """Finish pages that all link to one URL, and one of them to another one too."""
    topic = hint_of(1, 255)
    hosts = [f"http://h{page}.test/" for page in range(pages)]
    frontier.put(hosts, contexts=[topic] * pages if order == "topics" else ())
    for page, taken in enumerate([frontier.take(0.0) for _ in range(pages)]):
        assert taken is not None
        links = [OFTEN] if page else [ONCE, OFTEN]
        contexts = [topic] * len(links) if order == "topics" else ()
        frontier.finish(taken, "done", 0.0, links, contexts=contexts)
        if sieves:
            frontier._run_sieve()


def test_these_orders_count_links() -> None:
    assert RANKED == ["profit", "topics", "harvest"]


@pytest.mark.parametrize("sieves", [False, True], ids=["in one batch", "one by one"])
@pytest.mark.parametrize("order", RANKED)
def test_a_url_with_500_links_comes_before_one_with_one(
    tmp_path: Path, order: str, sieves: bool
) -> None:
    with opened(tmp_path, order) as frontier:
        crawl_hub(frontier, order, 500, sieves=sieves)
        taken = [frontier.take(0.0), frontier.take(0.0)]
        assert [each and each.url for each in taken] == [OFTEN, ONCE]


@pytest.mark.parametrize("links", [15, 200, 2_000])
def test_harvest_counts_links_as_powers_of_sixteen(tmp_path: Path, links: int) -> None:
    with opened(tmp_path, "harvest") as frontier:
        order = frontier._order
        found = []
        for _ in range(300):
            hint = order.hint(7)
            for _ in range(links - 1):
                hint = order.combine(hint, order.hint(7))
            assert hint & 0xFFFF == 7, "the context stays"
            found.append(16 ** (hint >> 16 & 3))
    assert sum(found) / len(found) == pytest.approx(links, rel=0.35)


def test_links_counted_together_are_as_many_as_one_by_one(tmp_path: Path) -> None:
    with opened(tmp_path, "profit") as frontier:
        order = frontier._order
        one = order.hint(0)
        hundreds, sums = [], []
        for _ in range(100):
            many = one
            for _ in range(99):
                many = order.combine(many, one)
            hundreds.append(weight_of(many & 255))
            sums.append(weight_of(order.combine(many, many) & 255))
        assert sum(hundreds) / 100 == pytest.approx(100, rel=0.1)
        assert sum(sums) / 100 == pytest.approx(200, rel=0.1)


def test_sums_are_right_on_the_average() -> None:
    sums = Sums(Random(1))
    for links in (2, 10, 1_000):
        found = []
        for _ in range(300):
            total = ONE
            for _ in range(links - 1):
                total = sums.add(total, ONE)
            found.append(weight_of(total))
        assert sum(found) / len(found) == pytest.approx(links, rel=0.05)
    assert sums.add(255, 255) == 255
    assert sums.add(0, 0) == byte_of(2 * weight_of(0))
