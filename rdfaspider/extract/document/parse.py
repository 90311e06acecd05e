"""Bytes to a document: by which parser, and what is cut before and by it."""

from __future__ import annotations

from rdfaspider.extract.document.html import HtmlDocument
from rdfaspider.extract.document.limits import Limits, without_roots
from rdfaspider.extract.document.tree import Document
from rdfaspider.extract.document.xml import XmlDocument, parsed_xml
from rdfaspider.extract.facts import Facts


def parse(
    body: bytes, media_type: str, names: frozenset[str], limits: Limits, facts: Facts
) -> Document:
    """Read a page in UTF-8; ``names`` are the attributes that make an element worth listing."""
    document: Document | None = None
    if media_type.endswith("xml"):
        try:
            root = parsed_xml(body)
        except ValueError:  # it is read as HTML
            facts.warnings["DocumentError"] += 1
        else:
            document = XmlDocument(root, media_type, names, limits, facts.cuts)
    if document is None:
        body, excess = without_roots(body)
        if excess:
            facts.cuts["roots"] += excess
        document = HtmlDocument(body, names, limits.elements)
    facts.host = document.host
    facts.title = " ".join(document.title[:2000].split())
    if document.is_cut:
        facts.cuts["elements"] += 1
    return document
