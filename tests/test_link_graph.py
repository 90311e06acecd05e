"""The link graph of a crawl is that of the web that was crawled, which its oracle knows."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import networkx
import numpy as np
import pytest

from rdfaspider.frontier.views.graph import CrawlGraph
from rdfaspider.linkgraph.edges import KINDS
from rdfaspider.site.oracle import Oracle, Reachable
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.frontier.served import ServiceProcess
from tests.test_politeness import serve

if TYPE_CHECKING:
    from tests.conftest import Crawler, Scrapy
    from tests.test_politeness import Serve

pytestmark = pytest.mark.slow

__all__ = ["serve"]

MANY_HOSTS = Parameters(
    seed=4,
    hosts=12,
    levels=2,
    pages=4,
    links_across=3,
    redirected=0.1,
    missing=0.05,
    disallowed=0.1,
)


def expected_graph(oracle: Oracle, reach: Reachable) -> networkx.DiGraph:
    """Return the graph of all URLs that a crawl knows, with the kinds of links."""
    graph = networkx.DiGraph()
    graph.add_nodes_from(reach.fetched)
    graph.add_nodes_from(reach.denied)
    for url in reach.fetched:
        targets, kind = oracle.links(url), "follow"
        if (target := oracle.redirect(url)) is not None:
            targets, kind = [target], "redirect"
        known = [target for target in targets if target in graph and target != url]
        graph.add_edges_from([(url, target) for target in known], kind=kind)
    return graph


def check(crawl: CrawlGraph, expected: networkx.DiGraph) -> None:
    """Compare links, degrees, components and ranks."""
    graph = crawl.graph
    urls = crawl.names(np.arange(graph.nodes))
    assert sorted(urls) == sorted(expected)
    found = {}
    for block in graph.outward.blocks():
        sources = np.repeat(np.arange(len(block.degrees)), block.degrees) + block.first
        for one, other, kind in zip(sources, block.targets, block.kinds, strict=True):
            found[urls[one], urls[other]] = KINDS[kind]
    assert found == {(one, other): kind for one, other, kind in expected.edges(data="kind")}
    outward, inward = crawl.rows
    assert dict(zip(urls, outward.degrees, strict=True)) == dict(expected.out_degree)
    assert dict(zip(urls, inward.degrees, strict=True)) == dict(expected.in_degree)
    structure = crawl.structure()
    assert structure.weak == networkx.number_weakly_connected_components(expected)
    assert structure.strong == networkx.number_strongly_connected_components(expected)
    core = max(map(len, networkx.strongly_connected_components(expected)))
    assert structure.tie is not None and structure.tie.core == core
    ranks = networkx.pagerank(expected, tol=1e-12, max_iter=1000)
    assert crawl.ranks().pagerank == pytest.approx([ranks[url] for url in urls], abs=1e-9)
    hubs, authorities = networkx.hits(expected)
    assert crawl.ranks().hubs == pytest.approx([hubs[url] for url in urls], abs=1e-6)
    assert crawl.ranks().authorities == pytest.approx([authorities[url] for url in urls], abs=1e-6)


@pytest.mark.parametrize(
    ("workers", "depth"),
    [
        (2, 3),
        (1, 99),
        *(pytest.param(*each, marks=pytest.mark.campaign) for each in ((1, 3), (2, 99))),
    ],
)
def test_the_graph_is_that_of_the_web(
    scrapy: Scrapy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, depth: int, workers: int
) -> None:
    """With a limit of depth too: the deepest pages link to pages that are known by other ways."""
    web = Web(MANY_HOSTS)
    oracle, seed = Oracle(web), web.url(0, 0)
    with running(MANY_HOSTS) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        arguments = ("-a", f"seeds={seed}", "-a", "scope=all", "-a", f"depth={depth}")
        politeness = {"POLITENESS_DELAY": 0, "POLITENESS_AT_ONCE": 4, "FRONTIER_RETRIES": 0}
        done = scrapy("crawl", "rdfa", *arguments, WORKERS=workers, JOBDIR="job", **politeness)
        assert done.returncode == 0, done.stderr
    reach = oracle.reachable([seed], depth, agent="rdfaspider")
    assert reach.denied
    assert len(reach.fetched) > 60
    expected = expected_graph(oracle, reach)
    assert "redirect" in {kind for _, _, kind in expected.edges(data="kind")}
    with CrawlGraph([str(tmp_path / "job" / "frontier")], tmp_path / "graph") as found:
        check(found, expected)


def test_the_graph_of_a_crawl_with_shards(
    scrapy: Scrapy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    web = Web(MANY_HOSTS)
    oracle, seed = Oracle(web), web.url(0, 0)
    settings = {"POLITENESS_DELAY": 0, "POLITENESS_AT_ONCE": 4, "FRONTIER_RETRIES": 0}
    with ExitStack() as stack:
        monkeypatch.setenv("http_proxy", stack.enter_context(running(MANY_HOSTS)))
        places = [tmp_path / "one", tmp_path / "two"]
        services = []
        for number, place in enumerate(places, start=1):
            place.mkdir()
            service = ServiceProcess(place, "breadth", settings, f"{number}/2")
            services.append(stack.enter_context(service))
        url = ",".join(service.url for service in services)
        arguments = ("-a", f"seeds={seed}", "-a", "scope=all", "-a", "depth=99")
        done = scrapy("crawl", "rdfa", *arguments, FRONTIER_URL=url, **settings)
        assert done.returncode == 0, done.stderr
    reach = oracle.reachable([seed], 99, agent="rdfaspider")
    paths = [str(place / "frontier") for place in places]
    with CrawlGraph(paths, tmp_path / "graph") as found:
        shards, _ = found.graph.places(np.arange(found.graph.nodes))
        assert set(shards.tolist()) == {0, 1}
        check(found, expected_graph(oracle, reach))
    with_options = [word for path in paths for word in ("--frontier", path)]
    shown = scrapy("graph", *with_options, FRONTIER_URL=url).stdout
    assert f"{len(reach.fetched) + len(reach.denied)} URLs on" in shown
    told = scrapy("graph", *with_options[2:], FRONTIER_URL=url).stderr
    assert told == "This is a part of the crawl: shard 1 of it is missing (--frontier DIR).\n"


def test_links_out_of_the_scope_are_counted(
    crawl: Crawler, scrapy: Scrapy, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    parameters = Parameters(seed=3, hosts=4, levels=1, pages=3, links_across=2)
    web = Web(parameters)
    oracle, seed = Oracle(web), web.url(0, 0)
    with running(parameters) as proxy:
        monkeypatch.setenv("http_proxy", proxy)
        crawl(seed, JOBDIR="job")
    origin = web.origin(0)
    inside = oracle.reachable([seed], 99, accept=lambda url: url.startswith(f"{origin}/"))
    outside = [
        link for url in inside.pages for link in oracle.links(url) if link not in inside.pages
    ]
    assert outside
    with CrawlGraph([str(tmp_path / "job" / "frontier")], tmp_path / "graph") as found:
        assert found.graph.about["outside"] == len(outside)
        assert found.graph.about["domains"] == {"site.test": len(outside)}
        check(found, expected_graph(oracle, inside))
    shown = scrapy("graph", seed, JOBDIR="job").stdout
    assert " w1.site.test" in shown or " w2.site.test" in shown or " w3.site.test" in shown


def test_the_page_of_a_server_has_links_of_all_kinds(
    crawl: Crawler, serve: Serve, scrapy: Scrapy, tmp_path: Path
) -> None:
    body = b"""<!DOCTYPE html><link rel=canonical href=/right><a href=/moved>a</a>
        <a href=/next>b</a><a rel=nofollow href=/next>c</a><a rel=nofollow href=/no>d</a>
        <a rel=nofollow href=/back>d</a><a href=http://elsewhere.test/>e</a><img src=x><img src=y>
        <a href=/song.mp3>f</a>"""
    server = serve(
        {
            "/": lambda count: (200, {}, body),
            "/moved": lambda count: (301, {"Location": "/back"}, b""),
            "/next": lambda count: (200, {"X-Robots-Tag": "nofollow"}, b"<a href=/>x</a>"),
            "/back": lambda count: (200, {}, b"<a href=/next>x</a><link rel=canonical href=/back>"),
            "/right": lambda count: (200, {}, b"<a href=/right>x</a>"),
        }
    )
    crawl(f"{server.origin}/")
    lines = scrapy("graph", "-o", "-").stdout.splitlines()
    found = {tuple(line.replace(server.origin, "").split("\t")) for line in lines}
    assert found == {
        ("/", "/right", "canonical"),
        ("/", "/moved", "follow"),
        ("/", "/next", "follow"),
        ("/", "/back", "nofollow"),
        ("/moved", "/back", "redirect"),
        ("/next", "/", "nofollow"),
        ("/back", "/next", "follow"),
    }
    summary = scrapy("graph").stdout
    assert (
        "2 links out of the crawl, 0 to URLs beyond its limits, 3 media (2 image, 1 audio)"
        in summary
    )
    assert "1 nofollow link to URLs that the crawl does not have" in summary
    assert "elsewhere.test" in summary


def test_the_setting_turns_it_off(crawl: Crawler, scrapy: Scrapy) -> None:
    with running(Parameters(levels=1, pages=2)) as origin:
        crawl(f"{origin}/", LINKGRAPH=0)
    assert "No page has its links on record" in scrapy("graph").stderr
