"""Real Redis servers for tests: one, a pair, Sentinels, or a cluster, on free ports of the loopback."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
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

    def __init__(self, directory: Path, *options: str, file: Path | None = None) -> None:
        self.directory = directory
        self._file = file  # the configuration of a Sentinel
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
        common = ["--port", str(self.port), "--bind", "127.0.0.1", "--dir", str(self.directory)]
        if self._file is not None:
            command = [program(), str(self._file), "--sentinel", *common]
        else:
            command = [program(), *common, "--save", "", "--repl-diskless-sync-delay", "0"]
        command += self.options
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
def server(directory: Path, *options: str, file: Path | None = None) -> Iterator[Server]:
    """Run a server while the block runs."""
    running = Server(directory, *options, file=file)
    try:
        yield running
    finally:
        running.kill()


class Switch:
    """An address that leads to one server and, once switched, to another.

    While `is_held`, what is sent does not arrive.
    """

    def __init__(self, target: Server) -> None:
        self.target = target
        self.is_held = False
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def port(self) -> int:
        port: int = self._listener.getsockname()[1]
        return port

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def switch(self, target: Server) -> None:
        self.target = target
        for end in self._open:
            end.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self.target.port))
            except ConnectionError:
                near.close()
                continue
            except OSError:  # it is closed
                return
            self._open += [near, far]
            for source, sink in ((near, far), (far, near)):
                threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                while self.is_held:
                    time.sleep(0.01)
                sink.sendall(data)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for end in self._open:
            end.close()
        self.is_held = False


class Pair:
    """A server and its replica behind one address, and the wire by which the one follows the other."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self.first = stack.enter_context(server(directory / "first"))
        self.wire = stack.enter_context(closing(Switch(self.first)))
        options = ("--replicaof", "127.0.0.1", str(self.wire.port))
        self.second = stack.enter_context(server(directory / "second", *options))
        self._front = stack.enter_context(closing(Switch(self.first)))
        self.url = self._front.url
        _await_replica(self.first)

    def kill_first(self) -> None:
        self.first.kill()
        self.wire.close()  # what is on its way is lost

    def promote_second(self) -> None:
        with self.second.client() as client:
            client.replicaof("NO", "ONE")
        self._front.switch(self.second)


@contextmanager
def pair(directory: Path) -> Iterator[Pair]:
    """Run a server and its replica while the block runs."""
    with ExitStack() as stack:
        yield Pair(directory, stack)


def _await_replica(primary: Server) -> None:
    with primary.client() as client:
        for _ in range(1000):
            client.set("tried", 1)
            if client.wait(1, 20):
                return
    raise OSError("the replica does not follow")


class Watched:
    """A primary and its replica, and three Sentinels that watch them."""

    def __init__(self, directory: Path, stack: ExitStack) -> None:
        self.primary = stack.enter_context(server(directory / "primary"))
        options = ("--replicaof", "127.0.0.1", str(self.primary.port))
        self.replica = stack.enter_context(server(directory / "replica", *options))
        _await_replica(self.primary)
        self._sentinels = [self._start(directory / f"sentinel{n}", stack) for n in range(3)]
        places = ",".join(f"127.0.0.1:{each.port}" for each in self._sentinels)
        self.url = f"redis+sentinel://{places}/main/0"
        for sentinel in self._sentinels:
            self._await_others(sentinel)

    def _start(self, directory: Path, stack: ExitStack) -> Server:
        directory.mkdir(parents=True)
        (directory / "sentinel.conf").write_text(
            f"sentinel monitor main 127.0.0.1 {self.primary.port} 2\n"
            "sentinel down-after-milliseconds main 1000\nsentinel failover-timeout main 5000\n"
        )
        return stack.enter_context(server(directory, file=directory / "sentinel.conf"))

    def _await_others(self, sentinel: Server) -> None:
        with sentinel.client() as client:
            for _ in range(1000):
                about = client.info("sentinel").get("master0", {})
                if (about.get("slaves"), about.get("sentinels")) == (1, 3):
                    return
                time.sleep(0.02)
        raise OSError("the Sentinels do not find each other")


@contextmanager
def watched(directory: Path) -> Iterator[Watched]:
    """Run a primary, its replica and their Sentinels while the block runs."""
    with ExitStack() as stack:
        yield Watched(directory, stack)


@contextmanager
def cluster(directory: Path, nodes: int = 3, *, replicated: bool = False) -> Iterator[list[Server]]:
    """Run a cluster while the block runs; replicas follow their primaries in the list."""
    options = ("--cluster-enabled", "yes", "--cluster-node-timeout", "2000")
    with ExitStack() as stack:
        count = 2 * nodes if replicated else nodes
        servers = [stack.enter_context(server(directory / str(n), *options)) for n in range(count)]
        bounds = [SLOTS * n // nodes for n in range(nodes + 1)]
        for number, node in enumerate(servers):
            with node.client() as client:
                if number < nodes:
                    first, last = bounds[number], bounds[number + 1] - 1
                    client.execute_command("CLUSTER", "ADDSLOTSRANGE", first, last)
                client.execute_command("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
                client.execute_command("CLUSTER", "MEET", "127.0.0.1", servers[0].port)
        _await_cluster(servers)
        for primary, replica in zip(servers, servers[nodes:], strict=False):
            with primary.client() as one, replica.client() as other:
                name = one.execute_command("CLUSTER", "MYID")
                other.execute_command("CLUSTER", "REPLICATE", name)
        if replicated:
            _await_replicas(servers)
        yield servers


def _await_replicas(servers: list[Server]) -> None:
    """Wait until all nodes know of all replicas, and these have what their primaries have."""
    for node in servers:
        with node.client() as client:
            for _ in range(1000):
                replicas = client.execute_command("CLUSTER", "NODES").count(b"slave ")
                is_behind = client.info("replication").get("master_link_status") == "down"
                if replicas == len(servers) // 2 and not is_behind:
                    break
                time.sleep(0.02)
            else:
                raise OSError("the replicas do not follow")


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
