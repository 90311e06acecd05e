"""When a ratio that was pinned on one machine fails on another: tests/benchmarks/speed/pins.py."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.benchmarks.speed import pins


def test_on_its_machine_a_ratio_keeps_most_of_its_value() -> None:
    assert pins.least(0.7, 1.18, is_same_machine=True) == pytest.approx(0.85 * 1.18)


def test_on_another_machine_only_its_goal_counts() -> None:
    # (f) : (e) by CPU, which was pinned at 1.18 and gave 0.75 elsewhere.
    assert pins.least(0.7, 1.18, is_same_machine=False) == 0.7


def test_a_goal_that_was_not_reached_holds_nowhere() -> None:
    assert pins.least(1.0, 0.6, is_same_machine=True) == pytest.approx(0.85 * 0.6)
    assert pins.least(1.0, 0.6, is_same_machine=False) == 0.0


def test_a_goal_that_was_never_measured_holds() -> None:
    assert pins.least(1.0, None, is_same_machine=False) == 1.0


def test_pins_know_their_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pins, "PINNED", tmp_path / "speed.json")
    assert pins.read() == ({}, False)
    here, elsewhere = {"machine": pins.machine()}, {"machine": "another, 64 cores"}
    data = {**elsewhere, "ratios": {"a": 1.0}, "peers": {**here, "ratios": {"b": 2.0}}}
    pins.PINNED.write_text(json.dumps(data))
    assert pins.read() == ({"a": 1.0}, False)
    assert pins.read("peers") == ({"b": 2.0}, True)


def test_pins_of_nobody_knows_where_hold_nowhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pins, "PINNED", tmp_path / "speed.json")
    pins.PINNED.write_text(json.dumps({"ratios": {"a": 1.0}}))
    assert pins.read() == ({"a": 1.0}, False)
