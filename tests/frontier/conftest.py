"""Frontiers of every kind, for the contract that each must keep."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rdfaspider.frontier import Frontier, open_frontier

Opener = Callable[..., Frontier]


@pytest.fixture(params=["local-breadth", "local-roundrobin"])
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Opener:
    """Return a function that opens the same frontier each time it is called."""
    _, order = request.param.split("-")

    def open_again(**options: Any) -> Frontier:
        return open_frontier(str(tmp_path / "frontier"), order=order, **options)

    return open_again
