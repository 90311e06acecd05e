from __future__ import annotations

from collections.abc import Sequence
from ipaddress import IPv4Address, ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.resolver.cache import MAX_ADDRESSES, Cache

ONE = (ip_address("1.1.1.1"),)


def test_answers_are_kept_until_they_expire() -> None:
    cache = Cache(10, hit_seconds=300, miss_seconds=60)
    cache.put("a", ONE, now=1000)
    cache.put("none", (), now=1000)
    assert cache.get("a", 1299.9) == ONE
    assert cache.get("a", 1300) is None
    assert cache.get("none", 1059.9) == ()
    assert cache.get("none", 1060) is None
    assert cache.get("other", 1000) is None


def test_a_new_answer_takes_the_place_of_the_old() -> None:
    cache = Cache(10, 300, 60)
    cache.put("a", (), now=0)
    cache.put("a", ONE, now=10)
    assert cache.get("a", 309) == ONE


def test_of_many_addresses_the_first_are_kept() -> None:
    cache = Cache(10, 300, 60)
    many = tuple(IPv4Address(number) for number in range(1000))
    cache.put("a", many, now=0)
    assert cache.get("a", 0) == many[:MAX_ADDRESSES]


def test_it_must_have_room() -> None:
    with pytest.raises(ValueError):
        Cache(0, 300, 60)


@given(st.integers(1, 5), st.lists(st.tuples(st.booleans(), st.sampled_from("abcdefgh"))))
def test_it_keeps_the_names_used_last(size: int, uses: Sequence[tuple[bool, str]]) -> None:
    cache = Cache(size, 300, 60)
    kept: list[str] = []  # the last used at the end
    for put, name in uses:
        if put:
            cache.put(name, ONE, now=0)
        else:
            assert (cache.get(name, 0) is not None) == (name in kept)
        if put or name in kept:
            kept = [*(other for other in kept if other != name), name][-size:]
        assert len(cache) == len(kept)
    assert [name for name in "abcdefgh" if cache.get(name, 0)] == sorted(kept)


def test_stale_addresses_are_good_until_their_end() -> None:
    cache = Cache(10, hit_seconds=10, miss_seconds=5, stale_seconds=100)
    cache.put("a", ONE, now=0)
    assert not cache.is_stale("a", 9)
    assert cache.is_stale("a", 10)
    assert cache.get("a", 109) == ONE
    assert cache.get("a", 110) is None


def test_a_failure_is_no_news_of_stale_addresses() -> None:
    cache = Cache(10, hit_seconds=10, miss_seconds=5, stale_seconds=100)
    cache.put("a", ONE, now=0)
    cache.put("a", (), now=50)
    assert cache.get("a", 54) == ONE
    assert not cache.is_stale("a", 54), "not looked up again at once"
    assert cache.is_stale("a", 55)
    cache.put("a", (), now=108)
    assert cache.get("a", 110) is None, "failures do not prolong it"
    cache.put("a", (), now=111)
    assert cache.get("a", 112) == ()
