"""Parsed statements into the graph of a page.

A page has one graph: statements of named graphs inside it become statements of the page. Blank
nodes get labels of the page in order of appearance, starting again for each document or block.
"""

from __future__ import annotations

from collections import defaultdict

from pyoxigraph import BlankNode, Literal, NamedNode, Quad, RdfFormat, Triple, parse

from rdfaspider.extract.triples.graph import Graph

Term = NamedNode | BlankNode | Literal | Triple

_FAULTS = 100  # after this many it is not the format that it claims to be


class Statements:
    """Writes the terms of one document or block; what exceeds a limit is left out and counted."""

    def __init__(self, graph: Graph) -> None:
        self._graph = graph
        self._labels = defaultdict[str, str](graph.fresh)

    def read(self, body: bytes, rdf_format: RdfFormat, base: str, unwanted: str = "") -> int:
        """Add what the parser finds, going on after faults, and return how many there were.

        A statement with a term that starts with the unwanted prefix is left out. Raise Full at
        the limits of the page.
        """
        faults = 0
        try:
            quads = parse(body, rdf_format, base_iri=base)
        except ValueError:
            return 1  # the base is not an IRI
        while faults < _FAULTS:
            try:
                for quad in quads:
                    self.add(quad, unwanted)
                return faults
            except (SyntaxError, ValueError):
                faults += 1
        return faults

    def add(self, quad: Quad | Triple, unwanted: str = "") -> None:
        """Add a statement; raise Full at the limits of the page."""
        predicate, value = quad.predicate, quad.object
        if unwanted and any(_iri(term).startswith(unwanted) for term in (predicate, value)):
            return
        triple = (self._written(quad.subject), self._written(predicate), self._written(value))
        if "" not in triple:
            self._graph.add(*triple)

    def _written(self, term: Term) -> str:
        """Return the term as N-Quads writes it, empty when it must be left out."""
        limits = self._graph.limits
        if isinstance(term, NamedNode):
            text = str(term)
            return text if len(text) - 2 <= limits.iri else self._cut("iri", len(text))
        if isinstance(term, BlankNode):
            return self._labels[term.value]
        if isinstance(term, Triple):
            return self._cut("triple terms")  # of RDF 1.2, which few stores know
        if len(term.value) > limits.literal:
            return self._cut("literal", len(term.value))
        if term.direction is not None:  # of RDF 1.2 as well
            self._cut("base direction")
            term = Literal(term.value, language=term.language)
        return str(term)

    def _cut(self, reason: str, length: int = 0) -> str:
        self._graph.cuts[reason] += 1
        self._graph.spend(length)  # the parser has made it all the same
        return ""


def _iri(term: Term) -> str:
    """Return the IRI of a node or of a literal's datatype, empty for what has none."""
    if isinstance(term, NamedNode):
        return term.value
    return term.datatype.value if isinstance(term, Literal) else ""
