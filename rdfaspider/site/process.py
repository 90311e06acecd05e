"""A generated web in another process, for tests and benchmarks."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rdfaspider.children import command, read_task
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.server import serve
from rdfaspider.site.web import Web


@contextmanager
def running(
    parameters: Parameters, *, port: int = 0, start: float = 0.0, log: Path | None = None
) -> Iterator[str]:
    """Serve a web from another process while the block runs; the value is the server's URL.

    `start` is the web's time when the server begins: a test of pages that change starts a second
    server later in time instead of waiting. OSError, with the server's sentence, if it fails.
    """
    task = {"web": asdict(parameters), "port": port, "start": start, "log": str(log or "")}
    pipe = subprocess.PIPE
    with subprocess.Popen(
        command("rdfaspider.site.process"), stdin=pipe, stdout=pipe, stderr=pipe, text=True
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        try:
            process.stdin.write(json.dumps(task) + "\n")
            process.stdin.flush()
            url = process.stdout.readline().strip()
            if not url:
                raise OSError(process.stderr.read().strip())
            yield url
        finally:
            process.stdin.close()
            process.wait(10)


def main() -> None:
    """Serve the web that the task describes, and print its URL, until the parent ends."""
    try:
        asyncio.run(_serve(json.loads(read_task())))
    except OSError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass


async def _serve(task: dict[str, Any]) -> None:
    # JSON has no tuples.
    knobs = task["web"] | {name: tuple(task["web"][name]) for name in ("languages", "scripts")}
    ended = asyncio.Event()
    asyncio.get_running_loop().add_reader(sys.stdin, ended.set)
    with ExitStack() as stack:
        log = stack.enter_context(Path(task["log"]).open("a", 1)) if task["log"] else None
        web = Web(Parameters(**knobs))
        async with serve(web, port=task["port"], start=task["start"], log=log) as url:
            print(url, flush=True)
            await ended.wait()
