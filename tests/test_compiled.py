"""Compiled modules and their sources: which are used. That they do the same is for `make pure` to show."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from rdfaspider.compiled import MODULES, PURE, source

PROJECT = Path(__file__).parent.parent
MADE = PROJECT / "rdfaspider" / f"compiled__mypyc{EXTENSION_SUFFIXES[0]}"
needs_compiled = pytest.mark.skipif(
    not MADE.exists(), reason="nothing is compiled here: no C compiler, or make has not run"
)

# Prints the files of two modules that refer to each other.
SHOWS = """
import rdfaspider.extract.rdfa.names as one, rdfaspider.extract.triples.graph as other
print(one.__file__, other.__file__)
"""


def used(directory: Path, *, pure: bool = False) -> set[str]:
    """Return the endings of the files that a program in a checkout imports."""
    environment = {**os.environ, "PYTHONPATH": str(directory), PURE: "1" if pure else ""}
    command = [sys.executable, "-c", SHOWS]
    told = subprocess.run(
        command, cwd=directory, env=environment, check=True, capture_output=True, text=True
    ).stdout.split()
    assert all(Path(name).is_relative_to(directory) for name in told)
    return {Path(name).suffix for name in told}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name in ("pyproject.toml", "setup.py"):
        shutil.copy2(PROJECT / name, tmp_path)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PROJECT / "rdfaspider", tmp_path / "rdfaspider", ignore=ignored)
    if MADE.exists():  # a source may be newer here: no test is about that
        (tmp_path / MADE.relative_to(PROJECT)).touch()
    return tmp_path


def test_each_module_is_there_once() -> None:
    assert len({*MODULES}) == len(MODULES)
    assert all(source(module).is_file() for module in MODULES)


@needs_compiled
def test_what_is_compiled_is_used_unless_a_source_is_newer(checkout: Path) -> None:
    assert used(checkout) == {".so"}
    assert used(checkout, pure=True) == {".py"}
    # Others than are shown.
    others = ("extract/links.py", "urls/normalise.py", "compiled.py")
    for changed in others:
        (checkout / "rdfaspider" / changed).touch()
        assert used(checkout) == {".py"}
        for made in (checkout / "rdfaspider").rglob("*.so"):
            made.touch()
        assert used(checkout) == {".so"}


@needs_compiled
def test_a_module_that_is_no_longer_compiled_is_used_as_it_is_now(checkout: Path) -> None:
    listing = checkout / "rdfaspider" / "compiled.py"
    listing.write_text(listing.read_text().replace('    "rdfaspider.extract.rdfa.names",\n', ""))
    assert used(checkout) == {".py"}


@needs_compiled
def test_what_is_installed_does_not_change(checkout: Path) -> None:
    (checkout / "pyproject.toml").unlink()
    (checkout / "rdfaspider" / "extract" / "links.py").touch()
    assert used(checkout) == {".so"}


@needs_compiled
@pytest.mark.parametrize("is_installed", [False, True])
def test_without_the_library_of_all_the_sources_are_used(
    checkout: Path, is_installed: bool
) -> None:
    (checkout / MADE.relative_to(PROJECT)).unlink()
    if is_installed:
        (checkout / "pyproject.toml").unlink()
    assert used(checkout) == {".py"}


@pytest.mark.parametrize("pure", ["", "0", "1"])
def test_an_archive_has_sources_only(checkout: Path, pure: str) -> None:
    with zipfile.ZipFile(checkout / "rdfaspider.egg", "w") as egg:
        for path in (checkout / "rdfaspider").rglob("*.py"):
            egg.write(path, path.relative_to(checkout))
    shutil.rmtree(checkout / "rdfaspider")
    environment = {**os.environ, "PYTHONPATH": str(checkout / "rdfaspider.egg"), PURE: pure}
    told = subprocess.run(
        [sys.executable, "-c", "import rdfaspider.urls.keys as it; print(it.__file__)"],
        cwd=checkout,
        env=environment,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    assert "rdfaspider.egg" in told


def test_without_anything_compiled_the_sources_are_used(checkout: Path) -> None:
    for made in (checkout / "rdfaspider").rglob("*.so"):
        made.unlink()
    assert used(checkout) == {".py"}


@pytest.mark.parametrize("variable", [{PURE: "1"}, {"CC": "no-such-compiler"}])
def test_a_wheel_without_a_compiler_has_sources_only(
    checkout: Path, tmp_path: Path, variable: dict[str, str]
) -> None:
    for made in (checkout / "rdfaspider").rglob("*.so"):
        made.unlink()
    (checkout / "README.md").touch()
    command = [sys.executable, "setup.py", "--quiet", "build", "--build-base", str(tmp_path / "b")]
    subprocess.run(
        command, cwd=checkout, env={**os.environ, **variable}, check=True, capture_output=True
    )
    built = tmp_path / "b" / "lib" / "rdfaspider"
    assert (built / "extract" / "links.py").is_file()
    assert not list((tmp_path / "b").rglob("*.so"))
