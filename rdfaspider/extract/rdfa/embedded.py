"""RDF/XML inside a document of another vocabulary, as SVG's metadata element holds it."""

from __future__ import annotations

from pyoxigraph import RdfFormat

from rdfaspider.extract.graph import Graph
from rdfaspider.extract.labels import Labels
from rdfaspider.extract.statements import Statements


def read_embedded(subtree: bytes, base: str, labels: Labels, graph: Graph) -> bool:
    """Add the triples of a subtree; tell whether it was RDF/XML to its end."""
    return not Statements(labels, graph).read(subtree, RdfFormat.RDF_XML, base)
