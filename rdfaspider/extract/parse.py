"""Bytes to a document: by which parser, and what is cut before and by it."""

from __future__ import annotations

from rdfaspider.extract import guard
from rdfaspider.extract.facts import Facts
from rdfaspider.extract.html import HtmlDocument, namespaces
from rdfaspider.extract.limits import Limits
from rdfaspider.extract.tree import Document
from rdfaspider.extract.xml import XmlDocument, parsed_soup, parsed_xml


def parse(
    body: bytes,
    lowered: bytes,
    media_type: str,
    names: frozenset[str],
    limits: Limits,
    facts: Facts,
) -> Document:
    """Read a page in UTF-8, given as it is and in lower case.

    ``names`` are the attributes that make an element worth listing.
    """
    body, excess = guard.without_excess(body, limits.attributes)
    if excess:
        facts.cuts["attributes"] += excess
        lowered = body.lower()
    document = _parsed(body, lowered, media_type, names, limits, facts)
    facts.host = document.host
    facts.title = " ".join(document.title[:2000].split())
    if document.is_cut:
        facts.cuts["elements"] += 1
    return document


def _parsed(
    body: bytes,
    lowered: bytes,
    media_type: str,
    names: frozenset[str],
    limits: Limits,
    facts: Facts,
) -> Document:
    if media_type.endswith("xml"):
        try:
            root, host = parsed_xml(body, media_type)
        except ValueError:
            facts.warnings["DocumentError"] += 1
        else:
            return XmlDocument(root, host, names, limits.elements)
    if guard.is_tame(lowered, limits.depth):
        return HtmlDocument(body, names, limits.elements, namespaces(lowered))
    root, is_cut = parsed_soup(body)
    if is_cut:
        facts.cuts["depth"] += 1
    return XmlDocument(root, "html5", names, limits.elements)
