from __future__ import annotations

from collections import Counter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import open_frontier
from rdfaspider.middlewares.sitemaps import announce
from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from rdfaspider.urls import host

if TYPE_CHECKING:
    from pathlib import Path

    from rdfaspider.frontier import Frontier
    from tests.conftest import Crawler

# 1,111 pages: an index of two parts, one of them compressed.
LARGE = Parameters(seed=1, levels=3, pages=10, disallowed=0.8)


def test_sitemaps_lead_to_every_page_that_robots_allows(crawl: Crawler) -> None:
    with running(LARGE) as origin:
        found = crawl(f"{origin}/", "-a", "depth=1", ROBOTS_SITEMAPS=True, STATS_DUMP=True)
    oracle = Oracle(Web(LARGE))
    reach = oracle.reachable([f"{origin}/"], depth=99, agent="rdfaspider")
    everything = set(oracle.urls(origin=origin))
    denied = {url for url, fate in found.fates.items() if fate == "denied/robots"}
    assert found.pages | denied == everything
    assert found.pages >= reach.pages.keys()
    sitemaps = {url for url, fate in found.fates.items() if fate == "done/sitemap"}
    names = ("/sitemap.xml", "/sitemap-0.xml", "/sitemap-1.xml.gz")
    assert sitemaps == {origin + name for name in names}
    assert found.quads == {quad for url in found.pages for quad in oracle.triples(url)}
    assert "'robots/sitemaps': 3" in found.output
    assert "'robots/sitemaps/urls': 1111" in found.output


def test_sitemaps_are_left_alone_unless_asked_for(crawl: Crawler, tmp_path: Path) -> None:
    log = tmp_path / "access.log"
    with running(Parameters(seed=1, levels=1, pages=2), log=log) as origin:
        crawl(f"{origin}/")
    assert "sitemap" not in log.read_text()


def test_a_sitemap_has_its_own_limit_and_the_scope_of_the_crawl(crawl: Crawler) -> None:
    small = Parameters(seed=1, levels=1, pages=20)
    with running(small) as origin:
        found = crawl(
            f"{origin}/missing",
            ROBOTS_SITEMAPS=True,
            ROBOTS_SITEMAP_URLS=15,
            URLS_REJECT="extension:xml",
            EXTRACT_MAX_LINKS=1,
            STATS_DUMP=True,
        )
    assert found.fates[f"{origin}/sitemap.xml"] == "done/sitemap", "the rules are for links"
    assert "'robots/sitemaps/urls': 15" in found.output
    assert "'robots/sitemaps/cut': 1" in found.output
    assert 15 <= len(found.pages) <= 16


def taken(frontier: Frontier) -> dict[str, int]:
    """Take all that is ready, one URL of each host, with its depth."""
    found = {}
    while (url := frontier.take(now=0.0)) is not None:
        found[url.url] = url.depth
    return found


class Everywhere:
    """A scope."""

    def __init__(self, *hosts: str) -> None:
        self.hosts = hosts

    def __contains__(self, url: str) -> bool:
        return not self.hosts or host(url) in self.hosts


def crawler_with(frontier: Frontier, *hosts: str) -> Any:
    """Stand in for a crawler, of which only these parts are asked."""
    counts: Counter[str] = Counter()
    return SimpleNamespace(
        engine=SimpleNamespace(scheduler=SimpleNamespace(frontier=frontier)),
        spider=SimpleNamespace(scope=Everywhere(*hosts)),
        stats=SimpleNamespace(inc_value=lambda name, count=1: counts.update({name: count})),
        counts=counts,
    )


def test_what_is_announced_is_known_after_a_restart_and_once(tmp_path: Path) -> None:
    urls = ["http://a.test/s.xml", "nonsense", "http://A.test/s.xml", "http://b.test/s.xml"]
    with open_frontier(str(tmp_path / "frontier")) as frontier:
        announce(crawler_with(frontier), urls, "http://a.test/")
    with open_frontier(str(tmp_path / "frontier")) as frontier:
        assert frontier.note("sitemap http://a.test/s.xml") == b"0 0 http://a.test/"
        announce(crawler_with(frontier), ["http://a.test/s.xml"], "http://evil.test/")
        assert frontier.note("sitemap http://a.test/s.xml") == b"0 0 http://a.test/"
        assert taken(frontier) == {"http://a.test/s.xml": 0, "http://b.test/s.xml": 0}


def test_no_more_sitemaps_than_large_sites_have(tmp_path: Path) -> None:
    with open_frontier(str(tmp_path / "frontier")) as frontier:
        crawler = crawler_with(frontier)
        announce(crawler, [f"http://{n}.test/s.xml" for n in range(400)], "http://a.test/")
        announce(crawler, [f"http://{n}.test/t.xml" for n in range(400)], "http://a.test/")
        assert len(taken(frontier)) == 400, "one of each host"
        assert frontier.counts().seen == 500
        assert crawler.counts["robots/sitemaps/rejected/count"] == 300


def test_a_robots_txt_cannot_send_the_crawl_to_others(tmp_path: Path) -> None:
    with open_frontier(str(tmp_path / "frontier")) as frontier:
        crawler = crawler_with(frontier, "a.test")
        urls = ["http://me:secret@a.test/s.xml", "http://victim.test/s.xml"]
        announce(crawler, urls, "http://a.test/")
        assert taken(frontier) == {"http://a.test/s.xml": 0}
        assert crawler.counts == {"robots/sitemaps/rejected/scope": 1}
