"""RDF/XML made safe for its parser.

The parser alone expands entities without end, needs the square of the depth and of the attributes of
an element, goes through all namespaces in scope at each element, and copies a long base as often.
libxml2 reads the document before, with its own limits, and writes down what is left.
"""

from __future__ import annotations

import re
from typing import Any

from lxml import etree

from rdfaspider.extract.document.xml import cut_attributes, read_tree, xpath
from rdfaspider.extract.triples.graph import Graph
from rdfaspider.extract.triples.iris import is_absolute

_NAMESPACES = 1_000  # in scope at a time
_REFERENCE = re.compile(rb"&#(?:[xX]([0-9A-Fa-f]++)|([0-9]++));")


def tamed(body: bytes, graph: Graph) -> tuple[bytes, int]:
    """Return a document without what is unsafe, and its faults; what is cut is counted."""
    root, faults = _parsed(body)
    if root is None:
        return b"", faults
    for reason, is_too_much in (("rdf namespaces", _has_namespaces), ("rdf bases", _has_bases)):
        if is_too_much(root, body, graph.limits.iri):
            graph.cuts[reason] += 1
            return b"", faults
    if excess := cut_attributes(root, graph.limits.attributes):
        graph.cuts["attributes"] += excess
    try:
        return etree.tostring(root), faults
    except etree.SerialisationError:
        # It lets references to half a character pass, and stumbles over them here.
        root, more = _parsed(_REFERENCE.sub(_without_surrogate, body))
    try:
        return (b"" if root is None else etree.tostring(root)), faults + more
    except etree.SerialisationError:
        raise MemoryError from None  # the only other reason there is


def _parsed(body: bytes) -> tuple[Any, int]:
    parser = etree.XMLParser(
        resolve_entities="internal",
        no_network=True,
        load_dtd=False,
        recover=True,
        remove_comments=True,
        remove_pis=True,
    )
    try:
        root = read_tree(body, parser)
    except etree.XMLSyntaxError:
        root = None
    faults = sum(entry.level >= etree.ErrorLevels.ERROR for entry in parser.error_log)
    return root, faults or int(root is None)


def _has_namespaces(root: Any, body: bytes, limit: int) -> bool:
    """Tell whether an element has too many namespaces in scope."""
    if body.count(b"xmlns") <= _NAMESPACES:
        return False
    scope = 0
    for event, _ in etree.iterwalk(root, events=("start-ns", "end-ns")):
        scope += 1 if event == "start-ns" else -1
        if scope > _NAMESPACES:
            return True
    return False


def _has_bases(root: Any, body: bytes, limit: int) -> bool:
    """Tell whether relative bases inside each other may make a long one."""
    if b":base" not in body:
        return False
    bases = xpath(root, "//@xml:base")
    return sum(len(base) for base in bases if not is_absolute(base)) > limit


def _without_surrogate(match: re.Match[bytes]) -> bytes:
    digits, is_decimal = (match[2], True) if match[2] else (match[1], False)
    code = int(digits[-9:], 10 if is_decimal else 16)
    return b"&#xFFFD;" if 0xD800 <= code <= 0xDFFF else match[0]
