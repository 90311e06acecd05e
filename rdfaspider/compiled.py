"""The modules that are compiled where there is a C compiler, and when their sources are used nevertheless.

mypyc makes C of typed Python when the project is built. Nothing depends on it: docs/dependencies.md says what
it brings. An egg has none of it, for what is compiled cannot be loaded from an archive.

Python prefers what is compiled to its source. In a checkout, where sources change, that would be yesterday's
code: if one of them is newer than what was made of it, the sources are used, all of them, because compiled
modules know the layout of each other's objects. So does whoever sets RDFASPIDER_PURE.
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
    "rdfaspider.frontier.engine.admission",
    "rdfaspider.frontier.engine.counters",
    "rdfaspider.frontier.engine.sieve",
    "rdfaspider.frontier.engine.urls",
    "rdfaspider.frontier.manners",
    "rdfaspider.frontier.orders.sections",
    "rdfaspider.frontier.schedule.borrowing",
    "rdfaspider.frontier.schedule.hosts",
    "rdfaspider.frontier.schedule.lending",
    "rdfaspider.frontier.schedule.queue",
    "rdfaspider.frontier.schedule.schedule",
    "rdfaspider.frontier.schedule.servers",
    "rdfaspider.frontier.tables.links.edges",
    "rdfaspider.frontier.tables.links.inbox",
    "rdfaspider.frontier.tables.links.outlinks",
    "rdfaspider.frontier.tables.links.referrers",
    "rdfaspider.frontier.tables.trie",
    "rdfaspider.frontier.tables.waiting",
    "rdfaspider.linkgraph.edges",
    "rdfaspider.urls.keys",
)
PURE = "RDFASPIDER_PURE"  # the variable of the environment that leaves it all to Python

_ROOT = Path(__file__).parent.parent


def source(module: str) -> Path:
    """Return the file of a module."""
    return _ROOT.joinpath(*module.split(".")).with_suffix(".py")


def _is_outdated() -> bool:
    """Tell whether a source is newer than what was compiled."""
    made = Path(__file__).with_name(f"compiled__mypyc{EXTENSION_SUFFIXES[0]}")  # of all of them
    if not made.exists():
        return False
    time = made.stat().st_mtime_ns
    return any(source(module).stat().st_mtime_ns > time for module in MODULES)


class _Sources:
    """Finds the sources of the modules, before Python looks for what they were compiled to."""

    @staticmethod
    def find_spec(name: str, path: object = None, target: object = None) -> ModuleSpec | None:
        if name not in MODULES:
            return None
        return spec_from_file_location(name, source(name))


def choose() -> None:
    """Have the sources imported where they shall be."""
    is_checkout = (_ROOT / "pyproject.toml").exists()  # what is installed does not change
    if os.environ.get(PURE) or (is_checkout and _is_outdated()):
        sys.meta_path.insert(0, _Sources)
