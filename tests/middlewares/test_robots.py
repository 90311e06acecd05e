from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from rdfaspider.frontier import open_frontier
from rdfaspider.middlewares import robotsrecords
from rdfaspider.middlewares.robotsrecords import Records, service_of
from rdfaspider.robots.record import DAY, answered, unreachable

if TYPE_CHECKING:
    from pathlib import Path


def test_the_rules_at_hand_are_bounded_and_the_rest_is_with_the_frontier(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(robotsrecords, "_REMEMBERED", 10_000)
    with open_frontier(str(tmp_path / "frontier")) as frontier:
        records = Records(lambda: frontier)
        for number in range(100):
            body = f"User-agent: *\nDisallow: /{number}/{'x' * 900}".encode()
            records.remember(f"http://{number}.test", answered(200, body, "us", 0.0, None))
        for number in range(100):
            record = records.known(f"http://{number}.test")
            assert record is not None
            assert not record.rules.allows(f"http://{number}.test/{number}/{'x' * 900}")
            assert len(records._records) <= 10
        assert records.known("http://unknown.test") is None


def test_an_answer_elsewhere_is_known_to_all_who_moved_there(tmp_path: Path) -> None:
    body = b"User-agent: *\nDisallow: /x"
    with open_frontier(str(tmp_path / "frontier")) as frontier:
        records = Records(lambda: frontier)
        assert records.answered("http://hub.test/all.txt", 0.0) is None
        records.keep_answer("http://hub.test/all.txt", answered(200, body, "us", 0.0, None))
        records.remember("http://hub.test", answered(200, body, "us", 0.0, None))
        records.remember("http://ill.test", unreachable(0.0, answered(200, body, "us", 0.0, None)))
        for url in ("http://hub.test/all.txt", "http://hub.test/robots.txt"):
            record = records.answered(url, 1.0)
            assert record is not None and not record.rules.allows("http://moved.test/x")
            assert records.answered(url, DAY) is None
        assert records.answered("http://ill.test/robots.txt", 1.0) is None


def test_a_host_has_the_longest_delay_of_its_services(tmp_path: Path) -> None:
    with open_frontier(str(tmp_path / "frontier")) as frontier:
        records = Records(lambda: frontier)
        assert records.longest_delay("http://a.test", 3.0) == 3.0
        assert records.longest_delay("https://a.test:8443", 7.0) == 7.0
        assert records.longest_delay("http://b.test", None) == 0.0
        assert Records(lambda: frontier).longest_delay("http://a.test", 5.0) == 7.0
        assert records.longest_delay("https://a.test:8443", None) == 5.0
        assert records.longest_delay("http://a.test", None) == 0.0


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
