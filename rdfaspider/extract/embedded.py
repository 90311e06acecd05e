"""RDF/XML inside a document of another vocabulary, as SVG's metadata element holds it."""

from __future__ import annotations

from pyoxigraph import RdfFormat, parse

from rdfaspider.extract.graph import Graph
from rdfaspider.extract.names import Labels


def read_embedded(subtree: bytes, base: str, labels: Labels, graph: Graph) -> bool:
    """Adds the triples of a subtree; tells whether it was RDF/XML to its end."""
    known: dict[str, str] = {}

    def relabelled(term: str) -> str:
        if not term.startswith("_:"):
            return term
        if term not in known:
            known[term] = labels.fresh()
        return known[term]

    try:
        for quad in parse(subtree, RdfFormat.RDF_XML, base_iri=base):
            subject, predicate, value = (relabelled(str(term)) for term in quad.triple)
            graph.add(subject, predicate, value)
    except (SyntaxError, ValueError):
        return False
    return True
