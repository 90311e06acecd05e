"""What every frontier guarantees (G1 to G7 of rdfaspider.frontier), whatever its order."""

from __future__ import annotations

import itertools
import random
from typing import TYPE_CHECKING

import pytest

from rdfaspider.frontier import Frontier, FrontierUnavailable, Taken
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.politeness import Demand
from tests.frontier.conftest import look

if TYPE_CHECKING:
    from tests.frontier.conftest import Opener

Graph = dict[str, list[str]]


def urls(host: str, count: int) -> list[str]:
    return [f"http://{host}.test/{number}" for number in range(count)]


def drain(frontier: Frontier, graph: Graph | None = None, now: float = 0.0) -> list[str]:
    """Take and finish until nothing is left, moving the clock when told to wait."""
    order = []
    while True:
        taken = frontier.take(now)
        if taken is not None:
            order.append(taken.url)
            frontier.finish(taken, "done", now, (graph or {}).get(taken.url, ()))
            continue
        seconds = frontier.wait(now)
        if seconds is None:
            return order
        now += seconds


def test_everything_put_is_taken_once(opener: Opener) -> None:
    with opener() as frontier:
        expected = urls("a", 50) + urls("b", 30)
        frontier.put(expected)
        frontier.put(expected[20:60])
        assert sorted(drain(frontier)) == sorted(expected)
        frontier.put(expected)
        assert drain(frontier) == []
        assert frontier.counts().done == frontier.counts().seen == 80


def test_an_empty_frontier_has_nothing_to_wait_for(opener: Opener) -> None:
    with opener() as frontier:
        assert frontier.take(0.0) is None
        assert frontier.wait(0.0) is None


def test_states_add_up_at_every_step(opener: Opener) -> None:
    with opener(delay=0.0, at_once=9) as frontier:
        frontier.put(urls("a", 8))
        flying: list[Taken] = []
        for now in range(8):
            taken = frontier.take(float(now))
            assert taken is not None
            flying.append(taken)
            assert frontier.counts().seen == 8
            assert frontier.counts().in_flight == len(flying)
        assert frontier.wait(8.0) == 592.0, "until the first lease ends"
        frontier.finish(flying[0], "done", 8.0, ["http://a.test/new"])
        frontier.finish(flying[1], "failed", 8.0)
        frontier.finish(flying[2], "denied", 8.0)
        frontier.retry(flying[3], 8.0, after=5.0)
        assert frontier.wait(8.0) == 0.0, "the new link"
        counts = frontier.counts()
        assert (counts.done, counts.failed, counts.denied) == (1, 1, 1)
        assert (counts.waiting, counts.in_flight, counts.seen) == (2, 4, 9)


def test_links_count_as_soon_as_they_are_found(opener: Opener) -> None:
    with opener(delay=0.0) as frontier:
        frontier.put(urls("a", 3))
        assert frontier.counts().waiting == 3
        taken = frontier.take(0.0)
        assert taken
        frontier.finish(taken, "done", 0.0, [*urls("a", 5), *urls("b", 2), *urls("b", 2)])
        counts = frontier.counts()
        assert (counts.waiting, counts.done, counts.seen) == (6, 1, 7)
        assert {view.name: view.waiting for view in frontier.hosts(0.0)} == {
            "a.test": 4,
            "b.test": 2,
        }


def test_the_counts_of_a_closed_frontier_are_what_is_left_behind(opener: Opener) -> None:
    frontier = opener(delay=0.0)
    frontier.put(urls("a", 3))
    taken = frontier.take(0.0)
    assert taken
    frontier.finish(taken, "done", 0.0, urls("b", 4))
    frontier.close()
    counts = frontier.counts()
    assert (counts.waiting + counts.in_flight, counts.done, counts.seen) == (6, 1, 7)
    with opener(delay=0.0) as frontier:
        assert frontier.counts() == counts


def test_two_fetches_of_a_host_keep_its_delay(opener: Opener) -> None:
    with opener(delay=2.0) as frontier:
        frontier.put([*urls("a", 3), *urls("b", 3)])
        first, second = frontier.take(10.0), frontier.take(10.0)
        assert first and second
        assert {first.url[7], second.url[7]} == {"a", "b"}
        assert frontier.take(11.0) is None, "both are being fetched"
        assert frontier.wait(11.0) == 599.0, "until a lease ends"
        frontier.finish(first, "done", 11.0)
        assert frontier.wait(11.0) == 2.0, "from the end of one to the start of the next"
        assert frontier.take(12.9) is None
        third = frontier.take(13.0)
        assert third and third.host == first.host


def test_a_host_can_have_several_fetches_at_once(opener: Opener) -> None:
    with opener(delay=1.0, at_once=2) as frontier:
        frontier.put(urls("a", 5))
        assert frontier.take(0.0)
        assert frontier.take(0.5) is None
        assert frontier.take(1.0)
        assert frontier.take(2.0) is None, "two are in flight"


def test_a_host_can_be_slowed_down(opener: Opener) -> None:
    with opener(delay=1.0) as frontier:
        frontier.put(urls("a", 5))
        taken = frontier.take(0.0)
        assert taken
        frontier.slow_down(taken.host, 0.0, Demand(crawl_delay=7.0))
        frontier.finish(taken, "done", 0.0)
        assert frontier.wait(0.0) == 7.0
        frontier.slow_down(taken.host, 0.0, Demand(pause=100.0))
        assert frontier.wait(0.0) == 100.0
        assert frontier.take(99.0) is None
        assert frontier.take(100.0)


def test_a_retry_waits_its_time_and_counts_attempts(opener: Opener) -> None:
    with opener(delay=1.0) as frontier:
        frontier.put(urls("a", 2))
        first = frontier.take(0.0)
        assert first
        frontier.retry(first, 0.0, after=30.0)
        second = frontier.take(1.0)
        assert second and second.url != first.url
        frontier.finish(second, "done", 1.0)
        assert frontier.wait(2.0) == 28.0
        assert frontier.take(29.0) is None
        again = frontier.take(30.0)
        assert again and again.url == first.url
        assert again.attempts == 1


def test_a_lease_runs_out(opener: Opener) -> None:
    with opener(delay=0.0, lease=60.0) as frontier:
        frontier.put(urls("a", 1))
        lost = frontier.take(0.0)
        assert lost
        assert frontier.take(59.0) is None
        again = frontier.take(60.0)
        assert again and again.url == lost.url
        frontier.finish(lost, "failed", 61.0)
        assert frontier.counts().in_flight == 1, "what was lost cannot be finished any more"
        frontier.finish(again, "done", 61.0)
        assert frontier.counts().done == 1


def test_all_is_there_after_closing(opener: Opener) -> None:
    with opener(delay=5.0, now=0.0) as frontier:
        frontier.put(urls("a", 3))
        frontier.put(["http://b.test/"])
        taken = frontier.take(0.0)
        assert taken
        frontier.finish(taken, "done", 0.0, ["http://c.test/"])
        left = frontier.take(0.0)
        assert left
        before = frontier.counts()
    with opener(delay=5.0, now=1.0) as frontier:
        after = frontier.counts()
        assert after.seen == before.seen
        assert after.waiting == before.waiting + 1, "what was in flight waits again"
        rest = drain(frontier, now=1.0)
        assert len(rest) == len(set(rest)) == 4
        assert taken.url not in rest
        assert left.url in rest
        assert "http://c.test/" in rest


def test_politeness_survives_a_restart(opener: Opener) -> None:
    with opener(delay=5.0) as frontier:
        frontier.put(urls("a", 3))
        taken = frontier.take(100.0)
        assert taken
        frontier.slow_down(taken.host, 100.0, Demand(crawl_delay=50.0))
        frontier.finish(taken, "done", 100.0)
    with opener(delay=5.0, now=120.0) as frontier:
        assert frontier.take(149.0) is None
        assert frontier.take(150.0)
        # It is left in flight, as by a kill: nobody knows when it was fetched.
    with opener(delay=5.0, now=160.0) as frontier:
        assert frontier.take(209.0) is None
        assert frontier.take(210.0)


# --- depth ---

# Figures 14 and 15 of the RDFa Web Spider: 1 links to 2 and 3, 2 links to 3, 3 to 4 … 8; depth 2.
PAGE = "http://a.test/{}".format
FIGURE = {
    PAGE(1): [PAGE(2), PAGE(3)],
    PAGE(2): [PAGE(3)],
    PAGE(3): [PAGE(number) for number in range(4, 9)],
}


def ball(graph: Graph, seed: str, depth: int) -> set[str]:
    found, edge = {seed}, {seed}
    for _ in range(depth):
        edge = {link for url in edge for link in graph.get(url, ())} - found
        found |= edge
    return found


def crawl_shuffled(frontier: Frontier, graph: Graph, seed: str, chance: random.Random) -> set[str]:
    """Crawl with many fetches in flight that end in any order; fail if one is fetched twice."""
    frontier.put([seed])
    flying: list[Taken] = []
    fetched: set[str] = set()
    while True:
        taken = frontier.take(0.0) if chance.random() < 0.6 else None
        if taken is not None:
            assert taken.url not in fetched
            fetched.add(taken.url)
            flying.append(taken)
        elif flying:
            ended = flying.pop(chance.randrange(len(flying)))
            frontier.finish(ended, "done", 0.0, graph.get(ended.url, ()))
        elif frontier.wait(0.0) is None:
            return fetched


def test_figure_14(opener: Opener) -> None:
    with opener(delay=0.0, at_once=9, limits=FrontierLimits(depth=2)) as frontier:
        frontier.put([PAGE(1)])
        assert set(drain(frontier, FIGURE)) == {PAGE(number) for number in range(1, 9)}


def test_figure_15(opener: Opener) -> None:
    """Page 3 is found by way of 2 before 1 has told of it; the paper then found only 3 pages."""
    with opener(delay=0.0, at_once=9, limits=FrontierLimits(depth=2)) as frontier:
        frontier.put([PAGE(1)])
        one = frontier.take(0.0)
        assert one
        frontier.put([PAGE(2)], depth=1)
        two = frontier.take(0.0)
        assert two
        frontier.finish(two, "done", 0.0, FIGURE[two.url])
        three = frontier.take(0.0)
        assert three and three.depth == 2
        frontier.finish(three, "done", 0.0, FIGURE[three.url])
        assert frontier.take(0.0) is None
        frontier.finish(one, "done", 0.0, FIGURE[one.url])
        assert set(drain(frontier)) == {PAGE(number) for number in range(4, 9)}


@pytest.mark.parametrize("seed", range(12))
def test_the_pages_of_a_depth_limited_crawl_do_not_depend_on_timing(
    opener: Opener, seed: int
) -> None:
    chance = random.Random(seed)
    count, depth = 60, 3
    graph = {PAGE(n): [PAGE(chance.randrange(count)) for _ in range(2)] for n in range(count)}
    options = {"delay": 0.0, "at_once": 99, "limits": FrontierLimits(depth=depth)}
    with opener(**options) as frontier:
        fetched = crawl_shuffled(frontier, graph, PAGE(0), chance)
        assert fetched == ball(graph, PAGE(0), depth)


def test_a_better_depth_found_in_flight_reaches_the_links(opener: Opener) -> None:
    with opener(delay=0.0, at_once=9, limits=FrontierLimits(depth=2)) as frontier:
        frontier.put(["http://a.test/far"], depth=2)
        far = frontier.take(0.0)
        assert far and far.depth == 2
        frontier.put(["http://a.test/far"], depth=1)
        frontier.wait(0.0)
        assert far.depth == 1
        frontier.finish(far, "done", 0.0, ["http://a.test/farther"])
        assert drain(frontier) == ["http://a.test/farther"]


def test_a_redirect_is_no_deeper(opener: Opener) -> None:
    with opener(limits=FrontierLimits(depth=0)) as frontier:
        frontier.put(["http://a.test/old"])
        old = frontier.take(0.0)
        assert old
        frontier.finish(old, "done", 0.0, ["http://b.test/new"], depth_step=0)
        assert drain(frontier) == ["http://b.test/new"]


def test_redirects_are_counted_through_postponements(opener: Opener) -> None:
    with opener() as frontier:
        frontier.put(["http://h0.test/"])
        for number in range(6):
            now = 10.0 * number
            postponed = frontier.take(now)
            assert postponed
            frontier.release(postponed, now)
            taken = frontier.take(now + 1)
            assert taken and (taken.depth, taken.hops) == (0, number)
            links = [f"http://h{number + 1}.test/"]
            frontier.finish(taken, "done", now + 1, links, depth_step=0, hops=taken.hops + 1)
        last = frontier.take(70.0)
        assert last and last.hops == 6
        frontier.finish(last, "done", 71.0, ["http://h0.test/page"])
        page = frontier.take(80.0)
        assert page and (page.depth, page.hops) == (1, 0)


def test_a_host_whose_turn_was_borrowed_rests(opener: Opener) -> None:
    with opener(delay=10.0) as frontier:
        frontier.put(["http://a.test/1", "http://b.test/1"])
        pages = [frontier.take(0.0) for _ in range(2)]
        assert all(pages)
        one, other = (page.host for page in pages if page)
        url = "http://victim.test/x"
        assert frontier.borrow(one, url, "", 0.0) == 0.0
        assert frontier.borrow(other, "http://victim.test:8080/y", "", 1.0) > 0.0
        frontier.repay(url, 2.0)
        waits = [frontier.borrow(other, url, "", 3.0) for _ in range(3)]
        assert waits[0] >= 9.0
        assert all(b - a >= 10.0 for a, b in itertools.pairwise(waits)), "one after the other"
        assert frontier.borrow(other, "http://another.test/x", "", 3.0) == 0.0
        assert frontier.borrow(other, url, "", 12.0) == 0.0


def test_hosts_at_one_address_are_lent_one_after_the_other(opener: Opener) -> None:
    with opener(delay=1.0, server_delay=10.0) as frontier:
        assert frontier.borrow(None, "http://v1.test/", "192.0.2.1", 0.0) == 0.0
        frontier.repay("http://v1.test/", 1.0)
        assert frontier.borrow(None, "http://v2.test/", "192.0.2.1", 1.5) > 0.0
        assert frontier.borrow(None, "http://v3.test/", "192.0.2.2", 1.5) == 0.0
        assert frontier.borrow(None, "http://v2.test/", "192.0.2.1", 11.0) == 0.0


def test_a_late_seed_opens_a_page_again_whose_links_are_gone(
    opener: Opener, request: pytest.FixtureRequest
) -> None:
    with opener(limits=FrontierLimits(depth=1)) as frontier:
        frontier.put(["http://a.test/"])
        graph = {"http://a.test/": ["http://a.test/1"], "http://a.test/1": ["http://a.test/2"]}
        assert drain(frontier, graph) == ["http://a.test/", "http://a.test/1"]
        frontier.put(["http://a.test/1"])
        again = ["http://a.test/1", "http://a.test/2"]
        if (
            "shards" in request.node.name
        ):  # which keep links until workers say how far the others are
            again = ["http://a.test/2"]
        assert drain(frontier, graph, now=99.0) == again
        assert frontier.counts().done == frontier.counts().seen == 3


# --- limits ---


def test_depth_of_static_and_dynamic_pages(opener: Opener) -> None:
    with opener(limits=FrontierLimits(depth=2, dynamic_depth=1)) as frontier:
        frontier.put(["http://a.test/2", "http://a.test/?2"], depth=2)
        frontier.put(["http://a.test/?1"], depth=1)
        frontier.put(["http://a.test/3", "http://a.test/?3"], depth=3)
        assert sorted(drain(frontier)) == ["http://a.test/2", "http://a.test/?1"]
        assert frontier.counts().rejected == {"dynamic_depth": 1, "depth": 2}


def test_depth_within_a_host(opener: Opener) -> None:
    with opener(limits=FrontierLimits(host_depth=1)) as frontier:
        frontier.put(["http://a.test/1/2/3"])
        frontier.put(["http://a.test/1/2", "http://a.test/1/?/2/3", "http://b.test/1/2/"], depth=1)
        found = ["http://a.test/1/2", "http://a.test/1/2/3", "http://a.test/1/?/2/3"]
        assert sorted(drain(frontier)) == found
        assert frontier.counts().rejected == {"host_depth": 1}


def test_links_of_the_deepest_pages_are_counted(opener: Opener) -> None:
    with opener(limits=FrontierLimits(depth=0, dynamic_depth=0)) as frontier:
        frontier.put(["http://a.test/"])
        assert drain(frontier, {"http://a.test/": urls("a", 3)}) == ["http://a.test/"]
        assert frontier.counts().rejected == {"depth": 3}


def test_urls_of_one_host(opener: Opener) -> None:
    with opener(limits=FrontierLimits(host_urls=5)) as frontier:
        frontier.put(urls("a", 9) + urls("b", 3), depth=1)
        assert len(drain(frontier)) == 8
        frontier.put(urls("a", 99), depth=1)
        assert drain(frontier) == []
        assert frontier.counts().rejected == {"host_urls": 4 + 94}


def test_waiting_urls_of_one_host(opener: Opener) -> None:
    with opener(limits=FrontierLimits(host_urls=8, host_waiting=5)) as frontier:
        frontier.put(urls("a", 6), depth=1)
        assert len(drain(frontier)) == 5
        assert frontier.counts().rejected == {"host_waiting": 1}
        frontier.put(urls("a", 9), depth=1)
        assert len(drain(frontier, now=99.0)) == 3
        assert frontier.counts().rejected == {"host_waiting": 1, "host_urls": 1}


def test_seeds_are_never_turned_away(opener: Opener) -> None:
    with opener(limits=FrontierLimits(host_urls=5, host_waiting=3)) as frontier:
        frontier.put(urls("a", 4), depth=1)
        frontier.put(urls("a", 9))
        frontier.put([f"http://a.test/x{number}" for number in range(4)], depth=1)
        assert sorted(drain(frontier)) == sorted(urls("a", 9))
        counts = frontier.counts()
        assert counts.seen == 9
        assert counts.rejected.keys() <= {"host_urls", "host_waiting"}
        assert sum(counts.rejected.values()) >= 4, "seeds count towards the limits"


def test_many_seeds_are_put_at_once(opener: Opener) -> None:
    with opener(limits=FrontierLimits(host_urls=5, host_waiting=5)) as frontier:
        frontier.put(f"http://h{number % 50}.test/{number}" for number in range(45_000))
        frontier.put([], depth=0)
        assert frontier.wait(0.0) == 0.0
        assert frontier.counts().waiting == 45_000
        assert frontier.counts().rejected == {}


# --- why URLs failed ---


def why(frontier: Frontier, url: str) -> tuple[object, ...]:
    view = look(frontier, url)
    assert view is not None
    return (view.state, view.attempts, view.status, view.reason, view.time)


def test_why_a_url_failed_is_kept(opener: Opener) -> None:
    with opener(delay=0.0) as frontier:
        frontier.put(["http://a.test/", "http://b.test/", "http://c.test/"])
        for now in (1000.0, 1001.0, 1002.0):
            taken = frontier.take(now)
            assert taken
            if taken.url == "http://a.test/":
                frontier.finish(taken, "failed", 1000.5, reason="404", status=404)
            elif taken.url == "http://b.test/":
                frontier.finish(taken, "denied", 1000.5, reason="robots\n.txt ")
            else:
                frontier.finish(taken, "failed", 1000.5)
    with opener(delay=0.0, now=2000.0) as frontier:
        assert why(frontier, "http://a.test/") == ("failed", 1, 404, "404", 1000.5)
        assert why(frontier, "http://b.test/") == ("denied", 0, None, "robots .txt", 1000.5)
        assert why(frontier, "http://c.test/") == ("failed", 1, None, None, 1000.5)
        assert look(frontier, "http://d.test/") is None


def test_why_a_url_waits_to_be_tried_again_is_kept_until_it_is_done(opener: Opener) -> None:
    with opener(delay=0.0) as frontier:
        frontier.put(["http://a.test/"])
        for attempt in (1, 2):
            taken = frontier.take(1000.0 * attempt)
            assert taken
            frontier.retry(taken, 1000.0 * attempt, 9.0, reason="TimeoutError", status=0)
            again = ("waiting to be tried again", attempt, None, "TimeoutError", 1000.0 * attempt)
            assert why(frontier, "http://a.test/") == again
        taken = frontier.take(3000.0)
        assert taken
        frontier.finish(taken, "done", 3000.0, reason="page", status=200)
        view = look(frontier, "http://a.test/")
        assert view and (view.state, view.reason, view.status) == ("done", None, None)


# --- the head is ready, and the hosts are spread ---


def test_a_url_is_handed_out_if_and_only_if_one_is_ready(opener: Opener) -> None:
    chance = random.Random(1)
    with opener(delay=1.0) as frontier:
        frontier.put([f"http://h{n % 40}.test/{n}" for n in range(400)])
        ready = {f"h{n}": 0.0 for n in range(40)}
        left = dict.fromkeys(ready, 10)
        flying: list[Taken] = []
        now = 0.0
        while any(left.values()) or flying:
            now += chance.choice([0.0, 0.01, 0.1])
            busy = {taken.url.split("/")[2].split(".")[0] for taken in flying}
            due = [h for h in ready if left[h] and h not in busy and ready[h] <= now]
            taken = frontier.take(now)
            assert (taken is not None) == bool(due)
            if taken:
                left[taken.url.split("/")[2].split(".")[0]] -= 1
                flying.append(taken)
            if flying and chance.random() < 0.7:
                ended = flying.pop(chance.randrange(len(flying)))
                ready[ended.url.split("/")[2].split(".")[0]] = now + 1.0
                frontier.finish(ended, "done", now)


def test_hosts_take_turns(opener: Opener, request: pytest.FixtureRequest) -> None:
    if "harvest" in request.node.name:
        pytest.skip("goes where it pays, not round")
    with opener(delay=0.0) as frontier:
        frontier.put(urls("a", 20) + urls("b", 20) + urls("c", 20))
        hosts = [url[7] for url in drain(frontier)]
        assert all(x != y for x, y in itertools.pairwise(hosts))


def test_hosts_can_be_looked_at(opener: Opener) -> None:
    with opener(delay=3.0) as frontier:
        frontier.put(urls("a", 3))
        taken = frontier.take(0.0)
        assert taken
        view = next(frontier.hosts(0.0))
        assert (view.name, view.waiting, view.in_flight) == ("a.test", 2, 1)
        assert view.why == "is being fetched from"
        frontier.finish(taken, "done", 0.0)
        view = next(frontier.hosts(0.0))
        assert (view.done, view.delay, view.ready, view.why) == (1, 3.0, 3.0, "keeps its delay")


def test_a_second_opener_is_told_what_to_do(opener: Opener) -> None:
    with opener(), pytest.raises(FrontierUnavailable, match=r"in use.*JOBDIR"):
        opener()


# --- servers: hosts at one address ---


def placed(frontier: Frontier, address: str = "192.0.2.1") -> list[str]:
    """Place every host that waits for it at one address; return their names."""
    hosts = frontier.hosts_to_resolve(100)
    for host, _ in hosts:
        frontier.set_address(host, address)
    return sorted(name for _, name in hosts)


def test_where_servers_matter_nothing_is_taken_of_a_host_before_it_is_placed(
    opener: Opener,
) -> None:
    with opener(delay=1.0, server_delay=1.0, lease=60.0) as frontier:
        frontier.put([*urls("a", 2), *urls("b", 2)])
        assert frontier.take(0.0) is None
        assert frontier.wait(0.0) == 60.0, "there is work, as soon as they are placed"
        assert sorted(name for _, name in frontier.hosts_to_resolve(9)) == ["a.test", "b.test"]
        assert frontier.hosts_to_resolve(9) == [], "each is named once"
        assert frontier.take(59.0) is None
        frontier.take(60.0)
        assert len(frontier.hosts_to_resolve(1)) == 1, "and again after the time of a lease"


def test_where_servers_do_not_matter_no_host_waits_to_be_placed(opener: Opener) -> None:
    with opener() as frontier:
        frontier.put(urls("a", 2))
        frontier.wait(0.0)
        assert frontier.hosts_to_resolve(9) == []
        taken = frontier.take(0.0)
        assert taken
        frontier.set_address(taken.host, "192.0.2.1")
        assert frontier.take(0.0) is None


def test_hosts_of_one_server_share_its_clock(opener: Opener) -> None:
    with opener(delay=1.0, server_delay=2.0) as frontier:
        frontier.put([*urls("a", 3), *urls("b", 3), *urls("c", 3)])
        frontier.wait(0.0)
        assert placed(frontier) == ["a.test", "b.test", "c.test"]
        hosts = []
        for now in (0.0, 3.0, 6.0):
            taken = frontier.take(now)
            assert taken
            hosts.append(taken.host)
            assert frontier.take(now) is None, "the server is being asked"
            frontier.finish(taken, "done", now + 1)
            assert frontier.wait(now + 1) == 2.0
            assert frontier.take(now + 2.9) is None
        assert len(set(hosts)) == 3, "each name in turn"


def test_servers_are_independent(opener: Opener) -> None:
    with opener(delay=1.0, server_delay=5.0) as frontier:
        frontier.put([*urls("a", 3), *urls("b", 3), *urls("c", 3)])
        frontier.wait(0.0)
        for number, (host, _) in enumerate(frontier.hosts_to_resolve(9)):
            # An empty address is a server of its own.
            frontier.set_address(host, ["192.0.2.1", "2001:db8::1", ""][number])
        assert sum(frontier.take(0.0) is not None for _ in range(4)) == 3


def test_a_server_keeps_its_clock_over_a_restart(opener: Opener) -> None:
    with opener(delay=1.0, server_delay=5.0) as frontier:
        frontier.put([*urls("a", 1), *urls("b", 3)])
        frontier.wait(0.0)
        placed(frontier)
        taken = frontier.take(100.0)
        assert taken
        frontier.finish(taken, "done", 101.0)
    with opener(delay=1.0, server_delay=5.0, now=102.0) as frontier:
        frontier.wait(102.0)
        assert frontier.hosts_to_resolve(9) == [], "the places are known"
        assert frontier.take(105.9) is None
        assert frontier.take(106.0)


def test_a_host_may_move_while_it_is_being_asked(opener: Opener) -> None:
    with opener(delay=1.0, server_delay=5.0) as frontier:
        frontier.put([*urls("a", 3), *urls("b", 3), *urls("c", 3)])
        frontier.wait(0.0)
        hosts = {name: host for host, name in frontier.hosts_to_resolve(9)}
        frontier.set_address(hosts["a.test"], "192.0.2.1")
        moving = frontier.take(0.0)
        assert moving and moving.host == hosts["a.test"]
        frontier.set_address(hosts["b.test"], "192.0.2.1")
        frontier.set_address(hosts["c.test"], "192.0.2.2")
        frontier.set_address(moving.host, "192.0.2.2")
        taken = frontier.take(5.0)
        assert taken and taken.host == hosts["b.test"], "the old server is free, the new one is not"
        frontier.finish(moving, "done", 6.0)
        assert frontier.take(10.9) is None
        assert frontier.take(11.0)


def test_a_thousand_names_of_a_server_are_one(opener: Opener) -> None:
    with opener(delay=0.1, server_delay=0.1) as frontier:
        for number in range(300):
            frontier.put([f"http://h{number}.test/{page}" for page in range(2)])
        frontier.wait(0.0)
        while placed(frontier, "192.0.2.9"):
            pass
        now, takes, last = 0.0, 0, -1.0
        while (wait := frontier.wait(now)) is not None:
            now += wait
            taken = frontier.take(now)
            assert taken and now - last >= 0.1 - 1e-6
            last = now
            takes += 1
            frontier.finish(taken, "done", now)
        assert takes == 600
