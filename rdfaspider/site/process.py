"""A generated web in another process, for tests and benchmarks."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rdfaspider.site.parameters import Parameters, write_options

# Where the package is found, wherever the server is started.
_ROOT = Path(__file__).parents[2]


@contextmanager
def running(
    parameters: Parameters, *, port: int = 0, start: float = 0.0, log: Path | None = None
) -> Iterator[str]:
    """Serve a web from another process while the block runs; the value is the server's URL.

    `start` is the web's time when the server begins: a test of pages that change starts a second
    server later in time instead of waiting. OSError, with the server's sentence, if it fails.
    """
    command = [sys.executable, "-m", "rdfaspider.site", *write_options(parameters)]
    # The server ends with its input, so it never outlives the process that started it.
    command += [f"--port={port}", f"--start={start}", "--stdin"]
    if log:
        command.append(f"--access-log={log}")
    pipe, paths = subprocess.PIPE, (str(_ROOT), os.environ.get("PYTHONPATH", ""))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    with subprocess.Popen(
        command, stdin=pipe, stdout=pipe, stderr=pipe, text=True, env=environment
    ) as process:
        assert process.stdin and process.stdout and process.stderr
        try:
            url = process.stdout.readline().strip()
            if not url:
                raise OSError(process.stderr.read().strip())
            yield url
        finally:
            process.stdin.close()
            process.wait(10)
