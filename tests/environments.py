"""Environments that have some packages and no others, made of those that the tests have."""

from __future__ import annotations

import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement

PROJECT = Path(__file__).parent.parent
ABOUT = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
_SCRIPT = "#!{python}\nimport sys\nfrom {module} import {name}\nsys.exit({name}())\n"


def linked(directory: Path, *requirements: str) -> str:
    """Make an environment with what some requirements need, and return its Python.

    Its packages are links to those of the environment of the tests: made in a second, not a minute. Raise
    PackageNotFoundError if one is not there.
    """
    names = needed(*requirements)
    venv = [sys.executable, "-m", "venv", "--without-pip", str(directory)]
    subprocess.run(venv, check=True, timeout=60)
    packages = packages_of(directory)
    for name in names:
        files = distribution(name).files or ()
        for top in {file.parts[0] for file in files} - {"..", "__pycache__"}:
            if not (packages / top).exists():
                (packages / top).symlink_to(str(distribution(name).locate_file(top)))
        for script in distribution(name).entry_points.select(group="console_scripts"):
            add_script(directory, script.name, script.value)
    return str(directory / "bin" / "python")


def installed(directory: Path, wheel: Path, *extras: str) -> str:
    """Make an environment as pip does for our wheel with some extras, and return its Python."""
    wanted = [*ABOUT["dependencies"]]
    for extra in extras:
        wanted += ABOUT["optional-dependencies"][extra]
    python = linked(directory, *wanted)
    with zipfile.ZipFile(wheel) as files:
        files.extractall(packages_of(directory))
    for name, value in ABOUT["scripts"].items():
        add_script(directory, name, value)
    return python


def built(directory: Path) -> Path:
    """Build the wheel as a release does."""
    link_sources(directory)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run(
        [*command, "--wheel-dir", str(directory / "dist"), str(directory)],
        check=True,
        timeout=300,
    )
    (wheel,) = (directory / "dist").glob("rdfaspider-*.whl")
    return wheel


def link_sources(directory: Path) -> None:
    """Make a copy of the project that can be built in an empty directory: a build leaves files behind."""
    for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "NOTICE", "rdfaspider"):
        (directory / name).symlink_to(PROJECT / name)


def packages_of(directory: Path) -> Path:
    (packages,) = directory.glob("lib/python*/site-packages")
    return packages


def add_script(directory: Path, name: str, value: str) -> None:
    """Make a command of an entry point, `module:function`."""
    module, _, function = value.partition(":")
    script = directory / "bin" / name
    script.write_text(
        _SCRIPT.format(python=directory / "bin" / "python", module=module, name=function)
    )
    script.chmod(0o755)


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
