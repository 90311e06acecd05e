"""The docs speak of everything that is there, and of nothing else."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from rdfaspider import __version__, settings
from rdfaspider.settings.declarations import COMPONENTS, DECLARED, OWN, SECRETS
from tests.settings.document import with_tables

PROJECT = Path(__file__).parent.parent
PACKAGE = PROJECT / "rdfaspider"
SOURCES = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}

SCRAPYS = [name for name in dir(settings) if name.isupper() and name not in DECLARED]
COMMANDS = {
    path.stem: ".".join(path.relative_to(PROJECT).with_suffix("").parts)
    for path in (PACKAGE / "commands").glob("*/[a-z]*.py")
}


def text(name: str) -> str:
    return (PROJECT / name).read_text(encoding="utf-8")


def test_the_tables_of_settings_are_those_of_the_declarations() -> None:
    docs = text("docs/settings.md")
    assert with_tables(docs) == docs, "run python -m tests.settings.document"
    assert all(f"<!-- settings: {component} -->" in docs for component in COMPONENTS)


NAMES = [each.name for part in OWN.values() for each in part]


# The files of secrets are read by one rule for all.
@pytest.mark.parametrize("name", [name for name in NAMES if name[:-5] not in SECRETS])
def test_a_setting_is_used(name: str) -> None:
    elsewhere = [path for path in SOURCES if PACKAGE / "settings" not in path.parents]
    assert any(f'"{name}"' in SOURCES[path] for path in elsewhere), f"{name} is read nowhere"


@pytest.mark.parametrize("name", SCRAPYS)
def test_a_changed_setting_of_scrapy_is_documented(name: str) -> None:
    assert f"`{name}`" in text("docs/settings.md")


def test_every_documented_setting_exists() -> None:
    documented = set(re.findall(r"^\| `([A-Z_]+)`", text("docs/settings.md"), re.MULTILINE))
    assert documented <= {*DECLARED, *SCRAPYS}


def stats_in(source: str) -> Iterator[str]:
    """Yield each stat name of a module; what is filled in at run time becomes LABEL."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            literal = node.value
        elif isinstance(node, ast.JoinedStr):
            parts = (p.value if isinstance(p, ast.Constant) else "LABEL" for p in node.values)
            literal = "".join(map(str, parts))
        else:
            continue
        if re.fullmatch(
            r"(frontier|extract|filter|politeness|robots|store|urls)/[a-zA-Z_/]+", literal
        ):
            yield literal


PLUGS = ("scheduler", "spiders", "middlewares", "pipelines", "extensions")
STATS = sorted(
    {
        stat
        for path, source in SOURCES.items()
        if path.relative_to(PACKAGE).parts[0].removesuffix(".py") in PLUGS
        for stat in stats_in(source)
        if "rdfaspider" not in stat
    }
)


@pytest.mark.parametrize("name", STATS)
def test_a_stat_is_documented(name: str) -> None:
    docs = text("docs/stats.md")
    family = name.split("LABEL")[0]
    is_labelled = re.search(rf"`{name.rpartition('/')[0]}/[A-Z]+`", docs)
    assert f"`{family}" in docs or is_labelled, f"{name} is not in docs/stats.md"


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_is_documented(name: str) -> None:
    everything = text("README.md") + text("docs/operations.md")
    assert f"scrapy {name}" in everything


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_describes_itself(name: str) -> None:
    command = import_module(COMMANDS[name]).Command()
    assert command.short_desc()
    assert command.long_desc()


def test_every_row_of_the_papers_is_accounted_for() -> None:
    documented = set(re.findall(r"^\| ([RTPKWB]\d+) \|", text("docs/papers.md"), re.MULTILINE))
    sizes = {"R": 24, "T": 12, "P": 9, "K": 9, "W": 12, "B": 12}
    rows = {f"{k}{n}" for k, count in sizes.items() for n in range(1, count + 1)}
    assert documented == rows | {"T14"}


def test_files_named_in_the_docs_exist() -> None:
    for name in ("README.md", *(str(p.relative_to(PROJECT)) for p in PROJECT.glob("docs/*.md"))):
        for path in re.findall(
            r"`((?:rdfaspider|tests|docs)/[\w./-]+\.(?:py|md|json))`", text(name)
        ):
            assert (PROJECT / path).exists(), f"{name} names {path}, which is not there"


def test_no_page_installs_by_name_what_is_not_released() -> None:
    pages = [*PROJECT.glob("docs/*.md"), *PROJECT.glob("examples/*/README.md")]
    for page in (PROJECT / "README.md", *pages):
        found = re.search(
            r"pip install '?rdfaspider(\[(crawl|redis)\])?(?![\w\[])", page.read_text("utf-8")
        )
        assert not found, f"{page.name}: {found and found[0]} fails until there is a release"


def test_the_changelog_knows_this_version() -> None:
    assert f"## {__version__}" in text("CHANGELOG.md")


def test_every_module_that_is_named_is_there() -> None:
    there = {path.name for path in PROJECT.glob("*.py")} | {
        path.name for root in ("rdfaspider", "tests") for path in (PROJECT / root).rglob("*.py")
    }
    pages = {
        path: path.read_text("utf-8")
        for path in (*PROJECT.glob("*.md"), *PROJECT.glob("docs/*.md"))
    }
    for path, words in {**SOURCES, **pages}.items():
        named = set(re.findall(r"\b(\w+\.py)\b", words))
        assert named <= there, f"{path.name} names {named - there}"


def test_a_site_is_made_of_them_without_a_warning(tmp_path: Path) -> None:
    """Every page is in the contents, and every link within the docs leads somewhere."""
    command = [sys.executable, "-m", "sphinx", "--quiet", "--fail-on-warning", "--builder", "html"]
    done = subprocess.run(
        [*command, "-d", str(tmp_path / "trees"), "docs", str(tmp_path / "site")],
        cwd=PROJECT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    index = (tmp_path / "site" / "index.html").read_text()
    for path in PROJECT.glob("docs/*.md"):
        assert f'href="{path.stem}.html"' in index or path.stem == "index", f"{path} is not listed"
