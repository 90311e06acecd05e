"""The private parts of other projects that the package uses are listed, are there, and are bounded.

Their one list is the table in docs/dependencies.md. To use another one, add a row there.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import subprocess
import sys
import textwrap
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions, version
from pathlib import Path
from typing import NamedTuple

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = Path(__file__).parent.parent
PACKAGE = PROJECT / "rdfaspider"
TABLE = PROJECT / "docs" / "dependencies.md"
LINES = (PROJECT / "requirements.txt").read_text(encoding="utf-8").splitlines()
REQUIRED: dict[str, Requirement] = {
    canonicalize_name(requirement.name): requirement
    for requirement in (Requirement(line) for line in LINES if line and line[0] != "#")
}

# Names that Python documents despite their underscore.
DOCUMENTED = {
    "_asdict",
    "_current_frames",
    "_exit",
    "_field_defaults",
    "_fields",
    "_getframe",
    "_make",
    "_replace",
}
BY_NAME = {"delattr", "getattr", "hasattr", "setattr"}


distributions = cache(packages_distributions)


class Part(NamedTuple):
    """A row of the table: the full name, the files that use it, and what breaks without it."""

    name: str
    files: tuple[str, ...]
    breaks: str

    @property
    def distribution(self) -> str:
        return canonicalize_name(distributions()[self.name.partition(".")[0]][0])


class Use(NamedTuple):
    """A private name in the package: the full name if it is imported, else its last part."""

    file: str
    line: int
    name: str


def listed() -> Iterator[Part]:
    section = TABLE.read_text(encoding="utf-8").split("\n## Private parts\n")[1].split("\n## ")[0]
    for line in section.splitlines():
        if line.startswith("| `"):
            name, files, _, breaks = line.strip("| ").split(" | ")
            yield Part(name.strip("`"), tuple(re.findall(r"`([^`]+)`", files)), breaks)


LISTED = list(listed())


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("_") and name not in DOCUMENTED


class Finder(ast.NodeVisitor):
    """Collects the private names in a module that belong to others."""

    def __init__(self, path: Path, module: str) -> None:
        self.file = str(path.relative_to(PROJECT)) if path.is_relative_to(PROJECT) else path.name
        self.module = module
        self.uses: set[Use] = set()
        self.around: list[ast.ClassDef] = []  # the classes that the visitor is in
        tree = ast.parse(path.read_text(encoding="utf-8"))
        classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
        self.own = {name for node in classes for name in names_of(node)}
        self.visit(tree)

    def found(self, node: ast.stmt | ast.expr, name: str) -> None:
        self.uses.add(Use(self.file, node.lineno, name))

    def visit_Import(self, node: ast.Import) -> None:
        self.imported(node, [alias.name for alias in node.names])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.imported(node, [f"{node.module}.{alias.name}" for alias in node.names])

    def imported(self, node: ast.stmt, names: list[str]) -> None:
        for name in names:
            top, *parts = name.split(".")
            if top not in ("rdfaspider", "__future__") and any(map(is_private, parts)):
                self.found(node, name)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.around.append(node)
        for name in names_of(node) & self.inherited():
            self.found(node, name)  # overrides a name of theirs, whether it was meant to or not
        self.generic_visit(node)
        self.around.pop()

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self.used(node, node.value, node.attr)
        self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name) and node.func.id in BY_NAME and len(node.args) > 1:
            owner, name = node.args[:2]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                self.used(node, owner, name.value)
        self.generic_visit(node)

    def used(self, node: ast.expr, owner: ast.expr, name: str) -> None:
        if not is_private(name):
            return
        if self.around and ast.unparse(owner) in ("self", "cls", "super()"):
            is_theirs = name in self.inherited()
        else:
            is_theirs = name not in self.own
        if is_theirs:
            self.found(node, name)

    def inherited(self) -> set[str]:
        """Return the private names that the innermost class has from bases outside the package."""
        if not self.around[-1].bases:
            return set()
        owner: object = importlib.import_module(self.module)
        for node in self.around:
            owner = vars(owner).get(node.name)
        if not isinstance(owner, type):
            return set()  # a class inside a function
        theirs = [base for base in owner.__mro__ if not base.__module__.startswith("rdfaspider")]
        return {name for base in theirs for name in names_in(base) if is_private(name)}


def names_of(node: ast.ClassDef) -> set[str]:
    """Return the names that a class defines, in its body or on self."""
    names = set()
    for each in ast.walk(node):
        if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
            names.add(each.name)
        elif isinstance(each, ast.Attribute) and isinstance(each.ctx, ast.Store):
            names.update({each.attr} if ast.unparse(each.value) in ("self", "cls") else ())
    for each in node.body:
        targets = each.targets if isinstance(each, ast.Assign) else [getattr(each, "target", None)]
        names.update(target.id for target in targets if isinstance(target, ast.Name))
    return names


@cache
def names_in(owner: type) -> frozenset[str]:
    """Return the names that an installed class and its instances have, without its bases'."""
    names = set(vars(owner))
    try:
        (node,) = ast.parse(textwrap.dedent(inspect.getsource(owner))).body
    except (OSError, TypeError):  # written in C
        return frozenset(names)
    assert isinstance(node, ast.ClassDef)
    return frozenset(names | names_of(node))


def is_there(name: str) -> bool:
    """Tell whether the installed version has something of this full name."""
    module, *rest = name.split(".")
    owner: object = importlib.import_module(module)
    for part in rest:
        if inspect.ismodule(owner) and not hasattr(owner, part):
            try:
                importlib.import_module(f"{owner.__name__}.{part}")
            except ModuleNotFoundError:
                return False
        if isinstance(owner, type) and any(part in names_in(base) for base in owner.__mro__):
            owner = getattr(owner, part, None)  # None: instances have it
        elif hasattr(owner, part):
            owner = getattr(owner, part)
        else:
            return False
    return True


def module_name(path: Path) -> str:
    parts = path.relative_to(PROJECT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def test_the_private_parts_in_use_are_listed() -> None:
    uses = [use for path in PACKAGE.rglob("*.py") for use in Finder(path, module_name(path)).uses]
    assert uses
    unlisted = [
        f"{use.file}:{use.line} uses {use.name}, which is private to another project."
        for use in sorted(uses)
        if not any(
            f".{part.name}".endswith(f".{use.name}") for part in LISTED if use.file in part.files
        )
    ]
    assert not unlisted, "\n".join(
        (*unlisted, "Find a public way, or add a row to the table in docs/dependencies.md.")
    )


@pytest.mark.parametrize("part", LISTED, ids=lambda part: part.name)
def test_a_private_part_is_still_there(part: Part) -> None:
    assert is_there(part.name), (
        f"{part.distribution} {version(part.distribution)} has no {part.name} any more."
        f" {part.breaks} It is used in {' and '.join(part.files)}."
    )


@pytest.mark.parametrize("part", LISTED, ids=lambda part: part.name)
def test_a_listed_part_is_still_used(part: Part) -> None:
    last = part.name.rpartition(".")[2]
    for file in part.files:
        source = (PROJECT / file).read_text(encoding="utf-8")
        assert re.search(rf"\b{last}\b", source), f"{file} has no {last}: mend its row."


SCRAPY = [part for part in LISTED if part.distribution == "scrapy"]


def test_scrapy_has_no_upper_bound_so_few_of_its_private_parts_are_used() -> None:
    assert {each.operator for each in REQUIRED["scrapy"].specifier} == {">="}
    assert len(SCRAPY) <= 12


@pytest.mark.parametrize(
    "distribution", sorted({part.distribution for part in LISTED} - {"scrapy"})
)
def test_a_project_with_private_parts_in_use_has_an_upper_bound(distribution: str) -> None:
    operators = {each.operator for each in REQUIRED[distribution].specifier}
    assert operators & {"<", "<=", "=="}, (
        f"requirements.txt sets no upper bound for {distribution}."
    )


def test_a_part_that_is_gone_is_noticed() -> None:
    assert is_there("scrapy.core.engine.ExecutionEngine._slot")
    for name in ("scrapy._gone", "scrapy._gone.Engine", "scrapy.core.engine.ExecutionEngine._gone"):
        assert not is_there(name)


SAMPLE = """
from logging import Handler, StreamHandler
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import logging._one
    from logging import _two

def function(record):
    record._three = record._four
    getattr(record, "_five")
    record._replace(name=1), record.__dict__, record._missing_, record._ours

class Uses(Handler):
    def _set(self):
        self._ours = self._closed, self._ours, self._set

class Overrides(StreamHandler):
    _name = None
"""


def test_each_way_to_use_a_private_part_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rdfaspider_sample.py"
    path.write_text(SAMPLE)
    monkeypatch.syspath_prepend(tmp_path)
    found = {use.name for use in Finder(path, path.stem).uses}
    assert found == {"logging._one", "logging._two", "_three", "_four", "_five", "_closed", "_name"}
    sys.modules.pop(path.stem)


def imported(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, by their first names."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


# For type checkers only; in Python itself from 3.14 on.
ELSEWHERE = {"_typeshed", "compression"}


# What the extras `analysis`, `rdflib`, `reference`, `shacl` and `render` install.
OPTIONAL = {
    *("numpy", "pyarrow", "pycld2", "py3langid", "rdflib", "pyshacl", "pyRdfa", "html5lib"),
    "playwright",
}
# Where the name of a package is not that of its module.
MODULES = {"pyrdfa3": "pyRdfa"}
# The only places that import it at once; the others do when they use it.
ANALYSING = (
    "linkgraph/",
    "frontier/views/graph",
    "report/links.py",
    "adapters/rdflib.py",
    "rendering/worker.py",
    "simulator/freshness/",
)


def test_what_is_imported_is_required() -> None:
    modules = {name for path in PACKAGE.rglob("*.py") for name in imported(path)}
    for module in modules - sys.stdlib_module_names - ELSEWHERE - OPTIONAL - {"rdfaspider"}:
        names = {canonicalize_name(name) for name in distributions()[module]}
        assert names & REQUIRED.keys(), f"requirements.txt names nothing that has {module}."


def test_what_is_optional_is_an_extra_and_imported_late() -> None:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    kinds = ("analysis", "rdflib", "shacl", "reference", "render")
    lines = [line for kind in kinds for line in extras[kind]]
    names = [name for line in lines if (name := Requirement(line).name) != "rdfaspider"]
    assert {MODULES.get(name, name) for name in names} == OPTIONAL
    for path in PACKAGE.rglob("*.py"):
        if str(path.relative_to(PACKAGE)).startswith(ANALYSING):
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                words = ast.unparse(node).replace(",", " ").split()
                assert not OPTIONAL & {word.partition(".")[0] for word in words}, path


def test_a_crawl_imports_nothing_optional() -> None:
    """The links and rows of pages are kept without numpy."""
    modules = "frontier.engine.local", "commands.results.graph", "commands.results.report"
    code = (
        "import sys, "
        + ", ".join(f"rdfaspider.{name}" for name in modules)
        + "; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not OPTIONAL & set(done.stdout.split())
