"""The progress line, on a real terminal."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
import termios
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfaspider.extensions.progress import Progress, fitted
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running

if TYPE_CHECKING:
    from tests.conftest import Crawler

PROJECT = Path(__file__).parents[2]


def on_a_terminal(command: list[str], directory: Path, columns: int = 120) -> str:
    """Run a command with a pseudo-terminal for its output and return what it wrote."""
    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, columns))
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
    line = r"\r\x1b\[K\d+ pages  [\d.]+/s  \d+ triples  \d+ waiting  \d in flight  0 errors"
    line += r"  [\d.]+k?B/s  0:\d\d"
    assert len(re.findall(line, output)) >= 2
    # Each message of the log begins on a line of its own.
    assert re.search(r"\r\x1b\[K\d\d:\d\d:\d\d INFO Closing spider", output)
    assert re.search(r"\r\x1b\[K\d\d:\d\d:\d\d INFO Crawl finished", output)


@pytest.mark.slow
def test_a_log_has_a_line_now_and_then(crawl: Crawler) -> None:
    with running(Parameters(levels=2, pages=4, latency=0.05)) as origin:
        found = crawl(f"{origin}/", PROGRESS_INTERVAL=0.3, POLITENESS_AT_ONCE=1)
    assert re.search(r"INFO \d+ pages  [\d.]+/s  \d+ triples", found.output)
    assert "\x1b" not in found.output


@pytest.mark.parametrize("columns", [50, 80, 120])
def test_the_line_is_never_wider_than_the_terminal(tmp_path: Path, columns: int) -> None:
    with running(Parameters(levels=1, pages=6, latency=0.05)) as origin:
        command = [sys.executable, "-m", "rdfaspider", "crawl", "rdfa", "-a", f"seeds={origin}/"]
        output = on_a_terminal([*command, "-s", "POLITENESS_DELAY=0.2"], tmp_path, columns)
    lines = re.findall(r"\r\x1b\[K(\d+ pages[^\r\n]*)", output)
    assert lines
    assert max(map(len, lines)) < columns


@pytest.mark.parametrize("width", [10, 49, 79, 119])
def test_the_first_fields_stay_when_there_is_no_room_for_all(width: int) -> None:
    fields = ["1,234,567 pages", "1,234.5/s", "123,456,789 triples", "99,999,999 waiting"]
    fields += ["64 in flight", "12,345 errors", "123:45:07"]
    line = fitted(fields, width)
    assert len(line) <= width
    assert line.startswith(fields[0][:width])


def test_the_rate_does_not_flicker_between_two_reports_of_the_counters() -> None:
    """The counters come once a second and the line twice: 14 a second is 14 in every line."""
    stats = FakeStats()
    progress = Progress(stats, 60.0, sys.stderr)  # type: ignore[arg-type]
    progress._started = 0.0
    progress._samples.append((0.0, 0, 0))
    rates = []
    for tick in range(1, 60):
        seconds = tick / 2
        stats.values["frontier/done/page"] = 14 * int(seconds)
        rates.append(float(progress._fields(seconds)[1].removesuffix("/s")))
    assert all(11 <= rate <= 17 for rate in rates[12:]), rates


class FakeStats:
    """A stand-in for Scrapy's stats, to feed exact counters by a clock of its own."""

    def __init__(self) -> None:
        self.values: dict[str, int] = {}

    def get_value(self, name: str, default: int) -> int:
        return self.values.get(name, default)
