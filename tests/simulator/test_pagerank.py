"""How early crawls find pages of high PageRank."""

from __future__ import annotations

import json

import networkx
import pytest

from rdfaspider.frontier import Taken
from rdfaspider.simulator.drive import Run, crawl, simulated
from rdfaspider.simulator.pagerank import found_by, plot_ranks, rank_table, ranks_of
from rdfaspider.simulator.scored import ScoredFrontier, by_chance, by_links, by_rank
from rdfaspider.simulator.web import GeneratedWeb, RecordedWeb, Shape


def test_ranks_of_a_web_are_those_of_networkx() -> None:
    web = GeneratedWeb(Shape("popular", hosts=3), 1)
    ranks = ranks_of(web, seeds=2)
    graph = networkx.DiGraph()
    for url in ranks:
        graph.add_edges_from((url, link) for link in web.fetch(url).links if link != url)
    assert ranks == pytest.approx(networkx.pagerank(graph, tol=1e-12, max_iter=1000), abs=1e-8)


def test_a_page_that_nobody_recorded_has_a_rank_too() -> None:
    lines = [json.dumps({"url": "http://a.test/", "gain": 0, "links": ["http://a.test/b"]})]
    ranks = ranks_of(RecordedWeb(lines))
    assert list(ranks) == ["http://a.test/", "http://a.test/b"]
    assert ranks["http://a.test/b"] > ranks["http://a.test/"]


def test_links_of_the_popular_web_follow_a_power_law() -> None:
    web = GeneratedWeb(Shape("popular", hosts=40), 1)
    even = GeneratedWeb(Shape("uniform", hosts=40), 1)
    shares = []
    for each in (web, even):
        ranks = sorted(ranks_of(each).values(), reverse=True)
        shares.append(sum(ranks[: len(ranks) // 100]) / sum(ranks))
    assert shares[0] > shares[1]


def test_what_a_run_has_found() -> None:
    ranks = {f"u{number}": 1.0 for number in range(100)} | {"u7": 101.0}
    run = Run(urls=[f"u{number}" for number in range(10)])
    points = {round(point.fetched, 2): point for point in found_by(run, ranks)}
    assert points[0.07] == pytest.approx((0.07, 7 / 200, 0.0, points[0.07].good))
    assert points[0.08] == pytest.approx((0.08, 108 / 200, 1.0, points[0.08].good))
    text = rank_table({"one": run}, ranks).splitlines()[-1].split()
    assert text[:5] == ["one", "2.5%", "55.0%", "-", "-"]
    assert "<polyline" in plot_ranks({"one": run}, ranks)


@pytest.mark.slow
def test_profit_finds_good_pages_before_breadth() -> None:
    web = GeneratedWeb(Shape("popular", hosts=60), 5)
    ranks = ranks_of(web)
    found = {}
    for order in ("random", "breadth", "inlinks", "profit", "omniscient"):
        with simulated(order, ranks=ranks) as frontier:
            run = crawl(frontier, web, len(ranks) // 5)
        found[order] = found_by(run, ranks)[-1]
    assert found["profit"].rank > found["breadth"].rank > found["random"].rank
    assert found["profit"].best > found["breadth"].best > found["random"].best
    assert found["profit"].rank > 0.9 * found["omniscient"].rank
    assert found["omniscient"].rank == max(point.rank for point in found.values())


def test_omniscience_needs_the_ranks() -> None:
    with pytest.raises(ValueError, match="There is no order omniscient"), simulated("omniscient"):
        pass


def take_all(frontier: ScoredFrontier) -> list[str]:
    taken: list[Taken] = []
    now = 0.0
    while True:
        while (url := frontier.take(now)) is not None:
            taken.append(url)
            frontier.finish(url, "done", now)
        if (wait := frontier.wait(now)) is None or not frontier._scores:
            return [each.url[-1] for each in taken]
        now += max(wait, 1e-6)


def test_the_best_score_comes_first() -> None:
    urls = [f"http://h.test/{name}" for name in "abc"]
    frontier = ScoredFrontier(by_rank({urls[1]: 3.0, urls[2]: 2.0}))
    frontier.put(urls)
    assert take_all(frontier) == ["b", "c", "a"]
    frontier = ScoredFrontier(by_links)
    frontier.put([*urls, urls[2], urls[2], urls[1]])
    assert take_all(frontier) == ["c", "b", "a"]
    frontier = ScoredFrontier(by_chance)
    frontier.put(urls)
    assert sorted(take_all(frontier)) == ["a", "b", "c"]


def test_hosts_rest() -> None:
    frontier = ScoredFrontier(by_links, delay=2.0)
    frontier.put(["http://h.test/a", "http://h.test/b"])
    taken = frontier.take(0.0)
    assert taken
    assert frontier.take(0.0) is None
    frontier.finish(taken, "done", 1.0)
    assert frontier.take(2.9) is None
    assert frontier.wait(2.0) == 1.0
    assert frontier.take(3.0)
