"""The servers beside the contenders, and what they use of the machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.frontier.redis_servers import program

PROJECT = Path(__file__).parents[3]


def cpu_seconds(process: int) -> float:
    """Return the CPU time that a process has used."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def children() -> set[int]:
    """Return the child processes of this one."""
    return set(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()))


@contextmanager
def redis(directory: Path) -> Iterator[str]:
    """Run a Redis server that keeps everything in memory; the value is its URL."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = {"port": port, "bind": "127.0.0.1", "save": "", "dir": directory, "daemonize": "no"}
    command = [
        program(),
        *(word for name, value in options.items() for word in (f"--{name}", value)),
    ]
    null = subprocess.DEVNULL
    with subprocess.Popen([str(word) for word in command], stdout=null, stderr=null) as process:
        try:
            _await(port)
            yield f"redis://127.0.0.1:{port}"
        finally:
            process.terminate()


@contextmanager
def files(directory: Path) -> Iterator[str]:
    """Serve the pages of a folder; the value is the server's URL."""
    command = [sys.executable, "-m", "tests.benchmarks.speed.files", str(directory)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=PROJECT, stdin=pipe, stdout=pipe, text=True) as process:
        assert process.stdin and process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.stdin.close()


def _await(port: int) -> None:
    deadline = time.monotonic() + 20
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            assert time.monotonic() < deadline, "Redis does not answer"
            time.sleep(0.05)
