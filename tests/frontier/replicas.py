"""Nodes of a replicated frontier for tests, as processes of their own."""

from __future__ import annotations

import asyncio
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, Self

from rdfaspider.children import command
from rdfaspider.frontier.limits import FrontierLimits
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.service.address import Address, Security
from rdfaspider.service.replica.journal import Journal, unpack
from rdfaspider.service.replica.logged import LoggedFrontier, Standing
from rdfaspider.service.replica.process import task_of
from rdfaspider.service.replica.registry import BEGINNING, Keys, Onlooker, Registry, View
from rdfaspider.service.server.handler import Handler
from rdfaspider.service.server.network import Service
from rdfaspider.service.worker.client import ServedFrontier
from tests.frontier import redis_servers


def url_of(server: redis_servers.Server, crawl: str = "test") -> str:
    return f"redis://127.0.0.1:{server.port}/0?crawl={crawl}"


class NodeProcess:
    """A node that ends with this process, and can be killed, paused, wiped and started again."""

    def __init__(self, url: str, path: Path, **options: Any) -> None:
        self.path, self._url = path, url
        self._options = {
            "order": "breadth",
            "lease": 600.0,
            "politeness": Politeness(delay=0.0),
            "limits": FrontierLimits(),
            **options,
        }
        self._starts = 0
        self.start()

    @property
    def name(self) -> str:
        return f"{self.path.name}-{self._starts}"

    def start(self) -> None:
        self._starts += 1
        task = task_of(self._url, str(self.path), self.name, Security(), self._options)
        with self.log_path.open("a") as log:
            self.process = subprocess.Popen(
                command("rdfaspider.service.replica.process"),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self.process.stdin is not None
        self.process.stdin.write(task + "\n")
        self.process.stdin.flush()

    @property
    def log_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}.log")

    @property
    def log(self) -> str:
        return self.log_path.read_text()

    def kill(self, *, wiped: bool = False) -> None:
        self.process.kill()
        self._reap()
        if wiped:
            shutil.rmtree(self.path)

    def pause(self) -> None:
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        self.process.send_signal(signal.SIGCONT)

    def end(self) -> str:
        """End it as its worker's end does; return what it has said."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self._reap()

    def _reap(self) -> str:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        with self.process.stdout:
            said = self.process.stdout.read()
        self.process.wait(60)
        if not self.process.stdin.closed:
            self.process.stdin.close()
        return said

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        if self.process.poll() is None:
            self.resume()
            self.end()


def view_of(url: str) -> View:
    """Return what Redis knows now."""
    onlooker = Onlooker(Keys(url))
    try:
        return onlooker.look()
    finally:
        onlooker.close()


def await_leader(url: str, *nodes: NodeProcess, seconds: float = 120.0) -> NodeProcess:
    """Return the node of these that leads, as soon as one does."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        view = view_of(url)
        for node in nodes:
            if view.leader == node.name and view.nodes.get(node.name, {}).get("address"):
                return node
        time.sleep(0.02)
    raise AssertionError([node.log for node in nodes])


def await_standby(url: str, node: NodeProcess, seconds: float = 120.0) -> None:
    """Wait until a standby has a copy and has done all that the log says."""
    end = time.monotonic() + seconds
    onlooker = Onlooker(Keys(url))
    while time.monotonic() < end:
        nodes = onlooker.look().nodes
        last = onlooker._redis.call("xrevrange", onlooker.keys.log, "+", "-", 1)
        if last and nodes.get(node.name, {}).get("position") == last[0][0].decode():
            onlooker.close()
            return
        time.sleep(0.02)
    raise AssertionError(node.log)


class Leading:
    """A leader and a standby in a thread of this process, with a clock that the worker tells.

    When it is closed, the standby must have come to the same.
    """

    def __init__(self, url: str, directory: Path, now: float, **options: Any) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        try:
            self.engine = LoggedFrontier(str(directory / "frontier"), now=now, **options)
            try:
                self._copy = LoggedFrontier(str(directory / "standby"), now=now, **options)
                self._run(self._start(url))
            except BaseException:
                self.engine.close()
                raise
        except BaseException:
            self._stop()
            raise

    def _run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result(30)

    async def _start(self, url: str) -> None:
        self._registry = Registry(Keys(url), "leader")
        await self._registry.open(self.engine.order, time.time)
        self._standing = self._copy.standing or Standing("", 0, BEGINNING)
        number = await self._registry.take(0)
        self._journal = Journal(self._registry, number, self._standing.position)
        await self._journal.begin(is_whole=True)
        self.engine.record = self._journal.record
        handler = Handler(self.engine, None, number)
        self.service = Service(handler, Address(host="127.0.0.1"), Security("secret"))
        self.service.commit = self._journal.commit
        await self.service.start()
        self._tasks = [
            asyncio.create_task(each) for each in (self._journal.run(), self._follow_on())
        ]

    async def _follow_on(self) -> None:
        while True:
            await self._follow(waits=True)

    async def _follow(self, *, waits: bool) -> bool:
        entries = await self._registry.read(self._standing.position, waits=waits)
        for position, entry in entries:
            for name, *words in unpack(entry):
                if name != "lead":
                    self._copy.do(name, *words)
            self._standing = Standing("", 0, position)
        return bool(entries)

    def close(self) -> None:
        try:
            self._run(self._close())
            told, copied = self.engine.counts(), self._copy.counts()
        finally:
            self.engine.close()
            self._copy.close()
            self._stop()
        assert (copied.seen, copied.done, copied.failed, copied.denied) == (
            told.seen,
            told.done,
            told.failed,
            told.denied,
        )

    async def _close(self) -> None:
        await self.service.close()
        await self._journal.flush()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        while await self._follow(waits=False):
            pass
        self._copy.stand(self._standing)
        await self._registry.leave()
        await self._registry.close()

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class ReplicatedAlone(ServedFrontier):
    """A frontier by way of a leader with a standby, which are there for it alone."""

    def __init__(self, leading: Leading, now: float) -> None:
        self.leading, self.engine = leading, leading.engine
        super().__init__(
            str(leading.service.address),
            security=Security("secret"),
            worker="only",
            read_ahead=0,
            now=now,
        )

    def close(self) -> None:
        if not self._is_closed:
            super().close()
            self.leading.close()


def replicate_alone(
    url: str,
    directory: Path,
    order: str,
    delay: float = 1.0,
    at_once: int = 1,
    server_delay: float | None = None,
    now: float = 0.0,
    **options: Any,
) -> ReplicatedAlone:
    """Open the frontier of a directory by way of a leader with a standby."""
    manners = Politeness(delay=delay, at_once=at_once, server_delay=server_delay)
    leading = Leading(url, directory, now, order=order, politeness=manners, **options)
    return ReplicatedAlone(leading, now)
