"""How fresh a store stays by the frontier's policy and by others, in a small population."""

from __future__ import annotations

import numpy as np
import pytest

from rdfaspider.focus.visits.planner import DAY
from rdfaspider.simulator.freshness.pages import Pages, freshness_at, generate, optimum
from rdfaspider.simulator.freshness.planned import planned
from rdfaspider.simulator.freshness.policies import POLICIES, simulate
from rdfaspider.simulator.freshness.table import Comparison
from tests.benchmarks import new_pages


@pytest.fixture(scope="module")
def pages() -> Pages:
    return generate(hosts=10, seed=5)


def test_a_population_is_as_it_should_be() -> None:
    pages = generate(hosts=100, seed=1)
    assert np.mean(pages.rates == 0.0) == pytest.approx(0.18, abs=0.02)
    assert np.mean(pages.rates == 1 / 3_600) == pytest.approx(0.02, abs=0.01)
    others = pages.rates[(pages.rates > 0) & (pages.rates < 1 / 3_600)]
    assert 1 / np.median(others) / DAY == pytest.approx(32, rel=0.1)
    assert len(set(pages.keys)) == len(pages)


def test_the_optimum_spends_its_budget_and_cannot_be_bettered(pages: Pages) -> None:
    best = optimum(pages, 10 * DAY)
    assert (1 / best.intervals).sum() == pytest.approx(len(pages) / (10 * DAY), rel=1e-3)
    assert freshness_at(pages, np.full(len(pages), 10 * DAY)) < best.freshness
    rng = np.random.default_rng(1)
    for _ in range(20):
        other = best.intervals * np.exp(rng.normal(0.0, 0.2, len(pages)))
        other *= (1 / other).sum() / (1 / best.intervals).sum()
        assert freshness_at(pages, other) < best.freshness


def test_a_simulation_is_as_fresh_as_arithmetic_says(pages: Pages) -> None:
    run = simulate(POLICIES["uniform"](pages, 10 * DAY), 200)
    expected = freshness_at(pages, np.full(len(pages), 10 * DAY))
    assert run.freshness == pytest.approx(expected, abs=0.015)
    assert run.used == pytest.approx(1.0, abs=0.01)


def test_the_frontier_is_near_the_optimum_and_above_the_others(pages: Pages) -> None:
    best = optimum(pages, 10 * DAY).freshness
    shares = {
        name: simulate(policy(pages, 10 * DAY), 200).freshness / best
        for name, policy in POLICIES.items()
    }
    known = planned(pages, 10 * DAY, 200, known=True)
    estimated = planned(pages, 10 * DAY, 200)
    assert known.freshness / best > 0.985
    assert estimated.freshness / best > 0.955
    assert max(known.used, estimated.used) < 1.01
    for name in ("uniform", "Nutch adaptive", "StormCrawler adaptive", "WIRE, estimated"):
        assert estimated.freshness / best > shares[name] + 0.02, name
    assert shares["greedy, known"] > 0.985


def test_a_wrong_first_price_heals(pages: Pages) -> None:
    best = optimum(pages, 10 * DAY).freshness
    for price in (1e-3, 1e12):
        assert planned(pages, 10 * DAY, 120, price=price).freshness / best > 0.94


def test_hosts_at_their_limits_have_prices_of_their_own(pages: Pages) -> None:
    best, limited = (optimum(pages, 10 * DAY, by_host=each) for each in (False, True))
    visits = np.bincount(pages.hosts, 1 / limited.intervals)
    assert visits == pytest.approx(np.bincount(pages.hosts) / (10 * DAY), rel=1e-3)
    assert 0.95 * best.freshness < limited.freshness < best.freshness
    assert planned(pages, 10 * DAY, 100, cap=1.0).freshness / best.freshness > 0.93


def test_hosts_that_allow_less_than_the_budget_do_what_brings_most(pages: Pages) -> None:
    """A price that fell for what they cannot give would have everything overdue; 0.84 to 0.9 were seen."""
    best = optimum(pages, 10 * DAY / 0.3, by_host=True).freshness
    run = planned(pages, 10 * DAY, 200, cap=0.3)
    assert run.freshness / best > 0.925
    assert 0.28 < run.used < 0.301


def test_new_pages_are_found_because_their_links_count() -> None:
    web = new_pages.grow(generate(hosts=3, seed=5), 60, 0.004)
    links, triples = planned(web, 4 * DAY, 60), planned(web, 4 * DAY, 60, counts_new=False)
    nutch = simulate(POLICIES["Nutch adaptive"](web, 4 * DAY), 60)
    assert links.freshness > max(triples.freshness, nutch.freshness) + 0.02
    assert links.delay < triples.delay / 4
    assert links.used < 1.01


def test_the_table_of_new_pages_has_every_policy() -> None:
    lines = list(new_pages.lines(generate(hosts=2, seed=1), [2.0], 0.01))
    assert len(lines) == 7
    assert all(line.count("|") == 5 for line in lines)


def test_the_table_has_every_policy(pages: Pages) -> None:
    comparison = Comparison(generate(hosts=2, seed=1), [2.0])
    lines = list(comparison.lines())
    assert len(lines) == 4 + len(comparison.shares)
    assert all(0.2 < share < 1.2 for (share,) in comparison.shares.values())
    assert comparison.plot().startswith("<svg")
