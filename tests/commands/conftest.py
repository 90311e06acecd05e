"""Commands as people run them: at a terminal, and into a pipe whose reader has seen enough."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.stores.conftest import faulty, fuseki, oxigraph, rdf4j

__all__ = ["at_terminal", "faulty", "fuseki", "into_head", "oxigraph", "rdf4j"]

PROJECT = Path(__file__).parents[2]

# What would make a command behave otherwise than it does for most people.
_STRANGE = frozenset(("COLUMNS", "LINES", "PYTHONUNBUFFERED", "PYTHONIOENCODING"))


def _environment(**others: str) -> dict[str, str]:
    usual = {name: value for name, value in os.environ.items() if name not in _STRANGE}
    return {**usual, "PYTHONPATH": str(PROJECT), **others}


class Shown(NamedTuple):
    """What a terminal was sent, and the exit code; `lines` are what is left of it on the screen."""

    text: str
    code: int

    @property
    def lines(self) -> list[str]:
        # A line that was renewed is what came after it was cleared the last time.
        return [re.split(r"\r\x1b\[K|\r", line.rstrip("\r"))[-1] for line in self.text.split("\n")]


AtTerminal = Callable[..., Shown]


@pytest.fixture
def at_terminal(tmp_path: Path) -> AtTerminal:
    """Run `scrapy …` at a terminal of a given width, and type answers."""

    def run(*arguments: str, columns: int = 80, typed: str = "", encoding: str = "utf-8") -> Shown:
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        environment = _environment(PYTHONIOENCODING=encoding)
        command = [sys.executable, "-m", "rdfaspider", *arguments]
        with subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdin=follower, stdout=follower, stderr=follower
        ) as process:
            os.close(follower)
            os.write(leader, typed.encode())
            chunks = []
            try:
                while chunk := os.read(leader, 65536):
                    chunks.append(chunk)
            except OSError:  # what Linux says when nobody has the other end open
                pass
        os.close(leader)
        return Shown(b"".join(chunks).decode(encoding).replace("\r\n", "\n"), process.returncode)

    return run


class Piped(NamedTuple):
    """The first line that a command wrote, what it complained of, and its exit code."""

    line: str
    errors: str
    code: int


IntoHead = Callable[..., Piped]


@pytest.fixture
def into_head(tmp_path: Path) -> IntoHead:
    """Run `scrapy … | head -1`."""

    def run(*arguments: str) -> Piped:
        command = [sys.executable, "-m", "rdfaspider", *arguments]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, cwd=tmp_path, env=_environment(), stdout=pipe, stderr=pipe, text=True
        ) as process:
            assert process.stdout and process.stderr
            line = process.stdout.readline()
            process.stdout.close()
            errors = process.stderr.read()
        return Piped(line, errors, process.returncode)

    return run
