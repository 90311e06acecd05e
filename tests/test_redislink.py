"""The server that has the keys is found, and found again: one Redis, Sentinels, a cluster."""

from __future__ import annotations

import asyncio
import socket
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import redis

from rdfaspider.redislink import AsyncRedisLink, RedisLink, Script, split_query
from tests.frontier import redis_servers

ADD = Script("return redis.call('RPUSH', KEYS[1], ARGV[1])")
KEY = "{crawl}:list"


def again(act: Callable[[], object], seconds: float = 30.0) -> None:
    """Act until Redis lets it."""
    until = time.monotonic() + seconds
    while True:
        try:
            act()
            return
        except redis.RedisError:
            assert time.monotonic() < until
            time.sleep(0.05)


def test_a_script_is_sent_as_a_whole_only_once(tmp_path: Path) -> None:
    with redis_servers.server(tmp_path) as server, server.client() as client:
        link = RedisLink(server.url, "crawl", 5.0)
        for count in (1, 2):
            assert link.run(ADD, [KEY], b"x") == count
        calls = client.info("commandstats")
        assert calls["cmdstat_eval"]["calls"] == 1
        link.close()


def test_a_server_that_was_restarted_is_found_again(tmp_path: Path) -> None:
    with redis_servers.server(tmp_path, "--appendonly", "yes", "--appendfsync", "always") as server:
        link = RedisLink(server.url, "crawl", 5.0)
        link.run(ADD, [KEY], b"x")
        server.kill()
        with pytest.raises(redis.RedisError):
            link.run(ADD, [KEY], b"y")
        server.start()
        again(lambda: link.run(ADD, [KEY], b"y"))
        assert link.call("lrange", KEY, 0, -1) == [b"x", b"y"]
        link.close()


def test_a_server_that_takes_no_writes_any_more_is_let_go_of(tmp_path: Path) -> None:
    """Its address may belong to another one by now, and the connection does not break by itself."""
    with (
        redis_servers.server(tmp_path / "one") as one,
        redis_servers.server(tmp_path / "other") as other,
        one.client() as client,
    ):
        link = RedisLink(one.url, "crawl", 5.0)
        link.run(ADD, [KEY], b"x")
        before = link.call("client_id")
        client.replicaof("127.0.0.1", other.port)
        with pytest.raises(redis.exceptions.ReadOnlyError):
            link.run(ADD, [KEY], b"y")
        assert link.call("client_id") != before, "a new connection"
        link.close()


def test_sentinels_say_who_is_the_primary(tmp_path: Path) -> None:
    with redis_servers.watched(tmp_path) as watched:
        link = RedisLink(watched.url, "crawl", 2.0)
        link.run(ADD, [KEY], b"x")
        with watched.primary.client() as client:
            assert client.wait(1, 5000)
        watched.primary.kill()
        again(lambda: link.run(ADD, [KEY], b"y"))
        link.close()
        with watched.replica.client() as client:
            assert client.lrange(KEY, 0, -1) == [b"x", b"y"]
        other = RedisLink(watched.url.replace("/main/", "/other/"), "crawl", 2.0)
        with pytest.raises(redis.RedisError, match="know no primary other"):
            other.call("ping")


def test_the_node_of_a_cluster_that_has_the_key_is_found(tmp_path: Path) -> None:
    with redis_servers.cluster(tmp_path, replicated=True) as nodes:
        links = [RedisLink(nodes[0].url, str(number), 2.0) for number in range(12)]
        for number, link in enumerate(links):
            link.run(ADD, [f"{{{number}}}"], b"x")
        for node in nodes[:3]:
            with node.client() as client:
                client.wait(1, 5000)
        nodes[0].kill()  # the one that was named
        for number, link in enumerate(links):
            again(lambda link=link, number=number: link.run(ADD, [f"{{{number}}}"], b"y"))  # type: ignore[misc]
            assert link.call("lrange", f"{{{number}}}", 0, -1) == [b"x", b"y"]
            link.close()


def test_nothing_is_safe_before_a_replica_has_it(tmp_path: Path) -> None:
    async def run(pair: redis_servers.Pair) -> None:
        link = AsyncRedisLink(pair.url, "crawl", 5.0)
        await link.look_for_replicas()
        assert await link.run_safely(ADD, [KEY], b"x") == 1
        pair.wire.is_held = True
        with pytest.raises(redis.TimeoutError, match="no replica"):
            await link.run_safely(ADD, [KEY], b"y")
        pair.wire.is_held = False
        assert await link.run_safely(ADD, [KEY], b"z") == 3
        pair.second.kill()
        while True:  # until the primary knows that it is alone
            try:
                await link.run_safely(ADD, [KEY], b"alone")
                break
            except redis.TimeoutError:
                pass
        await link.close()

    with redis_servers.pair(tmp_path) as pair:
        asyncio.run(asyncio.wait_for(run(pair), 60))


@pytest.mark.parametrize(
    ("url", "rest", "name"),
    [
        ("redis://h:1/0?crawl=x&ssl_cert_reqs=none", "redis://h:1/0?ssl_cert_reqs=none", "x"),
        ("redis://:p%40s@h/0", "redis://:p%40s@h/0", "rdfa"),
        ("redis+unix:///run/r.sock?crawl=y", "redis+unix:///run/r.sock", "y"),
        ("redis+sentinel://a:1,b:2/main/0?crawl=z", "redis+sentinel://a:1,b:2/main/0", "z"),
    ],
)
def test_the_name_of_a_crawl_is_not_for_redis(url: str, rest: str, name: str) -> None:
    assert split_query(url, "crawl", "rdfa") == (rest, name)


@pytest.mark.parametrize(
    "url", ["redis://:secret/x@h:1/0", "redis://u:secret@h:port/0", "redis+sentinel://:secret@h:1/"]
)
def test_a_url_that_makes_no_sense_shows_no_secret(url: str) -> None:
    with pytest.raises(ValueError, match="write redis") as caught:
        RedisLink(split_query(url, "crawl", "rdfa")[0], "crawl", 1.0)
    assert "secret" not in str(caught.value)


def test_a_replica_that_is_getting_its_first_copy_holds_nobody_up(tmp_path: Path) -> None:
    options = ("--repl-diskless-sync", "yes", "--repl-diskless-sync-delay", "60")

    async def add(url: str) -> object:
        link = AsyncRedisLink(url, "crawl", 5.0)
        try:
            return await link.run_safely(ADD, [KEY], b"x")
        finally:
            await link.close()

    with (
        redis_servers.server(tmp_path, *options) as server,
        server.client() as client,
        socket.create_connection(("127.0.0.1", server.port)) as replica,
    ):
        # A replica that can take its copy from the socket gets it in a minute, any other from disk at once.
        replica.sendall(b"REPLCONF capa eof\r\n")
        assert replica.recv(100) == b"+OK\r\n"
        replica.sendall(b"PSYNC ? -1\r\n")
        until = time.monotonic() + 60
        while not client.info("replication")["connected_slaves"]:
            assert time.monotonic() < until
        assert client.info("replication")["slave0"]["state"] == "wait_bgsave"
        assert asyncio.run(add(server.url)) == 1
