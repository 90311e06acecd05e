"""Crawls with a console, for tests: as processes, and what is asked of them over HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.conftest import PROJECT

_PATIENCE = 60.0


@dataclass
class Console:
    """A running crawl and its console."""

    process: subprocess.Popen[str]
    directory: Path
    url: str
    log: Path
    port: int = field(init=False)
    token: str = field(init=False)

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        assert parts.port
        self.port, self.token = parts.port, parse_qs(parts.query)["token"][0]

    def request(
        self, method: str, path: str, body: Any = None, **headers: str
    ) -> tuple[HTTPResponse, bytes]:
        """Send a request as a program without a token does; headers are given as content_type="…"."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=_PATIENCE)
        named = {name.replace("_", "-"): text for name, text in headers.items()}
        try:
            connection.request(method, path, body, named)
            response = connection.getresponse()
            return response, response.read()
        finally:
            connection.close()

    def get(self, path: str, **query: Any) -> Any:
        """Ask the API."""
        address = f"/api/{path}?{urlencode(query)}"
        response, body = self.request("GET", address, authorization=f"Bearer {self.token}")
        assert response.status == 200, body
        return json.loads(body)

    def use(self, control: str, **said: Any) -> str:
        """Use a control; return its sentence."""
        response, body = self.request(
            "POST",
            f"/api/control/{control}",
            json.dumps(said).encode(),
            authorization=f"Bearer {self.token}",
            content_type="application/json",
        )
        answer = json.loads(body)
        assert response.status in (200, 400), body
        return str(answer["said"] if response.status == 200 else answer["error"])

    def counts(self) -> dict[str, int]:
        counts: dict[str, int] = self.get("crawl")["counts"]
        return counts

    def until(self, is_so: Callable[[], Any], seconds: float = _PATIENCE) -> Any:
        """Return what a call returns as soon as it is true."""
        end = time.monotonic() + seconds
        while not (found := is_so()):
            assert time.monotonic() < end, f"it never was so; the log: {self.log.read_text()}"
            assert self.process.poll() is None, self.log.read_text()
            time.sleep(0.1)
        return found

    def settle(self) -> dict[str, int]:
        """Return the counts of a crawl that is paused, when all that was in flight has ended."""
        before: dict[str, int] = {}
        while (counts := self.counts()) != before or counts["in_flight"]:
            before = counts
            time.sleep(1.3)  # they are counted once a second
        return counts

    def wait(self) -> str:
        """Wait for the end of the crawl; return its log."""
        self.process.wait(_PATIENCE)
        return self.log.read_text()


@contextmanager
def crawling(
    directory: Path, *arguments: str, proxy: str = "", **settings: Any
) -> Iterator[Console]:
    """Run a crawl with a console in a directory; its data is in `crawl` there."""
    options = {"JOBDIR": "crawl", "CONSOLE_PORT": 0, "FRONTIER_RETRIES": 0, **settings}
    words = [word for name, value in options.items() for word in ("-s", f"{name}={value}")]
    log = directory / "log.txt"
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    if proxy:
        environment["http_proxy"] = proxy
    with log.open("w") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", *arguments, *words],
            cwd=directory,
            env=environment,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
        )
    path = directory / "crawl" / "console"
    end = time.monotonic() + _PATIENCE
    try:
        while not (path.exists() and (url := path.read_text().strip())):
            assert process.poll() is None and time.monotonic() < end, log.read_text()
            time.sleep(0.05)
        yield Console(process, directory, url, log)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
