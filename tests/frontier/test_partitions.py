"""Partitions are even, stable and owned by one worker each."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.service.server.partitions import (
    ASSIGNMENTS,
    PARTITIONINGS,
    PHASE,
    even_out,
    phases,
    rendezvous,
)

NAMES = st.lists(st.text("abcdef", min_size=1), min_size=1, max_size=12, unique=True)


@pytest.mark.parametrize("name", PARTITIONINGS)
@given(host=st.text(), partitions=st.integers(1, 1000))
def test_a_host_has_one_partition(name: str, host: str, partitions: int) -> None:
    found = PARTITIONINGS[name](host, partitions)
    assert 0 <= found < partitions
    assert found == PARTITIONINGS[name](host, partitions)


@pytest.mark.parametrize(
    ("name", "partition"),
    # a, b, c are 97, 98, 99: all together, at even places, at odd places
    [("characters", 294 % 100), ("even", 196 % 100), ("odd", 98)],
)
def test_sums_of_characters(name: str, partition: int) -> None:
    assert PARTITIONINGS[name]("abc", 100) == partition


@pytest.mark.parametrize("name", ASSIGNMENTS)
@given(workers=NAMES, partitions=st.integers(1, 64))
def test_all_partitions_are_assigned_evenly(name: str, workers: list[str], partitions: int) -> None:
    owners = ASSIGNMENTS[name](partitions, workers, 0.0)
    assert len(owners) == partitions
    assert set(owners) <= set(workers)
    assert max(Counter(owners).values()) <= -(-partitions // len(workers))
    assert owners == ASSIGNMENTS[name](partitions, workers[::-1], 0.0), "all come to the same"


def test_few_partitions_move_when_a_worker_dies() -> None:
    workers = [f"worker{number}" for number in range(8)]
    before = rendezvous(256, workers)
    after = rendezvous(256, workers[:-1])
    moved = sum(b != a for b, a in zip(before, after, strict=True))
    assert 32 <= moved <= 64, "its own 32, and a few that had no room elsewhere"
    heirs = {a for b, a in zip(before, after, strict=True) if b == "worker7"}
    assert len(heirs) == 7, "its load is spread over the rest"


def test_phases_swap_by_the_clock() -> None:
    workers = ["a", "b", "c"]
    seen = [phases(6, workers, turn * PHASE) for turn in range(3)]
    assert seen[0] == phases(6, workers, PHASE - 1) != seen[1]
    for partition in range(6):
        assert {owners[partition] for owners in seen} == set(workers)


@given(workers=NAMES, loads=st.lists(st.integers(0, 20), min_size=1, max_size=64))
def test_loads_are_evened_out(workers: list[str], loads: list[int]) -> None:
    owners = rendezvous(len(loads), workers)
    evened = even_out(owners, loads, workers)
    before, after = (_shares(assigned, loads, workers) for assigned in (owners, evened))
    assert sum(after.values()) == sum(before.values())
    gap = max(after.values()) - min(after.values())
    assert gap <= max(before.values()) - min(before.values())
    # The busiest has nothing left that the idlest could take over to make them more alike.
    assert gap <= max(0.1 * sum(loads) / len(workers), *loads)
    assert even_out(evened, loads, workers) == evened


def _shares(owners: list[str], loads: list[int], workers: list[str]) -> dict[str, int]:
    shares = dict.fromkeys(workers, 0)
    for owner, load in zip(owners, loads, strict=True):
        shares[owner] += load
    return shares


def test_even_loads_move_nothing() -> None:
    owners = rendezvous(32, ["a", "b", "c", "d"])
    assert even_out(owners, [5] * 32, ["a", "b", "c", "d"]) == owners
    assert even_out(owners, [0] * 32, ["a", "b", "c", "d"]) == owners
