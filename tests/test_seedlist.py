"""Seeds by Redis for every crawl: alone, with a crew, and for workers of a service."""

from __future__ import annotations

import json
import pickle
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest
import redis
from scrapy import Request, Spider
from scrapy.settings import Settings
from scrapy_redis import picklecompat
from scrapy_redis.queue import FifoQueue, PriorityQueue

from rdfaspider.frontier.views.reader import FrontierReader
from rdfaspider.seedlist import SeedList, SeedsUnavailable, read_request, read_seed
from rdfaspider.settings.defaults import add_defaults
from rdfaspider.settings.places import open_seeds
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.frontier.conftest import redis_server

if TYPE_CHECKING:
    from tests.conftest import Scrapy
    from tests.frontier.redis_servers import Server

__all__ = ["redis_server"]

KEY = "rdfa:start_urls"
SITE = Parameters(seed=3, hosts=4, levels=1, pages=2, links_across=0)


@pytest.fixture
def client(redis_server: Server) -> Iterator[redis.Redis]:
    with redis.Redis(port=redis_server.port) as client:
        client.flushall()
        yield client


@pytest.fixture
def proxy() -> Iterator[str]:
    with running(SITE) as proxy:
        yield proxy


def seeds() -> list[str]:
    web = Web(SITE)
    return [web.url(host, 0) for host in range(SITE.hosts)]


@pytest.mark.parametrize(
    ("kind", "workers"),
    [
        ("list", 1),
        pytest.param("set", 1, marks=pytest.mark.slow),
        pytest.param("zset", 1, marks=pytest.mark.slow),
        pytest.param("list", 2, marks=pytest.mark.slow),
    ],
)
def test_a_crawl_reads_seeds_of_each_kind_and_ends(
    scrapy: Scrapy,
    client: redis.Redis,
    redis_server: Server,
    proxy: str,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    kind: str,
    workers: int,
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    first, *rest = seeds()
    no_depth = json.dumps({"url": first, "depth": True})
    items = [json.dumps({"url": first, "meta": {"depth": 1}}), *rest, "no url", no_depth]
    if kind == "zset":
        client.zadd(KEY, {item: 1.0 for item in items})
    else:
        getattr(client, "rpush" if kind == "list" else "sadd")(KEY, *items)
    settings = {"SEEDS_URL": redis_server.url, "POLITENESS_DELAY": 0.01, "WORKERS": workers}
    crawled = scrapy("crawl", "rdfa", **settings)
    assert crawled.returncode == 0, crawled.stderr
    assert "Skipped the seed no url in rdfa:start_urls" in crawled.stderr
    assert "its depth is not between 0 and 250: True" in crawled.stderr
    with FrontierReader(str(tmp_path / "crawl" / "frontier"), delay=0.0) as reader:
        views = [reader.url(url) for url in (first, *rest)]
    assert [view and view.state for view in views] == ["done"] * SITE.hosts, crawled.stderr
    assert client.keys() == [], "all are acknowledged"


def test_seeds_that_were_being_taken_in_at_a_kill_are_read_again(redis_server: Server) -> None:
    with redis.Redis(port=redis_server.port) as client:
        client.flushall()
        client.rpush(KEY, *(f"http://h{number}.test/" for number in range(10)))
    reader = SeedList(redis_server.url, "one")
    taken = reader.read()
    assert len(taken) == 10
    again = SeedList(redis_server.url, "one")
    assert again.read() == taken
    assert SeedList(redis_server.url, "other").read() == []
    assert again.read(taken) == []
    assert SeedList(redis_server.url, "one").read() == []


def test_a_crawl_goes_on_without_redis(
    scrapy: Scrapy, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    settings = {"SEEDS_URL": "redis://:sesame@127.0.0.1:1/0", "POLITENESS_DELAY": 0.01}
    crawled = scrapy("crawl", "rdfa", "-a", f"seeds={seeds()[0]}", **settings)
    assert crawled.returncode == 0, crawled.stderr
    assert "cannot be reached" in crawled.stderr
    assert "sesame" not in crawled.stderr


# --- scrapy-redis ---


class Elsewhere(Spider):
    name = "elsewhere"


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "workers", "by_url"), [("SET", 1, False), ("ZSET", 2, True)])
def test_its_settings_say_where_seeds_are(
    scrapy: Scrapy,
    client: redis.Redis,
    redis_server: Server,
    proxy: str,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    workers: int,
    by_url: bool,
) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    its: dict[str, object] = {f"REDIS_START_URLS_AS_{kind}": 1}
    its["REDIS_START_URLS_KEY"] = "%(name)s:begin"
    if by_url:
        its["REDIS_URL"] = f"redis://127.0.0.1:{redis_server.port}/3"
    else:
        about = {"port": redis_server.port, "db": 3, "decode_responses": True}
        its["REDIS_PARAMS"] = json.dumps(about)
    pushed = scrapy("seeds", "add", *seeds(), **its)
    assert pushed.stdout == "4 seeds pushed to rdfa:begin.\n", pushed.stderr
    client.select(3)
    assert client.type("rdfa:begin") == kind.lower().encode()
    crawled = scrapy("crawl", "rdfa", **its, POLITENESS_DELAY=0.01, WORKERS=workers)
    assert crawled.returncode == 0, crawled.stderr
    assert "done" in scrapy("frontier", "--url", seeds()[-1]).stdout, crawled.stderr
    assert not client.exists("rdfa:begin")


@pytest.mark.filterwarnings("ignore:Call to '__init__' .*retry_on_timeout:DeprecationWarning")
@pytest.mark.parametrize("is_installed", [True, False])
def test_its_connection_is_made_with_its_helper_or_without(
    client: redis.Redis,
    redis_server: Server,
    monkeypatch: pytest.MonkeyPatch,
    is_installed: bool,
) -> None:
    if not is_installed:
        monkeypatch.setitem(sys.modules, "scrapy_redis.connection", None)
    its = {"REDIS_HOST": "127.0.0.1", "REDIS_PORT": redis_server.port, "REDIS_PARAMS": {"db": 2}}
    settings = Settings({"REDIS_START_URLS_AS_ZSET": True, **its})
    add_defaults(settings)
    open_seeds(settings).push(["http://one.test/"])
    client.select(2)
    assert client.zrange(KEY, 0, -1) == [b"http://one.test/"]
    assert open_seeds(settings, "reader").read() == [b"http://one.test/"]


def test_its_scheduler_is_refused_in_a_sentence(scrapy: Scrapy, redis_server: Server) -> None:
    refused = scrapy(
        "crawl",
        "rdfa",
        REDIS_URL=redis_server.url,
        SCHEDULER="scrapy_redis.scheduler.Scheduler",
    )
    assert "SCHEDULER=scrapy_redis.scheduler.Scheduler does not know the fron" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert refused.returncode


@pytest.mark.parametrize("queue", [FifoQueue, PriorityQueue])
def test_a_queue_of_scrapy_redis_can_be_imported(
    scrapy: Scrapy, client: redis.Redis, redis_server: Server, queue: Any
) -> None:
    spider = Elsewhere()
    its = queue(client, spider, "%(spider)s:requests", serializer=picklecompat)
    for number in range(5):
        its.push(Request(f"http://h{number}.test/", meta={"depth": number}))
    imported = scrapy("seeds", "import", "elsewhere:requests", SEEDS_URL=redis_server.url)
    assert imported.returncode == 0, imported.stderr
    assert imported.stdout == f"5 seeds pushed to {KEY}.\n"
    pushed = sorted(read_seed(cast("bytes", item)) for item in client.lrange(KEY, 0, -1))
    assert pushed == [(f"http://h{number}.test/", number) for number in range(5)]
    assert len(its) == 5, "the queue is left as it is"


def test_what_a_queue_holds_runs_nothing(tmp_path: Path) -> None:
    class Bomb:
        def __reduce__(self) -> tuple[Any, ...]:
            return (Path.touch, (tmp_path / "run",))

    for item in (pickle.dumps(Bomb()), pickle.dumps({"url": Bomb()}), b"\x80", b"", b"{}"):
        with pytest.raises(ValueError, match="not a request of scrapy-redis"):
            read_request(item)
    assert not (tmp_path / "run").exists()


def test_what_is_no_queue_is_refused(
    scrapy: Scrapy, client: redis.Redis, redis_server: Server
) -> None:
    client.set("elsewhere:requests", "x")
    refused = scrapy("seeds", "import", "elsewhere:requests", SEEDS_URL=redis_server.url)
    assert refused.returncode == 1
    assert "is not a queue of scrapy-redis: its type is string" in refused.stderr
    with pytest.raises(SeedsUnavailable):
        next(SeedList(redis_server.url).queue("elsewhere:requests"))
