"""docs/dependencies.md lists what we build on, and what comes along, with the licences of each."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import PackageNotFoundError, metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).parent.parent
DOCS = (PROJECT / "docs" / "dependencies.md").read_text(encoding="utf-8")
PYPROJECT = tomllib.loads((PROJECT / "pyproject.toml").read_text(encoding="utf-8"))
LINES = (PROJECT / "requirements.txt").read_text(encoding="utf-8").splitlines()
REQUIRED = [Requirement(line) for line in LINES if line and line[0] != "#"]
DATA = PROJECT / "rdfaspider" / "extract" / "data"
COPYLEFT = re.compile(r"GPL|MPL|Mozilla|SSPL|EUPL|BY-SA|CDDL|EPL")


def table(heading: str) -> dict[str, list[str]]:
    """Return the rows below a heading of the docs, by what their first cell names."""
    section = DOCS.split(f"\n## {heading}\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line[:3] == "| `"]
    assert rows, f"no table below {heading}"
    return {name.strip("`"): cells for name, *cells in rows}


DIRECT = table("What the crawler imports")
INDIRECT = table("What comes with that")
TOOLS = table("Tools")
LICENCES = {
    **{name: cells[1] for name, cells in DIRECT.items()},
    **{name: cells[0] for name, cells in (INDIRECT | TOOLS).items()},
}


def licence(name: str) -> str:
    """Return what a package says of its licence: the expression, a short text, or its classifiers."""
    about = metadata(name)
    for field in ("License-Expression", "License"):
        if field in about and about[field] and "\n" not in about[field]:
            return about[field]
    known = [line for line in about.get_all("Classifier") or () if line.startswith("License ::")]
    return ", ".join(line.rpartition(" :: ")[2] for line in known)


def pinned(lock: str) -> tuple[set[str], set[str]]:
    """Return what a lock pins on any system, and what it pins here."""
    text = (PROJECT / "locks" / f"{lock}.txt").read_text(encoding="utf-8")
    lines = re.findall(r"^\w[^\\\n]+(?= \\$)", text, re.MULTILINE)
    packages = [Requirement(line) for line in lines]
    here = [each for each in packages if each.marker is None or each.marker.evaluate()]
    return {each.name for each in packages}, {each.name for each in here}


def test_all_that_is_imported_is_listed_with_its_range() -> None:
    ranges = {canonicalize_name(each.name): each.specifier for each in REQUIRED}
    written = {name: Requirement(name + cells[0].strip("`")) for name, cells in DIRECT.items()}
    assert {name: each.specifier for name, each in written.items()} == ranges


def test_all_that_comes_with_it_is_listed() -> None:
    anywhere, here = pinned("crawl")
    listed = DIRECT.keys() | INDIRECT.keys()
    assert here - listed == set(), "is in locks/crawl.txt only"
    assert listed - anywhere == set(), "is in docs/dependencies.md only"


def test_all_tools_are_listed() -> None:
    extras = PYPROJECT["project"]["optional-dependencies"]
    tools = [lines for name, lines in extras.items() if name not in ("crawl", "redis")]
    groups = (*tools, PYPROJECT["dependency-groups"]["replay"])
    lines = [*(line for group in groups for line in group), *PYPROJECT["build-system"]["requires"]]
    names = {canonicalize_name(Requirement(line).name) for line in (*lines, "uv")}
    assert TOOLS.keys() == names - {"rdfaspider"}


@pytest.mark.parametrize("name", LICENCES)
def test_a_package_has_the_licence_that_is_listed(name: str) -> None:
    try:
        found = licence(name)
    except PackageNotFoundError:
        assert name in TOOLS or name not in pinned("crawl")[1], f"{name} is not installed"
        pytest.skip("not installed for the tests, or not with this Python")
    assert LICENCES[name] == found, f"{name} says {found!r} of its licence."


@pytest.mark.parametrize("name", LICENCES)
def test_copyleft_is_told(name: str) -> None:
    section = DOCS.split("\n## Copyleft\n")[1].split("\n## ")[0]
    if COPYLEFT.search(LICENCES[name]):
        assert f"`{name}`" in section, f"{name} is {LICENCES[name]}: what does that ask of users?"


def test_all_data_of_others_is_listed() -> None:
    """In the docs, and in the notice that travels with the package."""
    files = {str(path.relative_to(DATA)) for path in DATA.rglob("*") if path.is_file()}
    assert table("Data of others").keys() == files
    notice = (PROJECT / "NOTICE").read_text(encoding="utf-8")
    assert set(re.findall(r"^([\w/-]+\.\w+)$", notice, re.MULTILINE)) == files
