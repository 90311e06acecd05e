"""The external robots.txt cases, and how one is put to our parser."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rdfaspider.robots import Robots

Case = dict[str, Any]
Agrees = Callable[[Case], bool]


@pytest.fixture(scope="session")
def cases(vectors: Path) -> list[Case]:
    loaded: list[Case] = json.loads((vectors / "robots.json").read_text(encoding="utf-8"))
    return loaded


@pytest.fixture(scope="session")
def agrees() -> Agrees:
    """Tell whether our answers to a case are those that its source expects."""

    def check(case: Case) -> bool:
        raw = case.get("robots_b64")
        body = base64.b64decode(raw) if raw else case["robots"].encode()
        parsed = Robots(body, case["user_agent"] or "")
        # What was stored must answer as what was parsed.
        return all(
            answers(robots, case) for robots in (parsed, Robots.from_bytes(parsed.to_bytes()))
        )

    return check


def answers(robots: Robots, case: Case) -> bool:
    if case["allowed"] is not None and robots.allows(case["url"]) != case["allowed"]:
        return False
    if "crawl_delay" in case and robots.crawl_delay != case["crawl_delay"]:
        return False
    return "sitemaps" not in case or list(robots.sitemaps) == case["sitemaps"]
