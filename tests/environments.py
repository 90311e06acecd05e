"""Environments that have some packages and no others, made of those that the tests have."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement


def linked(directory: Path, *requirements: str) -> str:
    """Make an environment with what some requirements need, and return its Python.

    Its packages are links to those of the environment of the tests: made in a second, not a minute. Raise
    PackageNotFoundError if one is not there.
    """
    names = needed(*requirements)
    venv = [sys.executable, "-m", "venv", "--without-pip", str(directory)]
    subprocess.run(venv, check=True, timeout=60)
    (packages,) = directory.glob("lib/python*/site-packages")
    for name in names:
        files = distribution(name).files or ()
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(str(distribution(name).locate_file(top)))
    return str(directory / "bin" / "python")


def needed(*names: str) -> set[str]:
    """Return the distributions that some requirements need, by their names."""
    found: set[str] = set()
    pending = [Requirement(name) for name in names]
    while pending:
        requirement = pending.pop()
        name = requirement.name.lower()
        if (requirement.marker and not requirement.marker.evaluate({"extra": ""})) or name in found:
            continue
        found.add(name)
        pending += [Requirement(each) for each in distribution(name).requires or ()]
    return found
