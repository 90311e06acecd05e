from __future__ import annotations

from pathlib import Path

import pytest

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Experience, Politeness
from rdfaspider.frontier.schedule.hosts import Host


@pytest.fixture
def host() -> Host:
    return Host(b"test,a", 0)


def test_the_longest_pause_counts(host: Host) -> None:
    rules = Politeness(delay=2.0, latency_factor=5.0, longest_adaptive=20.0)
    assert rules.pause(host) == 2.0
    rules.learn(host, 0.0, Experience(1.0))
    assert rules.pause(host) == 5.0
    host.crawl_delay = 7.0
    assert rules.pause(host) == 7.0
    host.latency = 100.0
    assert rules.pause(host) == 20.0


def test_a_host_may_have_a_delay_of_its_own(host: Host) -> None:
    rules = Politeness(delay=2.0, delays={b"test,a": 0.5})
    assert rules.pause(host) == 0.5
    assert rules.pause(Host(b"test,b", 1)) == 2.0
    host.crawl_delay = 7.0
    assert rules.pause(host) == 7.0


def test_wire_asks_large_sites_more_often(host: Host) -> None:
    """Row W2: fifteen seconds, and five for sites of over a hundred pages."""
    rules = Politeness(delay=15.0, large_delay=5.0, large_pages=100)
    assert rules.pause(host) == 15.0
    host.done, host.failed = 99, 1
    assert rules.pause(host) == 5.0


def seconds_for_a_round(path: Path, names: int, rules: Politeness) -> float:
    """Return how long it takes to fetch a page from each of many names at one address."""
    with LocalFrontier(str(path), politeness=rules) as frontier:
        frontier.put([f"http://n{number}.test/" for number in range(names)])
        frontier.wait(0.0)
        while hosts := frontier.hosts_to_resolve(100):
            for host, _ in hosts:
                frontier.set_address(host, "192.0.2.1")
        now = 0.0
        while (wait := frontier.wait(now)) is not None:
            now += wait
            taken = frontier.take(now)
            assert taken
            frontier.finish(taken, "done", now)
    return now


@pytest.mark.parametrize(
    ("names", "pace", "seconds"),
    [(8, 64.0, 0.9), (512, 64.0, 15.0), (512, 16.0, 35.0), (8, 1.0, 7)],
)
def test_an_address_of_many_names_is_asked_more_often(
    tmp_path: Path, names: int, pace: float, seconds: float
) -> None:
    """With a second for each it would take as many seconds as there are names. It slows down as fewer and
    fewer names are left."""
    rules = Politeness(delay=1.0, server_pace=pace)
    found = seconds_for_a_round(tmp_path / "frontier", names, rules)
    assert found == pytest.approx(seconds, rel=0.2)


def test_a_refusal_with_a_time_is_taken_at_its_word(host: Host) -> None:
    Politeness().learn(host, 100.0, Experience(refused=True, wanted=30.0))
    assert host.blocked == 130.0


def test_refusals_without_a_time_double_and_are_forgiven(host: Host) -> None:
    rules = Politeness(first_backoff=60.0, forgiven_after=1800.0)
    now, waits = 0.0, []
    for _ in range(14):
        rules.learn(host, now, Experience(refused=True, wanted=None))
        waits.append(host.blocked - now)
        now = host.blocked
    assert waits[:4] == [60.0, 120.0, 240.0, 480.0]
    assert waits[-1] == 86_400.0
    now += 1801.0
    rules.learn(host, now, Experience(refused=True, wanted=None))
    assert host.blocked - now == 60.0


def test_hosts_refused_together_do_not_come_back_together() -> None:
    rules = Politeness()
    hosts = [Host(b"test,a", number) for number in range(50)]
    for host in hosts:
        rules.learn(host, 0.0, Experience(refused=True, wanted=None))
    times = {host.blocked for host in hosts}
    assert len(times) > 40
    assert min(times) >= 60.0 and max(times) <= 66.0


def test_failures_in_a_row_slow_and_park_a_host(host: Host) -> None:
    rules = Politeness(first_backoff=60.0, failures_in_a_row=3)
    for _ in range(3):
        rules.learn(host, 0.0, Experience())
    assert host.blocked == 0.0, "bad luck"
    rules.learn(host, 0.0, Experience())
    assert host.blocked == 60.0
    rules.learn(host, 60.0, Experience())
    assert host.blocked == 180.0
    rules.learn(host, 0.0, Experience(0.1))
    rules.learn(host, 500.0, Experience())
    assert host.blocked == 180.0, "an answer between makes up for all"
