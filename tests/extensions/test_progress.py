"""The progress line, on a real terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running

if TYPE_CHECKING:
    from tests.conftest import Crawler

PROJECT = Path(__file__).parents[2]


def on_a_terminal(command: list[str], directory: Path) -> str:
    """Run a command with a pseudo-terminal for its output and return what it wrote."""
    ours, theirs = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    with subprocess.Popen(
        command, cwd=directory, env=environment, stdin=theirs, stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        chunks = []
        try:
            while chunk := os.read(ours, 65536):
                chunks.append(chunk)
        except OSError:
            pass  # Linux says so when the other end is closed
        os.close(ours)
    assert process.returncode == 0
    return b"".join(chunks).decode()


def test_a_terminal_has_a_line_that_renews_itself(tmp_path: Path) -> None:
    with running(Parameters(levels=2, pages=4, latency=0.05)) as origin:
        command = [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", "-a", f"seeds={origin}/"]
        output = on_a_terminal([*command, "-s", "POLITENESS_DELAY=0.1"], tmp_path)
    line = r"\r\x1b\[K\d+ pages  [\d.]+/s  \d+ triples  \d+ waiting  0 errors  0:\d\d"
    assert len(re.findall(line, output)) >= 2
    # Each message of the log begins on a line of its own.
    assert re.search(r"\r\x1b\[K\d\d:\d\d:\d\d INFO Closing spider", output)
    assert re.search(r"\r\x1b\[K\d\d:\d\d:\d\d INFO Crawl finished", output)


def test_a_log_has_a_line_now_and_then(crawl: Crawler) -> None:
    with running(Parameters(levels=2, pages=4, latency=0.05)) as origin:
        found = crawl(f"{origin}/", PROGRESS_INTERVAL=0.3, POLITENESS_AT_ONCE=1)
    assert re.search(r"INFO \d+ pages  [\d.]+/s  \d+ triples", found.output)
    assert "\x1b" not in found.output
