"""A table of a paper with our numbers beside, and where and when these were measured."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROJECT = Path(__file__).parents[3]
# A crawl without pauses, as one does on a server of one's own.
QUICK = {"POLITENESS_DELAY": 0, "POLITENESS_AT_ONCE": 16, "FRONTIER_RETRIES": 0, "STATS_DUMP": 1}


@dataclass
class Table:
    """What a paper measured and what we did, row by row; `note` says how, and what is not alike."""

    title: str
    head: list[str]
    rows: list[list[str]]
    note: str
    command: str = ""
    date: str = ""
    machine: str = ""


def machine() -> str:
    """Describe this machine, without its name."""
    cores = os.cpu_count() or 1
    load = os.getloadavg()[0]
    return (
        f"{cores} core{'s' if cores > 1 else ''} ({platform.machine()}), Python"
        f" {platform.python_version()}, load {load:.0f}"
    )


@dataclass
class Crawled:
    """The log of a crawl, its directory, its seconds from start to end, and those of CPU."""

    log: str
    jobdir: Path
    seconds: float
    cpu: float


def crawl(
    directory: Path, seeds: str, *, proxy: str = "", scope: str = "", **settings: object
) -> Crawled:
    """Crawl as a user does, in a process, into an empty directory."""
    directory.mkdir(parents=True)
    options = [word for k, v in {**QUICK, **settings}.items() for word in ("-s", f"{k}={v}")]
    command = [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", "-a", f"seeds={seeds}"]
    command += ["-a", f"scope={scope}"] if scope else []
    begin, spent = time.monotonic(), cpu_of_children()
    done = subprocess.run(
        [*command, *options],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "http_proxy": proxy},
        capture_output=True,
        text=True,
        check=False,
        timeout=1200,
    )
    seconds = time.monotonic() - begin
    if done.returncode:
        raise RuntimeError(done.stderr)
    return Crawled(done.stderr, directory / "crawl", seconds, cpu_of_children() - spent)


def cpu_of_children() -> float:
    """Return the CPU seconds of all child processes that have ended, with theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


@contextmanager
def stopwatch() -> Iterator[list[float]]:
    """Yield a list that has the seconds of the block when it has ended, by the clock and of CPU."""
    taken: list[float] = []
    begin, spent = time.perf_counter(), time.process_time()
    yield taken
    taken += [time.perf_counter() - begin, time.process_time() - spent]
