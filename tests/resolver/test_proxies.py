"""Crawls through a proxy: no name is looked up here, and addresses in URLs are refused all the same."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web

if TYPE_CHECKING:
    from pathlib import Path

    from tests.conftest import Crawler

SITE = Parameters(seed=6, hosts=120, levels=1, pages=1, links_across=3)
# Only a crawl with a delay cares at which server a host is.
SETTINGS = {"POLITENESS_DELAY": 0.01, "STATS_DUMP": 1}


def stats_of(output: str) -> dict[str, int]:
    return {
        name: int(count) for name, count in re.findall(r"'resolver/([\w/]+)': (\d+)[,}]", output)
    }


def test_no_name_is_looked_up(crawl: Crawler, monkeypatch: pytest.MonkeyPatch) -> None:
    web = Web(SITE)
    seed = web.url(0, 0)
    with running(SITE) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        found = crawl(seed, "-a", "scope=all", **SETTINGS)
    assert found.pages == Oracle(web).reachable([seed], 99).pages.keys()
    assert len({url.split("/")[2] for url in found.pages}) > 100
    assert "miss" not in stats_of(found.output)


def test_hosts_that_need_no_proxy_are_looked_up(
    crawl: Crawler, monkeypatch: pytest.MonkeyPatch
) -> None:
    web = Web(SITE)
    seeds = [web.url(host, 0) for host in range(10)]
    with running(SITE) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        monkeypatch.setenv("no_proxy", web.url(3, 0).split("/")[2])
        found = crawl(",".join(seeds), "-a", "depth=0", **SETTINGS)
    assert found.pages == {*seeds} - {seeds[3]}
    assert found.fates[seeds[3]] == "failed/CannotResolveHostError"
    assert stats_of(found.output)["failed"] == 1


CHOOSES = """
class Chooser:
    def process_request(self, request):
        request.meta["proxy"] = open("proxy").read()
"""


def test_a_middleware_may_choose_the_proxy(crawl: Crawler, tmp_path: Path) -> None:
    (tmp_path / "chooser.py").write_text(CHOOSES)
    web = Web(SITE)
    with running(SITE) as proxy:
        (tmp_path / "proxy").write_text(proxy)
        found = crawl(
            web.url(0, 0),
            "-a",
            "scope=all",
            **SETTINGS,
            DOWNLOADER_MIDDLEWARES='{"chooser.Chooser": 500}',
        )
    assert found.pages == Oracle(web).reachable([web.url(0, 0)], 99).pages.keys()
    assert stats_of(found.output)["miss"] == 1, "the seed, before any request was made"


def test_addresses_in_pages_are_not_asked_through_a_proxy(
    crawl: Crawler, monkeypatch: pytest.MonkeyPatch, canary: Any, friend: Any
) -> None:
    """The proxy could reach what we cannot; no page may use it for that."""
    hosts = ["127.0.0.1", "localhost", "2130706433", "[::1]", "169.254.169.254", "10.0.0.1"]
    links = "".join(f"<a href='//{host}:{canary.port}/'>x</a>" for host in hosts)
    friend.serve("http://start.example/", links)
    monkeypatch.setenv("http_proxy", f"http://127.0.0.2:{friend.port}")
    found = crawl("http://start.example/", "-a", "scope=all")
    denied = [url for url, fate in found.fates.items() if fate == "denied/address"]
    assert len(denied) == len({*hosts} - {"2130706433"}), "which is 127.0.0.1 in normal form"
    assert found.pages == {"http://start.example/"}
    assert canary.visits == []
    assert {visit.split()[1] for visit in friend.visits} == {
        "http://start.example/robots.txt",
        "http://start.example/",
    }
