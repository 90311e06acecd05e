from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from rdfaspider.frontier import Frontier
from rdfaspider.frontier.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness


def take_all(frontier: Frontier) -> list[str]:
    taken = []
    while (url := frontier.take(0.0)) is not None:
        frontier.finish(url, "done", 0.0)
        taken.append(url.url.partition("test")[2])
    return taken


def frontier(path: Path, order: str) -> LocalFrontier:
    return LocalFrontier(str(path / "frontier"), order=order, politeness=Politeness(delay=0.0))


def test_breadth_goes_by_depth_then_by_arrival(tmp_path: Path) -> None:
    with frontier(tmp_path, "breadth") as breadth:
        breadth.put(["http://a.test/deep"], depth=2)
        breadth.put(["http://a.test/z"], depth=1)
        breadth.wait(0.0)
        breadth.put(["http://a.test/y"], depth=1)
        breadth.put(["http://a.test/root"])
        assert take_all(breadth) == ["/root", "/z", "/y", "/deep"]


def test_round_robin_takes_the_branches_in_turn(tmp_path: Path) -> None:
    with frontier(tmp_path, "roundrobin") as order:
        paths = ["/a/1", "/a/2", "/a/3", "/b/1", "/b/2", "/c/1"]
        order.put([f"http://x.test{path}" for path in paths])
        assert take_all(order) == ["/a/1", "/b/1", "/c/1", "/a/2", "/b/2", "/a/3"]


def test_figures_9_to_11(tmp_path: Path) -> None:
    """The XTrie of the RDFa Web Spider: abc/1, edc/2, edc/3, xyz/4; no branch twice in a row."""
    with LocalFrontier(
        str(tmp_path / "frontier"), order="roundrobin", politeness=Politeness(delay=0.0)
    ) as order:
        order.put(["http://abc/1", "http://edc/2", "http://edc/3", "http://xyz/4"])
        taken = []
        while (url := order.take(0.0)) is not None:
            order.finish(url, "done", 0.0)
            taken.append(url.url)
        assert sorted(taken) == ["http://abc/1", "http://edc/2", "http://edc/3", "http://xyz/4"]
        hosts = [url[7:10] for url in taken]
        assert all(first != second for first, second in pairwise(hosts))
        assert len(set(hosts[:3])) == 3, "three requests, three different ways down the trie"


def test_a_page_comes_before_those_below_it(tmp_path: Path) -> None:
    with frontier(tmp_path, "roundrobin") as order:
        order.put([f"http://x.test{path}" for path in ("/a/", "/a/1", "/b/", "/b/1")])
        assert take_all(order) == ["/a/", "/b/", "/a/1", "/b/1"]


def test_round_robin_goes_on_where_it_stopped(tmp_path: Path) -> None:
    with frontier(tmp_path, "roundrobin") as order:
        order.put([f"http://x.test/{branch}/{n:02}" for branch in "abc" for n in range(20)])
        for _ in range(20):
            taken = order.take(0.0)
            assert taken
            order.finish(taken, "done", 0.0)
            last = taken.url
        assert last == "http://x.test/b/06"
    with frontier(tmp_path, "roundrobin") as order:
        taken = order.take(0.0)
        assert taken
        assert taken.url == "http://x.test/c/06"


def test_a_crawl_keeps_its_order(tmp_path: Path) -> None:
    frontier(tmp_path, "breadth").close()
    with pytest.raises(ValueError, match="begun with the order breadth"):
        frontier(tmp_path, "roundrobin")
    with pytest.raises(ValueError, match="choose breadth, roundrobin"):
        frontier(tmp_path, "sideways")
