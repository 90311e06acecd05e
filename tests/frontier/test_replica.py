"""A replicated frontier: who may lead, what is in the log, and what survives the loss of a leader."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from rdfaspider.frontier import FrontierUnavailable, Taken
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Demand, Experience
from rdfaspider.service.messages import (
    End,
    Exchange,
    Greeting,
    Hold,
    Leave,
    Operations,
    Put,
    SetAddress,
    SlowDown,
)
from rdfaspider.service.replica import Gone, end
from rdfaspider.service.replica.client import ReplicatedFrontier
from rdfaspider.service.replica.journal import Journal, unpack
from rdfaspider.service.replica.leading import HANDING_OVER
from rdfaspider.service.replica.logged import LoggedFrontier, Standing
from rdfaspider.service.replica.node import Node, _Unfit
from rdfaspider.service.replica.registry import BEGINNING, Keys, Registry, View, shard_url
from rdfaspider.service.replica.shards import agree_on_shards
from rdfaspider.service.server.handler import Handler
from tests.frontier import redis_servers
from tests.frontier.replicas import NodeProcess, await_leader, await_standby, url_of, view_of

URLS = [f"http://h{number}.test/" for number in range(40)]


@pytest.fixture
def url(redis_server: redis_servers.Server) -> str:
    with redis_server.client() as client:
        client.flushall()
    return url_of(redis_server)


@asynccontextmanager
async def registry_of(url: str, name: str) -> AsyncIterator[Registry]:
    registry = Registry(Keys(url), name)
    try:
        await registry.open("breadth", time.time)
        yield registry
    finally:
        await registry.close()


# --- lease and log ---


def test_one_node_at_a_time_has_the_lease(url: str) -> None:
    async def run() -> None:
        async with registry_of(url, "one") as one, registry_of(url, "other") as other:
            assert one.terms == other.terms, "the crawl is begun once"
            assert await one.take(0) == 1
            assert await other.take(0) == 0
            await one.leave()
            assert await other.take(0) == 2
            assert (await one.look()).leader == "other"
            assert await one.keep(1, 1, b"late") == "gone"
            assert await one.read(BEGINNING, waits=False) == []

    asyncio.run(run())


def test_a_lease_runs_out_unless_it_is_renewed(
    url: str, redis_server: redis_servers.Server
) -> None:
    async def run() -> None:
        async with registry_of(url, "one") as one:
            await one.take(0)
            with redis_server.client() as client:
                assert 5_000 < client.pttl(one.keys.lease) <= 6_000
                client.pexpire(one.keys.lease, 1_000)
                assert await one.keep(1, 0, b"") == ""
                assert client.pttl(one.keys.lease) > 5_000
                client.delete(one.keys.lease)
            assert await one.keep(1, 0, b"") == "", "nobody has led since"
            assert (await one.look()).leader == "one"

    asyncio.run(run())


def test_an_entry_is_added_once_though_its_answer_was_lost(url: str) -> None:
    async def run() -> None:
        async with registry_of(url, "one") as one:
            await one.take(0)
            first = await one.keep(1, 1, b"first")
            assert await one.keep(1, 1, b"first") == first
            second = await one.keep(1, 2, b"second")
            assert await one.read(BEGINNING, waits=False) == [
                (first, b"first"),
                (second, b"second"),
            ]
            assert await one.keep(1, 4, b"fourth") == "lost", "the third is not there"

    asyncio.run(run())


def test_the_log_is_cut_and_whoever_is_behind_knows(url: str) -> None:
    async def run() -> None:
        async with registry_of(url, "one") as one:
            await one.take(0)
            places = [await one.keep(1, count, b"entry") for count in range(1, 6)]
            assert (await one.look()).is_whole_from(BEGINNING)
            await one.trim(1, places[2])
            view = await one.look()
            assert not view.is_whole_from(BEGINNING)
            assert not view.is_whole_from(places[1])
            assert view.is_whole_from(places[2])
            assert [place for place, _ in await one.read(places[2], waits=False)] == places[3:]

    asyncio.run(run())


def test_a_reply_leaves_when_what_was_done_is_in_the_log(url: str) -> None:
    async def run() -> None:
        async with registry_of(url, "one") as one:
            number = await one.take(0)
            journal = Journal(one, number, BEGINNING)
            await journal.begin(is_whole=True)
            sent: list[list[str]] = []

            def send() -> None:
                assert not journal._pending
                sent.append([])

            for name in ("a", "b", "c"):
                journal.record("note", name, "value")
                journal.commit(send)
            assert not sent
            keeping = asyncio.create_task(journal.run())
            await journal.flush()
            assert len(sent) == 3
            entries = await one.read(BEGINNING, waits=False)
            assert [unpack(entry) for _, entry in entries] == [
                [["lead", 1, True]],
                [["note", name, "value"] for name in ("a", "b", "c")],
            ]
            keeping.cancel()

    asyncio.run(run())


def test_a_leader_that_was_replaced_sends_nothing(
    url: str, redis_server: redis_servers.Server
) -> None:
    async def run() -> None:
        async with registry_of(url, "one") as one, registry_of(url, "other") as other:
            journal = Journal(one, await one.take(0), BEGINNING)
            await journal.begin(is_whole=True)
            with redis_server.client() as client:
                client.delete(one.keys.lease)
            await other.take(0)
            sent: list[str] = []
            journal.record("note", "a", "value")
            journal.commit(lambda: sent.append("reply"))
            with pytest.raises(Gone):
                await journal.run()
            assert not sent
            assert len(await one.read(BEGINNING, waits=False)) == 1

    asyncio.run(run())


def test_replies_wait_while_redis_is_away(tmp_path: Path) -> None:
    async def run(server: redis_servers.Server) -> None:
        async with registry_of(url_of(server), "one") as one:
            journal = Journal(one, await one.take(0), BEGINNING)
            await journal.begin(is_whole=True)
            keeping = asyncio.create_task(journal.run())
            await journal.flush()
            server.kill()
            journal.record("note", "a", "value")
            flushing = asyncio.create_task(journal.flush())
            await asyncio.sleep(1.0)
            assert not flushing.done()
            server.start()
            await asyncio.wait_for(flushing, 60)
            assert len(await one.read(BEGINNING, waits=False)) == 2
            keeping.cancel()

    with redis_servers.server(tmp_path, "--appendonly", "yes", "--appendfsync", "always") as server:
        asyncio.run(run(server))


def test_a_redis_that_has_lost_all_is_told_to_begin_anew(
    url: str, redis_server: redis_servers.Server
) -> None:
    async def run() -> None:
        async with registry_of(url, "one") as one:
            journal = Journal(one, await one.take(6), BEGINNING)
            await journal.begin(is_whole=True)
            keeping = asyncio.create_task(journal.run())
            await journal.flush()
            terms = one.terms
            with redis_server.client() as client:
                client.flushall()
            journal.record("note", "a", "value")
            await journal.flush()
            assert journal.number == 8
            assert [unpack(entry) for _, entry in await one.read(BEGINNING, waits=False)] == [
                [["lead", 8, False]],
                [["note", "a", "value"]],
            ]
            assert not (await one.look()).is_whole_from("1-0"), "all others need a copy"
            await one.open("breadth", time.time)
            assert one.terms == terms, "it is the same crawl"
            keeping.cancel()

    asyncio.run(run())


def test_a_crawl_of_the_old_kind_is_refused(url: str, redis_server: redis_servers.Server) -> None:
    async def run() -> None:
        with redis_server.client() as client:
            client.hset("{test}:crawl", "epoch", "1")
        async with registry_of(url, "one"):
            pass

    with pytest.raises(FrontierUnavailable, match="kept the frontier in Redis itself"):
        asyncio.run(run())


# --- copies ---


@pytest.fixture
def pair(
    tmp_path: Path,
) -> Iterator[tuple[LoggedFrontier, LoggedFrontier, list[tuple[object, ...]]]]:
    """Return a frontier that records, another that does what was recorded, and the record."""
    record: list[tuple[object, ...]] = []
    one, other = LoggedFrontier(str(tmp_path / "one")), LoggedFrontier(str(tmp_path / "other"))
    one.record = lambda *operation: record.append(operation)
    yield one, other, record
    one.close()
    other.close()


def take(frontier: LocalFrontier, now: float) -> Taken:
    taken = frontier.take(now)
    assert taken is not None
    return taken


Pair = tuple[LoggedFrontier, LoggedFrontier, list[tuple[str, object]]]


def test_a_copy_does_what_was_done_and_twice_does_no_harm(pair: Pair) -> None:
    one, other, record = pair
    one.put([*URLS, "http://h0.test/more"])
    now = 0.0
    for number, state in enumerate(("done", "failed", "denied", "done") * 5):
        taken = take(one, now)
        one.report(taken.host, now, Experience(0.5))
        if number % 7 == 3:
            one.retry(taken, now, 5.0, reason="503", status=503)
        else:
            links = [f"{taken.url}{link}" for link in range(3)]
            one.finish(taken, state, now, links if state == "done" else [], reason="why", status=9)  # type: ignore[arg-type]
        now += 1.0
    taken = take(one, now)
    one.slow_down(taken.host, now, Demand(crawl_delay=9.0))
    one.set_note("scope", bytes(range(256)))
    one.requeue("h1.test")
    one.release(taken, now)
    hosts = {view.name: (view.done, view.failed, view.delay) for view in one.hosts(now)}
    for _ in range(2):
        for name, *words in record:
            other.do(name, *words)
        counts, copied = one.counts(), other.counts()
        assert counts.done and counts.failed and counts.denied
        assert (copied.seen, copied.done, copied.failed, copied.denied) == (
            counts.seen,
            counts.done,
            counts.failed,
            counts.denied,
        )
        assert {v.name: (v.done, v.failed, v.delay) for v in other.hosts(now)} == hosts
    assert other.note("scope") == bytes(range(256))


def test_an_end_of_a_url_that_a_copy_does_not_know_leads_to_its_links_still(pair: Pair) -> None:
    _, other, _ = pair
    other.do("end", "http://new.test/", 3, "done", 1.0, ["http://b.test/"], {"depth_step": 1})
    assert take(other, 1.0).url == "http://b.test/"
    other.do("end", "http://new.test/", 15, "done", 1.0, ["http://c.test/"], {"depth_step": 1})
    assert other.counts().seen == 1, "that is beyond the depth"


def test_an_operation_that_nobody_knows_is_refused(pair: Pair) -> None:
    with pytest.raises(ValueError, match="unknown to this version"):
        pair[1].do("explode")


def greeting(name: str, holds: list[Hold]) -> Greeting:
    return Greeting(
        name=name, run="run", now=0.0, about={}, watched=[], grants=0, holds=holds, server_turns=[]
    )


def test_hosts_have_other_numbers_in_each_copy_and_workers_need_not_know(tmp_path: Path) -> None:
    urls = ["http://a.test/", "http://b.test/"]
    with (
        LocalFrontier(str(tmp_path / "one")) as one,
        LocalFrontier(str(tmp_path / "other")) as other,
    ):
        for frontier, known in ((one, urls), (other, urls[::-1])):
            for url in known:
                frontier.put([url])
                frontier.counts()
        handler = Handler(one, None, 1)
        worker, _ = handler.greet(greeting("worker", []))
        (granted,) = handler.exchange(worker, Exchange(number=1, now=1.0, want=1)).granted
        grant, url, host = granted.grant, granted.url, granted.host
        handler = Handler(other, None, 2)
        worker, told = handler.greet(greeting("worker", [Hold(grant, url, host)]))
        assert told.kept == [grant]
        unknown = (SlowDown((1 << 32) + 77, Demand(99.0)), SetAddress(5, "192.0.2.1"))
        did: list[Operations] = [SlowDown(host, Demand(7.0)), *unknown]
        handler.exchange(worker, Exchange(number=2, now=2.0, did=did))
        delays = {view.name: view.delay for view in other.hosts(2.0)}
        name = url.split("/")[2]
        assert delays == {"a.test": 1.0, "b.test": 1.0, name: 7.0}
        assert one.host_key(host - (1 << 32)) != other.host_key(host - (1 << 32))


def test_a_worker_keeps_a_url_whose_link_a_new_leader_has_not_looked_up(pair: Pair) -> None:
    one, other, record = pair
    one.put(URLS[:1])
    one.finish(take(one, 0.0), "done", 0.0, [f"{URLS[0]}next"])
    for name, *words in record:
        other.do(name, *words)
    handler = Handler(other, None, 2)
    worker, welcome = handler.greet(greeting("worker", [Hold(7, f"{URLS[0]}next", 0)]))
    assert welcome.kept == [7]
    handler.exchange(worker, Exchange(number=1, now=1.0, did=[End(7, "done", [], {})]))
    counts = other.counts()
    assert (counts.done, counts.waiting) == (2, 0), "it would be fetched twice"


# --- nodes ---


class Worker(ReplicatedFrontier):
    """A worker that starts no node, asks at once, and says goodbye nevertheless."""

    def __init__(self, url: str) -> None:
        super().__init__(url, nodes=0, worker="worker", read_ahead=0)

    def _leave(self) -> None:
        super()._leave()
        self.session.ask(Leave(), type(None), 10)


def ordered(url: str, *nodes: NodeProcess) -> tuple[NodeProcess, NodeProcess]:
    """Return the leader and the other one."""
    leader = await_leader(url, *nodes)
    return leader, next(node for node in nodes if node is not leader)


def finish(frontier: Worker, count: int) -> list[str]:
    """Take and finish so many URLs, each with a new link."""
    found: list[str] = []
    until = time.monotonic() + 60
    while len(found) < count:
        assert time.monotonic() < until
        if (taken := frontier.take(0.0)) is None:
            time.sleep(0.02)
            continue
        frontier.finish(taken, "done", 0.0, [f"{taken.url}next"] if taken.depth == 0 else [])
        found.append(taken.url)
    return found


@pytest.mark.slow
@pytest.mark.parametrize(
    "is_wiped", [pytest.param(False, marks=pytest.mark.campaign), pytest.param(True)]
)
def test_a_leader_that_is_killed_is_replaced(url: str, tmp_path: Path, is_wiped: bool) -> None:
    with NodeProcess(url, tmp_path / "one") as one, NodeProcess(url, tmp_path / "two") as two:
        one, two = ordered(url, one, two)
        with Worker(url) as worker:
            worker.put(URLS)
            done = finish(worker, 10)
            held = worker.take(0.0)
            assert held is not None
            await_standby(url, two)
            done += finish(worker, 5)
            began = time.monotonic()
            one.kill(wiped=is_wiped)
            worker.finish(held, "done", 0.0, ["http://found.test/"])
            print(f"\n{time.monotonic() - began:.1f} s to take over")
            assert await_leader(url, two, one) is two
            counts = worker.counts()
            assert (counts.done, counts.in_flight) == (16, 0)
            one.start()
            await_standby(url, one)
            assert (one.path / "CURRENT").exists()
            done += finish(worker, 5)
            two.kill(wiped=is_wiped)
            done += finish(worker, 2 * len(URLS) - 1 - len(done))
            assert len({*done, held.url}) == len(done) + 1 == 2 * len(URLS)
            assert worker.wait(0.0) is None
            assert worker.counts().done == worker.counts().seen == 2 * len(URLS)


def test_a_leader_that_ends_hands_over_at_once(url: str, tmp_path: Path) -> None:
    with NodeProcess(url, tmp_path / "one") as one, NodeProcess(url, tmp_path / "two") as two:
        one, two = ordered(url, one, two)
        with Worker(url) as worker:
            worker.put(URLS)
            await_standby(url, two)
            one.end()
            assert view_of(url).leader != one.name, "it has given its lease back"
            finish(worker, 10)
            assert await_leader(url, two) is two


@pytest.mark.slow
def test_a_paused_leader_that_wakes_too_late_acknowledges_nothing(url: str, tmp_path: Path) -> None:
    with NodeProcess(url, tmp_path / "one") as one, NodeProcess(url, tmp_path / "two") as two:
        one, two = ordered(url, one, two)
        with Worker(url) as worker:
            worker.put(URLS)
            finish(worker, 5)
            await_standby(url, two)
            one.pause()
            held = worker.session
            held.do(Put(["http://late.test/"], 0, [], 0))
            held.begin(Exchange())  # it is in the buffers of the leader, which sleeps
            assert await_leader(url, two) is two
            one.resume()
            held.settle(60)
            assert worker.counts().seen == len(URLS) + 5 + 1
            assert worker.knows("http://late.test/")
            await_standby(url, one)
            assert "Another node leads now" in one.log
            two.kill()
            assert worker.counts().seen == len(URLS) + 5 + 1
            finish(worker, 2 * len(URLS) - 5 + 2)


def test_a_node_that_was_alone_goes_on_with_its_disk(url: str, tmp_path: Path) -> None:
    with NodeProcess(url, tmp_path / "one") as one, Worker(url) as worker:
        worker.put(URLS)
        finish(worker, 10)
        one.kill()
        one.start()
        assert len(finish(worker, 70)) == 70
        assert worker.wait(0.0) is None


def test_the_log_alone_is_enough_if_it_was_never_cut(url: str, tmp_path: Path) -> None:
    with NodeProcess(url, tmp_path / "one") as one, Worker(url) as worker:
        worker.put(URLS)
        finish(worker, 10)
        one.kill(wiped=True)
        one.start()
        finish(worker, 70)
        assert worker.counts().done == worker.counts().seen == 80


def test_a_redis_that_loses_everything_costs_nothing_while_the_leader_lives(
    url: str, tmp_path: Path, redis_server: redis_servers.Server
) -> None:
    with NodeProcess(url, tmp_path / "one") as one, NodeProcess(url, tmp_path / "two") as two:
        _, two = ordered(url, one, two)
        with Worker(url) as worker:
            worker.put(URLS)
            finish(worker, 10)
            await_standby(url, two)
            with redis_server.client() as client:
                client.flushall()
            finish(worker, 10)
            await_standby(url, two)
            assert "differs from the leader" in two.log
            assert worker.counts().done == 20


def test_a_directory_with_another_crawl_is_left_as_it_is(url: str, tmp_path: Path) -> None:
    with LocalFrontier(str(tmp_path / "local")) as local:
        local.put(URLS)
    said = NodeProcess(url, tmp_path / "local")._reap()
    assert "is that of a crawl that is not in Redis" in said
    with LoggedFrontier(str(tmp_path / "other")) as other:
        other.put(URLS)
        other.stand(Standing("another", 3, "5-0"))
    said = NodeProcess(url, tmp_path / "other")._reap()
    assert "is that of another crawl" in said
    with LocalFrontier(str(tmp_path / "other")) as local:
        assert local.counts().seen == len(URLS)


def test_no_redis_is_said_in_a_sentence(tmp_path: Path) -> None:
    port = redis_servers.free_port()
    with pytest.raises(FrontierUnavailable, match=r"Redis at .* does not answer"):
        Worker(f"redis://127.0.0.1:{port}/0")
    said = NodeProcess(f"redis://127.0.0.1:{port}/0", tmp_path / "one")._reap()
    assert "does not answer" in said


def test_a_redis_that_evicts_keys_is_named(tmp_path: Path) -> None:
    options = ("--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru")
    with redis_servers.server(tmp_path / "redis", *options) as server:
        url = url_of(server)
        with NodeProcess(url, tmp_path / "one") as one:
            await_leader(url, one)
            assert "maxmemory-policy allkeys-lru" in one.log


@pytest.mark.slow
def test_a_node_without_a_copy_says_that_it_waits_for_one(url: str, tmp_path: Path) -> None:
    with NodeProcess(url, tmp_path / "one") as one, Worker(url) as worker:
        worker.put(URLS)
        with NodeProcess(url, tmp_path / "two") as two:
            await_standby(url, two)
            until = time.monotonic() + 60
            while view_of(url).trimmed == BEGINNING:
                worker.set_note("note", b"value")
                time.sleep(0.05)
                assert time.monotonic() < until
            two.kill(wiped=True)
        one.kill()
        shutil.move(one.path, tmp_path / "away")
        one.start()
        until = time.monotonic() + 60
        while "waits for a machine" not in one.log:
            assert time.monotonic() < until
            time.sleep(0.05)
        assert str(one.path) in one.log
        one.kill()
        shutil.move(tmp_path / "away", one.path)
        one.start()
        finish(worker, 10)


@pytest.mark.campaign
def test_a_copy_that_was_left_on_this_machine_is_taken_over(url: str, tmp_path: Path) -> None:
    """As jobs of scrapyd, which have a directory each, leave theirs."""
    with NodeProcess(url, tmp_path / "one") as one, Worker(url) as worker:
        worker.put(URLS)
        with NodeProcess(url, tmp_path / "two") as two:
            await_standby(url, two)
            until = time.monotonic() + 60
            while view_of(url).trimmed == BEGINNING:  # else the log would be enough
                worker.set_note("note", b"value")
                time.sleep(0.05)
                assert time.monotonic() < until
            two.kill(wiped=True)
        one.kill()
        with NodeProcess(url, tmp_path / "other") as other:
            finish(worker, 10)
            assert not one.path.exists()
            assert "is now in" in other.log


def test_a_copy_outlives_a_redis_that_has_lost_everything(
    url: str, tmp_path: Path, redis_server: redis_servers.Server
) -> None:
    with NodeProcess(url, tmp_path / "one") as one:
        with Worker(url) as worker:
            worker.put(URLS)
            finish(worker, 10)
        one.end()
        with redis_server.client() as client:
            client.flushall()
        one.start()
        with Worker(url) as worker:
            assert worker.counts().done == 10
            finish(worker, 70)


def test_nodes_that_end_together_stay_while_a_worker_needs_them(url: str, tmp_path: Path) -> None:
    with NodeProcess(url, tmp_path / "one") as one, NodeProcess(url, tmp_path / "two") as two:
        one, two = ordered(url, one, two)
        with Worker(url) as worker:
            worker.put(URLS)
            await_standby(url, two)
            for node in (one, two):
                assert node.process.stdin is not None
                node.process.stdin.close()
            finish(worker, 2 * len(URLS))
            assert worker.counts().done == 2 * len(URLS)
        began = time.monotonic()
        one._reap()
        two._reap()
        assert time.monotonic() - began < HANDING_OVER, "no worker needs them"


def test_a_task_that_swallows_its_end_once_is_ended() -> None:
    async def stubborn() -> None:
        with suppress(asyncio.CancelledError):
            await asyncio.sleep(60)
        await asyncio.sleep(60)

    async def run() -> None:
        task = asyncio.create_task(stubborn())
        await asyncio.sleep(0)
        await asyncio.wait_for(end(task), 50)
        assert task.cancelled()

    asyncio.run(run())


def test_a_leader_without_redis_ends(tmp_path: Path) -> None:
    with redis_servers.server(tmp_path / "redis") as server:
        url = url_of(server)
        one = NodeProcess(url, tmp_path / "one")
        await_leader(url, one)
    until = time.monotonic() + 60
    while "Redis is away" not in one.log:  # before that nothing would be missing in the log
        assert time.monotonic() < until
        time.sleep(0.05)
    one.end()
    assert "changes that are not in the log yet" in one.log


def test_a_redis_that_has_lost_everything_hears_again_how_many_shards_there_are(
    url: str, redis_server: redis_servers.Server, tmp_path: Path
) -> None:
    assert agree_on_shards(url, 2) == 2
    shard = shard_url(url, 0)
    with NodeProcess(shard, tmp_path / "node", shard=(0, 2)) as node:
        await_leader(shard, node)
        with redis_server.client() as client:
            client.flushall()
            until = time.monotonic() + 60
            while not client.exists(Keys(url).crawl):
                assert time.monotonic() < until, "a worker would begin another crawl"
                time.sleep(0.02)
        assert agree_on_shards(url, None) == 2


def test_a_standby_that_stood_still_does_not_step_over_what_was_cut(
    url: str, tmp_path: Path
) -> None:
    async def run() -> None:
        async with registry_of(url, "leader") as leader:
            journal = Journal(leader, await leader.take(0), BEGINNING)
            await journal.begin(is_whole=True)
            first = journal.position
            for name in ("a", "b"):
                journal._pending = [("note", name, "value")]
                await journal._add()
            node = Node(url, tmp_path / "node", "standby", order="breadth")
            await node._open()
            node._standing = Standing(leader.identity, journal.number, first)
            node._open_copy().stand(node._standing)
            look = node._registry.look

            async def stand_still(within: float = 10.0) -> View:
                view = await look(within)
                await leader.trim(journal.number, journal.position)
                return view

            node._registry.look = stand_still  # type: ignore[method-assign]
            with pytest.raises(_Unfit):
                await node._step()
            assert node._frontier is not None
            assert node._frontier.note("b") is None
            node._frontier.abandon()
            await node._registry.close()

    asyncio.run(run())
