"""The modules that are compiled where there is a C compiler, and when their sources are used nevertheless.

mypyc makes C of typed Python when the project is built. Nothing depends on it: docs/dependencies.md says
what it brings. An egg has none of it, for what is compiled cannot be loaded from an archive.

Python prefers what is compiled to its source. In a checkout, where sources change, that would be yesterday's
code: if one of them is newer than what was made of them, the sources are used, all of them, because compiled
modules know the layout of each other's objects. So it is if RDFASPIDER_PURE is set.
"""

from __future__ import annotations

import os
import sys
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path

MODULES = (
    "rdfaspider.extract.document.html",
    "rdfaspider.extract.document.tree",
    "rdfaspider.extract.facts",
    "rdfaspider.extract.files",
    "rdfaspider.extract.links",
    "rdfaspider.extract.microdata.items",
    "rdfaspider.extract.microdata.scopes",
    "rdfaspider.extract.microdata.values",
    "rdfaspider.extract.rdfa.context",
    "rdfaspider.extract.rdfa.names",
    "rdfaspider.extract.rdfa.patterns",
    "rdfaspider.extract.rdfa.processor",
    "rdfaspider.extract.rdfa.rdfa10",
    "rdfaspider.extract.rdfa.subjects",
    "rdfaspider.extract.rdfa.values",
    "rdfaspider.extract.rdfa.vocabulary",
    "rdfaspider.extract.triples.graph",
    "rdfaspider.extract.triples.iris",
    "rdfaspider.extract.triples.literals",
    "rdfaspider.focus.contexts",
    "rdfaspider.focus.harvest",
    "rdfaspider.focus.visits.rates",
    "rdfaspider.focus.visits.scale",
    "rdfaspider.focus.visits.value",
    "rdfaspider.frontier.engine.admission",
    "rdfaspider.frontier.engine.counters",
    "rdfaspider.frontier.engine.revisits.budget",
    "rdfaspider.frontier.engine.revisits.share",
    "rdfaspider.frontier.engine.sieve",
    "rdfaspider.frontier.engine.urls",
    "rdfaspider.frontier.manners",
    "rdfaspider.frontier.orders.sections",
    "rdfaspider.frontier.schedule.borrowing",
    "rdfaspider.frontier.schedule.hosts",
    "rdfaspider.frontier.schedule.lending",
    "rdfaspider.frontier.schedule.schedule",
    "rdfaspider.frontier.schedule.servers",
    "rdfaspider.frontier.tables.links.edges",
    "rdfaspider.frontier.tables.links.inbox",
    "rdfaspider.frontier.tables.links.outlinks",
    "rdfaspider.frontier.tables.links.referrers",
    "rdfaspider.frontier.tables.trie",
    "rdfaspider.frontier.tables.waiting",
    "rdfaspider.linkgraph.edges",
    "rdfaspider.urls.iris",
    "rdfaspider.urls.keys",
    "rdfaspider.urls.normalise",
)
PURE = "RDFASPIDER_PURE"  # the variable of the environment that leaves it all to Python

_PACKAGE = Path(__file__).parent
_ROOT = _PACKAGE.parent
# All of them are in one library; besides, each has a small one that leads there.
_SUFFIX = EXTENSION_SUFFIXES[0]
_LIBRARY = _PACKAGE / f"compiled__mypyc{_SUFFIX}"


def source(module: str) -> Path:
    """Return the file of a module."""
    return _ROOT.joinpath(*module.split(".")).with_suffix(".py")


def is_pure() -> bool:
    """Tell whether the environment says so."""
    return os.environ.get(PURE, "0") not in ("", "0")


def _is_whole() -> bool:
    """Tell whether what was compiled is complete, and newer than what it was made of.

    Folders count as a whole, because the constants of modules beside them are compiled in.
    """
    if not _LIBRARY.exists():
        return not any(source(module).with_suffix(_SUFFIX).exists() for module in MODULES)
    if not (_ROOT / "pyproject.toml").exists():  # what is installed does not change
        return True
    time = _LIBRARY.stat().st_mtime
    folders = sorted({module.split(".")[1] for module in MODULES})
    sources = (path for folder in folders for path in (_PACKAGE / folder).rglob("*.py"))
    return all(path.stat().st_mtime <= time for path in [Path(__file__), *sources])


class _Sources:
    """Finds the sources of all modules, also of those that were compiled once and no longer are."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if not name.startswith("rdfaspider.") or not source(name).is_file():
            return None
        return spec_from_file_location(name, source(name))


def choose() -> None:
    """Have the sources imported where they shall be."""
    if is_pure() or not _is_whole():
        sys.meta_path.insert(0, _Sources)
