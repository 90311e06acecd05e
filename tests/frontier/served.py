"""Services for tests: in a thread, with a clock that workers tell, or as a process of their own."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Coroutine, Mapping
from pathlib import Path
from typing import Any, Self

from rdfaspider.frontier.engine.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.service.address import Address, Security
from rdfaspider.service.server.handler import Handler
from rdfaspider.service.server.network import Service
from rdfaspider.service.worker.client import ServedFrontier

PROJECT = Path(__file__).parent.parent.parent


class ServiceProcess:
    """A service as people start it: `scrapy frontier serve`."""

    def __init__(
        self, directory: Path, order: str, settings: Mapping[str, object], shard: str = "1/1"
    ) -> None:
        self._directory = directory
        given = {"FRONTIER_URL": "frontier", "FRONTIER_ORDER": order, **settings}
        self._options = [word for name in given for word in ("-s", f"{name}={given[name]}")]
        self._options += ["--shard", shard]
        self.url = f"unix:{directory / 'frontier.sock'}"
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        with (self._directory / "service.log").open("a") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "rdfaspider", "frontier", "serve", *self._options],
                cwd=self._directory,
                env={**os.environ, "PYTHONPATH": str(PROJECT)},
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        assert self._process.stdout is not None
        assert "FRONTIER_URL=" in self._process.stdout.readline(), self.log

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> str:
        return (self._directory / "service.log").read_text()

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _end(self, number: signal.Signals) -> int:
        assert self._process is not None
        assert self._process.stdout is not None
        self._process.send_signal(number)
        self._process.stdout.close()
        return self._process.wait(60)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        assert self._end(signal.SIGTERM) == 0, self.log


class ThreadedService:
    """A service in a thread of this process."""

    def __init__(
        self,
        engine: LocalFrontier,
        address: Address,
        security: Security | None = None,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()
        self.handler = Handler(engine, clock)
        self.service = Service(self.handler, address, security or Security())
        self.run(self.service.start())

    @property
    def url(self) -> str:
        return str(self.service.address)

    def run(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(30)

    def close(self) -> None:
        try:
            self.run(self.service.close())
        finally:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join()
            self.loop.close()


class ServedAlone(ServedFrontier):
    """A frontier by way of a service that is there for it alone, and ends with it."""

    def __init__(self, engine: LocalFrontier, address: Address, now: float) -> None:
        self.engine = engine
        self.threaded = ThreadedService(engine, address)
        try:
            super().__init__(self.threaded.url, worker="only", read_ahead=0, now=now)
        except BaseException:
            self.threaded.close()
            engine.close()
            raise

    def close(self) -> None:
        super().close()
        self.threaded.close()
        self.engine.close()


def serve_alone(
    directory: Path,
    order: str,
    delay: float = 1.0,
    at_once: int = 1,
    server_delay: float | None = None,
    *,
    is_tcp: bool,
    now: float = 0.0,
    **options: Any,
) -> ServedAlone:
    """Open the frontier of a directory by way of a service."""
    manners = Politeness(delay=delay, at_once=at_once, server_delay=server_delay)
    path = str(directory / "frontier")
    engine = LocalFrontier(path, order=order, politeness=manners, now=now, **options)
    address = (
        Address(host="127.0.0.1", port=0) if is_tcp else Address(path=str(directory / "s.sock"))
    )
    return ServedAlone(engine, address, now)
