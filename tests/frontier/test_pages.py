from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.schedule.queue import (
    FED_AT_ONCE,
    MOST_OF_A_HOST,
    QUEUE_PAGE,
    Diversity,
    spread,
)
from rdfaspider.frontier.tables.database import Database
from rdfaspider.frontier.tables.links.inbox import Inbox


def test_the_example_of_the_paper_is_spread() -> None:
    """Section 5.1.2 of the RDFa Web Spider: twenty URLs of five hosts."""
    hosts = [int(digit) for digit in "11111112222233334445"]
    page = [hosts[index] for index in spread(hosts)]
    first = [place for place, host in enumerate(page) if host == 1]
    assert {after - before for before, after in pairwise(first)} == {2, 3}, "20 / 7 = 2.86"
    assert all(one != other for one, other in pairwise(page))


@given(st.lists(st.integers(0, 6), max_size=60))
def test_a_page_keeps_every_entry_once_and_each_host_in_order(hosts: list[int]) -> None:
    page = spread(hosts)
    assert sorted(page) == list(range(len(hosts)))
    for host in set(hosts):
        own = [index for index in page if hosts[index] == host]
        assert own == sorted(own)


@given(st.integers(1, 30), st.integers(1, 8))
def test_hosts_of_one_size_take_turns(count: int, each: int) -> None:
    hosts = [host for host in range(count) for _ in range(each)]
    page = [hosts[index] for index in spread(hosts)]
    for start in range(0, len(page), count):
        assert len(set(page[start : start + count])) == count


def test_the_threshold_is_the_reciprocal_of_the_rate() -> None:
    diversity = Diversity()
    diversity.quota(0.0)
    for _ in range(1000):
        diversity.taken()
    assert diversity.quota(5.0) == QUEUE_PAGE // 200
    assert diversity.threshold == pytest.approx(1 / 200)


def test_a_quota_is_at_least_one_and_at_most_twenty() -> None:
    diversity = Diversity()
    assert diversity.quota(0.0) == MOST_OF_A_HOST
    for _ in range(10 * QUEUE_PAGE):
        diversity.taken()
    assert diversity.quota(1.0) == 1


@pytest.fixture
def diversity() -> Diversity:
    """The threshold at a rate of ten a second."""
    diversity = Diversity()
    diversity.quota(0.0)
    for _ in range(10):
        diversity.taken()
    diversity.quota(1.0)
    return diversity


@pytest.mark.parametrize(
    ("waiting", "quota"),
    [
        ([500] * 10, 20),  # a tenth of the page is each host's
        ([500] + [1] * 9, 1),
        ([500] + [1] * 18, 2),  # a page for two seconds
        ([500] + [4] * 9, 4),
        ([500, 500, 500, 500, 1], 3),  # too few hosts for a tenth: a fifth, rounded
        ([500], 20),
    ],
)
def test_no_host_has_more_of_a_page_than_the_threshold(
    diversity: Diversity, waiting: list[int], quota: int
) -> None:
    assert diversity.fair(20, waiting, are_all=True) == quota


def test_a_page_has_one_url_of_each_host_while_others_wait_for_their_turn(
    diversity: Diversity,
) -> None:
    assert diversity.fair(20, [500] * 5, are_all=False) == 1
    assert diversity.fair(20, [500] * 10, are_all=False) == 20
    assert Diversity().fair(20, [500] * 10, are_all=False) == 1, "the rate is not known"


@pytest.mark.parametrize("rate", [10, 50])
def test_a_host_with_many_urls_is_asked_once_a_second(tmp_path: Path, rate: int) -> None:
    """Without a delay, while each other host gets one URL a second."""
    with LocalFrontier(str(tmp_path / "frontier"), politeness=Politeness(delay=0.0)) as frontier:
        frontier.put([f"http://h0.test/{number}" for number in range(10 * rate)])
        for second in range(10):
            frontier.put([f"http://h{host}.test/{second}" for host in range(1, rate)])
            asked = Counter[int]()
            for turn in range(rate):
                now = second + turn / rate
                taken = frontier.take(now)
                assert taken is not None
                frontier.finish(taken, "done", now)
                asked[taken.host] += 1
            assert set(asked.values()) == {1}


@pytest.mark.parametrize("delay", [0.0, 1.0])
def test_no_host_comes_twice_before_all_others_had_their_turn(tmp_path: Path, delay: float) -> None:
    """Table 2 with more hosts than a queue page has, from the first second on."""
    hosts = FED_AT_ONCE + 100
    with LocalFrontier(str(tmp_path / "frontier"), politeness=Politeness(delay=delay)) as frontier:
        frontier.put([f"http://h{n % hosts}.test/{n // hosts}" for n in range(4 * hosts)])
        for second in range(4):
            taken = []
            for turn in range(hosts):
                now = second + (0.0 if delay else turn / hosts)
                if (each := frontier.take(now)) is not None:
                    frontier.finish(each, "done", now)
                    taken.append(each.host)
            assert len(set(taken)) == len(taken) == hosts


def test_the_inbox_is_on_disk(tmp_path: Path) -> None:
    database = Database(tmp_path / "frontier")
    inbox = Inbox(database)
    batch = database.batch()
    inbox.add(batch, 3, [b"test,a)/", b"test,b)/"], [10, 70_000])
    inbox.add(batch, 2, [])
    inbox.add(batch, 1, [b"test,c)/"], referrer=70_000)
    database.write(batch)
    again = Inbox(database)
    assert (again.size, again.floor) == (3, 1)
    batch = database.batch()
    first, second = again.empty(batch)
    assert (first.depth, first.keys, list(first.contexts), first.referrer) == (
        3,
        [b"test,a)/", b"test,b)/"],
        [10, 70_000],
        None,
    )
    assert (second.depth, second.keys, list(second.contexts), second.referrer) == (
        1,
        [b"test,c)/"],
        [],
        70_000,
    )
    again.add(batch, 2, [b"test,d)/"])  # in the same batch, as when a better depth is passed on
    database.write(batch)
    assert (again.size, again.floor) == (1, 2)
    assert [entry.keys for entry in Inbox(database).entries] == [[b"test,d)/"]]
    database.close()


def test_an_entry_that_comes_alone_is_on_disk(tmp_path: Path) -> None:
    database = Database(tmp_path / "frontier")
    inbox = Inbox(database)
    inbox.write(3, [b"test,a)/", b"test,b)/"], [10, 70_000], hops=2)
    inbox.write(1, [b"test,c)/"])
    first, second = Inbox(database).entries
    assert (first.depth, first.keys, list(first.contexts), first.hops, first.referrer) == (
        3,
        [b"test,a)/", b"test,b)/"],
        [10, 70_000],
        2,
        None,
    )
    assert (second.depth, second.keys) == (1, [b"test,c)/"])
    assert (inbox.size, inbox.floor) == (3, 1)
    with pytest.raises(ValueError, match="1 links have 2 contexts"):
        inbox.write(1, [b"test,d)/"], [1, 2])
    database.is_broken = True
    with pytest.raises(FrontierUnavailable):
        inbox.write(1, [b"test,d)/"])
    assert inbox.size == Inbox(database).size == 3
    database.close()


# URLs, takes a second; the rows of a million take longer and run with the benchmarks.
TABLE_2 = [(100, 10), (1_000, 50), (10_000, 100), (100_000, 1_000)]


@pytest.mark.slow
@pytest.mark.parametrize(("count", "rate"), TABLE_2)
def test_table_2(tmp_path: Path, count: int, rate: int) -> None:
    """All that goes in comes out once, and no host twice among the URLs of one second."""
    urls = [f"http://h{number % rate}.test/{number // rate}" for number in range(count)]
    with LocalFrontier(str(tmp_path / "frontier"), politeness=Politeness(delay=1.0)) as frontier:
        frontier.put(urls)
        out: list[str] = []
        seconds = -1.0
        while len(out) < count:
            seconds += 1.0
            page = []
            for _ in range(rate):
                taken = frontier.take(seconds)
                assert taken is not None
                frontier.finish(taken, "done", seconds)
                page.append(taken.url)
            hosts = Counter(url.split("/")[2] for url in page)
            assert max(hosts.values()) / len(page) == 1 / rate, "the expected peak diversity"
            out += page
    assert sorted(out) == sorted(urls)
