"""The link graph of a crawl is that of the web that was crawled, which its oracle knows."""

from __future__ import annotations

from collections import Counter
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
from rdfaspider.urls import host

if TYPE_CHECKING:
    from tests.conftest import Crawler, Scrapy

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
        graph.add_edges_from([(url, target) for target in targets if target in graph], kind=kind)
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
    assert structure.tie.core == core
    ranks = networkx.pagerank(expected, tol=1e-12, max_iter=1000)
    assert crawl.ranks().pagerank == pytest.approx([ranks[url] for url in urls], abs=1e-9)
    hubs, authorities = networkx.hits(expected)
    assert crawl.ranks().hubs == pytest.approx([hubs[url] for url in urls], abs=1e-6)
    assert crawl.ranks().authorities == pytest.approx([authorities[url] for url in urls], abs=1e-6)


@pytest.mark.parametrize("depth", [3, 99])
@pytest.mark.parametrize("workers", [1, 2])
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
        assert found.graph.about["domains"] == Counter(map(host, outside))
        check(found, expected_graph(oracle, inside))
    shown = scrapy("graph", seed, JOBDIR="job").stdout
    assert " w1.site.test" in shown or " w2.site.test" in shown or " w3.site.test" in shown
