"""Frontiers of every kind, for the contract that each must keep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rdfaspider.frontier import Frontier, open_frontier
from rdfaspider.frontier.politeness import Politeness

Opener = Callable[..., Frontier]


@pytest.fixture(params=["local-breadth", "local-roundrobin"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Return a function that opens the same frontier each time it is called."""
    _, order = request.param.split("-")

    def open_again(
        delay: float = 1.0, at_once: int = 1, server_delay: float | None = None, **options: Any
    ) -> Frontier:
        politeness = Politeness(delay=delay, at_once=at_once, server_delay=server_delay)
        path = str(tmp_path / "frontier")
        return open_frontier(path, order=order, politeness=politeness, **options)

    return open_again
