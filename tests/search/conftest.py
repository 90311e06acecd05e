"""Pages to search."""

from __future__ import annotations

from pathlib import Path

from rdfaspider.search.index import PageWords
from rdfaspider.stores.changes import Change
from tests.stores.conftest import fuseki, oxigraph, rdf4j

__all__ = ["fuseki", "oxigraph", "rdf4j"]  # fixtures

SCHEMA = "http://schema.org/"
A, B, C = (f"http://{name}.test/" for name in "abc")


def triples(subject: str, type_: str = "", **said: str) -> bytes:
    """Return N-Triples about a subject: an IRI, or a blank node as _:b."""
    about = subject if subject.startswith("_:") else f"<{subject}>"
    lines = [f'{about} <{SCHEMA}{name}> "{text}" .\n' for name, text in said.items()]
    if type_:
        rdf = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
        lines.append(f"{about} <{rdf}> <{SCHEMA}{type_}> .\n")
    return "".join(lines).encode()


CAKE = PageWords(
    A,
    triples(f"{A}#cake", "Recipe", name="Lemon cake", description="With much butter")
    + triples(f"{A}#ann", "Person", name="Ann Zest"),
    "Cakes of Ann",
    "All cakes that Ann has ever baked, for children too.",
    100.0,
)
TART = PageWords(
    B,
    triples(f"{B}#tart", "Recipe", name="Apple tart", description="A lemon or two on top"),
    "Tarts",
    "",
    200.0,
)


def changes(*pages: PageWords) -> list[Change]:
    return [
        Change(
            page.url,
            page.triples,
            page.triples.count(b"\n"),
            time=page.time,
            title=page.title,
            text=page.text,
        )
        for page in pages
    ]


def folder(path: Path) -> Path:
    return path / "search"
