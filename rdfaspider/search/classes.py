"""Which types are below others: those of schema.org, FOAF and SKOS, from the bundled files."""

from __future__ import annotations

import json
from collections import defaultdict
from functools import cache

from pyoxigraph import NamedNode, RdfFormat, parse

from rdfaspider.extract.datafiles import read_data

_SCHEMA = "http://schema.org/"
_BELOW = NamedNode("http://www.w3.org/2000/01/rdf-schema#subClassOf")


@cache
def _subclasses() -> dict[str, list[str]]:
    """Return the direct subclasses of each class; schema.org is written with http."""
    below: dict[str, list[str]] = defaultdict(list)
    for parent, names in json.loads(read_data("schema-types.json")).items():
        below[_SCHEMA + parent] += [_SCHEMA + name for name in names]
    for quad in parse(read_data("vocabularies.ttl"), RdfFormat.TURTLE):
        if quad.predicate == _BELOW:
            below[quad.object.value].append(quad.subject.value)
    return below


def with_subclasses(iris: list[str]) -> list[str]:
    """Return classes and all below them, with http and https, because schema.org is written both ways."""
    found: dict[str, None] = {}
    pending = ["http" + iri[5:] if iri.startswith("https://") else iri for iri in iris]
    while pending:
        if (iri := pending.pop()) not in found:
            found[iri] = None
            pending += _subclasses().get(iri, ())
    secure = ["https" + iri[4:] for iri in found if iri.startswith("http://")]
    return [*found, *secure]


def named(word: str) -> list[str]:
    """Return the known classes above others whose last word is this, in lower case."""
    return [
        iri
        for iri in _subclasses()
        if iri[max(iri.rfind("/"), iri.rfind("#")) + 1 :].lower() == word
    ]
