"""Media types of RDF documents."""

from __future__ import annotations

from pyoxigraph import RdfFormat

JSON_LD = "application/ld+json"

MEDIA_TYPES: dict[str, RdfFormat] = {
    "text/turtle": RdfFormat.TURTLE,
    "application/turtle": RdfFormat.TURTLE,
    "application/x-turtle": RdfFormat.TURTLE,
    "text/n3": RdfFormat.TURTLE,  # what is published as N3 is nearly always Turtle
    "text/rdf+n3": RdfFormat.TURTLE,
    "application/n-triples": RdfFormat.N_TRIPLES,
    "text/ntriples": RdfFormat.N_TRIPLES,
    "application/n-quads": RdfFormat.N_QUADS,
    "text/nquads": RdfFormat.N_QUADS,
    "text/x-nquads": RdfFormat.N_QUADS,
    "application/trig": RdfFormat.TRIG,
    "application/x-trig": RdfFormat.TRIG,
    "application/rdf+xml": RdfFormat.RDF_XML,
    "text/rdf+xml": RdfFormat.RDF_XML,
    JSON_LD: RdfFormat.JSON_LD,
    "application/activity+json": RdfFormat.JSON_LD,
}
"""What a response may be called, without parameters and in lower case, and how to read it."""
