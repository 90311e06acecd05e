"""RDF/XML made safe for its parser.

The parser alone expands entities without end, needs the square of the depth and of the attributes of
an element, goes through all namespaces in scope at each element, and copies a long base as often.
libxml2 reads the document before, with its own limits, and writes down what is left.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from copy import deepcopy
from typing import Any

from lxml import etree

from rdfaspider.extract.document.xml import cut_attributes, read_tree, xml_parser, xpath
from rdfaspider.extract.triples.graph import Graph
from rdfaspider.extract.triples.iris import is_absolute

_RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
_PARSE_TYPE, _DATATYPE = f"{{{_RDF}}}parseType", f"{{{_RDF}}}datatype"
_XML_LITERAL = f"{_RDF}XMLLiteral"
_NAMESPACES = 1_000  # in scope at a time
_REFERENCE = re.compile(rb"&#(?:[xX]([0-9A-Fa-f]++)|([0-9]++));")


def tamed(body: bytes, graph: Graph) -> tuple[bytes, int]:
    """Return a document without what is unsafe, and its faults; what is cut is counted."""
    cuts = graph.cuts.copy()
    try:
        return _tamed(body, graph)
    except (etree.SerialisationError, UnicodeDecodeError):
        # lxml lets references to half a character pass, and stumbles over them later.
        graph.cuts.clear()
        graph.cuts.update(cuts)
        if body.startswith((BOM_UTF16_LE, BOM_UTF16_BE)):
            body = body.decode("utf-16", "replace").encode("utf-8-sig")
        elif b"\0" in body[:4]:  # of UTF-16 or UTF-32 without a mark
            return b"", 1
    try:
        written, faults = _tamed(_REFERENCE.sub(_without_surrogate, body), graph)
    except etree.SerialisationError:
        raise MemoryError from None  # the only other reason there is
    return written, faults + 1


def _tamed(body: bytes, graph: Graph) -> tuple[bytes, int]:
    root, faults = _parsed(body)
    if root is None:
        return b"", faults
    if body.count(b"xmlns") > _NAMESPACES and _has_namespaces(root):
        graph.cuts["rdf namespaces"] += 1
        return b"", faults
    if b":base" in body and _has_bases(root, graph.limits.iri):
        graph.cuts["rdf bases"] += 1
        return b"", faults
    if excess := cut_attributes(root, graph.limits.attributes):
        graph.cuts["attributes"] += excess
    return _written(root, graph), faults


def _parsed(body: bytes) -> tuple[Any, int]:
    parser = xml_parser(resolve_entities="internal", recover=True)
    try:
        root = read_tree(body, parser)
    except etree.XMLSyntaxError:
        root = None
    faults = sum(entry.level >= etree.ErrorLevels.ERROR for entry in parser.error_log)
    return root, faults or int(root is None)


def _written(root: Any, graph: Graph) -> bytes:
    """Return a document with its XML literals in exclusive canonical form, which the parser does not know."""
    literals = []
    walk = etree.iterwalk(root, events=("start",))
    for _, element in walk:
        if element.get(_PARSE_TYPE) == "Literal":
            literals.append(element)
            walk.skip_subtree()
    for element in literals:
        _canonicalise(element, graph)
    written: bytes = etree.tostring(root)
    return written


def _canonicalise(element: Any, graph: Graph) -> None:
    """Make the content of an element text; without namespaces that it does not use, but with the others."""
    length = 0
    for each in element.iterdescendants("*"):
        # Each may have to declare its namespaces again.
        length += sum(map(len, (each.tag, *each.keys())))
        if length > graph.limits.literal:
            graph.cuts["literal"] += 1
            parent = element.getparent()
            element.clear()  # else each of its descendants is given its namespaces
            parent.remove(element)
            return
    content = deepcopy(element)
    content.tag = "{x:}x"  # so that it uses no namespace of its content
    content.attrib.clear()
    try:
        text = etree.tostring(content, method="c14n", exclusive=True, with_tail=False).decode()
        content.text = text[text.index(">") + 1 : text.rindex("</")]
    except (etree.C14NError, ValueError):
        return  # a relative namespace, or half of a character
    attributes = {**element.attrib, _DATATYPE: _XML_LITERAL}
    del attributes[_PARSE_TYPE]
    element.clear()
    element.attrib.update(attributes)
    element.text = content.text


def _has_namespaces(root: Any) -> bool:
    """Tell whether an element has too many namespaces in scope."""
    scope = 0
    for event, _ in etree.iterwalk(root, events=("start-ns", "end-ns")):
        scope += 1 if event == "start-ns" else -1
        if scope > _NAMESPACES:
            return True
    return False


def _has_bases(root: Any, limit: int) -> bool:
    """Tell whether relative bases inside each other may make a long one."""
    bases = xpath(root, "//@xml:base")
    return sum(len(base) for base in bases if not is_absolute(base)) > limit


def _without_surrogate(match: re.Match[bytes]) -> bytes:
    digits, is_decimal = (match[2], True) if match[2] else (match[1], False)
    code = int(digits[-9:], 10 if is_decimal else 16)
    return b"&#xFFFD;" if 0xD800 <= code <= 0xDFFF else match[0]
