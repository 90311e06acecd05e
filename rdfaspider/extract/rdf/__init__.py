"""RDF documents by media type: Turtle, TriG, N-Triples, N-Quads, RDF/XML and JSON-LD.

The syntax is taken strictly, but a fault costs only the statements around it: what can be read
before and after it is kept, and faults are counted in ``Facts.cuts`` as "rdf invalid" (for JSON-LD
as ``jsonld`` does). All statements become statements of the document's graph. Links in a document
are terms, not invitations: none is followed.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8

from pyoxigraph import RdfFormat

from rdfaspider.extract import jsonld
from rdfaspider.extract.document.limits import without_tags
from rdfaspider.extract.jsonld.contexts import Contexts
from rdfaspider.extract.mediatypes import MEDIA_TYPES
from rdfaspider.extract.rdf.rdfxml import tamed
from rdfaspider.extract.triples.graph import Full, Graph
from rdfaspider.extract.triples.statements import Statements

# It matches whether an IRI follows or not, or each of many would look for one far away.
_BASE = re.compile(rb"base(?:\s|#[^\r\n]*+)*+(?:<([^>]*+))?+", re.I)
_SCHEME = re.compile(rb"[A-Za-z][A-Za-z0-9+.\-]*+:")
_NO_CONTEXTS: Contexts = {}
_QUOTED = 1_000  # triple terms may stand inside each other, and the parser has but one stack


def read_document(
    body: bytes,
    media_type: str,
    base: str,
    graph: Graph,
    contexts: Contexts = _NO_CONTEXTS,
) -> None:
    """Add the statements of a document in UTF-8 to a graph, or as many as its limits allow.

    RDF/XML must come as it was sent, since it names its encoding itself.
    """
    rdf_format = MEDIA_TYPES[media_type]
    try:
        if rdf_format == RdfFormat.JSON_LD:
            text = body.decode("utf-8-sig", "replace")
            jsonld.read_document(text, base, graph, contexts)
        else:
            _read(body, rdf_format, base, graph)
    except Full as full:
        graph.cuts[str(full)] += 1


def _read(body: bytes, rdf_format: RdfFormat, base: str, graph: Graph) -> None:
    faults = 0
    body = body.removeprefix(BOM_UTF8)
    if rdf_format == RdfFormat.RDF_XML:
        body, faults = tamed(without_tags(body, graph.limits.tags), graph)
    elif body.count(b"<<") > _QUOTED:
        graph.cuts["triple terms"] += 1
        return
    elif _are_long(_BASE.findall(body), graph.limits.iri):
        graph.cuts["rdf bases"] += 1
        return
    faults += Statements(graph).read(body, rdf_format, base)
    if faults:
        graph.cuts["rdf invalid"] += faults


def _are_long(bases: list[bytes], limit: int) -> bool:
    """Tell whether relative bases may make a long one, as each may lengthen the one before."""
    return sum(len(base) for base in bases if not _SCHEME.match(base)) > limit
