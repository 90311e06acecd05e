"""A crawl that runs out of open files: pages wait for another turn, and none is lost for it."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread, Timer
from typing import Any

import pytest

from tests.conftest import FATES, read_fates

PROJECT = Path(__file__).parent.parent
PATHS = [f"/{number}" for number in range(4)]
# Below the files that any process has open here, so that not one more can be opened.
NONE_LEFT = 8
SECONDS = 1.5


class Site(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        if self.path == self.server.trigger and not self.server.has_run_out:
            self.server.run_out()
        body = "".join(f"<a href='{path}'>x</a>" for path in PATHS).encode()
        self.send_response(404 if self.path == "/robots.txt" else 200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: Any) -> None:
        pass


class Server(ThreadingHTTPServer):
    """Takes all files from its client when that asks for a certain page, for a moment."""

    daemon_threads = True
    client = 0
    has_run_out = False

    def __init__(self, trigger: str) -> None:
        super().__init__(("127.0.0.1", 0), Site)
        self.trigger = trigger

    def run_out(self) -> None:
        self.has_run_out = True
        self.before = resource.prlimit(self.client, resource.RLIMIT_NOFILE)
        resource.prlimit(self.client, resource.RLIMIT_NOFILE, (NONE_LEFT, self.before[1]))
        self.timer = Timer(SECONDS, self.give_back)
        self.timer.start()

    def give_back(self) -> None:
        with suppress(ProcessLookupError):  # it did not wait
            resource.prlimit(self.client, resource.RLIMIT_NOFILE, self.before)


@contextmanager
def serving(trigger: str) -> Iterator[Server]:
    with Server(trigger) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
            server.timer.join()


@pytest.mark.parametrize("trigger", ["/0", "/robots.txt"])
def test_pages_wait_until_there_are_files_again(tmp_path: Path, trigger: str) -> None:
    settings = {
        "POLITENESS_DELAY": 0,
        "FRONTIER_RETRIES": 0,
        "EXTRACT_PROCESSES": 0,
        "FEEDS": FATES,
    }
    options = [word for name, value in settings.items() for word in ("-s", f"{name}={value}")]
    with serving(trigger) as server:
        origin = f"http://127.0.0.1:{server.server_port}"
        command = [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", "-a", f"seeds={origin}/"]
        with subprocess.Popen(
            [*command, *options],
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(PROJECT)},
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            server.client = process.pid
            _, output = process.communicate(timeout=60)
    assert server.has_run_out
    assert process.returncode == 0, output
    fates = dict(read_fates(tmp_path / "fates.csv"))
    assert fates == dict.fromkeys((f"{origin}{path}" for path in ("/", *PATHS)), "done/page")
    assert "No more files can be opened, so pages are put off" in output
    assert "Traceback" not in output
