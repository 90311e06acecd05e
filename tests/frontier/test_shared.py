"""What only a shared frontier does: many workers, reading ahead, seeds, a Redis that goes away."""

from __future__ import annotations

import json
import random
import signal
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from rdfaspider.frontier import FrontierUnavailable, Taken, open_frontier
from rdfaspider.frontier.keys import to_key
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.redis import failures, link, report
from rdfaspider.frontier.redis.address import Address
from rdfaspider.frontier.redis.ahead import Ahead
from rdfaspider.frontier.redis.calls import Inbox, fingerprint
from rdfaspider.frontier.redis.crew import ABSENT_AFTER, DEAD_AFTER, Clock, Crew
from rdfaspider.frontier.shared import SharedFrontier
from rdfaspider.secrets import without_secrets
from rdfaspider.seedlist import read_seed
from tests.frontier import redis_servers

Join = Callable[..., SharedFrontier]


@pytest.fixture
def join(redis_server: redis_servers.Server) -> Iterator[Join]:
    """Return a function by which a worker joins a crawl of this test's own."""
    with redis_server.client() as client:
        client.flushall()
    joined: list[SharedFrontier] = []

    def open_worker(url: str = redis_server.url, **options: Any) -> SharedFrontier:
        names = ("delay", "at_once", "server_delay")
        rules = {name: options.pop(name) for name in names if name in options}
        manners = Politeness(**{"delay": 0.0, "at_once": 4, **rules})
        options = {"partitions": 8, "politeness": manners, "now": time.time(), **options}
        joined.append(SharedFrontier(url, **options))
        return joined[-1]

    yield open_worker
    for frontier in joined:
        frontier.close()


class Fetching:
    """Workers that fetch from a graph for a while; who asks a host when is written down."""

    def __init__(self, workers: list[SharedFrontier], graph: dict[str, list[str]]) -> None:
        self.workers = workers
        self.graph = graph
        self.fetches: list[tuple[str, float, float, int]] = []
        self._flying: list[tuple[float, float, int, Taken]] = []
        self._chance = random.Random(1)

    def run(self, seconds: float = 30.0, until: int = 1 << 30) -> None:
        """Fetch until all workers say that nothing is left, or so many pages are fetched."""
        end = time.time() + seconds
        waits: list[float | None] = [0.0]
        while any(wait is not None for wait in waits) or self._flying:
            assert time.time() < end, [worker.counts() for worker in self.workers]
            if len(self.fetches) >= until:
                return
            for number, worker in enumerate(self.workers):
                for host, _ in worker.unplaced(10):
                    worker.place(host, f"192.0.2.{host % 2}")
                taken = worker.take(now := time.time())
                if taken is not None:
                    flight = now + self._chance.uniform(0.001, 0.01)
                    self._flying.append((flight, now, number, taken))
            self._land()
            waits = [worker.wait(time.time()) for worker in self.workers]
            time.sleep(0.001)

    def _land(self) -> None:
        now = time.time()
        for flight in [flight for flight in self._flying if flight[0] <= now]:
            self._flying.remove(flight)
            _, started, number, taken = flight
            ended = time.time()
            self.fetches.append((taken.url, started, ended, number))
            links = self.graph.get(taken.url, ())
            self.workers[number].finish(taken, "done", ended, links)

    @property
    def urls(self) -> list[str]:
        return sorted(url for url, _, _, _ in self.fetches)

    def check_politeness(self, delay: float, owner: Callable[[str], object] = str) -> None:
        """Check the pauses of hosts, or of whatever owns them."""
        hosts: dict[object, list[tuple[float, float]]] = defaultdict(list)
        for url, started, ended, _ in self.fetches:
            hosts[owner(url.split("/")[2])].append((started, ended))
        for fetches in hosts.values():
            fetches.sort()
            for (_, ended), (started, _) in pairwise(fetches):
                assert started - ended >= delay - 1e-6


def until(frontier: SharedFrontier, holds: Callable[[], Any], seconds: float = 10.0) -> Any:
    """Let a worker go on until something holds, and return that."""
    end = time.time() + seconds
    while not (found := holds()):
        assert time.time() < end
        frontier.wait(time.time())
        time.sleep(0.01)
    return found


def ahead_of(frontier: SharedFrontier) -> Ahead:
    assert isinstance(frontier._way, Ahead)
    return frontier._way


def taken_by(frontier: SharedFrontier) -> Taken:
    found: Taken = until(frontier, lambda: frontier.take(time.time()))
    return found


def web(hosts: int, pages: int) -> dict[str, list[str]]:
    """Return a graph in which every page can be reached from http://h0.test/0."""
    graph = {}
    for host in range(hosts):
        for page in range(pages):
            inside = [f"http://h{host}.test/{n}" for n in range(pages)]
            graph[f"http://h{host}.test/{page}"] = [*inside, f"http://h{(host + 1) % hosts}.test/0"]
    return graph


def test_workers_share_a_crawl_and_its_politeness(join: Join) -> None:
    graph = web(12, 6)
    workers = [join(delay=0.05, at_once=1) for _ in range(3)]
    workers[0].put(["http://h0.test/0"])
    crawl = Fetching(workers, graph)
    crawl.run()
    assert crawl.urls == sorted(graph), "all, and none twice"
    crawl.check_politeness(0.05)
    assert {number for _, _, _, number in crawl.fetches} == {0, 1, 2}
    trips = sum(worker.link.round_trips for worker in workers)
    print(f"\n{trips / len(crawl.fetches):.2f} round trips a page")


def test_workers_share_the_politeness_of_servers(join: Join) -> None:
    graph = web(10, 3)
    workers = [join(delay=0.02, at_once=1, server_delay=0.02) for _ in range(3)]
    workers[0].put(["http://h0.test/0"])
    crawl = Fetching(workers, graph)
    crawl.run()
    assert crawl.urls == sorted(graph)
    crawl.check_politeness(
        0.02, owner=lambda name: fingerprint(to_key(f"https://{name}/")[:-2]) % 2
    )


def test_a_cluster_is_crawled_with_reading_ahead(
    join: Join, redis_cluster: list[redis_servers.Server]
) -> None:
    for node in redis_cluster:
        with node.client() as client:
            client.flushall()
    graph = web(6, 5)
    workers = [join(redis_cluster[n].url) for n in range(2)]
    workers[0].put(["http://h0.test/0"])
    crawl = Fetching(workers, graph)
    crawl.run()
    assert crawl.urls == sorted(graph)


def test_nobody_stops_while_another_holds_urls(join: Join) -> None:
    busy, idle = join(), join()
    busy.put(["http://a.test/"])
    while (taken := busy.take(time.time())) is None:
        busy.wait(time.time())
    for _ in range(60):
        assert idle.wait(time.time()) is not None
        time.sleep(0.01)
    busy.finish(taken, "done", time.time())
    end = time.time() + 10
    while busy.wait(time.time()) is not None or idle.wait(time.time()) is not None:
        assert time.time() < end, "they wait for ever"
        time.sleep(0.01)


def test_a_worker_that_leaves_gives_back_what_it_holds(join: Join) -> None:
    leaver = join()
    leaver.put([f"http://h{n}.test/" for n in range(20)])
    while leaver.take(time.time()) is None:
        leaver.wait(time.time())
    leaver.close()
    stayer = join()
    counts = stayer.counts()
    assert (counts.waiting, counts.in_flight) == (20, 0)


def test_a_dead_worker_is_noticed_but_not_after_a_gap_of_ones_own() -> None:
    def reply(now: float, **beats: float) -> list[Any]:
        pairs = [word for k, v in beats.items() for word in (k.encode(), repr(v).encode())]
        return [repr(now).encode(), pairs, []]

    crew = Crew(None, "rdfa", "me")  # type: ignore[arg-type]
    crew.heard(reply(0.0, me=0.0, other=0.0))
    assert crew.present(ABSENT_AFTER - 1) == ["me", "other"]
    later = DEAD_AFTER + 1
    crew.heard(reply(later, me=later, other=0.0))
    assert crew.dead(later) == ["other"]
    assert crew.alive(later) == ["me"]
    assert crew.present(ABSENT_AFTER + 1) == ["me"], "long before it is dead"
    crew.heard(reply(2 * later, me=2 * later, other=0.0), gap=True)
    assert crew.dead(2 * later) == [], "Redis was away for the other too"


def test_links_are_chunked_for_scripts() -> None:
    inbox = Inbox(lambda host: len(host) % 2)
    for depth in (3, 2):
        for number in range(1200):
            inbox.add(f"http://h{number % 3}.test/{number}", depth)
    assert inbox.floor == 2
    chunks = list(inbox.empty())
    sizes = [sum(map(len, chunk.values())) for _, chunk in chunks]
    assert max(sizes) == 500, "so that Redis serves others in between"
    last = {
        (host, tail): depth
        for _, chunk in chunks
        for host in chunk
        for tail, depth in chunk[host].items()
    }
    assert len(last) == 1200 and set(last.values()) == {2}
    assert not inbox.size and not list(inbox.empty())


def test_a_worker_that_leaves_counts_what_it_leaves_behind(join: Join) -> None:
    worker = join()
    worker.put(["http://a.test/"])
    taken = until(worker, lambda: worker.take(time.time()))
    worker.finish(taken, "done", time.time(), [f"http://a.test/{n}" for n in range(30)])
    worker.close()
    counts = worker.counts()
    assert (counts.waiting, counts.in_flight, counts.done) == (30, 0, 1)


def test_the_clock_is_known_within_a_bracket() -> None:
    clock = Clock()
    clock.learn(1000.0, sent=10.0, received=12.0)
    assert (clock.low, clock.high) == (988.0, 990.0)
    clock.learn(1005.0, sent=15.5, received=16.0)
    assert (clock.low, clock.high) == (989.0, 989.5), "a quick answer tells more"
    clock.learn(1020.0, sent=20.0, received=21.0)
    assert (clock.low, clock.high) == (999.0, 1000.0), "a clock was set"


# --- seeds ---


@pytest.mark.parametrize(
    ("text", "seed"),
    [
        ("http://a.test", ("http://a.test/", 0)),
        ('{"url": "http://a.test/x", "depth": 2, "priority": 5}', ("http://a.test/x", 2)),
        ('{"url": "http://a.test/x", "meta": {"depth": 1}}', ("http://a.test/x", 1)),
    ],
)
def test_formats_of_seeds(text: str, seed: tuple[str, int]) -> None:
    assert read_seed(text.encode()) == seed


@pytest.mark.parametrize(
    "text", ["", "ftp://a.test/", "{}", "{", '{"url": "http://a.test/", "depth": -1}']
)
def test_bad_seeds(text: str) -> None:
    with pytest.raises(ValueError):
        read_seed(text.encode())


@pytest.mark.parametrize("kind", ["lpush", "sadd", "zadd"])
def test_seeds_are_read_from_redis(
    join: Join, redis_server: redis_servers.Server, kind: str
) -> None:
    frontier = join(waits=True)
    seeds = ["http://a.test/", json.dumps({"url": "http://b.test/", "depth": 1}), "nonsense"]
    with redis_server.client() as client:
        arguments = (
            [x for n, seed in enumerate(seeds) for x in (n, seed)] if kind == "zadd" else seeds
        )
        client.execute_command(kind, "rdfa:start_urls", *arguments)
    found: list[tuple[str, int]] = []
    end = time.time() + 10
    while len(found) < 2:
        assert time.time() < end
        assert frontier.wait(time.time()) is not None, "it waits for seeds"
        if taken := frontier.take(time.time()):
            found.append((taken.url, taken.depth))
            frontier.finish(taken, "done", time.time())
        time.sleep(0.01)
    assert sorted(found) == [("http://a.test/", 0), ("http://b.test/", 1)]


def test_seeds_are_read_to_the_end(join: Join, redis_server: redis_servers.Server) -> None:
    frontier = join()
    frontier.put(["http://a.test/"])
    with redis_server.client() as client:
        client.rpush("rdfa:start_urls", *["http://a.test/"] * 1500, "http://new.test/")
    crawl = Fetching([frontier], {})
    crawl.run()
    assert crawl.urls == ["http://a.test/", "http://new.test/"], "those before were known"


def test_a_seed_nested_deeply_is_skipped(join: Join, redis_server: redis_servers.Server) -> None:
    frontier = join(waits=True)
    nested = '{"url": "http://x.test/", "m": ' + "[" * 100_000 + "]" * 100_000 + "}"
    with redis_server.client() as client:
        client.rpush("rdfa:start_urls", "http://a.test/", nested, "http://b.test/")
    assert {taken_by(frontier).url for _ in range(2)} == {"http://a.test/", "http://b.test/"}


def test_seeds_are_welcomed_together(join: Join, redis_server: redis_servers.Server) -> None:
    frontier = join(waits=True)
    asked: list[list[str]] = []

    def welcome(urls: list[str]) -> list[str]:
        asked.append(urls)
        return urls[1:]

    frontier.welcome = welcome
    with redis_server.client() as client:
        client.rpush("rdfa:start_urls", *(f"http://h{n}.test/" for n in range(3)))
    assert {taken_by(frontier).url for _ in range(2)} == {"http://h1.test/", "http://h2.test/"}
    assert len(asked) == 1


def test_who_leaves_acknowledges_its_seeds(join: Join, redis_server: redis_servers.Server) -> None:
    frontier = join(worker="me", waits=True)
    with redis_server.client() as client:
        client.rpush("rdfa:start_urls", "http://a.test/", "nonsense")
        until(frontier, lambda: client.exists("{rdfa:start_urls}:me"))
        frontier.close()
        assert not client.exists("{rdfa:start_urls}:me", "rdfa:start_urls")
        assert client.zscore("{rdfa}:beats", "me") is None
    assert join(read_ahead=0).counts().waiting == 1


def test_who_ends_by_a_failure_is_buried_by_the_others(
    join: Join, redis_server: redis_servers.Server
) -> None:
    frontier = join(worker="me", waits=True)
    with redis_server.client() as client:
        client.rpush("rdfa:start_urls", "http://a.test/")
        until(frontier, lambda: client.exists("{rdfa:start_urls}:me"))
        ahead_of(frontier).failure = FrontierUnavailable("for this test")
        frontier.close()
        assert client.zscore("{rdfa}:beats", "me") is not None, "so it is seen that it is gone"


# --- all together ---


def test_workers_do_as_they_are_told(join: Join, redis_server: redis_servers.Server) -> None:
    frontier = join(at_once=1)
    frontier.put([f"http://h{n}.test/" for n in range(50)])
    crawl = Fetching([frontier], {})
    crawl.run(until=1)
    with report.onlooker(redis_server.url) as boss:
        boss.crew.tell(state="pause")
        report.tell(boss, "delay=7.5")
        with pytest.raises(ValueError, match="cannot be told"):
            report.tell(boss, "speed=9")
        for text in ("delay=inf", "delay=nan", "delay=-1", "delay=soon", "delay"):
            with pytest.raises(ValueError, match="must be a number"):
                report.tell(boss, text)
        end = time.time() + 10
        while frontier.state != "pause":
            assert time.time() < end
            frontier.wait(time.time())
            time.sleep(0.01)
        assert frontier.take(time.time()) is None
        assert frontier.wait(time.time()) is not None
        assert "pause with delay=7.5" in next(report.lines(boss))
        assert frontier._desk.politeness.delay == 7.5
        boss.crew.tell(state="run")
        while frontier.take(time.time()) is None:
            assert time.time() < end
            time.sleep(0.01)
        boss.crew.tell(state="stop")
        while frontier.state != "stop":
            assert time.time() < end
            frontier.wait(time.time())
            time.sleep(0.01)
        assert frontier.take(time.time()) is None


def test_notes_that_are_watched_grow_together(join: Join) -> None:
    one, other = join(), join()
    scopes: list[set[str]] = [{"a"}, {"b"}]
    for worker, scope in zip((one, other), scopes, strict=True):
        worker.watch("scope", lambda value, scope=scope: scope.update(json.loads(value)))  # type: ignore[misc]
        worker.set_note("scope", json.dumps(sorted(scope)).encode())
    end = time.time() + 10
    while scopes != [{"a", "b"}, {"a", "b"}]:
        assert time.time() < end, scopes
        one.wait(time.time())
        other.wait(time.time())
        time.sleep(0.01)
    assert json.loads(one.note("scope") or b"") == ["a", "b"]


def test_notes_that_are_watched_may_have_parts(join: Join) -> None:
    frontier = join(read_ahead=0)
    frontier.watch("memory", lambda value: None)
    frontier.set_note("memory", b'["as it was before"]')
    frontier.set_note("memory", b'{"scope": ["b"], "servers": []}')
    frontier.set_note("memory", b'{"scope": ["a"], "servers": []}')
    assert frontier.note("memory") == b'{"scope":["a","b"],"servers":[]}'
    frontier.set_note("memory", b'{"scope": [], "servers": ["c"]}')
    assert frontier.note("memory") == b'{"scope":["a","b"],"servers":["c"]}'


def test_nonsense_that_all_are_told_is_named_and_ignored(
    join: Join, redis_server: redis_servers.Server, caplog: pytest.LogCaptureFixture
) -> None:
    frontier = join(delay=0.5, waits=True)
    with redis_server.client() as client:
        client.hset("{rdfa}:told", mapping={"delay": "abc", "large_delay": "2"})
    until(frontier, lambda: frontier._desk.politeness.large_delay == 2.0)
    assert frontier._desk.politeness.delay == 0.5
    assert caplog.text.count("delay must be a number from 0, not 'abc'") == 1


def test_a_pause_longer_than_a_lease_hands_nothing_out_twice(join: Join) -> None:
    one = join(lease=0.8, delay=0.05, at_once=1)
    one.put([f"http://h{n}.test/{m}" for n in range(20) for m in range(2)])
    one.finish(taken_by(one), "done", time.time())
    until(one, lambda: one._desk.at_hand)
    one.crew.tell(state="pause")
    until(one, lambda: one.state == "pause")
    end = time.time() + 1.0
    until(one, lambda: time.time() > end)
    crawl = Fetching([one, join(lease=0.8, delay=0.05, at_once=1)], {})
    one.crew.tell(state="run")
    crawl.run()
    assert len(crawl.urls) == len(set(crawl.urls)) == 39
    crawl.check_politeness(0.05)


def test_an_onlooker_with_a_fast_clock_changes_nothing(
    join: Join, redis_server: redis_servers.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    frontier = join()
    frontier.put(["http://a.test/"])
    taken_by(frontier)
    fast = time.time() + 3600
    with monkeypatch.context() as patch:
        patch.setattr(time, "time", lambda: fast)
        with report.onlooker(redis_server.url) as boss:
            assert boss.counts().in_flight == 1, "no lease has ended"


def test_a_landing_keeps_the_crawl_delay_that_another_worker_has_read(join: Join) -> None:
    one, other = (join(read_ahead=0, worker=name, delay=1.0, at_once=2) for name in "ab")
    one.put([f"http://a.test/{n}" for n in range(4)])
    first, second = one.take(100.0), other.take(101.0)
    assert first is not None and second is not None
    one.slow_down(first.host, crawl_delay=10.0)
    other.finish(second, "done", 102.0)
    assert next(one.hosts(102.0)).delay == 10.0
    assert one.take(102.5) is not None, "by the pause that was kept when the last was taken"
    assert other.take(111.0) is None


def test_urls_are_known_once_they_are_taken_in(join: Join) -> None:
    frontier = join(read_ahead=0)
    frontier.put(["http://a.test/1"])
    assert frontier.knows("http://a.test/1")
    assert not frontier.knows("http://a.test/2")


def test_failed_urls_are_kept_and_tried_again(join: Join) -> None:
    frontier = join(read_ahead=0, worker="me", now=100.0)
    frontier.put([f"http://h{n}.test/page?x=1" for n in range(6)], depth=2)
    while taken := frontier.take(100.0):
        frontier.finish(taken, "failed" if taken.url < "http://h4" else "done", 100.0)
    listed = sorted(view.url for view in failures.ended(frontier, "failed", r"//h[0145]\."))
    assert listed == ["http://h0.test/page?x=1", "http://h1.test/page?x=1"]
    done = failures.url_view(frontier, "http://h5.test/page?x=1")
    assert done and (done.state, done.depth) == ("done", 2)
    assert failures.url_view(frontier, "http://h6.test/") is None
    assert failures.requeue(frontier, r"//h[0145]\.") == 2
    assert failures.requeue(frontier, r"//h[0145]\.") == 0, "they are not failed any more"
    waiting = failures.url_view(frontier, listed[0])
    assert waiting and (waiting.state, waiting.time) == ("waiting", None)
    counts = frontier.counts()
    assert (counts.waiting, counts.failed, counts.done) == (2, 2, 2)
    again = [frontier.take(200.0), frontier.take(200.0)]
    assert sorted(taken.url for taken in again if taken) == listed
    for taken in again:
        assert taken is not None and (taken.depth, taken.attempts) == (2, 0)
        frontier.finish(taken, "done", 200.0, ["http://new.test/"])
    assert frontier.counts().waiting == 1


def test_who_requeues_need_not_have_the_workers_politeness(join: Join) -> None:
    """Hosts that one takes for unplaced are fetched by those for whom servers do not matter."""
    worker = join(read_ahead=0, worker="me", now=100.0)
    worker.put(["http://a.test/"])
    taken = worker.take(100.0)
    assert taken is not None
    worker.finish(taken, "failed", 100.0)
    onlooker = join(read_ahead=0, server_delay=1.0, now=101.0)
    assert failures.requeue(onlooker, "a") == 1
    assert worker.wait(time.time() + 1) == 0.0
    assert worker.take(time.time() + 1) is not None


def test_hosts_with_brackets_are_hosts(join: Join) -> None:
    frontier = join()
    frontier.put(["http://)/x", "http://a).b,(/y"])
    assert {taken_by(frontier).url for _ in range(2)} == {"http://)/x", "http://a).b,(/y"}


def test_a_name_is_one_workers(join: Join) -> None:
    join(worker="me")
    with pytest.raises(FrontierUnavailable, match="in use"):
        join(worker="me")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"order": "roundrobin"}, "order breadth"),
        ({"partitioning": "tarot"}, "no partitioning tarot"),
        ({"assignment": "tarot"}, "no assignment tarot"),
        ({"limits": FrontierLimits(depth=16)}, "begun with depth 15"),
    ],
)
def test_what_a_crawl_cannot_go_on_with(join: Join, options: dict[str, Any], message: str) -> None:
    join()
    with pytest.raises(ValueError, match=message):
        join(**options)


def test_a_crawl_keeps_its_partitions(join: Join) -> None:
    assert join(partitions=8).partitions == join(partitions=3).partitions == 8


# --- Redis ---


def test_names_of_crawls() -> None:
    assert Address.parse("redis://h:1/0?crawl=x&db=2") == Address("redis://h:1/0?db=2", "x")
    assert Address.parse("redis://h:1/0").crawl == "rdfa"
    with pytest.raises(FrontierUnavailable):
        Address.parse("redis://h:1/0?crawl={x}")


def test_no_redis_is_said_in_a_sentence() -> None:
    url = f"redis://:secret@127.0.0.1:{redis_servers.free_port()}/0"
    with pytest.raises(FrontierUnavailable, match="start it, or name it") as caught:
        SharedFrontier(url)
    assert "secret" not in str(caught.value)


def test_lost_data_is_noticed(join: Join, redis_server: redis_servers.Server) -> None:
    frontier = join()
    frontier.put([f"http://h{n}.test/" for n in range(50)])
    Fetching([frontier], {}).run(until=1)
    with redis_server.client() as client:
        client.delete("{rdfa:3}")
        with pytest.raises(FrontierUnavailable, match=r"lost the partition \{rdfa:3\}"):
            join()
        end = time.time() + 10
        with pytest.raises(FrontierUnavailable, match=r"lost the partition \{rdfa:3\}"):
            while time.time() < end:
                frontier.take(time.time())
                time.sleep(0.01)


def test_hosts_that_are_lost_are_noticed(join: Join, redis_server: redis_servers.Server) -> None:
    join(read_ahead=0).put([f"http://h{n}.test/" for n in range(20)])
    with redis_server.client() as client:
        client.delete(*client.keys("*:sleeping"))
    frontier = join()
    with pytest.raises(FrontierUnavailable, match=r"lost keys of the partitions \{rdfa:0\}"):
        until(frontier, lambda: frontier.take(time.time()))


def test_a_full_memory_does_not_end_a_page_without_its_links(
    join: Join, redis_server: redis_servers.Server
) -> None:
    frontier = join()
    frontier.put(["http://a.test/"])
    page = taken_by(frontier)
    with redis_server.client() as client:
        client.config_set("maxmemory", "1")
        try:
            frontier.finish(page, "done", time.time(), ["http://a.test/1", "http://b.test/2"])
            until(frontier, lambda: ahead_of(frontier)._exchange.is_away)
            assert not any(client.hget(f"{{rdfa:{n}}}", "done") for n in range(8))
        finally:
            client.config_set("maxmemory", "0")
    crawl = Fetching([frontier], {})
    crawl.run()
    assert crawl.urls == ["http://a.test/1", "http://b.test/2"]


def test_a_quick_restart_is_noticed(join: Join, tmp_path: Path) -> None:
    graph = {"http://a.test/": ["http://a.test/child"]}
    with redis_servers.server(tmp_path / "redis") as server, server.client() as client:
        frontier = join(server.url)
        frontier.put(["http://a.test/"])
        page = taken_by(frontier)
        client.save()
        frontier.finish(page, "done", time.time(), graph[page.url])
        until(frontier, lambda: frontier.counts().waiting + frontier.counts().in_flight == 1)
        until(frontier, lambda: not ahead_of(frontier)._exchange.is_busy)
        server.kill()
        server.start()
        crawl = Fetching([frontier], graph)
        crawl.run()
        assert set(crawl.urls) == {"http://a.test/", "http://a.test/child"}
        assert frontier.counts().done == 2
        frontier.close()


def test_the_crawl_does_not_wait_for_a_redis_that_hangs(
    join: Join, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link, "_IMPATIENT", 0.1)
    with redis_servers.server(tmp_path / "redis") as server:
        frontier = join(server.url, read_ahead=0)
        server.process.send_signal(signal.SIGSTOP)
        try:
            start = time.monotonic()
            with pytest.raises(FrontierUnavailable, match="is away"):
                frontier.note("robots http://a.test")
            assert frontier.knows("http://a.test/"), "it is not worth waiting for"
            assert time.monotonic() - start < 5
        finally:
            server.process.send_signal(signal.SIGCONT)
        assert frontier.note("robots http://a.test") is None
        assert not frontier.knows("http://a.test/")
        frontier.close()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("redis://h:1/0?crawl=x", "redis://h:1/0?crawl=x"),
        ("redis://me:secret@h:1/0", "redis://…@h:1/0"),
        ("redis://:secret/secret?secret@h:1/0", "redis://…@h:1/0"),
        ("rediss://h/0?password=secret&db=1", "rediss://h/0?password=…&db=1"),
        ("rediss://h/0?a=b&SSL_password=secret", "rediss://h/0?a=b&SSL_password=…"),
        ("postgres://me:secret@h/x", "postgres://…@h/x"),
    ],
)
def test_no_secret_is_shown(url: str, shown: str) -> None:
    assert without_secrets(url) == shown


@pytest.mark.parametrize("url", ["postgres://me:secret@h/x", "redis://:secret/x@h:1/0"])
def test_a_url_that_cannot_be_opened_shows_no_secret(url: str) -> None:
    with pytest.raises(FrontierUnavailable) as caught:
        open_frontier(url)
    assert "secret" not in str(caught.value)


def test_eviction_is_named(
    join: Join, redis_server: redis_servers.Server, caplog: pytest.LogCaptureFixture
) -> None:
    with redis_server.client() as client:
        client.config_set("maxmemory", "100mb")
        client.config_set("maxmemory-policy", "allkeys-lru")
        try:
            join()
        finally:
            client.config_set("maxmemory", "0")
            client.config_set("maxmemory-policy", "noeviction")
    assert "maxmemory-policy noeviction" in caplog.text


def test_a_crawl_goes_on_when_redis_comes_back(join: Join, tmp_path: Path) -> None:
    graph = web(8, 8)
    options = ("--appendonly", "yes", "--appendfsync", "always")
    with redis_servers.server(tmp_path / "redis", *options) as server:
        workers = [join(server.url) for _ in range(2)]
        workers[0].put(["http://h0.test/0"])
        crawl = Fetching(workers, graph)
        crawl.run(until=20)
        server.kill()
        for _ in range(50):
            for worker in workers:
                worker.wait(time.time())
            time.sleep(0.01)
        server.start()
        crawl.run()
        assert set(crawl.urls) == set(graph)
        assert len(crawl.fetches) <= len(graph) + 2 * 64
        for worker in workers:
            assert worker.counts().done == len(graph)
            worker.close()


def test_nothing_counts_before_a_replica_has_it(join: Join, tmp_path: Path) -> None:
    graph = web(6, 4)
    with redis_servers.pair(tmp_path) as pair:
        frontier = join(pair.url, delay=0.01, at_once=1)
        frontier.put(["http://h0.test/0"])
        crawl = Fetching([frontier], graph)
        crawl.run(until=4)
        pair.wire.is_held = True
        with pytest.raises(AssertionError):
            crawl.run(2.0)  # to no end
        pair.kill_first()
        pair.promote_second()
        crawl.run()
        frontier.close()
    assert crawl.urls == sorted(graph), "all, and none twice: what the first did alone was not used"
    crawl.check_politeness(0.01)


def test_a_cluster_fails_over(join: Join, tmp_path: Path) -> None:
    graph = web(8, 6)
    with redis_servers.cluster(tmp_path, replicated=True) as nodes:
        workers = [join(nodes[n].url, delay=0.02, at_once=1) for n in range(2)]
        workers[0].put(["http://h0.test/0"])
        crawl = Fetching(workers, graph)
        crawl.run(until=12)
        nodes[0].kill()
        crawl.run(60)
        for worker in workers:
            worker.close()
    assert set(crawl.urls) == set(graph)
    crawl.check_politeness(0.02)


def test_a_seen_url_takes_few_bytes(join: Join, redis_server: redis_servers.Server) -> None:
    frontier = join(partitions=2, read_ahead=0)
    count = 20_000
    frontier.put([f"http://h{n % 100}.test/page/{n}" for n in range(count)])
    with redis_server.client() as client:
        keys = list(client.scan_iter("{rdfa:*}:seen:*", count=1000))
        assert sum(client.hlen(key) for key in keys) == count
        kinds = {client.object("encoding", key) for key in keys}
        assert kinds <= {b"listpack", b"ziplist"}, "all are small enough to be packed"
        size = sum(client.memory_usage(key, samples=0) for key in keys)
    print(f"\n{size / count:.1f} bytes a URL in {len(keys)} buckets")
    assert size / count <= 20
