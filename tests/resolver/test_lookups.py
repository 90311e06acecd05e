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
    names.prefetch("a")
    assert started == ["a"]
    names.answered("a", ONE)
    assert told == [ONE] * 3
    names.want("a", told.append)
    assert started == ["a", "a"]


def test_wanted_names_overtake_prefetched_ones() -> None:
    started: list[str] = []
    names = Lookups(started.append, at_once=2)
    for name in "abcd":
        names.prefetch(name)
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


def test_prefetching_has_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookups, "MAX_PREFETCH", 2)
    started: list[str] = []
    names = Lookups(started.append, at_once=1)
    for name in "abcdef":
        names.prefetch(name)
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
    st.lists(st.tuples(st.sampled_from(["want", "prefetch", "answer"]), st.sampled_from("abcdef"))),
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
        elif step == "prefetch":
            names.prefetch(name)
        elif name in running:
            answer(name)
        assert len(set(running)) == len(running) <= at_once
    while running:
        answer(running[0])
    assert sorted(told) == sorted(wanted)
