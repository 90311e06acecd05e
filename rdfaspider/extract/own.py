"""Extractors that others wrote, named by dotted paths among the formats.

An extractor is a function of the bytes of a page, its URL and its content type. It returns or yields
pyoxigraph's triples or quads; they become statements of the page, within its limits. It sees each page that a
crawl reads, runs where the page is read (in a process of the pool), and must not open connections. What it
raises is contained as that of any reader.
"""

from __future__ import annotations

from collections.abc import Iterable

from rdfaspider.extract.triples.graph import Full, Graph
from rdfaspider.extract.triples.statements import Statements
from rdfaspider.items import is_valid
from rdfaspider.plugins import is_path, load

# Those that need no other package.
FORMATS = frozenset(("rdfa", "jsonld", "microdata", "rdf"))


def check_formats(formats: Iterable[str]) -> None:
    """Raise ValueError unless each is the name of a format or the path of an extractor."""
    for name in formats:
        if name not in FORMATS:
            if not is_path(name):
                known = ", ".join(sorted(FORMATS))
                raise ValueError(f"There is no format {name}: choose among {known}.")
            load(name, "an extractor")


def read(path: str, body: bytes, url: str, content_type: str, graph: Graph) -> None:
    """Add what the extractor at a path finds in a page."""
    statements = Statements(graph)
    try:
        for statement in load(path, "an extractor")(body, url, content_type):
            if is_valid(statement):
                statements.add(statement)
            else:
                graph.cuts["iri"] += 1
    except Full as full:
        graph.cuts[str(full)] += 1
