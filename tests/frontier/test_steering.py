"""PageRank is computed beside a crawl and moves what waits, through kills and failures."""

from __future__ import annotations

import logging
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import pytest

from rdfaspider.focus.visits.planner import RevisitRules
from rdfaspider.frontier import Keep
from rdfaspider.frontier.engine import ranker, steering
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.orders import ORDERS
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.tables.ranks import NAME, Ranks
from rdfaspider.frontier.tables.trie import DONE, WAITING
from rdfaspider.frontier.views.graph import CrawlGraph
from rdfaspider.frontier.views.reader import FrontierReader
from rdfaspider.linkgraph.growing import rank_urls
from rdfaspider.linkgraph.weights import weight_of
from rdfaspider.urls import host
from rdfaspider.urls.keys import to_url

AT_ONCE = Politeness(delay=0.0, at_once=1000)
RANKED = [name for name, order in ORDERS.items() if order.reads_ranks]
PAGES = 300


def opened(path: Path, order: str = "profit", **options: Any) -> LocalFrontier:
    return LocalFrontier(str(path / "frontier"), order=order, politeness=AT_ONCE, **options)


def web(pages: int = PAGES, seed: int = 1) -> dict[str, list[str]]:
    """Return a web in which some pages have many links; it is found from its first page."""
    chance = random.Random(seed)
    urls = [f"http://h{page % 17}.test/{page}" for page in range(pages)]
    links = {}
    for page, url in enumerate(urls):
        popular = {urls[int(pages * chance.random() ** 4)] for _ in range(chance.randrange(2, 9))}
        links[url] = sorted((popular | {urls[(page + 1) % pages]}) - {url})
    return links


def crawl(frontier: LocalFrontier, links: dict[str, list[str]], most: int, now: float = 0.0) -> int:
    """Fetch up to `most` pages; return how many."""
    for count in range(most):
        if (taken := frontier.take(now + count)) is None:
            return count
        frontier.finish(taken, "done", now + count, links[taken.url])
    return most


def drain(frontier: LocalFrontier, links: dict[str, list[str]]) -> list[str]:
    urls = []
    while (taken := frontier.take(1e9)) is not None:
        frontier.finish(taken, "done", 1e9, links[taken.url])
        urls.append(taken.url)
    return urls


def expected_ranks(frontier: LocalFrontier, links: dict[str, list[str]]) -> dict[str, float]:
    """Return what networkx says of the part of a web that a frontier knows."""
    graph = networkx.DiGraph()
    for key, record in frontier.trie.subtree():
        url = to_url(key)
        graph.add_node(url)
        if record.state == DONE:
            graph.add_edges_from((url, link) for link in links[url])
    ranks = networkx.pagerank(graph, tol=1e-12, max_iter=1000)
    return {url: rank * len(ranks) for url, rank in ranks.items()}


@pytest.mark.parametrize("order", sorted(ORDERS))
def test_ranks_are_those_of_networkx_while_the_crawl_goes_on(tmp_path: Path, order: str) -> None:
    links = web()
    with opened(tmp_path, order) as frontier:
        frontier.put(list(links)[:1])
        for _ in range(3):
            crawl(frontier, links, 60)
            frontier.rank_now()
            expected = expected_ranks(frontier, links)
            assert frontier.ranks.urls == len(expected)
            for url, rank in expected.items():
                record = frontier.trie.record(url)
                assert record
                assert frontier.ranks.of(record.number) == pytest.approx(rank, rel=1e-3)


def test_ranks_are_those_of_the_graph_that_is_built_later(tmp_path: Path) -> None:
    """With links that are not followed, canonical forms, redirects, and targets found after the link."""
    links = web(60)
    urls = list(links)
    with opened(tmp_path, "breadth") as frontier:
        frontier.put(urls[:5])
        for number in range(40):
            taken = frontier.take(0.0)
            assert taken
            beside: Any = {"nofollow": urls[number : number + 3], "canonical": urls[-1 - number]}
            hops = 1 if number % 10 == 9 else 0
            some = links[taken.url][:1] if hops else links[taken.url]
            frontier.finish(taken, "done", 0.0, some, hops=hops, beside=beside)
        frontier.rank_now()
        by_number = {
            to_url(key): frontier.ranks.of(record.number) for key, record in frontier.trie.subtree()
        }
    with CrawlGraph([str(tmp_path / "frontier")], tmp_path / "graph") as built:
        ranks = built.ranks().pagerank * built.graph.nodes
        names = built.names(np.arange(built.graph.nodes))
    assert by_number == pytest.approx(dict(zip(names, ranks.tolist(), strict=True)), rel=1e-3)


@pytest.mark.parametrize("order", RANKED)
def test_what_waits_is_moved_to_where_it_belongs(tmp_path: Path, order: str) -> None:
    links = web(1_000)
    with opened(tmp_path, order) as frontier:
        frontier.put(list(links)[:3])
        crawl(frontier, links, 100)
        frontier.rank_now()
        assert not ranker.rank(
            frontier._database, frontier._order, tmp_path / "frontier", tmp_path / "again"
        ).moves, "once is enough"
        ranks = expected_ranks(frontier, links)
        waiting = {
            to_url(key): frontier._order.rank(key, record.depth, record.hint)[-2:]
            for key, record in frontier.trie.subtree()
            if record.state == WAITING
        }
        best = sorted(waiting, key=lambda url: -ranks[url])
        if order == "profit":
            places = [waiting[url] for url in best]
            assert places[0] < places[len(places) // 4] < places[-1]
            taken = frontier.take(1e6)
            assert taken
            first = next(url for url in best if host(url) == host(taken.url))  # hosts take turns
            assert ranks[taken.url] > 0.8 * ranks[first], "weights have steps of an eighth"
            frontier.release(taken, 1e6)
        assert len(drain(frontier, links)) == len(set(links)) - 100
        counts = frontier.counts()
        assert (counts.waiting, counts.done) == (0, 1_000)


def test_weights_are_what_pages_pass_on(tmp_path: Path) -> None:
    """Three pages link to the hub, one of them to another page too."""
    links = {f"http://a.test/{n}": ["http://b.test/hub"] for n in "123"}
    links["http://a.test/1"].append("http://b.test/other")
    with opened(tmp_path) as frontier:
        frontier.put(links)
        crawl(frontier, links, 3)
        frontier.rank_now()
        ranking = rank_urls(ranker._Source(frontier._database), tmp_path / "folder")
        record = frontier.trie.record("http://b.test/hub")
        assert record
        # Four links pass on three ranks: a link has three quarters on average, and the hub two and a half.
        assert weight_of(record.hint & 255) == pytest.approx(2.5 / 0.75, rel=0.26)
        assert ranking.links == 4
        hub, other = (
            frontier.trie.record(f"http://b.test/{name}").number  # type: ignore[union-attr]
            for name in ("hub", "other")
        )
        shares = weight_of(int(ranking.weights[hub])) / weight_of(int(ranking.weights[other]))
        assert shares == pytest.approx(2.5 / 0.5, rel=0.15)


def test_a_start_from_the_last_ranks_saves_iterations(tmp_path: Path) -> None:
    links = web(3_000)
    with opened(tmp_path, "breadth") as frontier:
        frontier.put(list(links)[:10])
        crawl(frontier, links, 1_500)
        frontier.rank_now()
        crawl(frontier, links, 30)
        counted = []
        for start in (None, frontier.ranks.vector()):
            told: list[str] = []
            rank_urls(ranker._Source(frontier._database), tmp_path / "x", start, tell=told.append)
            counted.append(sum(text.startswith("iteration") for text in told))
    assert counted[1] < 0.8 * counted[0]


# --- beside the crawl ---


@pytest.fixture
def eager(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steering, "LEAST_PAGES", 50)
    monkeypatch.setattr(steering, "_LOOKS", 1)


def until(frontier: LocalFrontier, is_so: Callable[[], bool], now: float = 100.0) -> None:
    """Take and release a URL again and again."""
    end = time.monotonic() + 60
    while not is_so():
        assert time.monotonic() < end
        taken = frontier.take(now)
        assert taken
        frontier.release(taken, now)
        time.sleep(0.01)


@pytest.mark.usefixtures("eager")
def test_ranks_are_computed_in_the_background(tmp_path: Path) -> None:
    links = web()
    with opened(tmp_path, rank_every=100.0) as frontier:
        frontier.put(list(links)[:1])
        crawl(frontier, links, 49)
        until(frontier, lambda: True, now=60.0)
        assert frontier._steering._process is None, "too few pages"
        crawl(frontier, links, 20, now=50.0)  # before it is due, so that all 69 count
        frontier.counts()
        until(frontier, lambda: frontier.ranks.urls > 0, now=200.0)
        until(frontier, lambda: frontier._steering._moves is None, now=200.0)
        assert not (tmp_path / "frontier.ranking").exists()
        expected = expected_ranks(frontier, links)
        view = frontier.views.of(max(expected, key=lambda url: expected[url]))
        assert view and view.rank == pytest.approx(max(expected.values()), rel=0.05)
        until(frontier, lambda: True, now=1e9)
        assert frontier._steering._process is None, "it has not grown"
        assert len(drain(frontier, links)) == PAGES - 69
        assert frontier.counts().done == PAGES
    with FrontierReader(str(tmp_path / "frontier"), delay=0.0) as reader:
        view = reader.url(next(iter(links)))
        assert view and view.rank


@pytest.mark.usefixtures("eager")
def test_a_computation_that_is_killed_is_tried_again_later(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    links = web()
    with opened(tmp_path, rank_every=10.0) as frontier:
        frontier.put(list(links)[:1])
        crawl(frontier, links, 60)
        until(frontier, lambda: frontier._steering._process is not None)
        process = frontier._steering._process
        assert process
        process.kill()
        until(frontier, lambda: frontier._steering._process is None)
        assert "ended with -9. It is tried again in an hour." in caplog.text
        until(frontier, lambda: True)
        assert frontier._steering._process is None
        until(frontier, lambda: frontier._steering._process is not None, now=4_000.0)


@pytest.mark.usefixtures("eager")
def test_closing_ends_the_computation(tmp_path: Path) -> None:
    links = web()
    frontier = opened(tmp_path, rank_every=10.0)
    frontier.put(list(links)[:1])
    crawl(frontier, links, 60)
    until(frontier, lambda: frontier._steering._process is not None)
    process = frontier._steering._process
    assert process
    frontier.close()
    assert process.poll() is not None
    assert not (tmp_path / "frontier.ranking").exists()


def crawl_until_killed(path: str, fetched: Any) -> None:
    steering.LEAST_PAGES, steering._LOOKS, steering.GROWTH = 50, 1, 1.01
    with opened(Path(path), rank_every=1e-9) as frontier:
        links, now = web(2_000), 0.0
        frontier.put(list(links)[:1])
        frontier._steering._due = 0.0
        while taken := frontier.take(now):
            frontier.finish(taken, "done", now, links[taken.url])
            frontier._steering._due = 0.0
            fetched.value += 1
            now += 0.001
            time.sleep(0.005)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_kills_lose_nothing_but_the_computation(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    links = web(2_000)
    context = multiprocessing.get_context("spawn")
    fetched = context.Value("i", 0)
    for _ in range(3):
        process = context.Process(target=crawl_until_killed, args=(str(tmp_path), fetched))
        until, end = fetched.value + chance.randrange(200, 600), time.monotonic() + 60
        process.start()
        while fetched.value < until and time.monotonic() < end:
            time.sleep(0.01)
        assert process.pid
        os.kill(process.pid, signal.SIGKILL)
        process.join()
    with opened(tmp_path) as frontier:
        done = frontier.counts().done
        assert done
        with closing(Ranks(tmp_path / "frontier")) as ranks:
            assert ranks.urls <= frontier.counts().seen
            assert None not in ranks.of_all(range(ranks.urls))
        rest = drain(frontier, links)
        assert len(rest) == len(set(rest)) == 2_000 - done
        counts = frontier.counts()
        assert (counts.waiting, counts.done) == (0, 2_000)
        assert not list(frontier._database.waiting.pairs()), "no URL waits in two places"


# --- without ---


def test_without_the_link_graph_it_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    with opened(tmp_path, linkgraph=False, rank_every=10.0) as frontier:
        assert not frontier._steering._is_on
    assert "LINKGRAPH is off: the number of links decides" in caplog.text


def test_without_numpy_it_says_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setattr(steering, "find_spec", lambda name: None)
    with opened(tmp_path, rank_every=10.0) as frontier:
        assert not frontier._steering._is_on
    assert "numpy is not installed" in caplog.text


@pytest.mark.parametrize("order", ["breadth", "roundrobin", "topwindow"])
def test_orders_that_use_no_ranks_compute_none(tmp_path: Path, order: str) -> None:
    with opened(tmp_path, order, rank_every=10.0) as frontier:
        assert not frontier._steering._is_on


@pytest.mark.parametrize(
    ("rules", "is_on"),
    [(RevisitRules(), True), (RevisitRules(rank=1.0), False), (RevisitRules(every=60.0), False)],
)
def test_revisits_use_them_under_every_order(
    tmp_path: Path, rules: RevisitRules, is_on: bool
) -> None:
    with opened(tmp_path, "breadth", rank_every=10.0, revisits=rules) as frontier:
        assert frontier._steering._is_on is is_on


def test_revisits_without_the_link_graph_say_so(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    rules = RevisitRules()
    with opened(tmp_path, "breadth", linkgraph=False, rank_every=10.0, revisits=rules) as frontier:
        assert not frontier._steering._is_on
    assert "LINKGRAPH is off: triples alone weigh revisits" in caplog.text


def test_a_crawl_that_does_not_grow_is_ranked_again_after_revisits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(steering, "LEAST_PAGES", 8)
    with opened(tmp_path, rank_every=1.0, revisits=RevisitRules(every=10.0)) as frontier:
        frontier.put([f"http://a.test/{page}" for page in range(8)])
        for _ in range(8):
            taken = frontier.take(0.0)
            assert taken
            frontier.finish(taken, "done", 0.0, ["http://a.test/0"], keep=Keep(None, 1.0))
        frontier.rank_now()
        part = frontier._steering
        for count in range(3):
            assert part._is_due(1e6) is (count == 2), "two of eight pages"
            taken = frontier.take(20.0)
            assert taken and taken.visit
            frontier.finish(taken, "done", 20.0, status=304, keep=Keep(changed=False))


def test_a_window_with_the_ranking_profit_uses_them(tmp_path: Path) -> None:
    with opened(tmp_path, "leafwindow", ranking="profit", rank_every=10.0) as frontier:
        assert frontier._steering._is_on


def test_too_many_urls_are_not_ranked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranker, "MOST_URLS", 100)
    with opened(tmp_path) as frontier:
        frontier.put(web())
        with pytest.raises(ValueError, match="The crawl knows 300 URLs, too many"):
            frontier.rank_now()


def test_damaged_ranks_count_as_none(tmp_path: Path) -> None:
    links = web()
    with opened(tmp_path) as frontier:
        frontier.put(list(links)[:1])
        crawl(frontier, links, 100)
        frontier.rank_now()
        known = frontier.ranks.urls
        assert frontier.ranks.of(known) is None and frontier.ranks.of(-1) is None
    file = tmp_path / "frontier" / NAME
    whole = file.read_bytes()
    for damaged in (b"", whole[:20], whole[:-1], b"x" + whole[1:], whole + b"\0"):
        file.write_bytes(damaged)
        with opened(tmp_path) as frontier:
            assert frontier.ranks.urls == 0
            assert frontier.ranks.of(0) is None
            assert frontier.ranks.vector() is None
    file.write_bytes(whole)
    with opened(tmp_path) as frontier:
        assert frontier.ranks.urls == known
    with closing(Ranks(tmp_path / "frontier")) as ranks:
        assert ranks.of(0)
        descriptor, ranks._file = ranks._file, 1_000_000  # reading fails
        assert ranks.of(0) is None
        ranks._file = descriptor


def test_kept_pages_count_as_pages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crawl with revisits has no done pages: it keeps them."""
    monkeypatch.setattr(steering, "LEAST_PAGES", 50)
    links = web()
    rules = RevisitRules()
    with closing(opened(tmp_path, rank_every=1.0, revisits=rules)) as frontier:
        frontier.put([next(iter(links))])
        for count in range(200):
            taken = frontier.take(float(count))
            assert taken is not None
            frontier.finish(
                taken, "done", float(count), links[taken.url], keep=Keep(changed=None, weight=1)
            )
        assert frontier.counts().kept > 100
        for count in range(2 * steering._LOOKS):
            frontier._steering.step(1_000.0 + count)
        assert frontier._steering._process is not None


def test_a_long_computation_is_followed_by_a_long_pause(tmp_path: Path) -> None:
    with closing(opened(tmp_path, rank_every=60.0)) as frontier:
        part = frontier._steering
        part._put_off_by(0.0, 600.0 / steering.SHARE)
        assert not part._is_due(3_700.0)
        assert part._due == 20_000.0
        assert not part._is_due(-50_000.0)  # the clock was set back
        assert part._due == -30_000.0


def test_a_shard_moves_urls_to_the_front_only(tmp_path: Path) -> None:
    """What other shards have told it of a URL is not in its own link graph."""
    with closing(opened(tmp_path, shard=(0, 2))) as frontier:
        links = {f"http://h{page}.test/": [f"http://h{page}.test/x"] for page in range(50)}
        frontier.put(links)
        crawl(frontier, links, 20)
        for _ in range(200):
            frontier.put(["http://hub.test/"], depth=1)
        frontier.counts()
        record = frontier.trie.record("http://hub.test/")
        assert record is not None
        frontier.rank_now()
        after = frontier.trie.record("http://hub.test/")
        assert after is not None
        assert after.hint >= record.hint
