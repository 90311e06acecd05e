"""What a visit is worth, how rates are learnt, and how prices follow the load."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.focus.visits.planner import (
    DAY,
    Past,
    Planner,
    RevisitRules,
)
from rdfaspider.focus.visits.prices import CrawlPrice, Tally, follow_host
from rdfaspider.focus.visits.rates import FIRST_RATE, Rates
from rdfaspider.focus.visits.scale import (
    CHANGES,
    SECONDS,
    WEIGHT,
    Scale,
    decode_interval,
    encode_coarsely,
    encode_interval,
)
from rdfaspider.focus.visits.value import (
    corrected,
    interval,
    profit,
    quality,
    rate_of,
    value,
    value_of_new,
)

weights = st.floats(1.0, 1e6)
rates = st.floats(1e-9, 1e-2)
ages = st.floats(1.0, 1e8)


@given(weights, rates, ages)
def test_the_value_grows_with_age_up_to_that_of_a_new_page(
    weight: float, rate: float, age: float
) -> None:
    now, later = value(weight, rate, age), value(weight, rate, 2 * age)
    assert 0.0 <= now <= later * (1 + 1e-9) <= value_of_new(weight, rate) * (1 + 1e-6)


@given(weights, rates, st.floats(0.001, 20.0))
def test_a_page_is_due_when_its_value_reaches_the_price(
    weight: float, rate: float, x: float
) -> None:
    age = x / rate
    assert interval(weight, rate, value(weight, rate, age)) == pytest.approx(age, rel=0.01)


@pytest.mark.parametrize(
    ("quality", "freshness", "expected"), [(0.4, 0.1, 0.36), (0.7, 0.9, 0.07), (0.6, 1e-30, 0.6)]
)
def test_figure_3_of_wire_has_these_profits(
    quality: float, freshness: float, expected: float
) -> None:
    assert profit(quality, -math.log(freshness), 1.0) == pytest.approx(expected)


@given(weights, rates)
def test_a_page_that_is_never_worth_the_price_is_never_due(weight: float, rate: float) -> None:
    assert interval(weight, rate, value_of_new(weight, rate) * 1.01) == math.inf


@given(st.floats(0.0, 1e3), st.floats(0.0, 1e9), rates)
def test_a_rate_lies_between_what_was_seen_and_the_rate_of_its_kind(
    changes: float, seconds: float, prior: float
) -> None:
    seen = changes / seconds if seconds > 1e-6 else math.inf
    low, high = sorted((seen, prior))
    assert low * 0.999 <= rate_of(changes, seconds, prior) <= max(high, low) * 1.001


@given(st.floats(0.0, 700.0))
def test_where_there_was_a_change_there_was_at_least_one(x: float) -> None:
    assert 1.0 <= corrected(x) <= max(1.0 + x, 1.0)


@given(st.floats(1.0, 1e9))
def test_an_interval_is_never_stored_shorter(seconds: float) -> None:
    exact, coarse = (decode_interval(code(seconds)) for code in (encode_interval, encode_coarsely))
    assert seconds <= exact <= seconds * 1.001 + 1
    assert exact <= coarse <= seconds * 1.035 + 1


@pytest.mark.parametrize("scale", [CHANGES, SECONDS, WEIGHT])
def test_every_code_of_a_scale_means_itself(scale: Scale) -> None:
    for code, number in enumerate(scale.numbers):
        assert scale.encode(number * 1.000001, 0.5) == code


def test_small_additions_to_a_large_number_are_not_lost() -> None:
    rng, number = random.Random(1), 1_000.0
    for _ in range(3_000):
        number = SECONDS.numbers[SECONDS.encode(number + 1.0, rng.random())]
    assert 3_000 < number < 5_300


# --- rates ---


def test_a_section_believes_its_host_until_it_has_changes_of_its_own() -> None:
    rates = Rates()
    assert rates.rate(b"test,a)/x/1") == FIRST_RATE
    for _ in range(50):
        rates.learn(b"test,a)/fast/1", 1.0, 3_600.0)
        rates.learn(b"test,a)/slow/1", 0.0, 30 * DAY)
    fast, slow = rates.rate(b"test,a)/fast/2"), rates.rate(b"test,a)/slow/2")
    assert slow < rates.rate(b"test,a)/other/1") < fast
    assert fast > 10 * slow
    again = Rates.load(rates.dump())
    assert again.rate(b"test,a)/fast/2") == pytest.approx(fast, rel=1e-6)
    assert again.of_crawl == pytest.approx(rates.of_crawl)


def test_rates_are_bounded_and_keep_what_they_know_best() -> None:
    rates = Rates(most=100)
    for number in range(1_000):
        rates.learn(b"test,a)/known/1", 1.0, 60.0)
        rates.learn(b"test,h%d)/s/1" % number, 0.0, 1.0)
        assert len(rates) <= 100
    assert rates.rate(b"test,a)/known/2") > 10 * rates.rate(b"test,unknown)/1")


@pytest.mark.parametrize("data", [b"", b"rates1", b"rates1abc", b"other"])
def test_damaged_rates_are_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match="rates of change"):
        Rates.load(data)


# --- plans ---


def test_a_page_that_changes_daily_is_found_out() -> None:
    rng, found = random.Random(2), []
    for number in range(100):
        planner, key = Planner(RevisitRules(mean=DAY)), b"test,a)/x/%d" % number
        past, now = planner.begin(0.0, 10.0), 0.0
        for _ in range(60):
            now += DAY / 2
            past = planner.visit(key, past, now, rng.random() < 1 - math.exp(-0.5), None)
        found.append(planner.rate(key, past))
        assert past.worth == pytest.approx(10.0, rel=0.05)
    assert sum(found) / 100 == pytest.approx(1 / DAY, rel=0.1)


def test_where_nobody_can_tell_nothing_is_learnt() -> None:
    planner, key = Planner(RevisitRules()), b"test,a)/1"
    past = planner.begin(5.0, 7.0)
    after = planner.visit(key, past, 1_000.0, None, None)
    assert after == past._replace(last=1_000)
    assert len(planner.rates) == 0


def test_an_interval_keeps_the_rules() -> None:
    key, old = b"test,a)/1", Past(0, 200, 100, 100, 0, 0)
    rules = RevisitRules(shortest=60.0, longest=1_000.0)
    assert 60 <= decode_interval(Planner(rules, price=1e-9).interval(key, old)) <= 62
    assert 1_000 <= decode_interval(Planner(rules, price=1e30).interval(key, old)) <= 1_035
    soon = Planner(rules, price=1e-9).interval(key, old, soonest=500.0)
    assert 500 <= decode_interval(soon) <= 520
    fixed = Planner(RevisitRules(every=604_800.0)).interval(key, old)
    assert 604_800 <= decode_interval(fixed) <= 605_300


@pytest.mark.parametrize("rules", [RevisitRules(), RevisitRules(every=1e12)])
def test_a_first_visit_is_planned_as_any_other(rules: RevisitRules) -> None:
    planner, key, other = Planner(rules), b"test,a)/x/1", b"test,b)/1"
    for now in (5.2, 1e6, 4.29e9):
        for page in (key, other):
            for weight, factor, soonest in ((7.0, 1.0, 0.0), (None, 4.0, 1e5), (7.0, 1.0, 0.0)):
                first = planner.first(page, now, weight, factor, soonest)
                past = planner.plan(page, planner.begin(now, weight), factor, soonest)
                assert first == (past, past.due)
        planner.rates.learn(key, 3.0, now)


def test_a_dearer_host_is_visited_less() -> None:
    planner, key = Planner(RevisitRules(), price=1e5), b"test,a)/1"
    past = planner.begin(0.0, 10.0)
    assert planner.plan(key, past, 4.0).due > planner.plan(key, past).due


def test_impossible_rules_are_refused() -> None:
    with pytest.raises(ValueError, match="share"):
        RevisitRules(share=1.5)
    with pytest.raises(ValueError, match="longest"):
        RevisitRules(shortest=10.0, longest=5.0)
    for rank in (0.5, 1e4):
        with pytest.raises(ValueError, match="PageRank"):
            RevisitRules(rank=rank)


@pytest.mark.parametrize(
    ("rank", "most", "expected"),
    [(None, 4.0, 1.0), (2.0, 4.0, 2.0), (900.0, 4.0, 4.0), (0.01, 4.0, 0.25), (900.0, 1.0, 1.0)],
)
def test_quality_is_the_rank_within_bounds(
    rank: float | None, most: float, expected: float
) -> None:
    assert quality(rank, most) == expected


# --- prices ---


def _followed(price: float, tally: Tally, capacity: float, period: float = DAY) -> float:
    """Return the price after a pass, in which all planned visits were made."""
    crawl = CrawlPrice(price)
    crawl.end_pass(tally, math.ceil(tally.demand * period), period, capacity)
    return crawl.price


def test_a_price_follows_what_is_asked_for() -> None:
    """Visits fall with the root of the price; from a price that is wrong by a factor of a million."""
    for price in (1e-3, 1.0, 1e3):
        for _ in range(60):
            price = _followed(price, Tally(100, 1.0 / math.sqrt(price), 0), 1.0)
        assert price == pytest.approx(1.0, rel=0.05)


def test_a_backlog_raises_a_price() -> None:
    assert _followed(1.0, Tally(10, 1.0, 0), 1.0, 10.0) == 1.0
    assert _followed(1.0, Tally(10, 1.0, 50), 1.0, 10.0) > 1.0
    assert follow_host(2.0, Tally(10, 1.0, 50), 1.0, 10.0) > follow_host(
        2.0, Tally(10, 1.0, 0), 1.0, 10.0
    )


def test_a_price_follows_the_hosts_that_it_can_move() -> None:
    """Where most hosts are at their limits, what the others leave of the budget is much for these."""
    total, busy, idle = Tally(), Tally(), Tally()
    busy.demand, idle.demand = 5.0, 0.05
    total.add(busy, capacity=0.8, factor=4.0)
    total.add(idle, capacity=0.2, factor=1.0)
    assert total.held == 0.8
    same = Tally(total.pages + 2, total.demand)
    total.pages += 2
    assert _followed(1.0, total, 1.0) < 0.85 < 0.94 < _followed(1.0, same, 1.0) < 1.0


@pytest.mark.parametrize("budget", [0.0, 2.0, 100.0])
def test_a_price_stands_still_where_all_hosts_are_at_their_limits(budget: float) -> None:
    """More than they allow cannot be had at any price."""
    total, busy = Tally(), Tally(100, 5.0)
    total.add(busy, capacity=1.0, factor=4.0)
    assert _followed(1.0, total, budget) == pytest.approx(1.0, rel=0.01)


def test_what_is_beyond_the_limit_of_a_host_loads_nobody_else() -> None:
    total, host = Tally(), Tally()
    for _ in range(10):
        host.count(1, is_late=True)
    total.add(host, capacity=2.0, factor=3.0)
    assert (total.pages, total.demand, total.backlog) == (10, 2.0, 0)
