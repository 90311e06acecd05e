from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from rdfaspider.frontier import open_frontier
from rdfaspider.middlewares import robots
from rdfaspider.middlewares.robots import RobotsMiddleware, service_of
from rdfaspider.robots.record import answered

if TYPE_CHECKING:
    from pathlib import Path


def test_the_rules_at_hand_are_bounded_and_the_rest_is_with_the_frontier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(robots, "_REMEMBERED", 10_000)
    with open_frontier(str(tmp_path / "frontier")) as frontier:
        # All that the middleware wants of a crawler here.
        scheduler = SimpleNamespace(frontier=frontier)
        crawler: Any = SimpleNamespace(engine=SimpleNamespace(scheduler=scheduler))
        middleware = RobotsMiddleware(crawler, "us", retries=0, longest_delay=0.0)
        for number in range(100):
            body = f"User-agent: *\nDisallow: /{number}/{'x' * 900}".encode()
            middleware._remember(f"http://{number}.test", answered(200, body, "us", 0.0, None))
        for number in range(100):
            record = middleware._known(f"http://{number}.test")
            assert record is not None
            assert not record.rules.allows(f"http://{number}.test/{number}/{'x' * 900}")
            assert len(middleware._records) <= 10
        assert middleware._known("http://unknown.test") is None


@pytest.mark.parametrize(
    ("url", "service"),
    [
        ("http://a.test/b?c", "http://a.test"),
        ("https://a.test:8080/", "https://a.test:8080"),
        ("http://user:password@a.test/", "http://a.test"),
        ("http://[::1]:80/a@b", "http://[::1]:80"),
    ],
)
def test_a_service_is_scheme_host_and_port(url: str, service: str) -> None:
    assert service_of(url) == service
