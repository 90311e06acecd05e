"""Which worker gets which URL (rows P3 and P7 of WebParF), in virtual time."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from rdfaspider.focus.topics import hint_of, parse_topics, topic_of
from rdfaspider.focus.topics.names import keep_names
from rdfaspider.frontier import Taken
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.service.server.allocator import Allocator

TOPICS = (1, 2, 3, 4)


class Workers:
    """Workers who ask in turn, a hundredth of a second apart, and finish at once what they get."""

    def __init__(self, frontier: LocalFrontier, *names: str, want: int = 8) -> None:
        self.frontier, self.names, self.want = frontier, list(names), want
        self.allocator = Allocator(frontier)
        self.now = 0.0
        self.got: dict[str, list[Taken]] = defaultdict(list)

    def ask(self, name: str, *, is_idle: bool = False) -> list[Taken]:
        self.now += 0.01
        found = list(self.allocator.take(name, self.want, self.now, is_idle=is_idle))
        for taken in found:
            self.frontier.finish(taken, "done", self.now)
        self.got[name] += found
        return found

    def go_round(self, times: int) -> list[Taken]:
        self.got.clear()
        return [taken for _ in range(times) for name in self.names for taken in self.ask(name)]

    def shares(self, name: str) -> Counter[int]:
        return Counter(topic_of(taken.hint) for taken in self.got[name])


@pytest.fixture
def frontier(tmp_path: Path) -> Iterator[LocalFrontier]:
    with LocalFrontier(
        str(tmp_path / "frontier"), order="topics", politeness=Politeness(delay=0.0)
    ) as frontier:
        yield frontier


def fill(frontier: LocalFrontier, *topics: int, hosts: int = 100, pages: int = 20) -> None:
    for topic in topics:
        urls = [f"http://t{topic}h{n % hosts}.test/{n // hosts}" for n in range(hosts * pages)]
        frontier.put(urls, contexts=[hint_of(topic, 100)] * len(urls))


def owned(workers: Workers) -> dict[int, str]:
    """Return to whom most URLs of each topic went."""
    counts = {name: workers.shares(name) for name in workers.names}
    topics = {topic for shares in counts.values() for topic in shares}
    return {topic: max(counts, key=lambda name: counts[name][topic]) for topic in topics}


def test_each_worker_gets_mostly_topics_of_its_own(frontier: LocalFrontier) -> None:
    fill(frontier, *TOPICS)
    workers = Workers(frontier, "a", "b", "c")
    workers.go_round(3)  # until all are known
    taken = workers.go_round(40)
    assert len(taken) == 40 * 3 * 8, "everybody got all that was asked for"
    owners = owned(workers)
    assert set(owners.values()) == {"a", "b", "c"}
    for name in workers.names:
        shares = workers.shares(name)
        own = sum(count for topic, count in shares.items() if owners[topic] == name)
        assert own > 0.7 * shares.total()


def test_every_pool_is_served_in_turn_with_any_number_of_workers(frontier: LocalFrontier) -> None:
    fill(frontier, *TOPICS)
    for number in (1, 2, 3, 5, 8):
        workers = Workers(frontier, *(f"w{n}" for n in range(number)))
        workers.go_round(2)
        taken = workers.go_round(80 // number)
        counts = Counter(topic_of(each.hint) for each in taken)
        assert counts.keys() == set(TOPICS)
        kept = 8 * number
        assert max(counts.values()) - min(counts.values()) <= kept, "but for what is kept"
        for name in workers.names:
            workers.allocator.leave(name, workers.now)


def test_the_topics_of_a_worker_that_leaves_spread_and_the_others_stay(
    frontier: LocalFrontier,
) -> None:
    topics = tuple(range(1, 13))
    fill(frontier, *topics, hosts=50)
    workers = Workers(frontier, "a", "b", "c", want=12)
    workers.go_round(3)
    workers.go_round(15)
    before = owned(workers)
    gone = {topic for topic, name in before.items() if name == "c"}
    assert len(gone) == 4
    workers.names.remove("c")
    workers.allocator.leave("c", workers.now)
    workers.go_round(3)
    workers.go_round(15)
    after = owned(workers)
    assert after.keys() == before.keys(), "nothing is lost"
    assert {after[topic] for topic in gone} == {"a", "b"}
    stayed = [topic for topic in before.keys() - gone if before[topic] == after[topic]]
    assert len(stayed) >= 6


def test_a_worker_with_nothing_to_do_gets_what_others_would(frontier: LocalFrontier) -> None:
    fill(frontier, 1, hosts=100, pages=1)
    workers = Workers(frontier, "a", "b", want=4)
    workers.go_round(2)
    owner = owned(workers)[1]
    other = "b" if owner == "a" else "a"
    while frontier.counts().waiting:
        workers.ask(owner)
    fill(frontier, 1, hosts=3, pages=2)
    assert [taken for taken in workers.ask(other)] == []
    assert len(workers.ask(other, is_idle=True)) == 1


def test_what_is_kept_is_soon_anybodys(frontier: LocalFrontier) -> None:
    fill(frontier, 1, hosts=100, pages=1)
    workers = Workers(frontier, "a", "b", want=4)
    workers.go_round(2)
    owner = owned(workers)[1]
    other = "b" if owner == "a" else "a"
    workers.ask(owner)
    workers.ask(other)
    assert workers.allocator.kept == 4
    workers.now += 0.3
    workers.ask(other)
    assert workers.allocator.kept == 0
    workers.ask(owner)
    workers.ask(other)
    assert (workers.allocator.kept, frontier.in_flight) == (4, 4)
    workers.now += 0.3
    workers.allocator.tidy(workers.now)
    assert (workers.allocator.kept, frontier.in_flight) == (0, 0), "nobody has asked for a while"
    workers.ask(owner)
    workers.ask(other)
    for name in workers.names:
        workers.allocator.leave(name, workers.now)
    assert frontier.in_flight == 0


def test_nothing_is_kept_for_a_worker_who_does_not_ask(frontier: LocalFrontier) -> None:
    fill(frontier, *TOPICS)
    workers = Workers(frontier, "a", "b")
    workers.go_round(2)
    workers.now += 1.0
    workers.ask("a")
    workers.ask("a")
    assert workers.allocator.kept == 0


def test_a_topic_that_is_too_much_for_one_worker_is_split(frontier: LocalFrontier) -> None:
    topics = parse_topics(
        '[food]\nkeywords = ["a"]\n'
        + "".join(f'[food.part{n}]\nkeywords = ["b{n}"]\n' for n in range(6))
    )
    keep_names(frontier, topics)
    parts = tuple(range(2, 8))
    fill(frontier, *parts, pages=60)
    workers = Workers(frontier, "a", "b", "c")
    first = workers.go_round(2)
    assert {workers.allocator._keys.place(taken) for taken in first} == {0}, "with their parent"
    workers.go_round(30)
    workers.go_round(30)
    owners = owned(workers)
    assert len(set(owners.values())) == 3
    for name in workers.names:
        shares = workers.shares(name)
        own = sum(count for topic, count in shares.items() if owners[topic] == name)
        assert own > 0.7 * shares.total()


def test_in_other_orders_hosts_belong_to_workers(tmp_path: Path) -> None:
    with LocalFrontier(str(tmp_path / "other"), politeness=Politeness(delay=0.0)) as frontier:
        frontier.put([f"http://h{n % 60}.test/{n}" for n in range(3000)])
        workers = Workers(frontier, "a", "b", "c")
        workers.go_round(3)
        workers.go_round(80)
        hosts = {name: Counter(taken.host for taken in workers.got[name]) for name in workers.names}
        total = sum(hosts.values(), Counter[int]())
        best = sum(max(hosts[name][host] for name in hosts) for host in total)
        assert best > 0.8 * total.total(), "by chance it would be little more than a third"


def test_an_order_that_learns_keeps_nothing(tmp_path: Path) -> None:
    with LocalFrontier(
        str(tmp_path / "other"), order="harvest", politeness=Politeness(delay=0.0)
    ) as frontier:
        frontier.put([f"http://h{n % 60}.test/{n}" for n in range(300)])
        workers = Workers(frontier, "a", "b", "c")
        for _ in range(5):
            for name in workers.names:
                assert len(workers.ask(name)) == 8
                assert (workers.allocator.kept, frontier.in_flight) == (0, 0)
