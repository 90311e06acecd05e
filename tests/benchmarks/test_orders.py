"""What orders harvest: triples for each page fetched, on webs whose triples are known (row B4).

pytest tests/benchmarks/test_orders.py -s
"""

from __future__ import annotations

import time
from statistics import mean

import pytest

from rdfaspider.frontier.harvest import Harvest, section_of
from rdfaspider.frontier.keys import to_key
from rdfaspider.frontier.simulator import GeneratedWeb, Shape, crawl, simulated

FETCHES = 20_000
# The constants of harvest.py were chosen on the seeds 0 to 2: these had no part in it.
SEEDS = range(100, 105)


def compare(shape: Shape, name: str) -> dict[str, float]:
    """Crawl the webs of all seeds by each order, print a table, and return the mean harvests."""
    harvests: dict[str, list[float]] = {"breadth": [], "bandit": [], "harvest": []}
    start = time.process_time()
    for seed in SEEDS:
        web = GeneratedWeb(shape, seed)
        for order, found in harvests.items():
            found.append(crawl(simulated(order, seed), web, FETCHES, seed=seed).harvest)
    rate = len(SEEDS) * len(harvests) * FETCHES / (time.process_time() - start) * 60
    print(f"\n{name}: triples a page, {len(SEEDS)} seeds; {rate:,.0f} fetches a minute of CPU")
    for order, found in harvests.items():
        each = " ".join(f"{one:6.2f}" for one in found)
        print(f"  {order:<8} {mean(found):6.2f}   ({each})")
    return {order: mean(found) for order, found in harvests.items()}


@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("kind", ["hosts", "sections"])
def test_harvest_on_a_concentrated_web(kind: str) -> None:
    found = compare(Shape(kind), kind)
    assert found["harvest"] >= 3 * found["breadth"]
    assert found["harvest"] >= 1.2 * found["bandit"]


@pytest.mark.timeout(3_600)
def test_harvest_on_a_uniform_web() -> None:
    found = compare(Shape("uniform"), "uniform")
    assert found["harvest"] >= 0.95 * found["breadth"]


@pytest.mark.timeout(3_600)
def test_harvest_on_an_unfavourable_web() -> None:
    """Rich sections are small, hardly rich, and nothing links to them rather than to others."""
    shape = Shape("sections", pages=10, dense=0.2, sparse=0.03, locality=0.0)
    found = compare(shape, "unfavourable")
    assert found["harvest"] >= 0.95 * found["breadth"]


def test_cost_of_learning_and_scoring() -> None:
    keys = [to_key(f"https://www.h{n * 7919 % 5_000}.test/s{n % 9}/{n}") for n in range(100_000)]
    sections = [section_of(key) for key in keys]
    harvest = Harvest()
    start = time.process_time()
    for key in keys:
        harvest.learn(key, 0.0)
    learnt = time.process_time()
    for section in sections:
        harvest.score(section)
    scored = time.process_time()
    data = harvest.dump()
    dumped = time.process_time()
    print(
        f"\nlearn {(learnt - start) / len(keys) * 1e6:.1f} µs,"
        f" score {(scored - learnt) / len(keys) * 1e6:.1f} µs,"
        f" dump of {len(harvest):,} prefixes {dumped - scored:.2f} s, {len(data):,} bytes"
    )
    assert (learnt - start) / len(keys) < 30e-6
    assert (scored - learnt) / len(keys) < 20e-6
