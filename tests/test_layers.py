"""Imports go down the layers, never sideways, and the lower half knows nothing of Scrapy."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "rdfaspider"

# From the top down, as drawn in docs/architecture.md.
LAYERS = (
    ("addon", "wiring"),
    ("parts",),
    ("crew",),
    ("__main__", "commands", "spiders"),
    ("report", "console"),
    ("scheduler", "downloader", "scraper", "middlewares", "pipelines", "extensions", "feeds"),
    ("resolver",),
    ("settings", "compat"),
    ("simulator", "service"),
    ("frontier", "site", "adapters", "search", "rendering"),
    ("focus",),
    ("extract", "stores", "archive", "linkgraph", "robots", "seedlist"),
    ("pages",),
    (
        "urls",
        "items",
        "fetchmeta",
        "signals",
        "curves",
        "children",
        "clock",
        "closable",
        "terminal",
        "rocksdb",
        "heap",
        "blanknodes",
        "redislink",
    ),
    ("secrets", "plugins"),
)
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
PLUGS = 7  # the lowest layer that may import Scrapy

MODULES = sorted(PACKAGE.rglob("*.py"))


def part(module: Path) -> str:
    """Return the folder or file of the package that a module belongs to."""
    return module.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports(module: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} has a relative import"
            assert node.module
            yield from (f"{node.module}.{name.name}" for name in node.names)


def test_every_part_of_the_package_has_a_layer() -> None:
    parts = {part(module) for module in MODULES} - {"__init__"}
    assert parts <= LEVEL.keys()


@pytest.mark.parametrize("module", MODULES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_go_down(module: Path) -> None:
    here = part(module)
    for name in imports(module):
        top, *rest = name.split(".")
        if top == "rdfaspider" and rest and rest[0] in LEVEL and rest[0] != here:
            assert here != "__init__", f"the package itself imports {name}"
            assert LEVEL[rest[0]] > LEVEL[here], f"{here} imports {name}: up or sideways"
        if top in ("scrapy", "twisted"):
            assert LEVEL[here] <= PLUGS, f"{here} imports {name}: the lower half is without Scrapy"


def name_of(module: Path) -> str:
    parts = module.relative_to(PACKAGE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported_at_once(tree: ast.AST) -> Iterator[str]:
    """Yield what a module imports when it is imported itself."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.ImportFrom):
            for each in node.names:
                full = f"{node.module}.{each.name}"
                yield full if full in NAMES else str(node.module)
        elif isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        else:
            yield from imported_at_once(node)


NAMES = {name_of(module): module for module in MODULES}


def test_no_import_comes_back_to_where_it_began() -> None:
    """Also within a folder."""
    graph = {
        name: {
            each for each in imported_at_once(ast.parse(path.read_text("utf-8"))) if each in NAMES
        }
        for name, path in NAMES.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError, which names the ring
