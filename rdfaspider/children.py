"""Child processes that run a part of this package and end with their parent.

A child gets the import path of this process, so it finds the same package in a checkout, in an installation
and in the egg that scrapyd runs. Its task is the first line of its standard input, which then stays open:
its end is the end of the parent, even if that was killed. Standard input is read without Python's file
object, which a thread must not hold when the process ends.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path


class ChildrenUnavailable(OSError):
    """No child process can be started; the message says why. Then the crawl ends for `finish_reason`."""

    finish_reason = ""


_STDIN = 0
# The folder that holds the package, or the egg, which Python imports from like a folder.
_ROOT = str(Path(__file__).parents[1])
_PROGRAM = (
    "import json, sys; sys.path[:] = json.loads(sys.argv[1])\n"
    "from {} import main; main(*sys.argv[2:])"
)


def command(module: str, *arguments: str) -> list[str]:
    """Return the command of a child that calls `main` of a module."""
    path = json.dumps([*(each for each in sys.path if isinstance(each, str)), _ROOT])
    return [sys.executable, "-P", "-c", _PROGRAM.format(module), path, *arguments]


def read_task() -> bytes:
    """Return the task of this child; end it if its parent has ended already."""
    task = b""
    while not task.endswith(b"\n"):
        task += (part := os.read(_STDIN, 1 << 16))
        if not part:
            sys.exit(1)
    return task


def await_end_of_parent() -> None:
    """Return when the parent has ended, or has closed the child's standard input."""
    while os.read(_STDIN, 1 << 16):
        pass
