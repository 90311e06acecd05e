"""The wheel, installed alone: a library without Scrapy. The crawler is an extra."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

from tests.environments import PROJECT, built, installed, link_sources

pytestmark = pytest.mark.slow

USE = """
import sys
from rdfaspider.extract import extract
from rdfaspider.robots import Robots
from rdfaspider.urls import normalise
from rdfaspider.adapters.extruct import extract as as_extruct
from rdfaspider.stores import open_store

page = b'<p about="/a" property="schema:name">One</p> <a href="b">b</a>'
found = extract(page, "http://a.test/")
print(found.nquads.decode(), end="")
print(*found.links, normalise("HTTP://A.test:80/%7e"), Robots(b"User-agent: *\\nDisallow: /x", "me").allows("http://a.test/x"))
print(as_extruct(page.decode(), "http://a.test/", syntaxes=["rdfa"])["rdfa"][0]["@id"])
with open_store("store") as store:
    store.replace("http://a.test/", found.quads)
    print(store.count())
print(sorted(name for name in ("scrapy", "twisted", "rocksdict", "aiohttp", "redis") if name in sys.modules))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("source"))


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment with the wheel and what it requires, and no extra."""
    directory = tmp_path_factory.mktemp("bare")
    installed(directory, wheel)
    return directory


def run(bare: Path, *words: str) -> subprocess.CompletedProcess[str]:
    command = [str(bare / "bin" / "python"), "-I", *words]
    return subprocess.run(command, cwd=bare, capture_output=True, text=True, timeout=60)


def test_a_library_without_scrapy(bare: Path) -> None:
    done = run(bare, "-c", USE)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        '<http://a.test/a> <http://schema.org/name> "One" <http://a.test/> .',
        "http://a.test/b http://a.test/~ False",
        "http://a.test/a",
        "1",
        "[]",
    ]


def test_a_command_without_scrapy_says_what_to_install(bare: Path) -> None:
    done = run(bare, "-m", "rdfaspider", "extract", "page.html")
    assert done.returncode == 1
    assert done.stderr.startswith(
        "rdfaspider: The commands need scrapy, which is not installed: pip"
    )
    assert len(done.stderr.splitlines()) == 1
    addon = run(bare, "-c", "import rdfaspider; rdfaspider.Addon")
    assert "ImportError: rdfaspider.Addon needs scrapy" in addon.stderr
    assert "pip install 'rdfaspider[crawl]'" in addon.stderr


def test_the_first_command_of_the_tutorial_installs_a_clone(tmp_path: Path) -> None:
    link_sources(tmp_path)
    tutorial = (PROJECT / "docs" / "tutorial.md").read_text(encoding="utf-8")
    command = next(line for line in tutorial.splitlines() if line.startswith("    pip install"))
    variables = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PIP_NO_BUILD_ISOLATION": "0",
        "PIP_NO_DEPS": "1",  # those that it would fetch
        "PIP_TARGET": str(tmp_path / "target"),
    }
    subprocess.run(
        ["bash", "-ec", command], cwd=tmp_path, env={**os.environ, **variables}, check=True
    )
    assert (tmp_path / "target" / "bin" / "rdfaspider").exists()


def test_the_wheel_has_all_files_and_says_what_it_is(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        names = set(files.namelist())
        (metadata,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        about = Parser().parsestr(files.read(metadata).decode())
    tracked = subprocess.run(
        ["git", "ls-files", "rdfaspider"], cwd=PROJECT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert "rdfaspider/py.typed" in names
    assert {name for name in names if name.startswith("rdfaspider/")} == set(tracked)
    assert about["License-Expression"] == "BSD-3-Clause"
    versions = {f"Programming Language :: Python :: 3.{minor}" for minor in range(11, 15)}
    assert versions <= set(about.get_all("Classifier") or ())
    assert {"crawl", "redis", "console", "rdflib", "reference"} <= set(
        about.get_all("Provides-Extra") or ()
    )
