"""Whether every topic is served, and by whom, when several workers crawl. Run by name with -s.

    pytest tests/benchmarks/test_topics.py -s

The service, allocator and workers are real, the time is virtual (tests/frontier/virtual.py). A pool is
*ready* while one of its hosts may be fetched from. When a URL is taken, each pool that is ready then is
entitled to an equal part of it; what pools got is compared with the sum of these parts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import pytest

from rdfaspider.focus.topics import hint_of, topic_of
from rdfaspider.frontier import State, Taken
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from tests.frontier.virtual import Member, Room

CONNECTIONS = 32  # of all workers together
FETCHES = 3_000
PAGES = 40  # of a host
EVEN = {topic: 100 for topic in range(1, 7)}  # hosts by topic
SKEWED = {1: 540, **{topic: 12 for topic in range(2, 7)}}  # the first one has 90 % of all URLs
DELAY = 1.0
LONGEST = 2  # rounds of all pools in which one may be passed over while it is ready


class Host(NamedTuple):
    """A host as the oracle knows it: its topic, how many URLs wait, and when it may be asked."""

    topic: int
    waiting: int = PAGES
    ready: float = 0.0


class Pools:
    """Knows at any time which pools are ready, and counts what they get.

    Invariant: a host that is being fetched from is ready in the future, without end.
    """

    def __init__(self, frontier: LocalFrontier, hosts: dict[int, int]) -> None:
        self._frontier = frontier
        self._hosts: dict[str, Host] = {}
        self.taken: Counter[int] = Counter()
        self.entitled: dict[int, float] = defaultdict(float)
        self.passed_over: Counter[int] = Counter()  # takes of others in a row while it was ready
        self.most_passed_over: Counter[int] = Counter()
        for topic, number in hosts.items():
            names = [f"t{topic}h{n}.test" for n in range(number)]
            self._hosts |= {name: Host(topic) for name in names}
            urls = [f"http://{name}/{page}" for page in range(PAGES) for name in names]
            frontier.put(urls, contexts=[hint_of(topic, 100)] * len(urls))

    def forget(self) -> None:
        """Forget what was counted."""
        for counts in (self.taken, self.entitled, self.passed_over, self.most_passed_over):
            counts.clear()

    def ready(self, now: float) -> set[int]:
        return {host.topic for host in self._hosts.values() if host.waiting and host.ready <= now}

    def count(self, taken: Taken, now: float) -> None:
        topic, ready = topic_of(taken.hint), self.ready(now)
        assert topic in ready, "the oracle knows what may be fetched"
        self.taken[topic] += 1
        for each in ready:
            self.entitled[each] += 1 / len(ready)
        for each in self.passed_over.keys() | ready:
            waited = each in ready and each != topic
            self.passed_over[each] = self.passed_over[each] + 1 if waited else 0
            self.most_passed_over[each] = max(self.most_passed_over[each], self.passed_over[each])
        name = taken.url.split("/")[2]
        host = self._hosts[name]
        self._hosts[name] = Host(topic, host.waiting - 1, float("inf"))

    def end(self, taken: Taken, now: float) -> None:
        name = taken.url.split("/")[2]
        self._hosts[name] = self._hosts[name]._replace(ready=now + DELAY)

    def put_back(self, taken: Taken, now: float) -> None:
        name = taken.url.split("/")[2]
        host = self._hosts[name]
        self._hosts[name] = Host(host.topic, host.waiting + 1, now + DELAY)  # it rests all the same


class Shares:
    """Counts who begins what, in a room with workers."""

    def __init__(self, frontier: LocalFrontier, hosts: dict[int, int], seed: int = 0) -> None:
        self.room = Room(frontier, seed=seed)
        self.pools = Pools(frontier, hosts)
        self.began: dict[str, Counter[int]] = defaultdict(Counter)  # by worker and topic
        self.preferred = 0
        self._frontier = frontier

    @contextmanager
    def open(self, workers: int) -> Iterator[None]:
        real = self._frontier
        take, finish, release = real.take, real.finish, real.release

        def count(now: float) -> Taken | None:
            if (taken := take(now)) is not None:
                self.pools.count(taken, now)
            return taken

        def end(taken: Taken, state: State, now: float, *words: Any, **said: Any) -> None:
            self.pools.end(taken, now)
            finish(taken, state, now, *words, **said)

        def put_back(taken: Taken, now: float) -> None:
            self.pools.put_back(taken, now)
            release(taken, now)

        with (
            patch.multiple(real, take=count, finish=end, release=put_back),
            self.room.open(workers, CONNECTIONS // workers),
        ):
            yield

    def run(self, fetches: int) -> None:
        """Crawl, and forget what was counted before."""
        self.began.clear()
        self.preferred = 0
        self.pools.forget()
        assert self.room.run(fetches, self._land) == fetches

    def _land(self, member: Member, taken: Taken, now: float) -> None:
        topic = topic_of(taken.hint)
        self.began[member.name][topic] += 1
        self.preferred += self.owner(topic) == member.name
        member.frontier.finish(taken, "done", now)

    def owner(self, topic: int) -> str:
        """Return the worker that a topic belongs to."""
        allocator: Any = self.room.handler._allocator
        if len(self.room.members) == 1:
            return self.room.members[0].name
        return str(allocator._owners[allocator._keys._known[topic]])

    def owners(self) -> dict[int, str]:
        return {topic: self.owner(topic) for topic in sorted(self.pools.taken)}

    @property
    def share_of_preferred(self) -> float:
        return self.preferred / sum(counts.total() for counts in self.began.values())

    @property
    def possible(self) -> float:
        """Return the share that could go to the preferred workers at most, as all fetch equally much."""
        demand: Counter[str] = Counter()
        for counts in self.began.values():
            for topic, count in counts.items():
                demand[self.owner(topic)] += count
        total = demand.total()
        names = [member.name for member in self.room.members if not member.is_dead]
        return sum(min(demand[name], total / len(names)) for name in names) / total

    def check(self) -> None:
        pools = self.pools
        for topic, entitled in pools.entitled.items():
            assert pools.taken[topic] >= 0.9 * entitled
            assert pools.most_passed_over[topic] <= LONGEST * len(pools.entitled)
        assert self.share_of_preferred >= 0.6 * self.possible

    def print(self) -> None:
        pools = self.pools
        print("topic  owner  takes  entitled  ratio  passed over")
        for topic, owner in self.owners().items():
            taken, entitled = pools.taken[topic], pools.entitled[topic]
            most = pools.most_passed_over[topic]
            print(
                f"{topic:5}  {owner:>5}  {taken:5}  {entitled:8.0f}  {taken / entitled:5.2f}  {most:11}"
            )
        print(f"to preferred workers {self.share_of_preferred:.0%} of {self.possible:.0%} possible")


@contextmanager
def sharing(directory: Path, hosts: dict[int, int], workers: int) -> Iterator[Shares]:
    """Let workers share topics; the first pages, until all topics are known, do not count."""
    politeness = Politeness(delay=DELAY)
    path = str(directory / "frontier")
    with LocalFrontier(path, order="topics", politeness=politeness) as frontier:
        shares = Shares(frontier, hosts)
        with shares.open(workers):
            shares.run(200)
            yield shares


@pytest.mark.timeout(600)
@pytest.mark.parametrize("workers", [1, 4, 8])
@pytest.mark.parametrize("hosts", [EVEN, SKEWED], ids=["even", "skewed"])
def test_every_pool_is_served_and_workers_keep_to_their_topics(
    tmp_path: Path, hosts: dict[int, int], workers: int
) -> None:
    with sharing(tmp_path, hosts, workers) as shares:
        shares.run(FETCHES)
        print(f"\n{workers} workers, URLs by topic: {[n * PAGES for n in hosts.values()]}")
        shares.print()
        shares.check()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("hosts", [EVEN, SKEWED], ids=["even", "skewed"])
def test_the_topics_of_a_dead_worker_are_spread(tmp_path: Path, hosts: dict[int, int]) -> None:
    with sharing(tmp_path, hosts, 4) as shares:
        shares.run(FETCHES // 2)
        before, dead = shares.owners(), shares.room.members[0]
        shares.room.kill(dead)
        shares.run(200)
        shares.run(FETCHES // 2)
        after = shares.owners()
        orphans = {topic for topic, name in before.items() if name == dead.name}
        stayed = [topic for topic in before.keys() - orphans if before[topic] == after[topic]]
        print(f"\n{dead.name} of 4 workers is dead, whose topics were {sorted(orphans)};")
        print(f"{len(stayed)} of {len(before) - len(orphans)} others stayed where they were")
        shares.print()
        shares.check()
        assert orphans
        assert dead.name not in after.values()
        assert len({after[topic] for topic in orphans}) == min(len(orphans), 3)
