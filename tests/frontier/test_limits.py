"""Limits: which links are turned away, in whose name, and how that is told."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

import rdfaspider.settings
from rdfaspider.frontier.engine.admission import by_host, within_depth, within_host
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.limits import SETTINGS, FrontierLimits, explain
from rdfaspider.frontier.schedule.hosts import Host
from rdfaspider.frontier.views.reader import FrontierReader
from rdfaspider.urls.keys import to_key
from tests.conftest import Crawler
from tests.manyhosts import Serve, page, serve

__all__ = ["serve"]


def test_every_reason_names_a_setting() -> None:
    reasons = set(FrontierLimits.__dataclass_fields__) - {"as_begun"}
    assert reasons <= SETTINGS.keys()
    assert all(hasattr(rdfaspider.settings, name) for name in SETTINGS.values())


def test_what_was_rejected_is_told_by_setting() -> None:
    rejected = {"depth": 3, "host_urls": 75_000, "host_waiting": 2}
    assert list(explain(rejected, FrontierLimits(depth=2))) == [
        "75,000 links beyond FRONTIER_HOST_URLS=25000",
        "3 links beyond FRONTIER_DEPTH=2",
        "2 links beyond FRONTIER_HOST_WAITING=25000",
    ]
    assert list(explain({"host_waiting": 1})) == ["1 link beyond FRONTIER_HOST_WAITING"]


def test_depths() -> None:
    limits = FrontierLimits(depth=3, dynamic_depth=1)
    findings = {b"a)/": 3, b"b)/": 4, b"c)/?": 1, b"d)/?": 2, b"e)/?": 4}
    rejected: Counter[str] = Counter()
    chosen = within_depth(limits, list(findings), findings, 4, lambda r, n: rejected.update({r: n}))
    assert chosen == [b"a)/", b"c)/?"]
    assert rejected == {"depth": 2, "dynamic_depth": 1}


def test_folders_below_the_name_of_a_host(crawl: Crawler, serve: Serve) -> None:
    a, b = "http://a.test", "http://b.test"
    links = (f"{a}/1/2?q=/3/4", f"{a}/1/2/3", f"{b}/1/", f"{b}/1/2/3/")
    served = {f"{a}/": page(*links), f"{b}/x/y/z/": page(f"{b}/x/y/", f"{b}/x/")}
    asked = serve(served | {link: page() for link in (*links, f"{b}/x/y/", f"{b}/x/")})
    found = crawl(f"{a}/,{b}/x/y/z/", FRONTIER_HOST_DEPTH=1, RESOLVER_ALLOW="a.test,b.test")
    pages = {url for url in asked if not url.endswith("/robots.txt")}
    assert pages == {f"{a}/", links[0], links[2], f"{b}/x/y/z/", f"{b}/x/"}
    assert "3 links to pages too many folders deep: FRONTIER_HOST_DEPTH=1" in found.output


@pytest.mark.parametrize("seed", range(200))
def test_a_host_takes_in_what_it_has_room_for_and_all_seeds(seed: int) -> None:
    """Compare with taking them in one by one, seeds first because they have their room anyway."""
    chance = random.Random(seed)
    limits = FrontierLimits(host_urls=chance.randrange(12), host_waiting=chance.randrange(12))
    host = Host(b"test,a", 0)
    host.taken_in = chance.randrange(15)
    host.waiting = chance.randrange(host.taken_in + 1)
    keys = [b"test,a)/%02d" % number for number in range(chance.randrange(12))]
    findings = {key: chance.choice([0, 256, 1, 257, 2]) for key in keys}
    expected, reasons = set(), Counter[str]()
    taken_in, waiting = host.taken_in, host.waiting
    for key in sorted(keys, key=lambda key: (findings[key] & 255 > 0, key)):
        if findings[key] & 255 and taken_in >= limits.host_urls:
            reasons["host_urls"] += 1
        elif findings[key] & 255 and waiting >= limits.host_waiting:
            reasons["host_waiting"] += 1
            taken_in += 1  # as far as this limit goes, there was room
        else:
            expected.add(key)
            taken_in, waiting = taken_in + 1, waiting + 1
    rejected: Counter[str] = Counter()
    chosen = within_host(limits, host, keys, findings, lambda r, n: rejected.update({r: n}))
    assert chosen == sorted(expected)
    assert +rejected == reasons


# One host by https, by http, on another port and with a user, and another host.
SERVICES = [
    "https://a.test",
    "http://a.test",
    "https://a.test:8",
    "https://me@a.test",
    "http://b.test",
]


def test_the_services_of_a_host_are_one_run() -> None:
    keys = sorted(to_key(f"{service}/{page}") for service in SERVICES for page in range(2))
    assert [(host, len(run)) for host, run in by_host(keys)] == [(b"test,a", 8), (b"test,b", 2)]


@pytest.mark.parametrize("subdomain", [[], ["https://sub.a.test/"]], ids=["alone", "between"])
@pytest.mark.parametrize("most", [5, 1_000])
def test_a_reader_counts_what_the_sieve_will_take_in(
    tmp_path: Path, subdomain: list[str], most: int
) -> None:
    """A subdomain comes between the services of its domain."""
    path, limits = str(tmp_path / "frontier"), FrontierLimits(host_urls=most)
    frontier = LocalFrontier(path, limits=limits, now=0.0)
    links = [f"{service}/{page}" for service in SERVICES for page in range(2)]
    frontier.put([*links, *subdomain], 1)
    frontier.abandon()
    with FrontierReader(path, delay=0.0) as reader:
        expected, hosts = reader.counts(), {view.name: view.waiting for view in reader.hosts(0.0)}
    with LocalFrontier(path, limits=limits, now=0.0) as frontier:
        frontier.wait(0.0)
        assert frontier.counts().waiting == expected.waiting
        assert {view.name: view.waiting for view in frontier.hosts(0.0)} == hosts
        assert hosts["a.test"] == min(most, 8)
