"""Pages are visited again, and not too often, though hosts are away, servers ask for time, pages are removed,
workers come back after a restart or the clock is set back."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any
from zlib import crc32

import pytest

from rdfaspider.focus.visits.planner import DAY, Past, RevisitRules
from rdfaspider.frontier import Keep, Taken
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Demand, Experience, Politeness
from tests.frontier.test_revisits import urls

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def local(path: Path, delay: float = 0.0, **options: Any) -> LocalFrontier:
    return LocalFrontier(str(path), politeness=Politeness(delay=delay), **options)


def visit(frontier: LocalFrontier, taken: Taken, now: float) -> None:
    changed = None if taken.visit is None else False
    frontier.finish(taken, "done", now, keep=Keep(changed, 5.0))


def visit_new(frontier: LocalFrontier, now: float = 0.0) -> float:
    """Visit all new pages; return the time then."""
    while frontier.counts().waiting:
        if (taken := frontier.take(now)) is not None:
            visit(frontier, taken, now)
        else:
            now += 1.0
    return now


def run(
    frontier: LocalFrontier,
    now: float,
    end: float,
    answer: Callable[[LocalFrontier, Taken, float], None] = visit,
    step: float = 1.0,
) -> list[tuple[float, str]]:
    """Take and answer until a time; return what was taken, and when."""
    visits = []
    while now < end:
        if (taken := frontier.take(now)) is not None:
            visits.append((now, taken.url))
            answer(frontier, taken, now)
            continue
        seconds = frontier.wait(now)
        assert seconds is not None
        now += min(max(seconds, step), 1_000.0)
    return visits


def wire(cycle: int, shortest: float, mean: float = 0.0, longest: float = 1e7) -> RevisitRules:
    return RevisitRules(mean=mean, shortest=shortest, longest=longest, policy="wire", cycle=cycle)


def _longest_gap(visits: list[tuple[float, str]], start: float, end: float) -> float:
    times = [start, *(time for time, _ in visits), end]
    return max(after - before for before, after in pairwise(times))


# --- WIRE's manager ---


def test_a_page_without_an_answer_is_not_in_each_cycle(tmp_path: Path) -> None:
    def answer(frontier: LocalFrontier, taken: Taken, now: float) -> None:
        if taken.url.endswith("/0"):
            frontier.finish(taken, "failed", now, status=500, keep=Keep())
        else:
            visit(frontier, taken, now)

    with local(tmp_path, revisits=wire(10, 3_600.0)) as frontier:
        frontier.put(urls("a", 3))
        visit_new(frontier)
        visits = Counter(url for _, url in run(frontier, 3_600.0, 8 * 3_600.0, answer))
    assert 5 <= visits[urls("a", 1)[0]] <= 7


def test_pages_that_servers_do_not_want_asked_for_take_no_places_of_a_cycle(
    tmp_path: Path,
) -> None:
    with local(tmp_path, revisits=wire(3, 10.0)) as frontier:
        frontier.put(urls("a", 6))
        for _ in range(6):
            taken = frontier.take(0.0)
            assert taken is not None
            is_early = taken.url in urls("a", 3)
            keep = Keep(None, 50.0, soonest=5e6) if is_early else Keep(None, 5.0)
            frontier.finish(taken, "done", 0.0, keep=keep)
        visits = Counter(url for _, url in run(frontier, 0.0, 1_000.0))
    assert set(visits) == set(urls("a", 6)[3:])
    assert min(visits.values()) > 50


def test_a_page_that_is_removed_does_not_hold_up_its_cycle(tmp_path: Path) -> None:
    with local(tmp_path, delay=10.0, revisits=wire(100, 1_000.0)) as frontier:
        frontier.put(urls("a", 30))
        start = visit_new(frontier) + 5_000.0
        run(frontier, start, start + 5.0)
        assert frontier.retire(r"/x/2\d$") > 0
        visits = run(frontier, start + 5.0, start + DAY, step=5.0)
    assert _longest_gap(visits, start, start + DAY) < 2_000.0


def test_a_page_that_a_worker_held_over_a_restart_does_not_hold_up_a_cycle(tmp_path: Path) -> None:
    rules = wire(100, 1_000.0)
    frontier = local(tmp_path, delay=10.0, revisits=rules)
    frontier.put([*urls("a", 5), *urls("b", 1)])
    visit_new(frontier)
    taken = [frontier.take(5_000.0 + second) for second in range(3)]
    held = [each.url for each in taken if each is not None]
    assert urls("b", 1)[0] in held
    frontier.abandon()
    with local(tmp_path, delay=10.0, revisits=rules, now=5_010.0) as frontier:
        assert frontier.take(5_010.0) is None, "a cycle is chosen, and hosts rest"
        adopted = [frontier.adopt(url, 5_011.0) for url in held]
        for each in adopted:
            assert each is not None
            visit(frontier, each, 5_012.0)
        visits = run(frontier, 5_012.0, 5_000.0 + DAY, step=5.0)
    assert _longest_gap(visits, 5_012.0, 5_000.0 + DAY) < 2_000.0


@pytest.mark.parametrize("age", [1.0, 4_096.0, 5_001.0, 30 * DAY + 1.0, 400 * DAY + 77.5])
def test_a_chosen_page_is_due_at_once_however_old_it_is(age: float) -> None:
    due = Past(1_000, 0, 0, 1, 0, 0).due_by(1_000.0 + age).due
    assert 1_000.0 + 0.998 * age - 1.0 <= due <= 1_000.0 + age


# --- a clock that was ahead for a moment ---


@pytest.mark.parametrize("end", ["kept", "failed", "missed"])
@pytest.mark.parametrize("policy", ["value", "wire"])
def test_a_visit_in_the_future_is_not_the_last(tmp_path: Path, policy: str, end: str) -> None:
    rules = RevisitRules(mean=1_000.0, shortest=10.0, longest=10_000.0, policy=policy, cycle=10)
    with local(tmp_path, revisits=rules) as frontier:
        frontier.put(urls("a", 4))
        visit_new(frontier)
        now = 5_000.0
        while (taken := frontier.take(now)) is None:
            now += 1.0
        ahead = now + 365 * DAY
        if end == "failed":
            frontier.retry(taken, ahead, after=60.0)
        elif end == "missed":
            frontier.finish(taken, "failed", ahead, status=404, keep=Keep(missed=True))
        else:
            visit(frontier, taken, ahead)
    with local(tmp_path, revisits=rules, now=now) as frontier:
        visits = Counter(url for _, url in run(frontier, now, now + 50_000.0, step=10.0))
    assert visits[taken.url] > 10


# --- pages at hand ---


def test_hosts_that_are_away_do_not_keep_others_from_their_visits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their pages would be all that is at hand, and the crawl would ask for others without a pause."""
    monkeypatch.setattr("rdfaspider.frontier.engine.revisits.waking.MOST_AT_HAND", 400)
    hosts = [f"h{number}" for number in range(30)]
    away = {f"{host}.test" for host in hosts[:20]}

    def answer(frontier: LocalFrontier, taken: Taken, now: float) -> None:
        if now < DAY and taken.url.split("/")[2] in away:
            frontier.slow_down(taken.host, now, Demand(pause=DAY - now))
            frontier.retry(taken, now, after=600.0)
        else:
            visit(frontier, taken, now)

    with local(tmp_path, revisits=RevisitRules(every=6_000.0)) as frontier:
        frontier.put(url for host in hosts for url in urls(host, 30))
        visit_new(frontier)
        visits = run(frontier, 6_001.0, DAY + 7_000.0, answer)
        assert frontier.counts().kept == 900
    early = Counter(url for time, url in visits if time < DAY)
    late = {url for time, url in visits if time >= DAY}
    assert all(early[url] >= 10 for host in hosts[20:] for url in urls(host, 30))
    assert late == {url for host in hosts for url in urls(host, 30)}


def test_who_waits_for_room_at_hand_does_not_ask_all_the_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rdfaspider.frontier.engine.revisits.waking.MOST_AT_HAND", 40)
    with local(tmp_path, delay=10.0, revisits=RevisitRules(every=1_000.0)) as frontier:
        frontier.put(url for host in range(10) for url in urls(f"h{host}", 20))
        now = visit_new(frontier) + 1_000.0
        while frontier.take(now) is not None:
            pass
        seconds = frontier.wait(now)
    assert seconds is not None and seconds > 1.0


# --- while new pages wait ---


def _share_of_revisits(frontier: LocalFrontier, now: float, takes: int) -> float:
    frontier.put(url for host in range(50) for url in urls(f"new{host}", 100))
    revisits = 0
    for _ in range(takes):
        taken = frontier.take(now)
        assert taken is not None
        revisits += taken.visit is not None
        visit(frontier, taken, now)
        now += 0.01
    return revisits / takes


def test_visits_that_took_nothing_from_new_pages_are_no_debt(tmp_path: Path) -> None:
    """One new page is to be tried again much later, and meanwhile old ones are visited a thousand times."""
    with local(tmp_path, revisits=RevisitRules(every=100.0)) as frontier:
        frontier.put(url for host in range(20) for url in urls(f"old{host}", 20))
        visit_new(frontier)
        frontier.put(["http://z.test/"])
        taken = frontier.take(1.0)
        assert taken is not None
        frontier.retry(taken, 1.0, after=1e6)
        assert len(run(frontier, 1.0, 1_500.0)) > 4_000
        assert _share_of_revisits(frontier, 1_700.0, 2_000) > 0.1


def test_revisits_get_what_they_have_earned_where_more_hosts_are_ready_than_are_asked(
    tmp_path: Path,
) -> None:
    with local(tmp_path, revisits=RevisitRules(every=1_000.0)) as frontier:
        frontier.put(url for host in range(20) for url in urls(f"old{host}", 20))
        visit_new(frontier)
        assert 0.3 < _share_of_revisits(frontier, 1_500.0, 600) <= 0.55


# --- restarts ---


@pytest.mark.slow
@pytest.mark.parametrize("is_killed", [False, True])
def test_prices_follow_though_a_crawl_is_often_started_again(
    tmp_path: Path, is_killed: bool
) -> None:
    """A walk through all pages takes 1,000 s, and no run more than 300. The first price is far too low."""
    rules = RevisitRules(mean=1_000.0, shortest=10.0, longest=100_000.0)
    pages = [url for host in range(20) for url in urls(f"h{host}", 10)]

    def answer(frontier: LocalFrontier, taken: Taken, now: float) -> None:
        changed = None if taken.visit is None else crc32(taken.url.encode()) % 3 == 0
        frontier.finish(taken, "done", now, keep=Keep(changed, 5.0))

    def price() -> float:
        assert frontier._revisits is not None
        return frontier._revisits.planner.price

    with local(tmp_path, revisits=rules) as frontier:
        frontier.put(pages)
        now, first = visit_new(frontier), price()
    while now < 7_000.0:
        frontier = local(tmp_path, revisits=rules, now=now)
        run(frontier, now, now + 300.0, answer, step=5.0)
        now += 300.0
        last = price()
        frontier.abandon() if is_killed else frontier.close()
    assert last > 4 * first


# --- runs that end ---


def test_a_run_that_ends_waits_for_hosts_that_are_away_and_leaves_what_is_due_later(
    tmp_path: Path,
) -> None:
    """One host refuses its second page for a minute. Pages of the other are due again meanwhile."""
    rules = RevisitRules(every=30.0, shortest=1.0)
    with local(tmp_path, revisits=rules) as frontier:
        frontier.put([*urls("a", 2), *urls("b", 2)])
        visit_new(frontier)

    def answer(frontier: LocalFrontier, taken: Taken, now: float) -> None:
        if now < 1_060.0 and taken.url == urls("a", 2)[1]:
            frontier.report(taken.host, now, Experience(refused=True, wanted=60.0))
            frontier.retry(taken, now, 5.0)
        else:
            visit(frontier, taken, now)

    with local(tmp_path, revisits=replace(rules, until=1_000.0), now=1_000.0) as frontier:
        visits, now = Counter[str](), 1_000.0
        while (seconds := frontier.wait(now)) is not None:
            assert seconds <= 60.0
            now += max(seconds, 0.01)
            if (taken := frontier.take(now)) is not None:
                visits[taken.url] += 1
                answer(frontier, taken, now)
        assert now >= 1_060.0, "it waits for the host"
    refused, *others = urls("a", 2)[::-1] + urls("b", 2)
    assert visits == {refused: 2, **dict.fromkeys(others, 1)}
