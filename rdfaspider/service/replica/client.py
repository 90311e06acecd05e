"""The frontier that a worker sees when one of several nodes, the leader, serves it.

The worker looks up the leader in Redis each time before it connects. If there are too few nodes it starts
one, as a process that ends with it.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import threading
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdfaspider.children import command
from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.sharding import Shard
from rdfaspider.service.address import Address, Security
from rdfaspider.service.replica import LEASE
from rdfaspider.service.replica.process import task_of
from rdfaspider.service.replica.registry import Keys, Onlooker, View, absent, shard_url
from rdfaspider.service.replica.shards import agree_on_shards, path_of
from rdfaspider.service.shards.opening import open_shards
from rdfaspider.service.worker.client import ServedFrontier, made_up_name
from rdfaspider.service.worker.connection import Connection

if TYPE_CHECKING:
    from collections.abc import Callable

    from rdfaspider.service.shards.frontier import ShardedFrontier

logger = logging.getLogger(__name__)

# Seconds to look for a leader at first; one may have to start, or to come back.
_PATIENCE = 60.0
_ONLOOKING = 15.0
# Seconds between two checks whether there are enough nodes.
_LOOK = 2.0
# Seconds that a node may take to end.
_ENDING = 30.0
# Options of the frontier itself, for the node of this worker.
_ENGINE = (
    "order",
    "politeness",
    "lease",
    "limits",
    "shard",
    "division",
    "window",
    "ranking",
    "linkgraph",
    "follows_copies",
    "rank_every",
    "revisits",
)


class NobodyThere(FrontierUnavailable):
    """No node of a crawl runs. `copy` is the last leader's copy, if it is on this machine."""

    copy: Path | None = None


class ReplicatedFrontier(ServedFrontier):
    """A Frontier (see the package) that the leader of several nodes serves to any number of workers.

    url       redis://HOST:PORT/0?crawl=NAME; redislink.py has the other forms
    path      the directory for the copy of a node that this worker starts
    nodes     how many nodes there should be
    security  certificate and key, for TLS; the secret is in Redis
    order, politeness, lease, limits, shard, division, window, ranking
              those of the frontier, if this worker's node leads
    worker, read_ahead, waits, onlooks, now
              as for any served frontier
    """

    def __init__(
        self,
        url: str,
        *,
        path: str = "frontier",
        nodes: int = 2,
        security: Security | None = None,
        worker: str = "",
        onlooks: bool = False,
        **options: Any,
    ) -> None:
        trust, keys = security or Security(), Keys(url)
        engine = {name: options.pop(name) for name in _ENGINE if name in options}
        worker = worker or made_up_name()
        self._onlooker = Onlooker(keys)
        self._node = _NodeProcess(self._onlooker, nodes)
        try:
            view = self._onlooker.look()
            if onlooks:
                _check_for_nodes(keys, view)
        except ConnectionError as error:
            raise FrontierUnavailable(absent(keys, error)) from error
        except FrontierUnavailable:
            self._onlooker.close()
            raise

        if not onlooks:
            self._node.start(lambda name: task_of(url, path, name, trust, engine, worker))
        # Give up a leader that is paused or lost before the others give up this worker.
        connection = Connection(Address(), trust, self._seek, keys.shown, timeout=LEASE + 2)
        patience = _ONLOOKING if onlooks else _PATIENCE
        self._trust = trust
        try:
            served = {"worker": worker, "onlooks": onlooks, "patience": patience, **options}
            super().__init__(url, connection=connection, **served)
        except BaseException:
            self._node.end()
            self._onlooker.close()
            raise

    def _seek(self) -> tuple[Address, Security]:
        """Return the address of the leader; ConnectionError if there is none now."""
        if self._node.failure:
            raise FrontierUnavailable(self._node.failure)
        view = self._onlooker.look()
        address = view.nodes.get(view.leader, {}).get("address")
        if not address:
            raise ConnectionError("no node leads")
        return Address.parse(address), replace(self._trust, secret=view.secret)

    def close(self) -> None:
        if not self._is_closed:
            super().close()
            self._node.end()
            self._onlooker.close()


def _check_for_nodes(keys: Keys, view: View) -> None:
    if not view.order:
        raise FrontierUnavailable(
            f"There is no crawl {keys.name} in Redis at {keys.shown}: run one first, or name another with"
            " crawl=NAME in FRONTIER_URL."
        )
    if not view.nodes:
        error = NobodyThere(
            f"No worker of the crawl {keys.name} runs, and only workers have its frontier: start one. Its"
            f" last copy is on {view.place.replace(' ', ', in ', 1)}."
        )
        error.copy = None if "/" in keys.name else view.copy_here  # one shard is only a part
        raise error


def open_replicated(
    url: str,
    *,
    shards: int | None = None,
    path: str = "frontier",
    onlooks: bool = False,
    **options: Any,
) -> ReplicatedFrontier | ShardedFrontier:
    """Open a replicated frontier with this many shards; None is as many as it has."""
    total = agree_on_shards(url, shards, begins=not onlooks)
    if total == 1:
        return ReplicatedFrontier(url, path=path, onlooks=onlooks, **options)
    opener = partial(ReplicatedFrontier, onlooks=onlooks)
    openers = [
        partial(opener, shard_url(url, each), path=path_of(path, each), shard=Shard(each, total))
        for each in range(total)
    ]
    return open_shards(openers, **options)


class _NodeProcess:
    """Keeps a node running beside a worker, if there are too few elsewhere.

    `failure` says why it cannot run.
    """

    def __init__(self, onlooker: Onlooker, most: int) -> None:
        self.failure = ""
        self._onlooker = onlooker
        self._most = most
        self._ended = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        self._thread: threading.Thread | None = None

    def start(self, task: Callable[[str], str]) -> None:
        self._thread = threading.Thread(target=self._keep, args=(task,), daemon=True)
        self._thread.start()

    def _keep(self, task: Callable[[str], str]) -> None:
        while not (self._ended.is_set() or self.failure):
            name = f"node-{os.urandom(4).hex()}"
            if self._onlooker.claim(name, self._most):
                try:
                    self._run(task(name))
                except OSError as error:
                    self.failure = f"A node of the frontier cannot be started: {error}."
            self._ended.wait(_LOOK)

    def _run(self, task: str) -> None:
        process = subprocess.Popen(
            command("rdfaspider.service.replica.process"),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the worker, which ends it
        )
        assert process.stdin is not None
        assert process.stdout is not None
        with suppress(BrokenPipeError):
            process.stdin.write(task + "\n")
            process.stdin.flush()
        self._process = process
        if self._ended.is_set():
            self._hang_up()
        with process.stdout:
            said = process.stdout.read()
        process.wait()
        if said:
            self.failure = json.loads(said)
        elif not self._ended.is_set():
            logger.warning(
                "The node of this worker has ended with exit code %d.", process.returncode
            )

    def _hang_up(self) -> None:
        if self._process is not None and self._process.stdin is not None:
            with suppress(OSError):
                self._process.stdin.close()

    def end(self) -> None:
        """End the node; if it leads, another takes over."""
        self._ended.set()
        self._hang_up()
        if self._thread is not None:
            self._thread.join(_ENDING)
            if self._thread.is_alive() and self._process is not None:
                self._process.kill()
                self._thread.join()
