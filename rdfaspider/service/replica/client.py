"""The frontier as a worker sees it that nodes hand out, of which one leads.

The worker looks up in Redis who leads, each time before it connects. If there are too few nodes it starts
one, as a process that ends with it.
"""

from __future__ import annotations

import json
import logging
import os
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rdfaspider.frontier import FrontierUnavailable
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.service.client import ServedFrontier, made_up_name
from rdfaspider.service.connection import Connection
from rdfaspider.service.partitions import Division
from rdfaspider.service.replica import LEASE
from rdfaspider.service.replica.process import PROGRAM, ROOT, task_of
from rdfaspider.service.replica.registry import Keys, Onlooker, View, absent
from rdfaspider.service.wire import Address, Security

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

logger = logging.getLogger(__name__)

# Seconds for which a leader is sought at first; one may have to be started, or to come back.
_PATIENCE = 60.0
_ONLOOKING = 15.0
# Seconds between two looks whether there are enough nodes.
_LOOK = 2.0
# A node may take so long to end.
_ENDING = 30.0


class NobodyThere(FrontierUnavailable):
    """Says that no node of a crawl runs. `copy` is where the last leader has left its copy, if it is here."""

    copy: Path | None = None


class ReplicatedFrontier(ServedFrontier):
    """A Frontier (see the package) that the leader of several nodes hands out to any number of workers.

    url       redis://HOST:PORT/0?crawl=NAME; redislink.py has the other forms
    path      the directory for the copy of a node that this worker starts
    nodes     how many nodes there are to be
    shard     which shard of its crawl it is, and of how many
    security  certificate and key, for TLS; the secret is in Redis
    order, politeness, lease, limits, division, window, ranking
                                      those of the frontier, if this worker's node leads
    worker, read_ahead, waits, onlooks, now  as for any frontier that is served
    """

    def __init__(
        self,
        url: str,
        *,
        path: str = "frontier",
        nodes: int = 2,
        shard: Sequence[int] = (0, 1),
        security: Security | None = None,
        order: str = "breadth",
        politeness: Politeness | None = None,
        lease: float = 600.0,
        limits: FrontierLimits | None = None,
        division: Division | None = None,
        worker: str = "",
        onlooks: bool = False,
        **options: Any,
    ) -> None:
        trust, keys = security or Security(), Keys(url)
        window: dict[str, Any] = {
            name: options.pop(name) for name in ("window", "ranking") if name in options
        }
        worker = worker or made_up_name()
        self._onlooker = Onlooker(keys)
        self._node = _NodeProcess(self._onlooker, nodes)
        try:
            view = self._onlooker.look()
            if onlooks:
                _check_that_somebody_is_there(keys, view)
        except ConnectionError as error:
            raise FrontierUnavailable(absent(keys, error)) from error
        except FrontierUnavailable:
            self._onlooker.close()
            raise

        def task(name: str) -> str:
            engine: dict[str, Any] = {"order": order, "lease": lease, "shard": shard, **window}
            engine["politeness"] = politeness or Politeness()
            engine["limits"] = limits or FrontierLimits()
            engine["division"] = division
            return task_of(url, path, name, trust, engine, worker)

        if not onlooks:
            self._node.start(task)
        # A leader that is paused, or whose machine is gone, must be given up sooner than this worker is.
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
        """Return where the leader is; ConnectionError if there is none now."""
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


def _check_that_somebody_is_there(keys: Keys, view: View) -> None:
    if not view.order:
        raise FrontierUnavailable(
            f"There is no crawl {keys.name} in Redis at {keys.shown}: run one first, or name another with"
            " crawl=NAME in FRONTIER_URL."
        )
    if not view.nodes:
        error = NobodyThere(
            f"No worker of the crawl {keys.name} runs, and they have its frontier: start one. Its last copy"
            f" is on {view.place.replace(' ', ', in ', 1)}."
        )
        error.copy = None if "/" in keys.name else view.copy_here  # of a shard it would be a part
        raise error


class _NodeProcess:
    """Keeps a node running beside a worker, if there are too few elsewhere.

    `failure` says why it cannot be.
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
                    self.failure = f"No node of the frontier can be started: {error}."
            self._ended.wait(_LOOK)

    def _run(self, task: str) -> None:
        path = json.dumps([*(each for each in sys.path if isinstance(each, str)), ROOT])
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", PROGRAM, path],
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
        """End the node: if it leads, another goes on."""
        self._ended.set()
        self._hang_up()
        if self._thread is not None:
            self._thread.join(_ENDING)
            if self._thread.is_alive() and self._process is not None:
                self._process.kill()
                self._thread.join()
