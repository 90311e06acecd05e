from __future__ import annotations

import pytest
from scrapy.exceptions import UsageError

from rdfaspider.spiders.scope import Scope

SEEDS = ["http://www.example.co.uk/a", "http://127.0.0.1:8000/"]


@pytest.mark.parametrize(
    ("kind", "inside", "outside"),
    [
        (
            "host",
            ["https://www.example.co.uk/b", "http://127.0.0.1:9000/"],
            ["http://example.co.uk/", "http://127.0.0.2/"],
        ),
        (
            "domain",
            ["http://other.example.co.uk/", "http://127.0.0.1/"],
            ["http://another.co.uk/", "http://127.0.0.2/"],
        ),
        ("all", ["http://anywhere.test/"], []),
    ],
)
def test_scope(kind: str, inside: list[str], outside: list[str]) -> None:
    scope = Scope(kind, SEEDS)
    assert all(url in scope for url in inside)
    assert not any(url in scope for url in outside)


def test_a_scope_can_grow() -> None:
    scope = Scope("host", SEEDS)
    scope.add("http://moved.test/")
    assert "http://moved.test/x" in scope


def test_an_unknown_scope_is_refused() -> None:
    with pytest.raises(UsageError, match="choose host, domain or all"):
        Scope("planet", SEEDS)
