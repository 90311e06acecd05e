"""The locks name every package that is needed, once, by version and hash, and nothing of the machine."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

PROJECT = Path(__file__).parent.parent
LOCKS = {path.stem: path for path in (PROJECT / "locks").glob("*.txt")}
PYPROJECT = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PYPROJECT["project"]["optional-dependencies"]
LINES = (PROJECT / "requirements.txt").read_text(encoding="utf-8").splitlines()
RUNTIME = [line for line in LINES if line and line[0] != "#"]
BUILD = PYPROJECT["build-system"]["requires"]

ANALYSIS = [line for line in EXTRAS["analysis"] if line != "rdfaspider[crawl]"]


# requirements.txt has the reasons; a scrapyd host installs it, and not the project.
def test_a_crawl_needs_what_the_library_the_crawler_and_redis_need() -> None:
    extras = [line for name in ("crawl", "redis") for line in EXTRAS[name]]
    declared = [*PYPROJECT["project"]["dependencies"], *extras]
    wanted = [line for line in declared if not line.startswith("rdfaspider[")]
    assert sorted(map(str, map(Requirement, wanted))) == sorted(map(str, map(Requirement, RUNTIME)))


# What each lock must be able to install.
NEEDS = {
    "crawl": RUNTIME,
    "build": BUILD,
    "test": [*RUNTIME, *BUILD, *EXTRAS["test"], *EXTRAS["lint"], *ANALYSIS],
    "bench": [*RUNTIME, *EXTRAS["bench"]],
    "replay": PYPROJECT["dependency-groups"]["replay"],
    "lock": ["uv"],
}

ENTRY = re.compile(
    r"([\w.-]+)==([\w.+!]+)((?: ; [^\\\n]+)?)((?: \\\n    --hash=sha256:[0-9a-f]{64})+)\n"
)
COMMENT = re.compile(r" *#[^\n]*\n|\n")


def read(name: str) -> dict[str, Version]:
    """Return the versions that a lock pins for this Python."""
    pins: dict[str, Version] = {}
    for package, version, marker, _ in ENTRY.findall(LOCKS[name].read_text(encoding="utf-8")):
        requirement = Requirement(f"{package}{marker}")
        if requirement.marker is None or requirement.marker.evaluate():
            assert canonicalize_name(package) not in pins, f"{package} is pinned twice."
            pins[canonicalize_name(package)] = Version(version)
    return pins


def test_every_lock_is_known() -> None:
    assert LOCKS.keys() == NEEDS.keys()


@pytest.mark.parametrize("name", LOCKS)
def test_a_lock_holds_pins_with_hashes_and_nothing_else(name: str) -> None:
    text = LOCKS[name].read_text(encoding="utf-8")
    assert not COMMENT.sub("", ENTRY.sub("", text)), "an option, a URL, or a pin without a hash"
    assert "://" not in text
    assert not re.search(r"(^|\s)/\w", text), "a path of the machine that it was made on"


@pytest.mark.parametrize(
    ("name", "needed"), [(name, line) for name, lines in NEEDS.items() for line in lines]
)
def test_a_lock_has_what_is_needed(name: str, needed: str) -> None:
    requirement = Requirement(needed)
    if requirement.marker and not requirement.marker.evaluate():
        pytest.skip("not for this Python")
    version = read(name).get(canonicalize_name(requirement.name))
    assert version, f"locks/{name}.txt lacks {requirement.name}: make lock"
    assert version in requirement.specifier, f"locks/{name}.txt has {version}: make lock"


@pytest.mark.parametrize("name", sorted(LOCKS.keys() - {"bench", "replay", "lock"}))
def test_a_lock_has_what_its_packages_need(name: str) -> None:
    """Which pip finds too, but only where nothing of it is installed yet."""
    pins = read(name)
    for package in pins:
        for line in distribution(package).requires or ():
            requirement = Requirement(line)
            if requirement.marker and not requirement.marker.evaluate({"extra": ""}):
                continue
            needed = canonicalize_name(requirement.name)
            assert needed in pins or needed == "pip", f"{package} needs {needed}: make lock"


# What replays archives has an environment of its own.
@pytest.mark.parametrize("name", sorted(LOCKS.keys() - {"test", "replay", "lock"}))
def test_the_locks_agree(name: str) -> None:
    tested = read("test")
    versions = {package: version for package, version in read(name).items() if package in tested}
    assert versions
    assert all(tested[package] == version for package, version in versions.items())


@pytest.mark.parametrize("file", ["Makefile", "Dockerfile"])
def test_packages_are_installed_by_hash_alone(file: str) -> None:
    """All but the project itself, which needs nothing more then."""
    text = (PROJECT / file).read_text(encoding="utf-8").replace("\\\n", " ")
    installs = [
        line
        for line in re.split(r"&&|\n", text)
        if re.search(r"\b(pip install|PIP\)|wheel --)", line)
    ]
    installs = [line for line in installs if not line.lstrip().startswith(("#", "PIP :="))]
    assert installs
    for line in installs:
        assert "--require-hashes" in line or "--no-deps" in line, line
