"""A crawl that is told to stop ends within seconds, and says what it waits for."""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

PROJECT = Path(__file__).parents[2]


@pytest.mark.parametrize("workers", [1, 2])
def test_a_stop_does_not_wait_for_a_server_that_never_answers(tmp_path: Path, workers: int) -> None:
    settings = {"WORKERS": workers, "ROBOTS_OBEY": 0, "EXTRACT_PROCESSES": 0}
    options = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it accepts and never answers
        seed = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with subprocess.Popen(
            [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", "-a", f"seeds={seed}", *options],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            stderr=subprocess.PIPE,
            text=True,
        ) as crawl:
            silent.settimeout(60)
            connection, _ = silent.accept()
            with connection:
                connection.settimeout(60)
                connection.recv(1)  # the request is on its way
                started = time.monotonic()
                crawl.send_signal(signal.SIGTERM)
                _, output = crawl.communicate(timeout=60)
    # DOWNLOAD_TIMEOUT is 30 seconds, and a busy machine needs some to end the processes.
    assert time.monotonic() - started < 20, output
    assert crawl.returncode == 0, output
    assert re.search("Stopping: waiting for 1 page in flight; the next run fetches", output), output
    assert "1 URL = 0 done + 0 failed + 0 denied + 1 waiting" in output
    assert "Traceback" not in output
