"""Frontiers of every kind, for the contract that each must keep."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import redis

from rdfaspider.frontier import Frontier, UrlView, open_frontier
from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.orders import ORDERS
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.views.reader import FrontierReader
from tests.frontier import redis_servers
from tests.frontier.ahead import AheadAlone, read_ahead_alone
from tests.frontier.replicas import ReplicatedAlone, replicate_alone, url_of
from tests.frontier.served import ServedAlone, serve_alone
from tests.frontier.sharded import ShardedAlone, shard_alone

Opener = Callable[..., Frontier]

# Where a server has hosts of several shards it may rest for longer than it must, and who waits for it asks
# again: tests/frontier/test_shards.py has what is guaranteed there.
SERVERS_OF_ONE_SHARD = (
    "test_hosts_of_one_server_share_its_clock",
    "test_a_server_keeps_its_clock_over_a_restart",
    "test_a_host_may_move_while_it_is_being_asked",
    "test_a_thousand_names_of_a_server_are_one",
)

# A worker that reads ahead gets URLs before the test takes them, so it differs in the moment from which a
# delay or a lease counts, and in what it has heard of a URL that it holds.
TO_THE_MOMENT = (
    "test_links_count_as_soon_as_they_are_found",
    "test_two_fetches_of_a_host_keep_its_delay",
    "test_politeness_survives_a_restart",
    "test_a_better_depth_found_in_flight_reaches_the_links",
    "test_why_a_url_failed_is_kept",
    "test_a_host_may_move_while_it_is_being_asked",
    "test_a_thousand_names_of_a_server_are_one",
    "test_urls_of_one_host",
)


@pytest.fixture(scope="session")
def redis_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[redis_servers.Server]:
    """Return a real Redis server, one for all tests of this process."""
    with redis_servers.server(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="session")
def redis_cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[redis_servers.Server]]:
    """Return the nodes of a real Redis Cluster of three."""
    with redis_servers.cluster(tmp_path_factory.mktemp("cluster")) as servers:
        yield servers


def engine_of(frontier: Frontier, url: str) -> LocalFrontier:
    """Return what stores a URL, behind whatever service."""
    if isinstance(frontier, ShardedAlone):
        frontier = frontier.engine_of(url)
    elif isinstance(frontier, ServedAlone | ReplicatedAlone | AheadAlone):
        frontier = frontier.engine
    assert isinstance(frontier, LocalFrontier)
    return frontier


def look(frontier: Frontier, url: str) -> UrlView | None:
    """Return what people are told of a URL of a frontier that is open."""
    path = engine_of(frontier, url)._database._database.path()
    with FrontierReader(path, delay=0.0) as reader:
        return reader.url(url)


# The other orders of each kind.
CAMPAIGN = (
    *(f"unix-{order}" for order in ORDERS if order not in ("breadth", "topics", "harvest")),
    *(f"ahead-{order}" for order in ORDERS if order not in ("breadth", "harvest")),
    *(
        f"{kind}-{order}"
        for kind in ("shards", "replica")
        for order in ORDERS
        if order != "breadth"
    ),
)


# Those that differ little from one of the others.
SLOW = (
    *("local-leafwindow", "local-examples.ownparts.ownparts.DeepFirst", "tcp-breadth"),
    *("unix-topics", "unix-harvest", "ahead-harvest", "replica-breadth"),
)


@pytest.fixture(
    params=[
        *("local-breadth", "local-roundrobin", "local-topwindow"),
        *("local-profit", "local-topics", "local-harvest"),
        *("unix-breadth", "ahead-breadth", "shards-breadth"),
        *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW),
        *(pytest.param(name, marks=pytest.mark.campaign) for name in CAMPAIGN),
    ]
)
def opener(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opener]:
    """Return a function that opens the same frontier each time it is called."""
    kind, order = request.param.split("-")
    if kind in ("unix", "tcp"):
        yield partial(serve_alone, tmp_path, order, is_tcp=kind == "tcp")
        return
    if kind == "ahead":
        if request.node.originalname in TO_THE_MOMENT:
            pytest.skip("the URLs were handed out before the test took them")
        if request.node.name == "test_new_pages_keep_their_share[ahead-topwindow]":
            pytest.skip("of one host at a time one new page is ready: old ones fill the read-ahead")
        yield partial(read_ahead_alone, tmp_path, order)
        return
    if kind == "shards":
        if request.node.originalname in SERVERS_OF_ONE_SHARD:
            pytest.skip("the hosts of the server are on several shards")
        yield partial(shard_alone, tmp_path, order)
        return
    if kind == "replica":
        server = request.getfixturevalue("redis_server")
        with redis.Redis(port=server.port) as client:
            client.flushall()
        yield partial(replicate_alone, url_of(server), tmp_path, order)
        return
    url = str(tmp_path / "frontier")

    def open_again(
        delay: float = 1.0, at_once: int = 1, server_delay: float | None = None, **options: Any
    ) -> Frontier:
        manners: dict[str, Any] = {"delay": delay, "at_once": at_once}
        if server_delay is not None:
            manners["server_delay"] = server_delay
        return open_frontier(url, order=order, politeness=Politeness(**manners), **options)

    yield open_again
