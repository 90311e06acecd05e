"""The ratios that docs/speed.json keeps, and the least that a run must reach of them.

A ratio depends on the machine as well as on the code: one core more, or a processor with another cache,
moves it by more than a mistake does. So the file says which machine it was measured on, and only there
is a ratio held to 15 % below its value. Everywhere a goal holds that was reached when it was pinned; one that
was not is printed and holds nowhere.
"""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

from tests.benchmarks.speed.machine import PROJECT

PINNED = PROJECT / "docs" / "speed.json"
# How much of its value a ratio must keep on the machine where it was pinned.
KEPT = 0.85


def machine() -> str:
    """Return what ratios depend on: the processor, its cores, and Python."""
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    models = {line.partition(":")[2].strip() for line in lines if line.startswith("model name")}
    processor = ", ".join(sorted(models)) or platform.machine()
    python = ".".join(platform.python_version_tuple()[:2])
    return f"{processor}, {os.cpu_count()} cores, Python {python}"


def least(goal: float, pinned: float | None, is_same_machine: bool) -> float:
    """Return what a ratio must reach; 0 if its goal was out of reach and this machine is another."""
    if pinned is None:
        return goal
    floor = KEPT * pinned if is_same_machine else 0.0
    return max(goal, floor) if pinned >= goal else floor


def read(part: str = "") -> tuple[dict[str, float], bool]:
    """Return the pinned ratios, of a part of the file if one is named, and whether they are of here."""
    data = json.loads(PINNED.read_text()) if PINNED.exists() else {}
    kept = data.get(part, {}) if part else data
    return kept.get("ratios", {}), kept.get("machine") == machine()


def write(data: dict[str, Any], page: str) -> None:
    """Keep what was measured, and the page that tells of it."""
    PINNED.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n")
    PINNED.with_suffix(".md").write_text(page)
