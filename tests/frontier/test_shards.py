"""A crawl of several shards: who has what, and what holds when a worker or a shard is lost."""

from __future__ import annotations

import itertools
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rdfaspider.frontier import FrontierUnavailable, Hooks, Taken, open_frontier
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.sharding import Shard, keeper_of, shard_of, shard_of_note
from rdfaspider.frontier.tables.links.outbox import Owed
from rdfaspider.service import DEAD_AFTER
from rdfaspider.service.replica.logged import LoggedFrontier
from rdfaspider.service.shards.frontier import ShardedFrontier
from rdfaspider.service.shards.opening import open_services
from rdfaspider.service.worker.client import ServedFrontier
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.web import Web
from tests.frontier.sharded import Services, host_on, shard_alone
from tests.frontier.test_contract import ball


class Clock:
    """A clock that goes on, and can be put forward."""

    def __init__(self) -> None:
        self.ahead = 1000.0

    def __call__(self) -> float:
        return self.ahead + time.monotonic()


@pytest.fixture
def services(tmp_path: Path) -> Iterator[Services]:
    services = Services(tmp_path, 2, Clock(), politeness=Politeness(delay=0.0))
    yield services
    services.close()


def eventually(function: Callable[[], Any], seconds: float = 60.0) -> Any:
    """Return what a function returns as soon as that is true."""
    end = time.monotonic() + seconds
    while not (result := function()):
        assert time.monotonic() < end
        time.sleep(0.002)
    return result


def take(frontier: ShardedFrontier) -> Taken:
    taken: Taken = eventually(lambda: frontier.take(0.0))
    return taken


def settle(frontier: ShardedFrontier) -> None:
    eventually(lambda: frontier.is_settled)


# --- who has what ---


def test_a_shard_is_read_and_written() -> None:
    assert Shard.parse("2/3") == (1, 3)
    assert str(Shard(1, 3)) == "2/3"
    for wrong in ("", "1", "0/2", "3/2", "1/0", "1/1000", "a/b", "1/2/3", "-1/2"):
        with pytest.raises(ValueError, match="1/2, the first of two"):
            Shard.parse(wrong)


def test_a_host_has_one_shard_whatever_its_services_are() -> None:
    urls = ("http://a.test/", "https://a.test/x", "http://a.test:8080/y", "http://u:p@a.test/")
    for total in (1, 2, 3, 8):
        assert len({shard_of(url, total) for url in urls}) == 1
    assert shard_of_note("robots https://a.test", 8) == shard_of("http://a.test/", 8)
    assert shard_of_note("spider", 8) == 0


def test_few_hosts_move_to_a_shard_more_and_none_between_the_others() -> None:
    hosts = [f"http://h{number}.test/" for number in range(1000)]
    moved = [(shard_of(url, 3), shard_of(url, 4)) for url in hosts]
    assert all(before == after or after == 3 for before, after in moved)
    assert 200 < sum(after == 3 for _, after in moved) < 300


@pytest.mark.parametrize("total", [2, 3, 4])
def test_the_urls_of_a_web_of_many_hosts_are_shared_evenly(total: int) -> None:
    web = Web(Parameters(seed=5, hosts=2000, levels=2, pages=3))
    load = Counter(shard_of(web.url(host, page), total) for host in range(2000) for page in (0, 1))
    even = sum(load.values()) / total
    assert all(0.8 * even < load[number] < 1.2 * even for number in range(total))


def test_services_may_be_named_in_any_order(services: Services) -> None:
    urls = [host_on(number, 2) for number in range(2)]
    with services.worker("one") as frontier:
        frontier.put(urls)
        settle(frontier)
    with open_services(services.urls[::-1], worker="two", read_ahead=8) as frontier:
        frontier.put(urls)
        settle(frontier)
        assert frontier.counts().seen == 2
    for number, engine in enumerate(services.engines):
        assert [view.name for view in engine.hosts(0.0)] == [urls[number].split("/")[2]]


def test_services_that_do_not_make_a_whole_are_refused(services: Services, tmp_path: Path) -> None:
    one, other = services.urls
    with pytest.raises(FrontierUnavailable, match=r"has shard 1/2 of a crawl: name the services"):
        ServedFrontier(one)
    with pytest.raises(FrontierUnavailable, match=r"shards 1/2, 1/2: name each shard"):
        open_services([one, one], read_ahead=0, onlooks=True)
    (tmp_path / "more").mkdir()
    more = Services(tmp_path / "more", 3)
    try:
        with pytest.raises(FrontierUnavailable, match=r"shards 1/2, 2/3: name each shard"):
            open_services([one, more.urls[1]], onlooks=True)
    finally:
        more.close()
    with open_frontier(f"{other},{one}", read_ahead=0, onlooks=True) as frontier:
        assert frontier.counts().seen == 0


def test_shards_with_different_orders_are_refused(tmp_path: Path) -> None:
    services = Services(tmp_path, 2)
    services.threaded[1].handler.frontier.order = "harvest"
    try:
        with pytest.raises(FrontierUnavailable, match="different orders"):
            services.worker()
    finally:
        services.close()


def test_a_frontier_stays_the_shard_that_it_was_begun_as(tmp_path: Path) -> None:
    path = str(tmp_path / "frontier")
    LocalFrontier(path, shard=(1, 2)).close()
    LocalFrontier(path, shard=(1, 2)).close()
    for other in ((0, 2), (1, 3), (0, 1)):
        with pytest.raises(ValueError, match="begun as shard 2/2"):
            LocalFrontier(path, shard=other)
    whole = str(tmp_path / "whole")
    LocalFrontier(whole).close()
    with pytest.raises(ValueError, match="begun as shard 1/1"):
        LocalFrontier(whole, shard=(0, 2))


# --- nothing is lost, nothing twice ---


def web_of(chance: random.Random, hosts: int, pages: int, links: int) -> dict[str, list[str]]:
    urls = [f"http://h{host}.test/{page}" for host in range(hosts) for page in range(pages)]
    return {url: chance.sample(urls, links) for url in urls}


@pytest.mark.parametrize("order", ["breadth", "roundrobin", "harvest"])
@pytest.mark.parametrize("seed", range(4))
def test_every_url_is_handed_out_once_and_none_is_lost(
    tmp_path: Path, seed: int, order: str
) -> None:
    """Over three shards, with a depth limit, retries and releases; ends come in any order."""
    chance = random.Random(seed)
    graph = web_of(chance, hosts=9, pages=12, links=2)
    limits = FrontierLimits(depth=4)
    with shard_alone(tmp_path, order, 0.0, at_once=9, total=3, limits=limits) as frontier:
        frontier.put(["http://h0.test/0"])
        flying: list[Taken] = []
        begun: Counter[str] = Counter()
        put_back: Counter[str] = Counter()
        while True:
            taken = frontier.take(0.0) if chance.random() < 0.6 else None
            if taken is not None:
                begun[taken.url] += 1
                flying.append(taken)
            elif flying:
                ended = flying.pop(chance.randrange(len(flying)))
                if chance.random() < 0.1:
                    put_back[ended.url] += 1
                    frontier.retry(ended, 0.0)
                else:
                    frontier.finish(ended, "done", 0.0, graph[ended.url])
            elif frontier.wait(0.0) is None:
                break
        expected = ball(graph, "http://h0.test/0", 4)
        assert set(begun) == expected
        assert all(begun[url] == put_back[url] + 1 for url in begun)
        assert frontier.counts().done == len(expected)
        assert all(not engine.is_owing for engine in frontier.services.engines)


def test_workers_in_threads_fetch_every_page_once(tmp_path: Path) -> None:
    """As workers do: reading ahead, many at once, until each sees that all is over."""
    graph = web_of(random.Random(7), hosts=20, pages=20, links=3)
    seeds = [f"http://h{host}.test/{page}" for host in range(20) for page in range(0, 20, 5)]
    services = Services(tmp_path, 3, Clock(), politeness=Politeness(delay=0.0, at_once=4))
    fetched: Counter[str] = Counter()

    def work(name: str) -> None:
        with services.worker(name) as frontier:
            if name == "0":
                frontier.put(seeds)
            flying: list[Taken] = []
            while True:
                while len(flying) < 8 and (taken := frontier.take(0.0)) is not None:
                    flying.append(taken)
                if flying:
                    ended = flying.pop(0)
                    fetched[ended.url] += 1
                    frontier.finish(ended, "done", 0.0, graph[ended.url])
                elif (wait := frontier.wait(0.0)) is None:
                    return
                else:
                    time.sleep(min(wait, 0.02))

    threads = [threading.Thread(target=work, args=(str(number),)) for number in range(3)]
    try:
        for thread in threads:
            thread.start()
            time.sleep(0.1)
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
        counts = [engine.counts() for engine in services.engines]
    finally:
        services.close()
    expected = {url for seed in seeds for url in ball(graph, seed, 400)}
    assert set(fetched) == expected
    assert set(fetched.values()) == {1}
    assert sum(each.done for each in counts) == sum(each.seen for each in counts) == len(expected)


def test_links_are_known_before_their_page_is_ended(services: Services) -> None:
    """A worker that is killed between the two leaves the page in flight."""
    page, link = host_on(0, 2), host_on(1, 2)
    one = services.worker("one")
    one.put([page])
    taken = take(one)
    settle(one)
    home, other = (shard._connection for shard in one._shards)
    submit = home.submit
    home.submit = lambda *words: None  # type: ignore[method-assign]  # what it says does not arrive
    one.finish(taken, "done", 0.0, [link])
    eventually(lambda: services.engines[1].knows(link) or (one.counts(), False)[1])
    assert services.engines[0].counts().in_flight == 1
    assert services.engines[0].counts().done == 0
    home.submit = submit  # type: ignore[method-assign]
    for line in (home, other):
        line.close()  # it is gone, without a word
    clock = services._clock
    assert isinstance(clock, Clock)
    with services.worker("two") as two:
        clock.ahead += DEAD_AFTER + 1
        two.counts()
        again = {take(two).url, take(two).url}
        assert again == {page, link}


def test_a_page_is_not_ended_while_the_shard_of_a_link_has_not_answered(services: Services) -> None:
    page, link = host_on(0, 2), host_on(1, 2)
    with services.worker("one") as one:
        one.put([page])
        taken = take(one)
        settle(one)
        line = one._shards[1]._connection
        carry = line._carry
        answer = threading.Event()

        def hold(*words: Any) -> Any:
            assert answer.wait(20)
            return carry(*words)

        line._carry = hold  # type: ignore[assignment, method-assign]
        one.finish(taken, "done", 0.0, [link])
        for _ in range(50):
            one.take(0.0)
            time.sleep(0.005)
        assert services.engines[0].counts().in_flight == 1, "the link is not safe yet"
        answer.set()
        settle(one)
        assert services.engines[0].counts().done == 1
        assert take(one).url == link


def test_a_shard_that_is_away_stops_its_own_hosts_only(services: Services) -> None:
    here, there = host_on(0, 2), host_on(1, 2)
    with services.worker("one") as one:
        one.put([here, there])
        for taken in (take(one), take(one)):
            one.finish(taken, "done", 0.0)
        settle(one)
        services.stop(1)
        pages = [f"{here}{number}" for number in range(5)]
        one.put(pages)
        for number in range(5):
            taken = take(one)
            one.finish(taken, "done", 0.0, [f"{there}{number}"])
        eventually(lambda: one._shards[0].counts().done == 6)
        assert services.engines[0].is_owing, "the other shard has yet to hear of these links"
        assert one.wait(0.0) is not None, "nothing is over"
        services.start(1)
        for number in range(5):
            taken = take(one)
            assert taken.url == f"{there}{number}"
            one.finish(taken, "done", 0.0)
        eventually(lambda: (one.counts(), not services.engines[0].is_owing)[1])


def test_a_note_of_a_shard_that_is_away_does_not_hold_up_the_others(services: Services) -> None:
    name = f"robots {host_on(1, 2)[:-1]}"
    with services.worker("one") as one:
        one.set_note(name, b"rules")
        assert one.take(0.0) is None
        settle(one)
        assert one.note(name) == b"rules"
        services.stop(1)
        began = time.monotonic()
        for _ in range(20):
            with pytest.raises(FrontierUnavailable, match="does not answer"):
                one.note(name)
            one.knows(host_on(1, 2))
        assert time.monotonic() - began < 20.0, "each of the 40 questions would wait a second"
        services.start(1)
        settle(one)
        assert one.note(name) == b"rules"


def test_a_worker_takes_its_leave_of_all_shards_at_the_same_time(services: Services) -> None:
    one = services.worker("one")
    settle(one)
    met = threading.Barrier(2)
    for shard in one._shards:
        leave = shard._leave

        def wait_for_others(leave: Callable[[], None] = leave) -> None:
            met.wait(5)
            leave()

        shard._leave = wait_for_others  # type: ignore[method-assign]
    one.close()
    assert not any(list(threaded.handler.workers) for threaded in services.threaded)


def test_a_shard_that_is_killed_before_it_has_heard_of_an_end_hears_of_it(
    services: Services,
) -> None:
    page, link = host_on(0, 2), host_on(1, 2)
    with services.worker("one") as one:
        one.put([page])
        taken = take(one)
        settle(one)
        services.stop(0)
        one.finish(taken, "done", 0.0, [link])
        assert take(one).url == link, "its shard has heard of it"
        services.start(0)
        settle(one)
        assert services.engines[0].counts().done == 1


def test_a_better_depth_reaches_the_links_on_other_shards(tmp_path: Path) -> None:
    page, link, last = host_on(0, 2), host_on(1, 2), host_on(1, 2, "x")
    with shard_alone(tmp_path, "breadth", 0.0, limits=FrontierLimits(depth=3)) as frontier:
        frontier.put([page], depth=3)
        for url, links in ((page, [link]),):
            taken = frontier.take(0.0)
            assert taken and taken.url == url
            frontier.finish(taken, "done", 0.0, links)
        assert frontier.wait(0.0) is None, "the link is too deep"
        frontier.put([page], depth=1)
        assert frontier.wait(0.0) == 0.0
        taken = frontier.take(0.0)
        assert taken and (taken.url, taken.depth) == (link, 2)
        frontier.finish(taken, "done", 0.0, [last])
        taken = frontier.take(0.0)
        assert taken and (taken.url, taken.depth) == (last, 3)


def test_a_better_depth_that_is_found_while_a_page_ends_reaches_its_links(tmp_path: Path) -> None:
    page, link = host_on(0, 2), host_on(1, 2)
    with shard_alone(tmp_path, "breadth", 0.0) as frontier:
        frontier.put([page], depth=5)
        taken = frontier.take(0.0)
        assert taken
        frontier.services.engines[0].put([page], 2)
        frontier.services.engines[0].wait(0.0)
        assert taken.depth == 5, "the worker does not know yet"
        frontier.finish(taken, "done", 0.0, [link])
        assert frontier.wait(0.0) == 0.0
        found = frontier.take(0.0)
        assert found and (found.url, found.depth) == (link, 3)


def test_redirects_are_counted_across_shards(tmp_path: Path) -> None:
    with shard_alone(tmp_path, "breadth", 0.0) as frontier:
        frontier.put([host_on(0, 2)])
        for number in range(5):
            taken = frontier.take(0.0)
            assert taken and (taken.depth, taken.hops) == (0, number)
            target = host_on((number + 1) % 2, 2, f"r{number}")
            frontier.finish(taken, "done", 0.0, [target], depth_step=0, hops=taken.hops + 1)


def test_what_other_shards_have_yet_to_hear_of_survives_a_restart(tmp_path: Path) -> None:
    page, link = host_on(0, 2), host_on(1, 2)
    path = str(tmp_path / "frontier")
    with LocalFrontier(path, shard=(0, 2)) as engine:
        engine.put([page])
        taken = engine.take(0.0)
        assert taken
        engine.finish(taken, "done", 0.0, [], abroad=[link], contexts=[7])
    with LocalFrontier(path, shard=(0, 2), now=1.0) as engine:
        (owed,) = engine.owed(9, 1.0)
        assert owed == (page, 1, 0, [link], [7])
        assert engine.owed(9, 2.0) == [], "somebody is about to tell"
        assert len(engine.owed(9, 10.0)) == 1, "but has not"
        engine.forwarded(page, 2)
        assert engine.is_owing, "that was a worse depth"
        engine.forwarded(page, 1)
        assert not engine.is_owing
        assert engine.owed(9, 20.0) == []


def test_links_that_are_owed_are_not_forgotten_when_their_page_is_fetched_again(
    tmp_path: Path,
) -> None:
    page, before, after = host_on(0, 2), host_on(1, 2), host_on(1, 2, "x")
    with LocalFrontier(str(tmp_path / "frontier"), shard=(0, 2)) as engine:
        engine.set_floor_elsewhere(256)  # so that the links of the page are not kept for long
        for depth, link, context in ((5, before, 7), (2, after, 9)):
            engine.put([page], depth)
            taken = engine.take(10.0 - depth)
            assert taken
            engine.finish(taken, "done", 10.0 - depth, [], abroad=[link], contexts=[context])
            engine.wait(10.0)
        (owed,) = engine.owed(9, 20.0)
        assert owed == (page, 3, 0, [before, after], [7, 9])
        engine.forwarded(page, 6)
        assert engine.is_owing, "that was by the depth of the first fetch"
        engine.forwarded(page, 3)
        assert not engine.is_owing


def test_a_copy_knows_what_other_shards_have_yet_to_hear_of(tmp_path: Path) -> None:
    page, gone, link = host_on(0, 2), host_on(0, 2, "g"), host_on(1, 2)
    log: list[Any] = []
    leader = LoggedFrontier(str(tmp_path / "leader"), shard=(0, 2))
    copy = LoggedFrontier(str(tmp_path / "copy"), shard=(0, 2))
    leader.record = lambda *operation: log.append(operation)
    with leader, copy:
        leader.put([page, gone])
        for now in (0.0, 1.0):
            taken = leader.take(now)
            assert taken
            leader.finish(taken, "done", now, [], abroad=[link], contexts=[3], depth_step=0, hops=2)
        for name, *words in log[1:]:  # it has not heard of the pages
            copy.do(name, *words)
        assert {owed.page for owed in copy.owed(9, 0.0)} == {page, gone}
        assert {owed[1:] for owed in map(_hashable, copy.owed(9, 10.0))} == {(0, 2, (link,), (3,))}
        log.clear()
        for owed in leader.owed(9, 0.0):
            leader.forwarded(owed.page, owed.depth)
        for name, *words in log:
            copy.do(name, *words)
        assert not (leader.is_owing or copy.is_owing)


def test_a_copy_hears_by_which_depth_other_shards_were_told(tmp_path: Path) -> None:
    page, link = host_on(0, 2), host_on(1, 2)
    with LoggedFrontier(str(tmp_path / "copy"), shard=(0, 2)) as copy:
        said = {"abroad": [link], "contexts": [], "told": 5}
        copy.do("end", page, 5, "done", 0.0, [], said)
        assert not copy.is_owing
        copy.do("end", page, 2, "done", 0.0, [], said)
        assert [owed.depth for owed in copy.owed(9, 0.0)] == [3], (
            "a shorter way was found meanwhile"
        )


def test_a_copy_forgets_the_links_that_its_leader_forgets(tmp_path: Path) -> None:
    log: list[Any] = []
    leader = LoggedFrontier(str(tmp_path / "leader"), shard=(0, 2))
    copy = LoggedFrontier(str(tmp_path / "copy"), shard=(0, 2))
    leader.record = lambda *operation: log.append(operation)
    with leader, copy:
        leader.put([host_on(0, 2)], 1)
        leader.set_floor_elsewhere(256)
        for now in range(0, 30, 10):
            taken = leader.take(now)
            assert taken
            leader.finish(taken, "done", now, [f"{taken.url}x"])
        leader.counts()
        for name, *words in log:
            copy.do(name, *words)
        copy.counts()
        assert [list(each._database.links.pairs()) for each in (leader, copy)] == [[], []]


def _hashable(owed: Owed) -> tuple[Any, ...]:
    return (owed.page, owed.depth, owed.hops, tuple(owed.links), tuple(owed.contexts))


# --- servers ---


def test_a_server_with_hosts_of_two_shards_keeps_its_delay(tmp_path: Path) -> None:
    """Many workers, and the frontier's own hand-outs: no two are closer than the delay."""
    delay, address = 0.15, "192.0.2.1"
    manners = Politeness(delay=0.0, server_delay=delay)
    services = Services(tmp_path, 2, time.monotonic, time.monotonic(), politeness=manners)
    hosts = [f"http://h{number}.test/" for number in range(8)]
    assert {shard_of(url, 2) for url in hosts} == {0, 1}
    lock = threading.Lock()
    spans: list[tuple[float, float, str]] = []

    def work(name: str) -> None:
        with services.worker(name) as frontier:
            if name == "0":
                frontier.put([f"{url}{page}" for url in hosts for page in range(3)])
            while len(spans) < 24:
                for host, _ in frontier.hosts_to_resolve(100):
                    frontier.set_address(host, address)
                if (taken := frontier.take(time.monotonic())) is None:
                    time.sleep(0.005)
                    continue
                began = time.monotonic()
                time.sleep(0.01)
                with lock:
                    spans.append((began, time.monotonic(), taken.url))
                frontier.finish(taken, "done", time.monotonic())

    threads = [threading.Thread(target=work, args=(str(number),)) for number in range(4)]
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
    finally:
        services.close()
    spans.sort()
    assert len({url for _, _, url in spans}) == 24
    gaps = [begin - end for (_, end, _), (begin, _, _) in itertools.pairwise(spans)]
    assert min(gaps) >= delay, min(gaps)
    halves = Counter(shard_of(url, 2) for _, _, url in spans[:12])
    assert min(halves.values()) >= 2, "neither shard is left out for long"


def placed_apart(frontier: ShardedFrontier, address: str) -> None:
    frontier.wait(0.0)
    for host, _ in frontier.hosts_to_resolve(100):
        frontier.set_address(host, address)


def test_a_url_waits_for_the_turn_of_a_server_that_another_shard_keeps(tmp_path: Path) -> None:
    address = "192.0.2.1"
    keeper = keeper_of(address, 2)
    own, foreign = host_on(keeper, 2), host_on(1 - keeper, 2)
    with shard_alone(tmp_path, "breadth", 1.0, server_delay=4.0) as frontier:
        frontier.put([own, foreign])
        placed_apart(frontier, address)
        first = frontier.take(0.0)
        assert first
        assert frontier.take(0.0) is None, "the server is being asked"
        frontier.finish(first, "done", 1.0)
        now = 1.0
        while (second := frontier.take(now)) is None:
            wait = frontier.wait(now)
            assert wait is not None
            now += wait
        assert now >= 5.0, "four seconds from the end of the first"
        assert {first.url, second.url} == {own, foreign}


def test_the_turn_of_a_worker_that_is_lost_is_free_again(tmp_path: Path) -> None:
    address, clock = "192.0.2.1", Clock()
    keeper = keeper_of(address, 2)
    own, foreign = host_on(keeper, 2), host_on(1 - keeper, 2)
    manners = Politeness(delay=0.0, server_delay=0.1)
    services = Services(tmp_path, 2, clock, politeness=manners)
    try:
        one = services.worker("one")
        one.put([foreign])
        eventually(
            lambda: (
                one.wait(0.0) is not None
                and (hosts := one.hosts_to_resolve(9))
                and place(one, hosts)
            )
        )
        assert take(one).url == foreign
        for shard in one._shards:
            shard._connection.close()  # it is gone, without a word
        with services.worker("two") as two:
            two.put([own])
            eventually(lambda: (hosts := two.hosts_to_resolve(9)) and place(two, hosts))
            settle(two)
            assert two.take(0.0) is None
            clock.ahead += DEAD_AFTER + 1
            first = take(two)
            two.finish(first, "done", 0.0)
            assert {first.url, take(two).url} == {own, foreign}
    finally:
        services.close()


def keeper_with_hosts(path: Path, hosts: int, pages: int, delay: float) -> LocalFrontier:
    """Return a shard with hosts at one address."""
    manners = Politeness(delay=0.0, server_delay=delay)
    engine = LocalFrontier(str(path), shard=(0, 2), politeness=manners, now=0.0)
    names = (f"http://k{number}.test/" for number in itertools.count())
    own = itertools.islice((url for url in names if shard_of(url, 2) == 0), hosts)
    engine.put([f"{url}{page}" for url in own for page in range(pages)])
    engine.wait(0.0)
    for host, _ in engine.hosts_to_resolve(100):
        engine.set_address(host, "192.0.2.1")
    return engine


def test_a_keeper_shares_the_turns_of_a_server_with_other_shards(tmp_path: Path) -> None:
    """Its own hosts take each turn at once, and another shard asks a little late each time."""
    turns: list[str] = []
    with keeper_with_hosts(tmp_path / "frontier", hosts=5, pages=20, delay=1.0) as engine:
        asks, back, landing = 0.5, 0.0, None
        for tick in range(1, 400):
            now = tick / 10
            if landing is not None and now >= landing[1]:
                engine.finish(landing[0], "done", now)
                landing = None
            if back and now >= back:
                engine.lending.end("page", now)
                back, asks = 0.0, now + 0.3
            if (taken := engine.take(now)) is not None:
                turns.append("own")
                landing = taken, now + 0.2
            if not back and now >= asks:
                wait = engine.lending.lend("page", "192.0.2.1", 1, now)
                asks = now + wait + 0.3
                if wait == 0.0:
                    turns.append("lent")
                    back = now + 0.2
            assert not (landing and back), "one at a time"
    assert turns.count("lent") >= 7, turns
    assert turns.count("own") >= 7, turns


def test_a_host_that_was_ready_waits_for_a_turn_that_was_lent(tmp_path: Path) -> None:
    """It was to be next, but nobody took from it before the delay of its server was over."""
    manners = Politeness(delay=0.0, server_delay=1.0)
    path, urls = str(tmp_path / "frontier"), [host_on(0, 2), host_on(0, 2, "b")]
    with LocalFrontier(path, shard=(0, 2), politeness=manners) as engine:
        engine.put(urls)
        engine.wait(0.0)
        addresses = {}
        for host, name in engine.hosts_to_resolve(9):
            addresses[f"http://{name}/"] = f"192.0.2.{host + 1}"
            engine.set_address(host, f"192.0.2.{host + 1}")
        first = engine.take(0.0)
        assert first
        (other,) = {*urls} - {first.url}
        assert engine.lending.lend("page", addresses[other], 1, 0.1) == 0.0
        assert engine.take(5.0) is None, "the server is being fetched from"
        engine.lending.end("page", 6.0)
        assert engine.take(6.5) is None, "it rests"
        second = engine.take(7.0)
        assert second and second.url == other


def test_a_promise_that_nobody_came_for_is_no_turn(tmp_path: Path) -> None:
    with keeper_with_hosts(tmp_path / "frontier", hosts=2, pages=2, delay=4.0) as engine:
        first = engine.take(0.0)
        assert first
        engine.finish(first, "done", 1.0)
        assert engine.lending.lend("page", "192.0.2.1", 1, 2.0) == 3.0, "promised for then"
        assert engine.take(5.5) is None, "it is kept"
        second = engine.take(6.0)
        assert second
        assert engine.lending.lend("page", "192.0.2.1", 1, 6.5) > 0.0, "it is being asked"
        engine.finish(second, "done", 7.0)
        assert engine.lending.lend("page", "192.0.2.1", 1, 8.0) == 3.0, "and rests"
        assert engine.lending.lend("page", "192.0.2.1", 1, 11.0) == 0.0


def test_servers_rest_when_a_keeper_is_started_again(tmp_path: Path) -> None:
    with keeper_with_hosts(tmp_path / "frontier", hosts=1, pages=1, delay=4.0) as engine:
        assert engine.lending.lend("one", "192.0.2.2", 1, 1.0) == 0.0, "a new crawl need not wait"
        engine.lending.end("one", 9.0)
    manners = Politeness(delay=0.0, server_delay=4.0)
    path = str(tmp_path / "frontier")
    with LocalFrontier(path, shard=(0, 2), politeness=manners, now=10.0) as engine:
        assert engine.lending.lend("one", "192.0.2.2", 1, 10.0) == 4.0
        assert engine.lending.lend("one", "192.0.2.2", 1, 14.0) == 0.0


def test_a_turn_that_is_not_given_back_is_over_after_a_lease(tmp_path: Path) -> None:
    with keeper_with_hosts(tmp_path / "frontier", hosts=1, pages=1, delay=1.0) as engine:
        assert engine.lending.lend("one", "192.0.2.1", 1, 1.0) == 0.0
        assert engine.take(600.0) is None
        assert engine.wait(600.0) == 1.0
        assert engine.take(601.0) is None
        assert engine.take(602.0)


def test_a_worker_does_not_take_what_it_knew_before_for_the_end(services: Services) -> None:
    """One shard had nothing when it was asked, and got something from the other, which then had nothing."""
    page, link = host_on(1, 2), host_on(0, 2)
    with services.worker("one") as one, services.worker("two") as two:
        one.put([page])
        taken = take(one)
        settle(one)
        eventually(lambda: (two.wait(0.0), two._shards[0].session.wait is None)[1])
        assert two._shards[1].session.wait is not None
        two._shards[0].session.next_want = float("inf")
        one.finish(taken, "done", 0.0, [link])
        settle(one)
        services.engines[0].wait(0.0)
        eventually(lambda: (two.wait(0.0), two._shards[1].session.wait is None)[1])
        for _ in range(50):
            assert two.wait(0.0) is not None
            time.sleep(0.01)


def place(frontier: ShardedFrontier, hosts: list[tuple[int, str]]) -> bool:
    for host, _ in hosts:
        frontier.set_address(host, "192.0.2.1")
    return True


def test_a_keeper_that_comes_back_knows_which_turns_are_out(tmp_path: Path) -> None:
    address, clock = "192.0.2.1", Clock()
    keeper = keeper_of(address, 2)
    own, foreign = host_on(keeper, 2), host_on(1 - keeper, 2)
    services = Services(tmp_path, 2, clock, politeness=Politeness(delay=0.0, server_delay=0.1))
    try:
        with services.worker("one") as one:
            one.put([foreign])
            eventually(
                lambda: (one.wait(0.0), hosts := one.hosts_to_resolve(9))[1] and place(one, hosts)
            )
            taken = take(one)
            services.stop(keeper)
            services.start(keeper, clock())
            one.put([own])
            eventually(
                lambda: (one.wait(0.0), hosts := one.hosts_to_resolve(9))[1] and place(one, hosts)
            )
            for _ in range(60):
                assert one.take(0.0) is None, "the server is being asked"
                time.sleep(0.005)
            one.finish(taken, "done", 0.0)
            assert take(one).url == own
    finally:
        services.close()


def test_a_robots_txt_that_has_moved_within_a_server_needs_no_other_turn(tmp_path: Path) -> None:
    address = "192.0.2.1"
    page, moved = host_on(0, 2), host_on(1, 2)
    with shard_alone(tmp_path, "breadth", 1.0, server_delay=4.0) as frontier:
        frontier.put([page])
        placed_apart(frontier, address)
        taken = frontier.take(0.0)
        assert taken
        assert frontier.borrow(taken.host, moved, address, 0.0) == 0.0
        frontier.repay(moved, 1.0)
        assert frontier.borrow(taken.host, moved, address, 1.5) > 0.0, "the host rests"


@pytest.mark.parametrize("number", [0, 1])
def test_a_robots_txt_that_has_moved_needs_the_turns_of_host_and_server(
    tmp_path: Path, number: int
) -> None:
    page, moved, other = host_on(0, 2), host_on(number, 2, "m"), host_on(1 - number, 2, "n")
    with shard_alone(tmp_path, "breadth", 1.0, server_delay=4.0) as frontier:
        frontier.put([page])
        placed_apart(frontier, "192.0.2.7")
        taken = frontier.take(0.0)
        assert taken
        assert frontier.borrow(taken.host, moved, "192.0.2.1", 0.0) == 0.0
        assert frontier.borrow(taken.host, other, "192.0.2.1", 0.5) > 0.0, "the server is asked"
        frontier.repay(moved, 1.0)
        assert frontier.borrow(taken.host, other, "192.0.2.1", 2.0) > 0.0, "the server rests"
        assert frontier.borrow(taken.host, other, "192.0.2.1", 7.0) == 0.0


def test_turns_of_host_and_server_are_borrowed_by_workers_that_read_ahead(tmp_path: Path) -> None:
    address = "192.0.2.1"
    keeper = keeper_of(address, 2)
    url, other = host_on(1 - keeper, 2), host_on(1 - keeper, 2, "o")
    manners = Politeness(delay=0.0, server_delay=0.3)
    services = Services(tmp_path, 2, Clock(), politeness=manners)
    try:
        with services.worker("one") as one, services.worker("two") as two:

            def borrows(frontier: ShardedFrontier, wanted: str) -> bool:
                frontier.take(0.0)  # as the crawl does meanwhile
                return frontier.borrow(None, wanted, address, 0.0) == 0.0

            eventually(lambda: borrows(one, url))
            for _ in range(20):
                assert not borrows(two, other), "the server is being asked"
                time.sleep(0.01)
            one.repay(url, 0.0)
            settle(one)
            began = time.monotonic()
            eventually(lambda: borrows(two, other))
            assert time.monotonic() - began > 0.2, "it rests"
            two.repay(other, 0.0)
            settle(two)
        assert all(engine.lending.first is None for engine in services.engines)
    finally:
        services.close()


# --- all of them at once ---


def test_what_is_asked_and_told_concerns_all_shards(services: Services) -> None:
    here, there = host_on(0, 2), host_on(1, 2)
    with services.worker("one") as one, services.worker(onlooks=True, read_ahead=0) as onlooker:
        seen: list[dict[str, str]] = []
        one.attach(Hooks(instructed=seen.append))
        one.put([here, there])
        for _ in range(2):
            one.finish(take(one), "failed", 0.0, reason="404", status=404)
        settle(one)
        assert {view.url for view in onlooker.ended("failed")} == {here, there}
        assert {view.name for view in onlooker.hosts(0.0)} == {
            url.split("/")[2] for url in (here, there)
        }
        view = onlooker.url(there)
        assert view and view.state == "failed"
        assert onlooker.ranks([here, there]) == {}
        for engine in services.engines:
            engine.rank_now()
        ranks = onlooker.ranks([here, there, "http://elsewhere.test/", "urn:x"])
        assert ranks.keys() == {here, there}
        assert min(ranks.values()) > 0
        assert [each.name for each in onlooker.workers()] == ["one"]
        assert onlooker.workers()[0].ended == 2
        onlooker.tell("state", "pause")
        eventually(lambda: (one.counts(), one.state == "pause")[1])
        assert onlooker.requeue("test") == 2
        assert one.take(0.0) is None
        onlooker.tell("state", "run")
        onlooker.tell("delay", "2.5")
        assert {take(one).url, take(one).url} == {here, there}
        assert {engine.politeness.delay for engine in services.engines} == {2.5}
        assert {"state": "run", "delay": "2.5"} in seen


def test_a_stop_that_has_reached_one_shard_stops_the_worker(services: Services) -> None:
    here, there = host_on(0, 2), host_on(1, 2)
    onlooker = ServedFrontier(services.urls[0], onlooks=True, read_ahead=0, is_one_of_many=True)
    with services.worker("one") as one, onlooker:
        one.put([here, there, f"{there}2"])
        flying = [take(one), take(one)]
        onlooker.tell("state", "stop")
        eventually(lambda: (one.counts(), one.state == "stop")[1])
        assert one.wait(0.0) is not None, "something is under way"
        for taken in flying:
            one.finish(taken, "done", 0.0)
        eventually(lambda: one.wait(0.0) is None)
        assert one.take(0.0) is None
    assert services.engines[1].counts().waiting == 1, "it waits for the next worker"


def test_notes_are_with_their_hosts_and_watched_ones_with_every_shard(services: Services) -> None:
    host = host_on(1, 2)[:-1]
    with services.worker("one") as one, services.worker("two") as two:
        one.set_note(f"robots {host}", b"rules")
        settle(one)
        assert two.note(f"robots {host}") == b"rules"
        assert services.engines[1].note(f"robots {host}") == b"rules"
        assert services.engines[0].note(f"robots {host}") is None
        heard: list[bytes] = []
        one.watch("spider", lambda value: None)
        two.watch("spider", heard.append)
        one.set_note("spider", b'["a"]')
        settle(one)
        eventually(lambda: (two.counts(), len(heard) == 2)[1])
        assert [engine.note("spider") for engine in services.engines] == [b'["a"]'] * 2


def test_shards_are_taken_from_by_turns(tmp_path: Path) -> None:
    with shard_alone(tmp_path, "breadth", 0.0) as frontier:
        frontier.put([f"{host_on(n, 2, f's{each}')}" for n in range(2) for each in range(20)])
        numbers = []
        while (taken := frontier.take(0.0)) is not None:
            numbers.append(taken.host % 2)
        assert numbers == [number % 2 for number in range(len(numbers))]
