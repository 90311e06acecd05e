"""Vocabulary expansion: what the vocabularies that a page uses say about its terms."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from functools import cache

from pyoxigraph import Quad, RdfFormat, parse

from rdfaspider.extract.contexts import RDF, RDFA
from rdfaspider.extract.datafiles import read_data
from rdfaspider.extract.triples.graph import Graph

Vocabularies = Mapping[str, Iterable[Quad]]

_TYPE = f"<{RDF}type>"
_USES = f"<{RDFA}usesVocabulary>"
_RDFS = "<http://www.w3.org/2000/01/rdf-schema#"
_OWL = "<http://www.w3.org/2002/07/owl#"
_WIDENS = frozenset((f"{_RDFS}subPropertyOf>", f"{_RDFS}subClassOf>"))
_EQUATES = frozenset((f"{_OWL}equivalentProperty>", f"{_OWL}equivalentClass>"))


@cache
def bundled() -> Vocabularies:
    """Return the hierarchies of Dublin Core, FOAF and SKOS, by the IRI that @vocab would name."""
    text = read_data("vocabularies.ttl")
    vocabularies: dict[str, list[Quad]] = {
        "http://purl.org/dc/terms/": [],
        "http://xmlns.com/foaf/0.1/": [],
        "http://www.w3.org/2004/02/skos/core#": [],
    }
    for quad in parse(text, RdfFormat.TURTLE):
        subject = str(quad.subject)[1:]
        for iri, quads in vocabularies.items():
            if subject.startswith(iri):
                quads.append(quad)
    return vocabularies


def expand(graph: Graph, vocabularies: Vocabularies) -> None:
    """Add the triples that follow from sub- and equivalent properties and classes.

    Only bundled vocabularies that the page uses count; none is ever fetched.
    """
    used = [o[1:-1] for _, p, o in graph.triples if p == _USES]
    wider: dict[str, set[str]] = defaultdict(set)
    for iri in used:
        for quad in vocabularies.get(iri, ()):
            narrow, relation, wide = str(quad.subject), str(quad.predicate), str(quad.object)
            if relation in _WIDENS or relation in _EQUATES:
                wider[narrow].add(wide)
            if relation in _EQUATES:
                wider[wide].add(narrow)
    if wider:
        _add_wider(graph, wider)


def _add_wider(graph: Graph, wider: dict[str, set[str]]) -> None:
    closures: dict[str, list[str]] = {}
    for subject, predicate, value in list(graph.triples):
        for term in _closure(predicate, wider, closures):
            graph.add(subject, term, value)
        if predicate == _TYPE:
            for term in _closure(value, wider, closures):
                graph.add(subject, _TYPE, term)


def _closure(term: str, wider: dict[str, set[str]], known: dict[str, list[str]]) -> list[str]:
    if term in known:
        return known[term]
    found: set[str] = set()
    pending = [term]
    while pending:
        fresh = wider.get(pending.pop(), set()) - found
        found |= fresh
        pending.extend(fresh)
    answer = known[term] = sorted(found - {term})
    return answer
