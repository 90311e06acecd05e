"""Two workers crawl one web with a frontier of two shards, and lose a leader, a worker and a service."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from rdfaspider.frontier import Counts, FrontierUnavailable, open_frontier
from rdfaspider.service.replica.registry import shard_url
from rdfaspider.service.replica.shards import agree_on_shards
from rdfaspider.service.shards.frontier import ShardedFrontier
from rdfaspider.site.parameters import Parameters
from tests.frontier import redis_servers
from tests.frontier.replicas import url_of
from tests.frontier.served import ServiceProcess
from tests.test_replicated_crawl import await_pair, scrapy
from tests.test_workers import DELAY, Workers, count_best_copy, crawl_through

TOTAL = 2
PARAMETERS = Parameters(
    seed=11, hosts=16, addresses=8, levels=2, pages=4, links_across=3, missing=0.05, latency=0.1
)


def kill_leader_of_shard(crew: Workers, number: int) -> None:
    """Kill the node that leads a shard, as soon as it has a standby."""
    view = await_pair(shard_url(crew.url, number))
    if view is not None:
        with suppress(ProcessLookupError):
            os.kill(view.nodes[view.leader]["pid"], signal.SIGKILL)


def trouble(crew: Workers, log: Path) -> None:
    """Kill the leader of a shard, and a worker with whatever nodes it has; another takes its place."""
    kill_leader_of_shard(crew, 0)
    time.sleep(1.0)
    if crew.kill_one(random.Random(1)):
        crew.start()


def count_shards(directory: Path) -> Counts:
    each = [
        count_best_copy(directory, f"frontier-{number + 1}", shard=(number, TOTAL))
        for number in range(TOTAL)
    ]
    done = [counts.done + counts.failed for counts in each]
    assert min(done) > 0.2 * sum(done), "both shards have worked"
    names = ("waiting", "in_flight", "done", "failed", "denied")
    sums = {name: sum(getattr(counts, name) for counts in each) for name in names}
    return Counts(**sums, rejected={})


@pytest.mark.campaign
def test_nothing_is_lost_with_the_leader_of_a_shard_and_a_worker(tmp_path: Path) -> None:
    with redis_servers.server(tmp_path / "redis") as server:
        url = url_of(server, "crawl")
        assert agree_on_shards(url, TOTAL) == TOTAL  # the workers take it over
        crawl_through(tmp_path, PARAMETERS, url, trouble, workers=2, count=count_shards)


@pytest.mark.campaign
def test_nothing_is_lost_when_the_service_of_a_shard_is_killed_and_away(tmp_path: Path) -> None:
    settings = {"POLITENESS_DELAY": DELAY, "FRONTIER_DYNAMIC_DEPTH": 15}
    with ExitStack() as stack:
        services = []
        for number in range(TOTAL):
            place = tmp_path / f"service{number}"
            place.mkdir()
            service = ServiceProcess(place, "breadth", settings, f"{number + 1}/{TOTAL}")
            services.append(stack.enter_context(service))

        def trouble(crew: Workers, log: Path) -> None:
            time.sleep(1.0)
            services[1].kill()
            size = log.stat().st_size
            time.sleep(3.0)
            assert log.stat().st_size > size, "the other shard goes on"
            services[1].start()

        url = ",".join(service.url for service in reversed(services))
        crawl_through(tmp_path, PARAMETERS, url, trouble, workers=2)
        shown, _ = scrapy(tmp_path, "frontier", "-s", f"FRONTIER_URL={url}").communicate(timeout=60)
        assert "336 URLs = 319 done + 17 failed" in " ".join(shown.split()), shown


def test_a_crawl_keeps_its_number_of_shards(tmp_path: Path) -> None:
    with redis_servers.server(tmp_path / "redis") as server:
        url = url_of(server, "crawl")
        assert agree_on_shards(url, None) == 1, "nobody has begun it"
        assert agree_on_shards(url, 2) == 2
        assert agree_on_shards(url, None) == 2
        for other in (1, 3):
            with pytest.raises(
                FrontierUnavailable, match="begun with FRONTIER_SHARDS=2 and cannot"
            ):
                open_frontier(url, shards=other)
        options = {"nodes": 1, "path": str(tmp_path / "frontier"), "order": "roundrobin"}
        with open_frontier(url, worker="one", **options) as frontier:
            assert isinstance(frontier, ShardedFrontier)
            assert (frontier.total, frontier.order) == (2, "roundrobin")
            with pytest.raises(FrontierUnavailable, match="has shard 1/2 of a crawl"):
                open_frontier(shard_url(url, 0), onlooks=True)
        assert {path.name for path in tmp_path.glob("frontier-?")} == {"frontier-1", "frontier-2"}


def said(directory: Path, *arguments: str) -> str:
    """Return what a command says that is refused."""
    process = scrapy(directory, *arguments)
    words, _ = process.communicate(timeout=60)
    assert process.returncode != 0, words
    assert "Traceback" not in words, words
    return " ".join(words.split())


@pytest.mark.slow
def test_what_makes_no_sense_of_shards_is_refused_in_a_sentence(tmp_path: Path) -> None:
    crawl = ("crawl", "rdfa", "-a", "seeds=http://a.test/", "-s")
    assert "FRONTIER_SHARDS is for a crawl shared through Redis" in said(
        tmp_path, *crawl, "FRONTIER_SHARDS=2"
    )
    serve = ("frontier", "serve", "--shard")
    assert "A shard is written as 1/2" in said(tmp_path, *serve, "3/2")
    with redis_servers.server(tmp_path / "redis") as server:
        url = f"FRONTIER_URL={url_of(server, 'crawl')}"
        assert agree_on_shards(url_of(server, "crawl"), 2) == 2
        words = said(tmp_path, *crawl, url, "-s", "FRONTIER_SHARDS=3")
        assert "begun with FRONTIER_SHARDS=2 and cannot go on with 3" in words
        words = said(tmp_path, "frontier", "serve", "-s", url)
        assert "The crawl has 2 shards: choose the one for this node" in words
        assert "begun with FRONTIER_SHARDS=2" in said(tmp_path, *serve, "1/3", "-s", url)
