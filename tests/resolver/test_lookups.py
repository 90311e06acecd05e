from __future__ import annotations

from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.resolver import lookups
from rdfaspider.resolver.addresses import Address
from rdfaspider.resolver.lookups import Lookups

ONE = (ip_address("1.1.1.1"),)


def ignore(found: tuple[Address, ...]) -> None:
    pass


def test_a_name_is_looked_up_once_however_many_wait() -> None:
    started: list[str] = []
    told: list[tuple[Address, ...]] = []
    names = Lookups(started.append, at_once=4)
    for _ in range(3):
        names.want("a", told.append)
    names.refresh("a")
    assert started == ["a"]
    names.answered("a", ONE)
    assert told == [ONE] * 3
    names.want("a", told.append)
    assert started == ["a", "a"]


def test_wanted_names_overtake_refreshed_ones() -> None:
    started: list[str] = []
    names = Lookups(started.append, at_once=2)
    for name in "abcd":
        names.refresh(name)
    assert started == ["a"]  # half of them
    names.want("d", ignore)
    assert started == ["a", "d"]
    names.want("e", ignore)
    names.answered("a", ())
    assert started == ["a", "d", "e"]
    names.answered("d", ())
    names.answered("e", ())
    names.answered("b", ())
    names.answered("c", ())
    assert started == ["a", "d", "e", "b", "c"]


def test_refreshing_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "MAX_REFRESHED", 2)
    started: list[str] = []
    names = Lookups(started.append, at_once=1)
    for name in "abcdef":
        names.refresh(name)
    for name in "abc":
        names.answered(name, ())
    assert started == ["a", "b", "c"]
    names.want("f", ignore)
    assert started[-1] == "f"


def test_a_waiter_that_fails_does_not_hold_up_the_next_name() -> None:
    started: list[str] = []
    names = Lookups(started.append, at_once=1)

    def fail(found: tuple[Address, ...]) -> None:
        raise ValueError("a receiver of somebody's own")

    names.want("a", fail)
    names.want("b", ignore)
    names.answered("a", ONE)
    assert started == ["a", "b"]


def test_there_must_be_a_look_up_at_a_time() -> None:
    with pytest.raises(ValueError):
        Lookups(ignore, at_once=0)  # type: ignore[arg-type]


@given(
    st.integers(1, 4),
    st.lists(st.tuples(st.sampled_from(["want", "refresh", "answer"]), st.sampled_from("abcdef"))),
)
def test_all_who_wait_are_told_once(at_once: int, steps: list[tuple[str, str]]) -> None:
    running: list[str] = []
    wanted: list[str] = []
    told: list[str] = []
    names = Lookups(running.append, at_once)

    def answer(name: str) -> None:
        running.remove(name)
        names.answered(name, ONE)

    for step, name in steps:
        if step == "want":
            wanted.append(name)
            names.want(name, lambda found, name=name: told.append(name))  # type: ignore[misc]
        elif step == "refresh":
            names.refresh(name)
        elif name in running:
            answer(name)
        assert len(set(running)) == len(running) <= at_once
    while running:
        answer(running[0])
    assert sorted(told) == sorted(wanted)


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_domain_takes_a_quarter_of_the_look_ups() -> None:
    started: list[str] = []
    names = Lookups(started.append, at_once=8)
    for number in range(20):
        names.want(f"h{number}.dead.com", ignore)
    for number in range(6):
        names.want(f"www.good{number}.com", ignore)
    assert [name for name in started if "good" not in name][:2] == ["h0.dead.com", "h1.dead.com"]
    assert sum("good" in name for name in started) == 0, "nobody else wanted a look-up before"
    for name in [name for name in started if "dead" in name][2:]:
        names.answered(name, ONE)
    assert sum("good" in name for name in started) == 6
    assert sum("dead" in name for name in started) == 8, "idle times are over"


def test_slow_look_ups_do_not_count() -> None:
    started: list[str] = []
    clock = Clock()
    names = Lookups(started.append, 4, clock)
    for number in range(100):
        names.want(f"www.dead{number}.com", ignore)
    assert len(started) == 4
    clock.now = lookups.SLOW
    names.start_more()
    assert len(started) == 8
    for _ in range(100):
        clock.now += lookups.SLOW
        names.start_more()
    most = 4 + 4 * lookups._SLOW_PER_THREAD
    assert len(started) == names.slow + 4 == most, "there is an end to threads"


def test_of_a_slow_domain_one_name_is_looked_up_at_a_time() -> None:
    started: list[str] = []
    clock = Clock()
    names = Lookups(started.append, 8, clock)
    for number in range(2):
        names.want(f"h{number}.dead.com", ignore)
    for number in range(6):  # so that there are no idle times
        names.want(f"www.dead{number}.com", ignore)
    clock.now = lookups.SLOW
    for name in ("a.dead.com", "b.dead.com", "www.good.com", "www.better.com"):
        names.want(name, ignore)
    assert started[8:] == ["www.good.com", "www.better.com"]
    names.answered("h0.dead.com", ())
    assert len(started) == 10, "another of its names runs"
    names.answered("h1.dead.com", ())
    assert started[10:] == ["a.dead.com"]
    names.answered("a.dead.com", ONE)  # quickly
    assert started[11:] == ["b.dead.com"]


def test_there_is_an_end_to_names_that_wait_for_their_domain(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lookups, "MAX_HELD", 2)
    told: list[tuple[Address, ...]] = []
    clock = Clock()
    names = Lookups(ignore, 4, clock)  # type: ignore[arg-type]
    for number in range(8):
        names.want(f"h{number}.dead.com", told.append)
    clock.now = lookups.SLOW
    names.start_more()
    assert told == [(), ()]
    assert names.turned_away == 2
