"""The local frontier on disk: kills, formats, and readers beside a running crawl."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pytest

from rdfaspider.frontier import FrontierUnavailable, open_frontier
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.tables.database import Database
from rdfaspider.frontier.views.reader import FrontierReader
from rdfaspider.urls.keys import to_url

COUNT = 400


def links_of(url: str) -> list[str]:
    """A graph in which every page can be reached: each links to its two children and somewhere."""
    number = int(url.rpartition("/")[2])
    return [f"http://h{n % 7}.test/{n}" for n in (2 * number + 1, 2 * number + 2) if n < COUNT]


def crawl(path: str, log: Connection) -> None:
    """Crawl, and say what is taken before it is finished, until killed or done."""
    with open_frontier(
        path, politeness=Politeness(delay=0.0, at_once=3), now=time.time()
    ) as frontier:
        frontier.put(["http://h0.test/0"])
        flying = []
        while True:
            taken = frontier.take(time.time())
            if taken is not None:
                log.send(("taken", taken.url))
                flying.append(taken)
            if flying and (taken is None or len(flying) == 5):
                ended = flying.pop(0)
                frontier.finish(ended, "done", time.time(), links_of(ended.url))
                log.send(("done", ended.url))
            elif taken is None:
                log.send(("end", ""))
                log.recv()
                return


@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_lost_by_kills(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    context = multiprocessing.get_context("spawn")
    path = str(tmp_path / "frontier")
    done: list[str] = []
    taken_again = allowed = 0
    for _ in range(200):
        ours, theirs = context.Pipe()
        process = context.Process(target=crawl, args=(path, theirs))
        process.start()
        theirs.close()
        steps = chance.randrange(40, 300)
        flying: set[str] = set()
        event = ""
        for _ in range(steps):
            event, url = ours.recv()
            if event == "end":
                break
            if event == "taken":
                taken_again += url in done
                flying.add(url)
            else:
                flying.discard(url)
                done.append(url)
        if event == "end":
            ours.send("stop")
            process.join(60)
            break
        os.kill(process.pid or 0, signal.SIGKILL)
        process.join(60)
        # What it did between our last look and its death:
        try:
            while True:
                event, url = ours.recv()
                (flying.add if event == "taken" else flying.discard)(url)
                if event == "done":
                    done.append(url)
        except EOFError:
            pass
        allowed += len(flying) + 1  # one may have been finished and not told
    assert taken_again <= allowed
    expected = {f"http://h{n % 7}.test/{n}" for n in range(COUNT)}
    assert set(done) <= expected
    with LocalFrontier(path) as frontier:
        counts = frontier.counts()
        assert (counts.done, counts.seen) == (COUNT, COUNT)
        assert {to_url(key) for key, _ in frontier.trie.subtree()} == expected


def test_another_format_is_refused(tmp_path: Path) -> None:
    database = Database(tmp_path / "frontier")
    database.meta[b"version"] = b"0"
    database.close()
    with pytest.raises(FrontierUnavailable, match="has format 0, and this version"):
        open_frontier(str(tmp_path / "frontier"))


@pytest.mark.parametrize("fails_at", ["finish", "close"])
def test_after_a_failed_write_the_counts_are_those_on_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fails_at: str
) -> None:
    class Unwritable:
        def __init__(self, database: object) -> None:
            self._database = database

        def write(self, batch: object) -> None:
            raise OSError("no space left")

        def __getattr__(self, name: str) -> object:
            return getattr(self._database, name)

    path = str(tmp_path / "frontier")
    frontier = LocalFrontier(path)
    frontier.put(["http://a.test/", "http://b.test/"])
    taken = frontier.take(0.0)
    assert taken is not None
    monkeypatch.setattr(frontier._database, "_database", Unwritable(frontier._database._database))
    if fails_at == "finish":
        with pytest.raises(FrontierUnavailable, match="no space left"):
            frontier.finish(taken, "done", 0.0)
        assert frontier.counts().done == 0
        frontier.close()
    else:
        with pytest.raises(FrontierUnavailable, match="no space left"):
            frontier.close()
    with FrontierReader(path, delay=0.0) as reader:
        assert frontier.counts() == reader.counts()
        assert reader.counts().waiting == 2


def test_a_running_crawl_can_be_read(tmp_path: Path) -> None:
    with LocalFrontier(str(tmp_path / "frontier")) as frontier:
        frontier.put(["http://a.test/"])
        frontier.wait(0.0)
        reader = Database(tmp_path / "frontier", read_only=True)
        assert [key for key, _ in reader.urls.pairs()] == [b"test,a:80)/"]
        reader.close()


def test_a_damaged_file_is_not_passed_over_when_a_crawl_goes_on(tmp_path: Path) -> None:
    whole, copy = tmp_path / "frontier", tmp_path / "copy"
    hosts = 9_000
    with LocalFrontier(str(whole)) as frontier:
        frontier.put([f"http://host-{number * 7919 % 100_003}.test/" for number in range(hosts)])
    refused = 0
    for name in sorted(file.name for file in whole.glob("*.sst")):
        shutil.copytree(whole, copy)
        body = (copy / name).read_bytes()
        middle = len(body) // 2
        (copy / name).write_bytes(body[:middle] + bytes(50) + body[middle + 50 :])
        try:
            with LocalFrontier(str(copy)) as frontier:
                assert len(frontier._hosts) == hosts
        except FrontierUnavailable as error:
            assert "is damaged (Corruption" in str(error)
            refused += 1
        shutil.rmtree(copy)
    assert refused


def test_there_is_nothing_to_read_where_nothing_is(tmp_path: Path) -> None:
    with pytest.raises(FrontierUnavailable, match="run a crawl first"):
        Database(tmp_path / "nowhere", read_only=True)


def test_a_url_of_an_unknown_kind_is_refused() -> None:
    with pytest.raises(FrontierUnavailable, match="directory"):
        open_frontier("gopher://frontier")


def grow(path: str, log: Connection, pages: int) -> None:
    """Crawl pages that have many links, some beyond the limits, until killed."""
    limits = FrontierLimits(depth=3, dynamic_depth=1, host_urls=30, host_waiting=25)
    frontier = LocalFrontier(path, politeness=Politeness(delay=0.0, at_once=9), limits=limits)
    frontier.put([f"http://h{host}.test/" for host in range(5)])
    for number in range(1_000_000):
        taken = frontier.take(0.0)
        assert taken
        links = [f"http://h{(number * k) % 40}.test/{number % 7}/{k}" for k in range(9)]
        frontier.finish(taken, "done", 0.0, [*links, f"http://h{number % 60}.test/?{number}"])
        log.send(number)
        if number + 1 == pages:
            log.recv()  # until it is killed, with what the last page has brought in the inbox


@pytest.mark.parametrize("pages", [1, 3, 8, 40])
def test_the_counts_of_a_killed_crawl_are_those_of_the_next_run(tmp_path: Path, pages: int) -> None:
    context = multiprocessing.get_context("spawn")
    path = str(tmp_path / "frontier")
    ours, theirs = context.Pipe()
    process = context.Process(target=grow, args=(path, theirs, pages))
    process.start()
    for _ in range(pages):
        ours.recv()
    os.kill(process.pid or 0, signal.SIGKILL)
    process.join(60)
    with FrontierReader(path, delay=0.0) as reader:
        read, limits = reader.counts(), reader.limits
        hosts = {view.name: view.waiting for view in reader.hosts(0.0)}
        in_the_inbox = reader.counts().waiting - len(list(reader.trie.subtree())) + read.done
    assert in_the_inbox > 0
    assert limits.host_urls == 30, "as the crawl noted them"
    with LocalFrontier(path, limits=limits) as frontier:
        counts = frontier.counts()
        assert (counts.waiting, counts.done, counts.seen) == (read.waiting, read.done, read.seen)
        assert {view.name: view.waiting for view in frontier.hosts(0.0)} == hosts


class FullDisk:
    """A database on a disk that is full."""

    def write(self, batch: object) -> None:
        raise OSError("No space left on device")


def test_a_disk_that_is_full_does_not_keep_anybody_from_counting(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LocalFrontier(str(tmp_path / "frontier")) as frontier:
        frontier.put(["http://a.test/"])
        monkeypatch.setattr(frontier._database, "_database", FullDisk())
        assert frontier.counts().done == 0
        monkeypatch.undo()
        assert frontier._database.is_broken
        with pytest.raises(FrontierUnavailable, match="takes nothing more"):
            frontier.put(["http://b.test/"])
    with LocalFrontier(str(tmp_path / "frontier")) as frontier:
        assert frontier.counts().waiting == 1


def test_a_hundred_thousand_seeds_are_a_few_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[int] = []
    write = Database.write

    def counted(database: Database, batch: Any) -> None:
        batches.append(len(batch))
        write(database, batch)

    seeds = [f"https://www.example.org/part{number % 13}/{number}" for number in range(100_000)]
    with LocalFrontier(str(tmp_path / "frontier")) as frontier:
        monkeypatch.setattr(Database, "write", counted)
        spent = time.process_time()
        frontier.put(iter(seeds))
        assert time.process_time() - spent < 3.0
        assert len(batches) <= 12
        assert max(batches) < 100_000, "memory does not grow with the seeds"
        assert frontier.counts().waiting == 100_000
        assert frontier.counts().rejected == {}


# --- servers ---


def by_server(path: Path, **options: Any) -> LocalFrontier:
    politeness = Politeness(delay=1.0, server_delay=1.0)
    return LocalFrontier(str(path / "frontier"), politeness=politeness, **options)


def place_all(frontier: LocalFrontier) -> None:
    frontier.wait(0.0)
    for host, _ in frontier.hosts_to_resolve(100):
        frontier.set_address(host, "192.0.2.1")


def test_a_page_that_waits_again_takes_no_second_place_at_its_server(tmp_path: Path) -> None:
    """A seed that is done at a larger depth is fetched again for its links, in the midst of a take."""
    with by_server(tmp_path) as frontier:
        frontier.put(["https://a.example/", "https://b.example/1", "https://c.example/1"])
        place_all(frontier)
        now = 10.0
        for _ in range(4):
            taken = frontier.take(now)
            assert taken
            links = ["https://a.example/p"] if taken.url == "https://a.example/" else []
            frontier.finish(taken, "done", now, links)
            now += 10
        frontier.put(["https://a.example/q", "https://b.example/2", "https://c.example/2"])
        frontier.wait(now)
        frontier.put(["https://a.example/p"], 0)
        for _ in range(4):
            taken = frontier.take(now)
            assert taken
            assert frontier.take(now) is None, "one at a time"
            frontier.finish(taken, "done", now)
            now += 10
        assert frontier.counts().waiting == 0


def test_servers_without_work_are_forgotten_after_a_restart(tmp_path: Path) -> None:
    with by_server(tmp_path) as frontier:
        frontier.put([f"https://h{number}.example/" for number in range(20)])
        frontier.wait(0.0)
        for host, name in frontier.hosts_to_resolve(100):
            frontier.set_address(host, f"192.0.2.{name[1:].partition('.')[0]}")
        while (taken := frontier.take(1.0)) is not None:
            frontier.finish(taken, "done", 1.0)
    with by_server(tmp_path, now=2.0) as frontier:
        assert frontier.take(100.0) is None
        assert not frontier._schedule.servers


def test_contexts_belong_to_links(tmp_path: Path) -> None:
    with (
        LocalFrontier(str(tmp_path / "frontier")) as frontier,
        pytest.raises(ValueError, match="2 links have 1 contexts"),
    ):
        frontier.put(["https://a.example/1", "https://a.example/2"], 0, [7])


def test_the_address_of_a_host_is_on_disk_before_it_is_asked(tmp_path: Path) -> None:
    """So a server rests after a kill, even for longer than its hosts."""
    path, rules = str(tmp_path / "frontier"), Politeness(delay=1.0, server_delay=10.0)
    frontier = LocalFrontier(path, politeness=rules, now=0.0)
    frontier.put([f"http://h{number}.test/" for number in range(3)])
    assert frontier.take(0.0) is None
    for host, _ in frontier.hosts_to_resolve(3):
        frontier.set_address(host, "192.0.2.1")
    assert frontier.take(0.0)
    frontier.abandon()
    with LocalFrontier(path, politeness=rules, now=1.0) as again:
        assert again.hosts_to_resolve(3) == []
        assert again.take(10.5) is None
        assert again.take(11.0)
