"""Two workers crawl one web with a frontier of two shards in Redis, and lose a leader and a worker."""

from __future__ import annotations

import os
import random
import signal
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from rdfaspider.frontier import Counts, FrontierUnavailable, open_frontier
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.replica.logged import LoggedFrontier
from rdfaspider.frontier.replica.registry import place_of, shard_url
from rdfaspider.frontier.replica.sharded import agree_on_shards
from rdfaspider.frontier.service.shards import ShardedFrontier
from rdfaspider.site.parameters import Parameters
from tests.frontier import redis_servers
from tests.frontier.replicas import url_of
from tests.test_replicated_crawl import await_pair
from tests.test_workers import Workers, crawl_through

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
    """Return the sum of the counts of the best copy of each shard."""
    best = [count_best_copy(directory, number) for number in range(TOTAL)]
    names = ("waiting", "in_flight", "done", "failed", "denied")
    done = [counts.done + counts.failed for counts in best]
    assert min(done) > 0.2 * sum(done), "both shards have worked"
    return Counts(
        **{name: sum(getattr(each, name) for each in best) for name in names}, rejected={}
    )


def count_best_copy(directory: Path, number: int) -> Counts:
    found = []
    for path in directory.glob(f"worker*/frontier-{number + 1}"):
        limits = FrontierLimits(depth=15, dynamic_depth=15, as_begun=True)
        options = {"limits": limits, "now": time.time(), "shard": (number, TOTAL)}
        with LoggedFrontier(str(path), **options) as frontier:
            if (standing := frontier.standing) is not None:
                place = (standing.number, place_of(standing.position))
                found.append((place, frontier.counts()))
    return max(found, key=lambda each: each[0])[1]


def test_nothing_is_lost_with_the_leader_of_a_shard_and_a_worker(tmp_path: Path) -> None:
    with redis_servers.server(tmp_path / "redis") as server:
        url = url_of(server, "crawl")
        assert agree_on_shards(url, TOTAL) == TOTAL  # the workers take it over
        count = partial(count_shards, tmp_path)
        crawl_through(tmp_path, PARAMETERS, url, trouble, workers=2, count=count)


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
