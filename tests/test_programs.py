"""What a benchmark says of a crawler that cannot be built: tests/benchmarks/speed/programs.py."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmarks.speed import programs


@pytest.fixture(autouse=True)
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(programs, "BUILT", tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", programs.COMPILED)
def test_a_missing_tool_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    peer = programs.COMPILED[name]
    with pytest.raises(programs.Unavailable, match=f"{name} is not built: no {peer.tools[0]}"):
        peer.build()


def test_a_build_that_fails_names_its_log_and_is_tried_again(built: Path) -> None:
    peer = replace(programs.COMPILED["colly"], tools=("sh",), make=("sh", "-c", "echo no; exit 1"))
    for _ in range(2):
        with pytest.raises(programs.Unavailable, match=str(built / "colly.log")):
            peer.build()
    assert (built / "colly.log").read_text() == "no\n"


def test_a_program_is_built_once(built: Path) -> None:
    make = ("sh", "-c", f"echo built >> {built}/times")
    peer = replace(programs.COMPILED["colly"], tools=("sh",), make=make)
    peer.build()
    peer.build()
    assert (built / "times").read_text() == "built\n"
