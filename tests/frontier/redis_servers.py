"""Real Redis servers for tests: one, or a cluster of three, on free ports of the loopback interface."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
import redis

PROJECT = Path(__file__).parents[2]
SLOTS = 16384


def program() -> str:
    """Return the path of the server's program, or skip where there is none."""
    found = shutil.which("redis-server") or str(PROJECT / ".cache" / "redis-server")
    if not Path(found).exists():
        pytest.skip("no redis-server: run sh tests/redis.sh")
    return found


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        # The bus of a cluster's node is 10,000 ports above.
        return port if port < 55_000 else free_port()


class Server:
    """A Redis server in a directory, which can be ended and started again on its port."""

    def __init__(self, directory: Path, *options: str) -> None:
        self.directory = directory
        self.port = free_port()
        self.options = options
        self.start()

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def client(self) -> redis.Redis:
        return redis.Redis(port=self.port)

    def start(self) -> None:
        self.directory.mkdir(parents=True, exist_ok=True)
        command = [program(), "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        command += ["--dir", str(self.directory), *self.options]
        with (self.directory / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ)
        with self.client() as client:
            for _ in range(500):
                try:
                    client.ping()
                    return
                except redis.RedisError:
                    time.sleep(0.01)
        raise OSError((self.directory / "log").read_text())

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()


@contextmanager
def server(directory: Path, *options: str) -> Iterator[Server]:
    """Run a server while the block runs."""
    running = Server(directory, *options)
    try:
        yield running
    finally:
        running.kill()


@contextmanager
def cluster(directory: Path, nodes: int = 3) -> Iterator[list[Server]]:
    """Run a cluster while the block runs."""
    options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
    with ExitStack() as stack:
        servers = [stack.enter_context(server(directory / str(n), *options)) for n in range(nodes)]
        bounds = [SLOTS * n // nodes for n in range(nodes + 1)]
        for number, node in enumerate(servers):
            with node.client() as client:
                first, last = bounds[number], bounds[number + 1] - 1
                client.execute_command("CLUSTER", "ADDSLOTSRANGE", first, last)
                client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
                client.execute_command("CLUSTER", "MEET", "127.0.0.1", servers[0].port)
        _await_cluster(servers)
        yield servers


def _await_cluster(servers: list[Server]) -> None:
    for _ in range(1000):
        states = []
        for node in servers:
            with node.client() as client:
                info = client.execute_command("CLUSTER", "INFO")
                known = b"cluster_known_nodes:%d\r" % len(servers)
                states.append(b"cluster_state:ok" in info and known in info)
        if all(states):
            return
        time.sleep(0.02)
    raise OSError("the cluster does not form")
