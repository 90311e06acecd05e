"""Patches as RDF, so that SPARQL can ask for changes.

GRAPH <urn:rdfaspider:changes> {
    <urn:rdfaspider:change:…-42> a <urn:rdfaspider:Change> ;
        dcterms:subject <page> ; dcterms:date "…"^^xsd:dateTime ; <urn:rdfaspider:cause> "410" ;
        <urn:rdfaspider:added> <urn:rdfaspider:change:…-42#added> ;
        <urn:rdfaspider:removed> <urn:rdfaspider:change:…-42#removed> .
}
GRAPH <urn:rdfaspider:change:…-42#added> { the statements that were added }
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfaspider.stores.stream.patch import date

if TYPE_CHECKING:
    from rdfaspider.stores.stream.patch import Patch

CHANGES = "urn:rdfaspider:changes"

_OWN = "urn:rdfaspider:"
_TERMS = "http://purl.org/dc/terms/"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_DATE_TIME = "http://www.w3.org/2001/XMLSchema#dateTime"


def nquads(patch: Patch) -> bytes:
    """Return a patch as N-Quads."""
    facts = [
        (_TYPE, f"<{_OWN}Change>"),
        (f"{_TERMS}subject", f"<{patch.page}>"),
        (f"{_TERMS}date", f'"{date(patch.time)}"^^<{_DATE_TIME}>'),
    ]
    if patch.cause:
        facts.append((f"{_OWN}cause", f'"{patch.cause}"'))
    rows = []
    for kind, lines in (("added", patch.added), ("removed", patch.removed)):
        graph = f"{patch.name}#{kind}"
        if lines:
            facts.append((_OWN + kind, f"<{graph}>"))
            rows += [line + f" <{graph}> .\n".encode() for line in lines]
    head = "".join(f"<{patch.name}> <{name}> {value} <{CHANGES}> .\n" for name, value in facts)
    return head.encode() + b"".join(rows)
