"""A crawler of another language under the same meter: one crawl, metered from outside.

    python -m tests.benchmarks.speed.peer RESULT DIRECTORY SEEDS [--redis URL] --peer NAME

The program prints `begin` when it is about to ask for its first page and `end` when it has its last
one, writes the URL of each answer to DIRECTORY/pages.txt, and ends with its input. As with the others,
what it takes to start does not count.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
from pathlib import Path
from threading import Timer
from time import perf_counter
from typing import IO

from tests.benchmarks.speed import programs
from tests.benchmarks.speed.meter import Offspring, core_seconds, most_memory

# Seconds after which the program is taken for stuck; the benchmark itself waits a little longer.
LONGEST = 570


def main() -> None:
    arguments = _read_arguments()
    command = [*programs.PEERS[arguments.peer].command(), arguments.directory, arguments.seeds]
    if arguments.redis:
        command.append(arguments.redis)
    pipe = subprocess.PIPE
    with (Path(arguments.directory) / "log").open("wb") as log:
        process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=log, text=True)
    watch = Timer(LONGEST, process.kill)
    watch.start()
    offspring = Offspring(process.pid)
    offspring.start()
    with process:
        assert process.stdin and process.stdout
        _await(process.stdout, "begin", log.name)
        start, core, before = perf_counter(), core_seconds(), _cpu_seconds(process.pid)
        _await(process.stdout, "end", log.name)
        seconds, core = perf_counter() - start, core_seconds() - core
        own, children = (
            now - then for now, then in zip(_cpu_seconds(process.pid), before, strict=True)
        )
        memory = most_memory(process.pid)
        process.stdin.close()
    watch.cancel()
    pages = (Path(arguments.directory) / "pages.txt").read_text().split()
    result = {
        "seconds": seconds,
        "own": own,
        "children": children,
        "others": max(0.0, core - own - children) / seconds,
        "memory": memory,
        "children_memory": offspring.most_memory,
        # A page that is fetched twice is one page.
        "answers": len(set(pages)),
        "samples": {},
    }
    Path(arguments.result).write_text(json.dumps(result))


def _read_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("result", help="file for the measured numbers")
    parser.add_argument("directory", help="where the contender may write")
    parser.add_argument("seeds", help="file with a URL a line")
    parser.add_argument("--follow", action="store_true", help="for the others: all here follow")
    parser.add_argument("--redis", default="", help="URL of a Redis server")
    parser.add_argument("--peer", required=True, choices=programs.PEERS)
    return parser.parse_args()


def _await(output: IO[str], word: str, log: str) -> None:
    """Wait for a line of this one word; others may chat on their standard output."""
    for line in output:
        if line.strip() == word:
            return
    raise SystemExit(f"no {word!r}: {Path(log).read_text(errors='replace')[-2000:]}")


def _cpu_seconds(process: int) -> tuple[float, float]:
    """Return the CPU time of a process, and of its children that have ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    own, own_system, children, children_system = map(int, fields[11:15])
    tick = os.sysconf("SC_CLK_TCK")
    return (own + own_system) / tick, (children + children_system) / tick


if __name__ == "__main__":
    main()
