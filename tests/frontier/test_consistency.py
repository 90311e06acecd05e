"""Whatever is done to a local frontier, in whatever order, what it stores agrees with itself."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from rdfaspider.frontier import FrontierUnavailable, Taken
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.politeness import Experience, Politeness
from rdfaspider.frontier.schedule.queue import MOST_AT_HAND
from rdfaspider.frontier.tables.trie import DENIED, DONE, FAILED, POSTPONED, WAITING
from rdfaspider.frontier.tables.waiting import entry_of
from rdfaspider.urls.keys import host_of
from rdfaspider.urls.own import OwnServers

LIMITS = FrontierLimits(depth=4, host_urls=60)


def opened(
    path: Path, order: str = "breadth", now: float = 0.0, delay: float = 1.0
) -> LocalFrontier:
    politeness = Politeness(delay=delay, at_once=2)
    return LocalFrontier(
        str(path), order=order, politeness=politeness, lease=20.0, limits=LIMITS, now=now
    )


def kill(frontier: LocalFrontier) -> None:
    """Let go of the database as a kill does: nothing is said goodbye to."""
    frontier._database.close()


def check(frontier: LocalFrontier) -> None:
    """Compare the counters and the indexes with the trie."""
    records = {key: record for key, record in frontier.trie.subtree()}
    states = Counter(record.state for record in records.values())
    counts = frontier.counts()
    assert (counts.done, counts.failed, counts.denied) == (
        states[DONE],
        states[FAILED],
        states[DENIED],
    )
    assert counts.waiting + counts.in_flight == states[WAITING] + states[POSTPONED]
    unfinished = Counter(r.depth for r in records.values() if r.state in (WAITING, POSTPONED))
    stored = dict(enumerate(frontier._urls.counters.unfinished))
    assert {depth: count for depth, count in stored.items() if count} == dict(unfinished)
    database = frontier._database
    waiting = {
        int.from_bytes(key[-5:], "big"): entry_of(data) for key, data in database.waiting.pairs()
    }
    assert len(waiting) == states[WAITING]
    for key, record in records.items():
        if record.state == WAITING:
            _, _, hint, hops, rest = waiting[record.number]
            assert (hint, hops, host_of(key) + rest) == (record.hint, record.hops, key)
    assert sum(1 for _ in database.later.pairs()) == states[POSTPONED]
    by_host = Counter((host_of(key), record.state) for key, record in records.items())
    for view in frontier.hosts(0.0):
        host = view.name.split(".")[0]
        own = {state: by_host[(f"test,{host}".encode(), state)] for state in range(5)}
        assert view.waiting + view.in_flight == own[WAITING] + own[POSTPONED]
        assert (view.done, view.failed) == (own[DONE], own[FAILED])


@pytest.mark.parametrize("order", ["breadth", "roundrobin"])
@pytest.mark.parametrize("seed", range(8))
def test_a_random_life(tmp_path: Path, order: str, seed: int) -> None:
    chance = random.Random(seed)
    now = 0.0
    frontier = opened(tmp_path / "frontier", order)
    flying: list[Taken] = []

    def url() -> str:
        query = "?q" if chance.random() < 0.1 else ""
        return f"http://h{chance.randrange(5)}.test/{chance.randrange(30)}{query}"

    for step in range(250):
        now += chance.choice([0.0, 0.2, 1.0, 7.0])
        action = chance.random()
        if action < 0.15:
            frontier.put([url() for _ in range(chance.randrange(5))], chance.randrange(4))
        elif action < 0.5:
            if (taken := frontier.take(now)) is not None:
                flying.append(taken)
        elif action < 0.9 and flying:
            taken = flying.pop(chance.randrange(len(flying)))
            fate = chance.choice(["done", "done", "done", "failed", "denied", "retry", "release"])
            if fate == "retry":
                frontier.retry(taken, now, after=chance.choice([0.0, 5.0]))
            elif fate == "release":
                frontier.release(taken, now)
            else:
                links = [url() for _ in range(chance.randrange(4))]
                assert taken.hops <= 5
                depth_step = chance.choice([0, 1])
                hops = 0 if depth_step else (taken.hops + 1) % 6
                frontier.finish(taken, fate, now, links, depth_step=depth_step, hops=hops)  # type: ignore[arg-type]
        elif action > 0.97:
            (kill if chance.random() < 0.5 else LocalFrontier.close)(frontier)
            frontier = opened(tmp_path / "frontier", order, now)
            flying.clear()
        if step % 10 == 0:
            frontier.wait(now)
            check(frontier)
    frontier.close()


def test_a_bad_url_changes_nothing(tmp_path: Path) -> None:
    with opened(tmp_path / "frontier") as frontier:
        with pytest.raises(ValueError, match="Not an http"):
            frontier.put(["http://a.test/1", "ftp://a.test/2"])
        frontier.put(["http://a.test/3"])
        taken = frontier.take(0.0)
        assert taken
        with pytest.raises(ValueError, match="Not an http"):
            frontier.finish(taken, "done", 0.0, ["ftp://a.test/4"])
        assert frontier.counts().in_flight == 1
        frontier.finish(taken, "done", 0.0)
        assert frontier.counts().seen == 1
        check(frontier)


def test_a_frontier_that_cannot_write_takes_nothing_more(tmp_path: Path) -> None:
    frontier = opened(tmp_path / "frontier")
    frontier.put(["http://a.test/1", "http://a.test/2"])
    taken = frontier.take(0.0)
    assert taken
    frontier._database.is_broken = True
    for _ in range(2):
        with pytest.raises(FrontierUnavailable, match="takes nothing more"):
            frontier.put(["http://a.test/3"])
    with pytest.raises(FrontierUnavailable):
        frontier.finish(taken, "done", 0.0)
    frontier.close()
    with opened(tmp_path / "frontier", now=9.0) as frontier:
        check(frontier)
        assert frontier.counts().waiting == 2


def test_an_old_lease_does_not_end_a_new_flight(tmp_path: Path) -> None:
    with opened(tmp_path / "frontier") as frontier:
        frontier.put(["http://a.test/"])
        first = frontier.take(0.0)
        assert first
        frontier.retry(first, 1.0)
        second = frontier.take(19.0)
        assert second
        assert frontier.take(21.0) is None, "the first lease would have ended at 20"
        assert frontier.take(39.0) is None, "its host rests once more"
        assert frontier.take(40.0)


def test_delays_survive_a_kill_and_whatever_comes_between(tmp_path: Path) -> None:
    frontier = opened(tmp_path / "frontier", delay=60.0)
    frontier.put(["http://a.test/1", "http://a.test/2"])
    assert frontier.take(100.0)
    kill(frontier)
    opened(tmp_path / "frontier", now=101.0, delay=60.0).close()
    with opened(tmp_path / "frontier", now=102.0, delay=60.0) as frontier:
        assert frontier.take(160.0) is None
        assert frontier.take(161.0)


def test_hops_survive_kills_retries_and_shorter_ways(tmp_path: Path) -> None:
    frontier = opened(tmp_path / "frontier", delay=0.0)
    frontier.put(["http://a.test/"], depth=2)
    seed = frontier.take(0.0)
    assert seed
    frontier.finish(seed, "done", 0.0, ["http://b.test/"], depth_step=0, hops=3)
    kill(frontier)  # in the inbox
    frontier = opened(tmp_path / "frontier", now=1.0, delay=0.0)
    target = frontier.take(1.0)
    assert target and (target.url, target.hops) == ("http://b.test/", 3)
    kill(frontier)  # in flight
    frontier = opened(tmp_path / "frontier", now=2.0, delay=0.0)
    target = frontier.take(2.0)
    assert target and target.hops == 3
    frontier.retry(target, 2.0, after=5.0)
    kill(frontier)  # put off
    frontier = opened(tmp_path / "frontier", now=3.0, delay=0.0)
    frontier.put(["http://b.test/"], depth=0)
    assert frontier.take(3.0) is None
    target = frontier.take(7.0)
    assert target and (target.depth, target.attempts, target.hops) == (0, 1, 3)
    frontier.finish(target, "failed", 7.0)
    check(frontier)
    assert frontier.requeue("b.test") == 1
    target = frontier.take(8.0)
    assert target and target.hops == 3
    frontier.close()


def test_hops_of_a_redirect_are_passed_on_with_a_better_depth(tmp_path: Path) -> None:
    limits = FrontierLimits(depth=3)
    with LocalFrontier(
        str(tmp_path / "frontier"), politeness=Politeness(delay=0.0, at_once=9), limits=limits
    ) as frontier:
        frontier.put(["http://a.test/open"], depth=0)
        frontier.put(["http://b.test/old?q"], depth=3)
        flying = [frontier.take(0.0) for _ in range(2)]
        old = next(each for each in flying if each and each.depth == 3)
        frontier.finish(old, "done", 0.0, ["http://c.test/new"], depth_step=0, hops=4)
        new = frontier.take(0.0)
        assert new and new.hops == 4
        frontier.finish(new, "done", 0.0, ["http://d.test/too?deep"])
        frontier.put(["http://b.test/old?q"], depth=1)
        frontier.wait(0.0)
        record = frontier.trie.record("http://c.test/new")
        assert record and (record.depth, record.hops) == (1, 4)


def test_what_is_linked_to_as_well_was_not_found_by_redirects(tmp_path: Path) -> None:
    with opened(tmp_path / "frontier", delay=0.0) as frontier:
        frontier.put(["http://a.test/1", "http://b.test/2"])
        flying = [frontier.take(0.0) for _ in range(2)]
        for each, hops, depth_step in zip(flying, (2, 0), (0, 1), strict=True):
            assert each
            frontier.finish(each, "done", 0.0, ["http://c.test/"], depth_step=depth_step, hops=hops)
        both = frontier.take(0.0)
        assert both and (both.depth, both.hops) == (0, 0)


def test_a_host_that_was_lent_rests_for_its_own_urls_too(tmp_path: Path) -> None:
    politeness = Politeness(delay=10.0)
    path = str(tmp_path / "frontier")
    with LocalFrontier(path, politeness=politeness) as frontier:
        frontier.put(["http://a.test/", "http://v.test/1"])
        page = frontier.take(0.0)
        assert page and page.url == "http://a.test/"
        assert frontier.borrow(page.host, "http://v.test/robots.txt", "", 0.0) == 0.0
        assert frontier.take(100.0) is None, "while the fetch lasts"
        frontier.repay("http://v.test/robots.txt", 100.0)
        assert frontier.take(109.0) is None
        taken = frontier.take(110.0)
        assert taken and taken.url == "http://v.test/1"
        assert frontier.borrow(page.host, "http://v.test/x", "", 110.0) > 0.0, "it is in flight"
        frontier.finish(taken, "done", 111.0)
        assert frontier.borrow(page.host, "http://v.test/x", "", 115.0) > 0.0, "it has no work now"
        assert frontier.borrow(page.host, "http://v.test/x", "", 121.0) == 0.0
        frontier.repay("http://v.test/x", 122.0)
    with LocalFrontier(path, politeness=politeness, now=123.0) as frontier:
        assert frontier.borrow(None, "http://v.test/x", "", 124.0) > 0.0, "nor after a restart"


def test_a_host_that_becomes_known_keeps_the_clock_it_was_lent_by(tmp_path: Path) -> None:
    politeness = Politeness(delay=10.0)
    with LocalFrontier(str(tmp_path / "frontier"), politeness=politeness) as frontier:
        assert frontier.borrow(None, "http://v.test/x", "", 0.0) == 0.0
        frontier.put(["http://v.test/1"])
        assert frontier.take(5.0) is None
        frontier.repay("http://v.test/x", 6.0)
        assert frontier.take(15.0) is None
        assert frontier.take(16.0)


def test_a_page_may_borrow_from_a_host_at_its_own_server(tmp_path: Path) -> None:
    politeness = Politeness(delay=10.0, server_delay=10.0)
    with LocalFrontier(str(tmp_path / "frontier"), politeness=politeness) as frontier:
        frontier.put(["http://a.test/", "http://b.test/"])
        frontier.wait(0.0)
        for number, _ in frontier.hosts_to_resolve(9):
            frontier.set_address(number, "192.0.2.1")
        page = frontier.take(0.0)
        assert page
        assert frontier.borrow(page.host, "http://c.test/", "192.0.2.1", 0.0) == 0.0
        frontier.repay("http://c.test/", 1.0)
        frontier.release(page, 1.0)
        assert frontier.borrow(None, "http://d.test/", "192.0.2.1", 2.0) > 0.0
        assert frontier.take(10.0) is None
        assert frontier.take(11.0)


def test_there_is_no_politeness_with_own_servers_alone(tmp_path: Path) -> None:
    politeness = Politeness(delay=10.0, server_delay=10.0, own=OwnServers(["mine.test"]))
    path = str(tmp_path / "frontier")
    hosts = ("127.0.0.1", "mine.test", "near.test", "far.test", "further.test")
    with LocalFrontier(path, politeness=politeness) as frontier:
        frontier.put([f"http://{host}/{n}" for host in hosts for n in range(4)])
        frontier.wait(0.0)
        unplaced = dict((name, number) for number, name in frontier.hosts_to_resolve(9))
        assert set(unplaced) == {"near.test", "far.test", "further.test"}
        addresses = {
            "near.test": "192.168.0.9",
            "far.test": "192.0.2.1",
            "further.test": "192.0.2.1",
        }
        for name, number in unplaced.items():
            frontier.set_address(number, addresses[name])
        taken = []
        while (url := frontier.take(0.0)) is not None:
            taken.append(url)
            frontier.report(url.host, 0.0, Experience(refused=True))
        of = Counter(url.url.split("/")[2] for url in taken)
        assert of == {"127.0.0.1": 4, "mine.test": 4, "near.test": 4, "far.test": 1}
        for url in taken:
            frontier.release(url, 0.0)
        near = next(url for url in taken if "near.test" in url.url)
        frontier.set_address(near.host, "192.0.2.7")
    with LocalFrontier(path, politeness=politeness, now=10.0) as frontier:
        urls = [url.url for _ in range(20) if (url := frontier.take(10.0)) is not None]
        of = Counter(url.split("/")[2] for url in urls)
        assert of["127.0.0.1"] == of["mine.test"] == 4
        assert of["near.test"] == 1, "it is somebody else's now"


def test_without_clocks_of_servers_own_ones_are_known_by_their_address_all_the_same(
    tmp_path: Path,
) -> None:
    politeness = Politeness(delay=10.0, own=OwnServers())
    with LocalFrontier(str(tmp_path / "frontier"), politeness=politeness) as frontier:
        frontier.put([f"http://{host}.test/{n}" for host in ("near", "far") for n in range(3)])
        frontier.wait(0.0)
        for number, name in frontier.hosts_to_resolve(9):
            frontier.set_address(number, "10.0.0.1" if name == "near.test" else "192.0.2.1")
        urls = [taken.url for _ in range(6) if (taken := frontier.take(0.0)) is not None]
        assert len([url for url in urls if "near" in url]) == 3
        assert len([url for url in urls if "far" in url]) == 1


def test_users_ports_and_schemes_share_the_clock_of_their_host(tmp_path: Path) -> None:
    politeness = Politeness(delay=60.0)
    with LocalFrontier(str(tmp_path / "frontier"), politeness=politeness) as frontier:
        frontier.put([f"http://u{n}@a.test/" for n in range(5)])
        frontier.put(["https://a.test/", "http://a.test:8000/"])
        assert frontier.take(0.0)
        assert frontier.take(1.0) is None


def test_memory_does_not_grow_with_the_urls_of_sleeping_hosts(tmp_path: Path) -> None:
    politeness = Politeness(delay=1000.0)
    with LocalFrontier(str(tmp_path / "frontier"), politeness=politeness) as frontier:
        for host in range(2_000):
            frontier.put([f"http://h{host}.test/{n}" for n in range(20)])
        while (taken := frontier.take(0.0)) is not None:
            frontier.finish(taken, "done", 0.0)
        assert frontier.counts().done == 2_000
        assert len(frontier._queue) <= MOST_AT_HAND + 2_000


def test_many_retries_do_not_get_slower(tmp_path: Path) -> None:
    politeness = Politeness(delay=0.0, at_once=2)
    with LocalFrontier(str(tmp_path / "frontier"), politeness=politeness) as frontier:
        frontier.put([f"http://h{n % 50}.test/{n}" for n in range(3_000)])
        for now in range(9_000):
            taken = frontier.take(float(now))
            assert taken
            if taken.attempts < 2:
                frontier.retry(taken, float(now), after=1.0)
            else:
                frontier.finish(taken, "failed", float(now))
        assert frontier.counts().failed == 3_000
        check(frontier)


def test_a_crawl_cannot_go_deeper_than_it_began(tmp_path: Path) -> None:
    path = str(tmp_path / "frontier")
    LocalFrontier(path, limits=FrontierLimits(depth=1)).close()
    LocalFrontier(path, limits=FrontierLimits(depth=0)).close()
    with pytest.raises(ValueError, match="begun with depth 1"):
        LocalFrontier(path, limits=FrontierLimits(depth=4))


def test_attempts_have_an_end(tmp_path: Path) -> None:
    with opened(tmp_path / "frontier") as frontier:
        frontier.put(["http://a.test/"])
        for attempt in range(300):
            taken = frontier.take(attempt * 10.0)
            assert taken
            frontier.retry(taken, attempt * 10.0)
        assert frontier.counts().waiting == 1
