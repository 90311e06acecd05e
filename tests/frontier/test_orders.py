from __future__ import annotations

from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, settings, strategies

from rdfaspider.focus.contexts import lift_of
from rdfaspider.focus.harvest import Harvest
from rdfaspider.focus.topics import hint_of, topic_of
from rdfaspider.focus.topics.ranker import judgement, requests_of, score_of
from rdfaspider.frontier import Frontier, Taken
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.orders.harvest import HarvestOrder
from rdfaspider.frontier.orders.sections import Sections
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
    """The XTrie of the RDFa Web Spider, which has abc/1, xyz/4, edc/2, edc/3 (docs/results.md).

    So do we, whether its nodes are folders of one host or the labels of names.
    """
    with frontier(tmp_path / "nodes", "roundrobin") as order:
        nodes = ["/c/b/a/1", "/c/d/e/2", "/c/d/e/3", "/z/y/x/4"]
        order.put([f"http://root.test{path}" for path in nodes])
        assert take_all(order) == ["/c/b/a/1", "/z/y/x/4", "/c/d/e/2", "/c/d/e/3"]
    with frontier(tmp_path / "hosts", "roundrobin") as order:
        order.put(["http://a.b.c/1", "http://e.d.c/2", "http://e.d.c/3", "http://x.y.z/4"])
        taken = all_urls(order)
    assert taken == ["http://a.b.c/1", "http://x.y.z/4", "http://e.d.c/2", "http://e.d.c/3"]


def all_urls(order: LocalFrontier) -> list[str]:
    taken = []
    while (url := order.take(0.0)) is not None:
        order.finish(url, "done", 0.0)
        taken.append(url.url)
    return taken


def test_a_domain_of_many_hosts_has_one_turn_like_others(tmp_path: Path) -> None:
    hosts = [*(f"n{number}.many.test" for number in range(4)), "many.test", "few.test", "a.org"]
    with frontier(tmp_path, "roundrobin") as order:
        order.put([f"http://{host}/{page}" for host in hosts for page in range(2)])
        taken = [url.split("/")[2] for url in all_urls(order)]
    domains = [name if name == "a.org" else name.split(".")[-2] for name in taken]
    assert domains == ["a.org", "few", "a.org", *["many", "few"], *["many"] * 9]
    of_many = [name for name, domain in zip(taken, domains, strict=True) if domain == "many"]
    assert len(set(of_many[:5])) == len(set(of_many[5:])) == 5


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


# --- Tarantula's windows ---


def test_figure_5_the_top_window_slides_over_the_hosts(tmp_path: Path) -> None:
    """The leftmost leaf of each host, two hosts at a time; then the window moves to the right."""
    hosts = [f"http://www.example{number}.com" for number in range(1, 5)]
    with frontier(tmp_path, "topwindow") as order:
        order.put([host + path for host in hosts for path in ("/", "/a/", "/a/1", "/b")])
        taken = []
        while (url := order.take(0.0)) is not None:
            order.finish(url, "done", 0.0)
            taken.append(url.url)
    assert taken[:4] == [host + "/a/1" for host in hosts], "crawls 1 and 2 of the figure"
    assert taken[4:8] == [host + "/a/" for host in hosts], "a folder after what is in it"
    assert taken[8:] == [host + path for path in ("/b", "/") for host in hosts]


def test_the_top_window_goes_on_to_the_right_when_a_host_appears_on_its_left(
    tmp_path: Path,
) -> None:
    with frontier(tmp_path, "topwindow") as order:
        order.put(["http://b.com/1", "http://b.com/2", "http://c.com/1", "http://d.com/1"])
        first = order.take(0.0)
        assert first and first.url == "http://b.com/1"
        order.finish(first, "done", 0.0, ["http://a.com/1"])
        order.wait(0.0)
        rest = []
        while (url := order.take(0.0)) is not None:
            order.finish(url, "done", 0.0)
            rest.append(url.url)
    assert rest == ["http://c.com/1", "http://d.com/1", "http://a.com/1", "http://b.com/2"]


def test_figure_6_the_leaf_window_moves_to_and_fro_and_tables_are_read_by_row(
    tmp_path: Path,
) -> None:
    hosts = ["http://a.com", "http://b.com"]
    with frontier(tmp_path, "leafwindow") as order:
        order.put([host + path for host in hosts for path in ("/", "/1", "/2", "/2/x", "/3")])
        taken = []
        while (url := order.take(0.0)) is not None:
            order.finish(url, "done", 0.0)
            taken.append(url.url)
    columns = {host: [url[12:] for url in taken if url.startswith(host)] for host in hosts}
    # Leaves from left to right; back again what has become a leaf.
    assert columns["http://a.com"] == columns["http://b.com"] == ["/1", "/2/x", "/3", "/2", "/"]
    assert [url[7] for url in taken] == ["a", "b"] * 5, "a row after the other"


def windowed(path: Path, order: str, window: int | None, ranking: str | None) -> LocalFrontier:
    manners = Politeness(delay=0.0)
    directory = str(path / "frontier")
    return LocalFrontier(directory, order=order, politeness=manners, window=window, ranking=ranking)


def link_often(frontier: LocalFrontier, *urls: str) -> None:
    """Have URLs found again, from as deep as they are."""
    for _ in range(60):
        frontier.put(urls, depth=1)
        frontier.wait(0.0)


def take_urls(frontier: LocalFrontier) -> list[str]:
    taken = []
    while (url := frontier.take(0.0)) is not None:
        frontier.finish(url, "done", 0.0)
        taken.append(url.url.removeprefix("http://"))
    return taken


def test_within_the_top_window_the_best_host_comes_first(tmp_path: Path) -> None:
    """Crawl 1 of Figure 5 is of the hosts 1 and 2, crawl 2 of 3 and 4, whatever is better."""
    with windowed(tmp_path, "topwindow", 2, "profit") as order:
        order.put([f"http://{n}.com/{page}" for n in "abcd" for page in "12"], depth=1)
        link_often(order, "http://b.com/1", "http://d.com/1", "http://d.com/2")
        taken = take_urls(order)
    assert taken[:4] == ["b.com/1", "a.com/1", "d.com/1", "c.com/1"]
    assert taken[4:] == ["a.com/2", "b.com/2", "d.com/2", "c.com/2"]


def test_without_a_ranking_a_wider_top_window_changes_nothing(tmp_path: Path) -> None:
    hosts = [f"http://www.example{number}.com" for number in range(1, 5)]
    served = []
    for number, size in enumerate((None, 2)):
        with windowed(tmp_path / str(number), "topwindow", size, None) as order:
            order.put([host + path for host in hosts for path in ("/", "/a/", "/a/1", "/b")])
            served.append(take_urls(order))
    assert served[0] == served[1]


def test_within_the_leaf_window_the_best_leaf_comes_first(tmp_path: Path) -> None:
    with windowed(tmp_path, "leafwindow", 3, "profit") as order:
        order.put([f"http://a.com/{n}" for n in range(7)], depth=1)
        link_often(order, "http://a.com/2", "http://a.com/4", "http://a.com/6")
        assert [url[-1] for url in take_urls(order)] == ["2", "0", "1", "4", "3", "5", "6"]


@pytest.mark.parametrize("way", [b">", b"<"])
def test_a_leaf_window_stays_until_all_its_leaves_were_served(tmp_path: Path, way: bytes) -> None:
    """Though one URL of the host is taken at a time, and the crawl is stopped after each."""
    with windowed(tmp_path, "leafwindow", 3, "profit") as order:
        order.put([f"http://a.com/{n}" for n in range(7)], depth=1)
        link_often(order, "http://a.com/2", "http://a.com/4")
        order._database.meta[b"window " + order._hosts.known(b"com,a:80)/").prefix] = (
            b">" if way == b">" else b"<\xff"
        )
    taken = []
    for _ in range(7):
        with windowed(tmp_path, "leafwindow", None, None) as order:
            order._order.most_at_hand = 1
            url = order.take(0.0)
            assert url
            order.finish(url, "done", 0.0)
            taken.append(url.url[-1])
    forth, back = ["2", "0", "1", "4", "3", "5", "6"], ["4", "6", "5", "2", "3", "1", "0"]
    assert taken == (forth if way == b">" else back)


def test_a_crawl_keeps_its_window(tmp_path: Path) -> None:
    windowed(tmp_path, "leafwindow", 5, "profit").close()
    windowed(tmp_path, "leafwindow", None, None).close()
    windowed(tmp_path, "leafwindow", 5, None).close()
    with pytest.raises(
        ValueError, match="begun with FRONTIER_WINDOW=5 and FRONTIER_RANKING=profit"
    ):
        windowed(tmp_path, "leafwindow", 6, None)
    with pytest.raises(ValueError, match=r"cannot go on with .*FRONTIER_RANKING=off"):
        windowed(tmp_path, "leafwindow", None, "off")
    with pytest.raises(ValueError, match="The order breadth has no window"):
        windowed(tmp_path / "new", "breadth", 5, None)
    with pytest.raises(ValueError, match="There is no ranking best"):
        windowed(tmp_path / "new", "topwindow", None, "best")


def test_windows_of_earlier_versions_go_on(tmp_path: Path) -> None:
    frontier(tmp_path, "topwindow").close()
    windowed(tmp_path, "topwindow", 0, "off").close()
    with pytest.raises(ValueError, match="begun with FRONTIER_WINDOW=0"):
        windowed(tmp_path, "topwindow", 2, "off")


# --- WIRE's profit ---


def test_profit_goes_by_depth_and_by_links(tmp_path: Path) -> None:
    with frontier(tmp_path, "profit") as order:
        order.put(["http://a.test/deep", "http://a.test/known"], depth=2)
        order.put(["http://a.test/near"], depth=1)
        for _ in range(400):
            order.put(["http://a.test/known"], depth=2)
            order.wait(0.0)
        assert take_all(order) == ["/known", "/near", "/deep"]


# --- WebParF's topics ---


def topic(number: int, score: int = 100) -> int:
    return hint_of(number, score)


def test_topics_take_turns_however_many_urls_and_hosts_they_have(tmp_path: Path) -> None:
    with frontier(tmp_path, "topics") as order:
        for host in range(30):
            many = [f"http://many{host}.test/{page}" for page in range(3)]
            order.put(many, contexts=[topic(1)] * 3)
        order.put([f"http://few.test/{page}" for page in range(10)], contexts=[topic(2)] * 10)
        served = []
        while (url := order.take(0.0)) is not None:
            order.finish(url, "done", 0.0)
            served.append("few" in url.url)
    assert served.count(True) == 10
    assert all(any(served[start : start + 3]) for start in range(18)), "every pool is served"


def test_within_a_topic_the_best_comes_first_and_topics_of_a_host_alternate(tmp_path: Path) -> None:
    with frontier(tmp_path, "topics") as order:
        order.put(
            [f"http://a.test/{name}" for name in ("low", "high", "other")],
            contexts=[topic(1, 10), topic(1, 200), topic(2, 50)],
        )
        assert take_all(order) in (["/high", "/other", "/low"], ["/other", "/high", "/low"])


def test_the_queue_of_a_topic_is_score_then_first_come_first_served(tmp_path: Path) -> None:
    """Figure 5 of WebParF."""
    with frontier(tmp_path, "topics") as order:
        for name, score in (("b1", 10), ("a1", 90), ("b2", 10), ("a2", 90)):
            order.put([f"http://a.test/{name}"], contexts=[topic(1, score)])
            order.wait(0.0)
        assert take_all(order) == ["/a1", "/a2", "/b1", "/b2"]


@given(strategies.lists(strategies.none() | strategies.integers(0, 4), max_size=120))
@settings(max_examples=15)
def test_every_pool_is_served_while_any_has_urls(steps: list[int | None]) -> None:
    """Figure 6 of WebParF: URLs of five topics come (numbers) and go (None) in any order. A topic
    that waits is served again before any other is served three times."""
    with TemporaryDirectory() as directory, frontier(Path(directory), "topics") as order:
        waiting: Counter[int] = Counter()
        since: dict[int, Counter[int]] = {}  # topic → turns of others since it waits for its own
        for number, step in enumerate(steps):
            if step is not None:
                order.put([f"http://h{number}.test/"], contexts=[topic(step)])
                order.wait(0.0)
                since.setdefault(step, Counter())
                waiting[step] += 1
                continue
            taken = order.take(0.0)
            assert (taken is None) == (not waiting.total())
            if taken is not None:
                order.finish(taken, "done", 0.0)
                served = topic_of(taken.hint)
                assert waiting[served]
                waiting[served] -= 1
                since.pop(served)
                for turns in since.values():
                    turns[served] += 1
                    assert turns[served] < 3
                if waiting[served]:
                    since[served] = Counter()


def test_a_url_found_again_with_a_better_score_moves_up(tmp_path: Path) -> None:
    with frontier(tmp_path, "topics") as order:
        order.put(["http://a.test/x", "http://a.test/y"], contexts=[topic(1, 10), topic(1, 20)])
        order.wait(0.0)
        order.put(["http://a.test/x"], contexts=[topic(1, 30)])
        assert take_all(order) == ["/x", "/y"]


def test_many_links_move_a_url_up_in_its_pool(tmp_path: Path) -> None:
    """However they come: many at once, or one after the other."""
    with frontier(tmp_path, "topics") as order:
        names = ("a", "b", "c")
        order.put([f"http://a.test/{name}" for name in names], contexts=[topic(1, 60)] * 3)
        order.wait(0.0)
        for _ in range(100):
            order.put(["http://a.test/b"], contexts=[topic(1, 40)])
            order.wait(0.0)
        for _ in range(100):
            order.put(["http://a.test/c"] * 20, contexts=[topic(2, 50)] * 20)
        assert take_all(order) == ["/c", "/b", "/a"]


def test_each_request_moves_a_url_down_in_its_pool(tmp_path: Path) -> None:
    with frontier(tmp_path, "topics") as order:
        order.put(["http://a.test/x", "http://a.test/y"], contexts=[topic(1, 80), topic(1, 60)])
        first = order.take(0.0)
        assert first and first.url.endswith("/x")
        order.retry(first, 0.0)
        second = order.take(0.0)
        assert second and second.url.endswith("/y")
        order.retry(second, 0.0)
        assert take_all(order) == ["/x", "/y"], "nothing is lost, and both were asked for once"
        assert order.counts().done == 2
        record = order.trie.record("http://a.test/x")
        assert record and (record.attempts, requests_of(record.hint)) == (1, 2)


def test_a_url_that_failed_comes_back_behind_what_was_never_asked_for(tmp_path: Path) -> None:
    with frontier(tmp_path, "topics") as order:
        order.put(["http://a.test/x"], contexts=[topic(1, 80)])
        failed = order.take(0.0)
        assert failed
        order.finish(failed, "failed", 0.0)
        order.put(["http://a.test/y"], contexts=[topic(1, 60)])
        order.requeue("/x")
        assert take_all(order) == ["/y", "/x"]


def test_a_page_that_was_read_keeps_its_own_topic(tmp_path: Path) -> None:
    with frontier(tmp_path, "topics") as order:
        order.put(["http://a.test/x", "http://a.test/moved"], contexts=[topic(1, 60)] * 2)
        for gain in (0.0, judgement(2, 20)):
            taken = order.take(0.0)
            assert taken
            order.finish(
                taken, "done", 0.0, ["http://a.test/x"], gain=gain, contexts=[topic(3, 90)]
            )
            order.wait(0.0)
        moved, read = (order.trie.record(f"http://a.test/{name}") for name in ("moved", "x"))
        assert moved and topic_of(moved.hint) == 1, "of a redirect only what was expected is known"
        assert read and (topic_of(read.hint), score_of(read.hint)) == (2, 20)


# --- harvest ---


def test_harvest_goes_where_triples_were(tmp_path: Path) -> None:
    """Two sections of one host, one of which gives; what was learnt survives a restart."""
    pages = [f"http://a.test/{name}/{page}" for name in ("poor", "rich") for page in range(60)]
    taken = []
    with frontier(tmp_path, "harvest") as order:
        order.put(pages)
        for _ in range(40):
            url = order.take(0.0)
            assert url
            order.finish(url, "done", 0.0, gain=5.0 * ("rich" in url.url))
            taken.append("rich" in url.url)
    assert sum(taken[-20:]) >= 16
    with frontier(tmp_path, "harvest") as order:
        again = []
        for _ in range(10):
            url = order.take(10.0)
            assert url
            order.finish(url, "done", 10.0, gain=5.0 * ("rich" in url.url))
            again.append("rich" in url.url)
    assert sum(again) >= 8


def test_the_heap_of_ready_hosts_is_swept(tmp_path: Path) -> None:
    fronts = [f"http://h{number}.test/" for number in range(30)]
    with frontier(tmp_path, "harvest") as order:
        order.put(fronts)
        for page in range(300):
            url = order.take(0.0)
            assert url
            links = [f"{front}{page}" for front in fronts]
            order.finish(url, "done", 0.0, links)
        assert len(order._schedule._ready) <= 64 + 4 * 30 + 30


def test_after_a_restart_harvest_sees_what_waits_beside_what_comes(tmp_path: Path) -> None:
    with frontier(tmp_path, "harvest") as order:
        order.put([f"http://h.test/a/{page}" for page in range(30)])
        for _ in range(10):
            url = order.take(0.0)
            assert url
            order.finish(url, "done", 0.0, gain=100.0)
    with frontier(tmp_path, "harvest") as order:
        order.put(["http://h.test/b/0"])
        order.wait(9.0)
        taken = []
        for step in range(10):
            url = order.take(10.0)
            assert url
            order.finish(
                url, "done", 10.0, [f"http://h.test/b/{step + 1}"], gain=100.0 * ("/a/" in url.url)
            )
            taken.append("/a/" in url.url)
    assert sum(taken) >= 7


def test_a_url_that_is_tried_again_comes_back_to_harvest(tmp_path: Path) -> None:
    with frontier(tmp_path, "harvest") as order:
        order.put([f"http://h.test/a/{page}" for page in range(20)])
        for _ in range(19):
            url = order.take(0.0)
            assert url
            order.finish(url, "done", 0.0, gain=100.0)
        last = order.take(0.0)
        assert last
        order.retry(last, 0.0, after=5.0)
        order.put([f"http://h.test/b/{page}" for page in range(50)])
        taken = []
        for _ in range(20):
            url = order.take(10.0)
            assert url
            order.finish(url, "done", 10.0)
            taken.append(url.url)
    assert last.url in taken[:6]


GOOD, FAIR, BAD = 1, 2, 3


def promising(path: Path, at_once: int = 1) -> LocalFrontier:
    """Return a harvest that has learnt three kinds of links."""
    politeness = Politeness(delay=0.0, at_once=at_once)
    order = LocalFrontier(str(path / "frontier"), order="harvest", politeness=politeness)
    assert isinstance(order._order, HarvestOrder)
    for context, found in ((GOOD, 8.0), (FAIR, 1.0), (BAD, 0.0)):
        for _ in range(20):
            order._order.harvest.contexts.learn(context, found, 1.0)
    return order


def test_a_section_is_worth_what_its_next_link_promises(tmp_path: Path) -> None:
    """Not what the one did that was just taken."""
    with promising(tmp_path, at_once=4) as order:
        order.put(
            ["http://h.test/a/1", "http://h.test/a/2", "http://h.test/b/1", "http://h.test/b/2"],
            contexts=[GOOD, BAD, FAIR, FAIR],
        )
        taken = [url.url[-3:] for _ in range(4) if (url := order.take(0.0))]
    assert taken == ["a/1", "b/1", "b/2", "a/2"]


def test_a_link_that_promises_more_is_taken_next(tmp_path: Path) -> None:
    """However many hosts are ready, none has a URL at hand that is taken before."""
    with promising(tmp_path) as order:
        order.put([f"http://h{number}.test/" for number in range(20)], contexts=[FAIR] * 20)
        first = order.take(0.0)
        assert first
        links = [f"http://h{number}.test/new/" for number in range(30) if number not in (3, 23)]
        links += ["http://h3.test/good/", "http://h23.test/good/"]
        order.finish(first, "done", 0.0, links, contexts=[BAD] * 28 + [GOOD] * 2)
        taken = {url.url for _ in range(2) if (url := order.take(0.0))}
    assert taken == set(links[-2:])


def test_a_host_that_has_less_left_has_nothing_at_hand(tmp_path: Path) -> None:
    """Else what comes in would not be compared."""
    with promising(tmp_path, at_once=4) as order:
        order.put(["http://h.test/a/1", "http://h.test/a/2"], contexts=[GOOD, BAD])
        order.put([f"http://i.test/b/{page}" for page in range(3)], contexts=[FAIR] * 3)
        taken = [order.take(0.0), order.take(0.0)]
        order.put(["http://h.test/c/1"], contexts=[GOOD])
        taken.append(order.take(0.0))
    assert [url.url[-3:] for url in taken if url] == ["a/1", "b/0", "c/1"]


@given(
    strategies.lists(
        strategies.tuples(
            strategies.sampled_from(["take", "put", "done", "retry", "release"]),
            strategies.integers(0, 11),
            strategies.sampled_from([GOOD, FAIR, BAD]),
        ),
        max_size=60,
    )
)
@example([("put", page, FAIR) for page in range(0, 8, 2)] + [("take", 0, 0), ("put", 2, GOOD)])
@settings(max_examples=40, deadline=None)
def test_what_is_read_ahead_is_what_waits(steps: list[tuple[str, int, int]]) -> None:
    """Links that are found again and change their places are neither lost nor handed out twice."""
    with TemporaryDirectory() as directory, promising(Path(directory), at_once=6) as order:
        known: set[str] = set()
        done: set[str] = set()
        flying: list[Taken] = []
        for step, number, context in steps:
            if step == "put":
                known.add(url := f"http://h.test/{number % 2}/{number}")
                order.put([url], contexts=[context])
            elif step == "take" and (taken := order.take(0.0)) is not None:
                assert taken.url not in done | {other.url for other in flying}
                flying.append(taken)
            elif flying and step in ("done", "retry", "release"):
                taken = flying.pop(number % len(flying))
                if step == "done":
                    order.finish(taken, "done", 0.0)
                    done.add(taken.url)
                else:
                    order.retry(taken, 0.0) if step == "retry" else order.release(taken, 0.0)
        for taken in flying:
            order.finish(taken, "done", 0.0)
            done.add(taken.url)
        rest = []
        while (last := order.take(0.0)) is not None:
            order.finish(last, "done", 0.0)
            rest.append(last.url)
        assert sorted(rest) == sorted(known - done)
        assert not list(order._database.waiting.pairs())


_STEPS = strategies.tuples(
    strategies.sampled_from(["set", "drop", "learn", "ask"]),
    strategies.sampled_from([b"test,h)/a/", b"test,h)/b/", b"test,h)/c/", b"test,h)/d?"]),
    strategies.integers(0, 255),
)


@given(strategies.lists(_STEPS, max_size=40))
def test_the_best_section_is_the_same_as_if_all_were_compared(
    steps: list[tuple[str, bytes, int]],
) -> None:
    harvest, sections = Harvest(), Sections({b"test,h)/": 128})
    for step, section, number in steps:
        if step == "set":
            sections.set_promise(section, number, harvest)
        elif step == "drop":
            sections.drop(section)
        elif step == "learn":
            harvest.learn(section + b"page", float(number % 3))
            sections.forget_best()
        else:
            promises = sections.promises
            scores = {each: harvest.score(each, lift_of(promises[each])) for each in promises}
            assert sections.find_best(harvest) == max((scores[each], each) for each in scores)


def test_a_harvest_of_many_waiting_urls_does_not_look_up_each_link_at_once(tmp_path: Path) -> None:
    with frontier(tmp_path, "harvest") as order:
        order.put(f"http://h{number}.test/x/{number}" for number in range(320))
        for number in range(4):
            taken = order.take(0.0)
            assert taken
            order.finish(taken, "done", 0.0, [f"http://new.test/{number}/{i}" for i in range(8)])
        assert order._sieve.inbox.size == 8, "16 of 320 may wait for the next choice, 24 may not"
        assert order.counts().waiting == 316 + 32
        assert len(take_all(order)) == 316 + 32


def test_a_url_that_is_released_comes_back_to_harvest(tmp_path: Path) -> None:
    """The section that it alone was in is known again, though others wait."""
    with promising(tmp_path) as order:
        order.put(["http://h.test/a/1"], contexts=[GOOD])
        order.put([f"http://h.test/b/{page}" for page in range(5)], contexts=[BAD] * 5)
        first = order.take(0.0)
        assert first
        order.release(first, 0.0)
        again = order.take(0.0)
        assert again
        assert first.url == again.url == "http://h.test/a/1"


def test_a_section_without_urls_is_not_read_again(tmp_path: Path) -> None:
    with promising(tmp_path, at_once=4) as order:
        order.put(["http://h.test/a/1"], contexts=[GOOD])
        order.put(["http://h.test/b/1", "http://h.test/b/2"], contexts=[FAIR, FAIR])
        first = order.take(0.0)
        assert first
        assert first.url == "http://h.test/a/1"
        assert isinstance(order._order, HarvestOrder)
        (sections,) = order._order._sections.values()
        assert list(sections.promises) == [b"test,h:80)/b/"]


def test_a_ready_host_is_compared_again_only_for_a_better_section(tmp_path: Path) -> None:
    with promising(tmp_path) as order:
        hosts = [f"http://h{number}.test/a/" for number in range(20)]
        order.put(hosts, contexts=[FAIR] * 20)
        order.wait(0.0)
        assert order.take(0.0)
        ready = len(order._schedule._ready)
        order.put([host + "again" for host in hosts], contexts=[FAIR] * 20)
        order.counts()
        assert len(order._schedule._ready) == ready
        order.put([host[:-2] + "good/" for host in hosts], contexts=[GOOD] * 20)
        order.counts()
        assert len(order._schedule._ready) > ready
