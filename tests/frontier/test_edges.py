"""The frontier keeps the links of its pages: through kills, over shards, and as a graph reads them."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.orders import ORDERS
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.schedule.queue import INBOX_PAGE
from rdfaspider.frontier.sharding import shard_of
from rdfaspider.frontier.tables.database import Database
from rdfaspider.frontier.tables.links.edges import Edges
from rdfaspider.frontier.tables.links.inbox import Inbox
from rdfaspider.frontier.tables.trie import DONE, Trie
from rdfaspider.frontier.views.graph import CrawlGraph
from rdfaspider.linkgraph.edges import KINDS, unpack
from rdfaspider.pages.row import Row
from rdfaspider.pages.row import pack as pack_row
from rdfaspider.service.replica.journal import pack as pack_log
from rdfaspider.service.replica.journal import unpack as unpack_log
from rdfaspider.service.replica.logged import LoggedFrontier
from rdfaspider.urls.keys import to_url

AT_ONCE = Politeness(delay=0.0, at_once=1000)


def opened(path: Path, **options: Any) -> LocalFrontier:
    return LocalFrontier(str(path / "frontier"), politeness=AT_ONCE, **options)


def finish(frontier: LocalFrontier, url: str, *links: str, **said: Any) -> None:
    """End a URL; others that are taken on the way go back."""
    others = []
    while (taken := frontier.take(0.0)) is not None and taken.url != url:
        others.append(taken)
    assert taken is not None, f"{url} does not wait"
    for other in others:
        frontier.release(other, 0.0)
    frontier.finish(taken, "done", 0.0, links, **said)


def graph_of(*paths: Path) -> dict[tuple[str, str], str]:
    """Return the links of a crawl by their ends, with their kinds, as the graph has them both ways.

    Those of a page to itself are left out.
    """
    with CrawlGraph([str(path / "frontier") for path in paths], paths[0] / "graph") as crawl:
        both: list[dict[tuple[str, str], str]] = []
        for adjacency in (crawl.graph.outward, crawl.graph.inward):
            found = {}
            for page in range(crawl.graph.nodes):
                ends, kinds = adjacency.row(page)
                (url,) = crawl.names(np.array([page]))
                for end, kind in zip(crawl.names(ends), kinds.tolist(), strict=True):
                    found[url, end] = KINDS[kind]
            both.append(found)
    assert both[0] == {(one, other): kind for (other, one), kind in both[1].items()}
    return both[0]


@pytest.mark.parametrize("order", sorted(ORDERS))
def test_links_to_new_and_known_pages_are_kept(tmp_path: Path, order: str) -> None:
    with opened(tmp_path, order=order) as frontier:
        frontier.put(["http://a.test/", "http://b.test/"])
        finish(frontier, "http://a.test/", "http://b.test/", "http://a.test/1", "http://a.test/")
        finish(frontier, "http://a.test/1", "http://a.test/", "http://b.test/")
    assert graph_of(tmp_path) == {
        ("http://a.test/", "http://b.test/"): "follow",
        ("http://a.test/", "http://a.test/1"): "follow",
        ("http://a.test/1", "http://a.test/"): "follow",
        ("http://a.test/1", "http://b.test/"): "follow",
    }


def test_kinds(tmp_path: Path) -> None:
    with opened(tmp_path) as frontier:
        frontier.put([f"http://a.test/{page}" for page in range(5)])
        finish(
            frontier,
            "http://a.test/0",
            *("http://a.test/1", "http://a.test/3", "http://a.test/guess"),
            beside={
                "nofollow": ["http://a.test/2", "http://a.test/1", "http://a.test/never"],
                "canonical": "http://a.test/3",
                "outside": {"elsewhere.test": 2, "b.test": 1},
                "media": {"image": 300},
                "unlinked": 1,
            },
        )
        finish(frontier, "http://a.test/1", "http://a.test/4", depth_step=0, hops=1)
        finish(frontier, "http://a.test/2", beside={})
        frontier.counts()
        assert frontier.knows("http://a.test/guess")
    assert graph_of(tmp_path) == {
        ("http://a.test/0", "http://a.test/1"): "follow",
        ("http://a.test/0", "http://a.test/2"): "nofollow",
        ("http://a.test/0", "http://a.test/3"): "canonical",
        ("http://a.test/1", "http://a.test/4"): "redirect",
    }
    with CrawlGraph([str(tmp_path / "frontier")], tmp_path / "graph", is_kept=True) as crawl:
        about = crawl.graph.about
        assert {name: about[name] for name in ("pages", "media", "outside", "unfollowed")} == {
            "pages": 3,
            "media": 300,
            "outside": 3,
            "unfollowed": 1,
        }
        assert about["domains"] == {"elsewhere.test": 2, "b.test": 1}
        links = crawl.find("http://a.test/0")[1]
        assert links is not None
        assert (links.media, links.outside) == ({"image": 300}, {"elsewhere.test": 2, "b.test": 1})
        assert crawl.find("http://a.test/4")[1] is None


def test_a_sitemap_has_no_links(tmp_path: Path) -> None:
    with opened(tmp_path) as frontier:
        frontier.put(["http://a.test/sitemap.xml"])
        listed = ["http://a.test/1", "http://a.test/2"]
        finish(frontier, "http://a.test/sitemap.xml", *listed, beside={"unlinked": 2})
        assert frontier.counts().seen == 3
    assert graph_of(tmp_path) == {}


@pytest.mark.parametrize(("dynamic_depth", "rejected"), [(1, 3), (5, 2)])
def test_links_beyond_the_depth_are_found_when_their_page_comes_by_another_way(
    tmp_path: Path, dynamic_depth: int, rejected: int
) -> None:
    """Whether they are turned away unseen or by the sieve, which counts new ones only."""
    limits = FrontierLimits(depth=1, dynamic_depth=dynamic_depth)
    with opened(tmp_path, limits=limits) as frontier:
        frontier.put(["http://a.test/", "http://slow.test/"])
        finish(frontier, "http://a.test/", "http://a.test/1")
        finish(frontier, "http://a.test/1", "http://a.test/2", "http://a.test/", "http://a.test/3")
        counts = frontier.counts()
        assert counts.rejected == {"depth": rejected}
        finish(frontier, "http://slow.test/", "http://a.test/2")
    links = graph_of(tmp_path)
    assert ("http://a.test/1", "http://a.test/2") in links
    assert ("http://a.test/1", "http://a.test/") in links
    assert ("http://a.test/1", "http://a.test/3") not in links


def test_links_turned_away_by_a_host_limit_are_found_if_they_come_in_later(tmp_path: Path) -> None:
    with opened(tmp_path, limits=FrontierLimits(host_waiting=1)) as frontier:
        frontier.put(["http://a.test/", "http://c.test/"])
        finish(frontier, "http://a.test/", "http://b.test/1", "http://b.test/2")
        finish(frontier, "http://b.test/1")
        finish(frontier, "http://c.test/", "http://b.test/2")
    links = graph_of(tmp_path)
    assert ("http://a.test/", "http://b.test/2") in links
    assert ("http://c.test/", "http://b.test/2") in links


def test_a_page_fetched_again_has_its_new_links(tmp_path: Path) -> None:
    with opened(tmp_path) as frontier:
        frontier.put(["http://a.test/"])
        said = {"nofollow": ["http://a.test/3"], "media": {"audio": 2}}
        finish(frontier, "http://a.test/", "http://a.test/1", "http://a.test/2", beside=said)
        finish(frontier, "http://a.test/1", "http://a.test/2")
        # A shorter way is found to a page whose links are not on record any more.
        finish(frontier, "http://a.test/2", "http://a.test/3")
        finish(frontier, "http://a.test/3", "http://a.test/1")
        frontier.put(["http://a.test/3"])
        finish(frontier, "http://a.test/3", "http://a.test/", "http://a.test/2")
    links = graph_of(tmp_path)
    assert ("http://a.test/3", "http://a.test/1") not in links
    assert {other for one, other in links if one == "http://a.test/3"} == {
        "http://a.test/",
        "http://a.test/2",
    }


def test_a_shorter_way_leaves_the_links_as_they_are(tmp_path: Path) -> None:
    """The links of the page go through the inbox once more, without what was beside them."""
    with opened(tmp_path, limits=FrontierLimits(depth=3)) as frontier:
        frontier.put(["http://a.test/", "http://slow.test/"])
        finish(frontier, "http://a.test/", "http://a.test/1")
        finish(frontier, "http://a.test/1", "http://a.test/2")
        finish(frontier, "http://a.test/2", "http://a.test/3", beside={"media": {"video": 7}})
        finish(frontier, "http://slow.test/", "http://a.test/2")
        frontier.counts()
        view = frontier.views.of("http://a.test/3")
        assert view is not None and view.depth == 2
    with CrawlGraph([str(tmp_path / "frontier")], tmp_path / "graph") as crawl:
        assert crawl.graph.about["media"] == 7
        assert crawl.graph.about["media_of_pages"] == {"video": {"7": 1}}
    assert ("http://a.test/2", "http://a.test/3") in graph_of(tmp_path)


def test_without_the_setting_nothing_is_kept(tmp_path: Path) -> None:
    with opened(tmp_path, linkgraph=False) as frontier:
        frontier.put(["http://a.test/"])
        finish(frontier, "http://a.test/", "http://a.test/1", beside={"media": {"image": 1}})
    database = Database(tmp_path / "frontier", read_only=True)
    assert not list(Edges(database).all())
    database.close()
    assert graph_of(tmp_path) == {}


def test_a_hostile_page_fills_no_disk(tmp_path: Path) -> None:
    """Links that have to be kept by key are bounded, as they count for no limit of URLs."""
    long = "x" * 1000
    with opened(tmp_path, limits=FrontierLimits(depth=0, dynamic_depth=0)) as frontier:
        frontier.put(["http://a.test/"])
        beside = {"nofollow": [f"http://a.test/n{number}{long}" for number in range(2000)]}
        links = [f"http://a.test/f{number}{long}" for number in range(2000)]
        finish(frontier, "http://a.test/", *links, beside=beside)
    database = Database(tmp_path / "frontier", read_only=True)
    ((_, value),) = Edges(database).all()
    database.close()
    assert 500_000 < len(value) < 530_000


def test_hostile_pages_fill_no_memory(tmp_path: Path) -> None:
    """One link each, and as many that are not to be followed as are kept of a page."""
    long = "x" * 1000
    beside = {"nofollow": [f"http://a.test/n{number}{long}" for number in range(300)]}
    with opened(tmp_path) as frontier:
        frontier.put([f"http://a.test/{number}" for number in range(60)])
        held = 0
        for number in range(60):
            finish(frontier, f"http://a.test/{number}", "http://a.test/", beside=beside)
            entries = frontier._sieve.inbox.entries
            held = max(held, sum(len(entry.beside or b"") for entry in entries))
    assert 1_000_000 < held < 64 * INBOX_PAGE + 300_000


def test_links_between_shards(tmp_path: Path) -> None:
    """A page of one shard that links to a page of the other has it by its key until the graph is built."""
    urls = [f"http://h{number}.test/" for number in range(20)]
    homes = {url: shard_of(url, 2) for url in urls}
    paths = [tmp_path / "0", tmp_path / "1"]
    shards = [opened(path, shard=(number, 2)) for number, path in enumerate(paths)]
    for url, home in homes.items():
        shards[home].put([url])
    expected: dict[tuple[str, str], str] = {}
    for place, url in enumerate(urls):
        targets = [urls[(place * 3 + 1) % 20], urls[(place * 7 + 2) % 20]]
        expected |= {(url, target): "follow" for target in targets if target != url}
        own = [target for target in targets if homes[target] == homes[url]]
        abroad = [target for target in targets if homes[target] != homes[url]]
        finish(shards[homes[url]], url, *own, abroad=abroad, told=0)
    for shard in shards:
        shard.close()
    assert set(homes.values()) == {0, 1}
    assert graph_of(*paths) == expected
    one, other = (str(path / "frontier") for path in paths)
    with CrawlGraph([other, one], paths[0] / "graph") as crawl:
        assert sorted(crawl.names(np.arange(20))) == sorted(urls)
        assert not crawl.missing
    for path, home, missing in ((one, 0, [2]), (other, 1, [1])):
        with CrawlGraph([path], paths[0] / "graph", is_kept=True) as crawl:
            its = sorted(url for url in urls if homes[url] == home)
            assert sorted(crawl.names(np.arange(crawl.graph.nodes))) == its
            assert crawl.missing == missing
    assert graph_of(*paths[::-1]) == expected


def test_shards_in_another_order_are_the_same_graph(tmp_path: Path) -> None:
    paths = []
    for number in range(2):
        with opened(tmp_path / str(number), shard=(number, 2)) as frontier:
            urls = (f"http://h{each}.test/" for each in range(99))
            (url, *_) = [url for url in urls if shard_of(url, 2) == number]
            frontier.put([url])
        paths.append(str(tmp_path / str(number) / "frontier"))
    names = []
    for some in (paths, paths[::-1]):
        told: list[str] = []
        with CrawlGraph(some, tmp_path / "graph", tell=told.append) as crawl:
            names.append(crawl.names(np.arange(2)))
        assert bool(told) is (some == paths), "it is built once"
    assert names[0] == names[1]
    assert len(set(names[0])) == 2


def test_a_standby_has_the_graph_of_its_leader(tmp_path: Path) -> None:
    """It repeats what the log says, and numbers URLs on its own."""
    paths = [tmp_path / "leader", tmp_path / "standby"]
    leader, standby = (LoggedFrontier(str(path / "frontier"), politeness=AT_ONCE) for path in paths)
    log: list[tuple[Any, ...]] = []
    leader.record = lambda *operation: log.append(operation)
    leader.put([address(0)])
    said: Any = {
        "nofollow": [address(5), address(299)],
        "outside": {"b.test": 3},
        "media": {"audio": 2},
    }
    while (taken := leader.take(0.0)) is not None:
        leader.finish(taken, "done", 0.0, links_of(taken.url), beside=said)
    standby.put([address(7), address(3)])  # so that numbers differ
    for operation in unpack_log(pack_log(log)):
        standby.do(*operation)
    numbers = [frontier.trie.record(address(1)) for frontier in (leader, standby)]
    assert numbers[0] != numbers[1]
    leader.close()
    standby.close()
    assert graph_of(paths[0]) == graph_of(paths[1])
    assert set(graph_of(paths[0]).values()) == {"follow", "nofollow"}


def test_a_host_has_all_its_ports(tmp_path: Path) -> None:
    """In the order of keys its other ports come after its subdomains."""
    with opened(tmp_path) as frontier:
        urls = ["https://a.test/", "http://a.test/", "http://a.test:8000/", "https://www.a.test/"]
        frontier.put([*urls, "https://a.test.example/"])
        for url in urls:
            finish(frontier, url, "https://www.a.test/", "https://a.test.example/")
    with CrawlGraph([str(tmp_path / "frontier")], tmp_path / "graph") as crawl:
        graph = crawl.graph
        names = [graph.hosts[host] for host in graph.host_of_each]
        found = dict(zip(crawl.names(np.arange(graph.nodes)), names, strict=True))
        assert found == {
            **dict.fromkeys(urls, "a.test"),
            "https://www.a.test/": "www.a.test",
            "https://a.test.example/": "a.test.example",
        }
        values = crawl.host_values()
        place = graph.hosts.index("www.a.test")
        assert (values["pages"][place], values["links_in"][place]) == (1, 3)


def test_one_command_at_a_time_uses_a_graph(tmp_path: Path) -> None:
    opened(tmp_path).close()
    path = str(tmp_path / "frontier")
    with (
        CrawlGraph([path], tmp_path / "graph"),
        pytest.raises(ValueError, match="Another command uses"),
    ):
        CrawlGraph([path], tmp_path / "graph")
    CrawlGraph([path], tmp_path / "graph").close()


def test_ranks_are_computed_once_for_a_graph(tmp_path: Path) -> None:
    """And again when the crawl has gone on."""
    with opened(tmp_path) as frontier:
        frontier.put(["http://a.test/"])
        finish(frontier, "http://a.test/", "http://a.test/1", "http://a.test/2")
        finish(frontier, "http://a.test/2", "http://a.test/1")
    told: list[str] = []
    for expected in (True, False):
        told.clear()
        with CrawlGraph(
            [str(tmp_path / "frontier")], tmp_path / "graph", tell=told.append
        ) as crawl:
            assert crawl.ranks().pagerank.sum() == pytest.approx(1.0)
        assert any(text.startswith("PageRank") for text in told) is expected
        left = [
            path for path in (tmp_path / "graph").iterdir() if path.suffix in (".rows", ".saved")
        ]
        assert not left
    with opened(tmp_path) as frontier:
        finish(frontier, "http://a.test/1", "http://a.test/", "http://a.test/3")
    with CrawlGraph([str(tmp_path / "frontier")], tmp_path / "graph") as crawl:
        assert crawl.known_ranks() is None
        assert len(crawl.ranks().pagerank) == 4


def test_links_that_leave_the_inbox_come_into_the_graph(tmp_path: Path) -> None:
    """Though no page has ended since the graph was built, and no URL was new."""
    with opened(tmp_path) as frontier:
        frontier.put(["http://a.test/", "http://b.test/"])
        finish(frontier, "http://a.test/", "http://b.test/")
        finish(frontier, "http://b.test/", "http://a.test/")
        assert not graph_of(tmp_path), "they are in the inbox"
        frontier.counts()
    both = {("http://a.test/", "http://b.test/"), ("http://b.test/", "http://a.test/")}
    assert graph_of(tmp_path).keys() == both


def test_links_of_copies_are_kept_though_they_are_not_followed(tmp_path: Path) -> None:
    same = pack_row(Row(reason="page"), b"x" * 20)
    with opened(tmp_path, follows_copies=False) as frontier:
        frontier.put(["http://a.test/", "http://a.test/copy", "http://a.test/1"])
        finish(frontier, "http://a.test/", "http://a.test/1", row=same)
        links = ("http://a.test/1", "http://a.test/2")
        finish(frontier, "http://a.test/copy", *links, row=same, beside={"media": {"image": 3}})
        assert frontier.counts().rejected == {"copies": 2}
        assert not frontier.knows("http://a.test/2")
    assert graph_of(tmp_path) == {
        ("http://a.test/", "http://a.test/1"): "follow",
        ("http://a.test/copy", "http://a.test/1"): "follow",
    }
    with CrawlGraph([str(tmp_path / "frontier")], tmp_path / "graph") as crawl:
        about = crawl.graph.about
        assert (about["pages"], about["media"], about["beyond"]) == (2, 3, 1)


# --- kills ---

COUNT = 300


def links_of(url: str) -> list[str]:
    """Return links to two children, to a page before this one, and to one that comes much later."""
    number = int(url.rpartition("/")[2])
    targets = (2 * number + 1, 2 * number + 2, number // 3, number * 5 + 3)
    return [address(target) for target in targets if target < COUNT]


def address(number: int) -> str:
    return f"http://h{number % 7}.test/{number}"


def crawl(path: str, log: Connection) -> None:
    """Crawl, and say what is done, until killed or done."""
    with LocalFrontier(path, politeness=AT_ONCE, now=time.time()) as frontier:
        frontier.put([address(0)])
        while (taken := frontier.take(time.time())) is not None:
            said: Any = {"media": {"image": int(taken.url.rpartition("/")[2]) % 5}}
            frontier.finish(taken, "done", time.time(), links_of(taken.url), beside=said)
            log.send(taken.url)
        log.send("")
        log.recv()


def check_links(path: Path) -> int:
    """Check that each done page has its links in the table or in the inbox; return how many are done."""
    database = Database(path, read_only=True)
    try:
        trie = Trie(database)
        done = {record.number: key for key, record in trie.subtree() if record.state == DONE}
        kept = {number: unpack(number, value) for number, value in Edges(database).all()}
        arriving = [entry for entry in Inbox(database).entries if entry.beside is not None]
        assert kept.keys() | {entry.referrer for entry in arriving} == done.keys()
        for number, links in kept.items():
            found = [*trie.keys(links.numbers), *(key for _, key in links.keys)]
            url = to_url(done[number])
            assert sorted(map(to_url, found)) == sorted(set(links_of(url)))
            assert links.media.get("image", 0) == int(url.rpartition("/")[2]) % 5
        for entry in arriving:
            assert entry.referrer is not None
            assert sorted(map(to_url, entry.keys)) == sorted(links_of(to_url(done[entry.referrer])))
        return len(done)
    finally:
        database.close()


@contextmanager
def child(path: Path) -> Iterator[tuple[Connection, Any]]:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=crawl, args=(str(path), theirs))
    process.start()
    theirs.close()
    try:
        yield ours, process
    finally:
        process.kill()
        process.join(60)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_kills_neither_lose_nor_double_links(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = tmp_path / "frontier"
    kills = 0
    for _ in range(50):
        with child(path) as (log, process):
            url = "?"
            for _ in range(chance.randrange(20, 90)):
                if not (url := log.recv()):
                    break
            if not url:
                log.send("stop")
                process.join(60)
                break
            os.kill(process.pid, signal.SIGKILL)
            process.join(60)
            kills += 1
        check_links(path)
    assert kills > 1
    assert check_links(path) == COUNT
    pairs = {(address(n), target) for n in range(COUNT) for target in links_of(address(n))}
    expected = {(one, other): "follow" for one, other in pairs if one != other}
    assert graph_of(tmp_path) == expected
