"""Parsers for rdflib, which finds them by the entry points of this package.

    from rdflib import Graph
    Graph().parse("https://example.org/", format="rdfa")

`rdfa`, `microdata` and `jsonld-html` read that format alone; `html`, `text/html` and `application/xhtml+xml`
read all three. Blank nodes are new in each call. Lexical forms stay as they are on the page.
"""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import urljoin

from pyoxigraph import BlankNode, NamedNode
from rdflib import BNode, Literal, URIRef
from rdflib.exceptions import ParserError
from rdflib.parser import Parser

from rdfaspider.extract import Limits, Options, extract

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyoxigraph import Quad
    from rdflib import Graph
    from rdflib.parser import InputSource

logger = logging.getLogger(__name__)

_XHTML = "application/xhtml+xml"
# What a page may be served as; other types, and none, are read as HTML.
_TYPES = (_XHTML, "text/html", "image/svg+xml", "application/xml", "text/xml")
_XML = b"<?xml"
_LIMITS = replace(Limits(), links=0)  # nobody follows them
_STRING = "http://www.w3.org/2001/XMLSchema#string"


class HtmlParser(Parser):
    """Reads RDFa, Microdata and JSON-LD in a page."""

    formats: ClassVar[frozenset[str]] = frozenset(("rdfa", "microdata", "jsonld"))
    content_type: ClassVar[str] = ""  # if the source does not say

    def parse(self, source: InputSource, sink: Graph, **options: Any) -> None:
        """Add the statements of a page to a graph; raise ParserError if it cannot be read."""
        body, encoding = _read(source)
        url = _base(source)
        content_type = _media_type(source, body) or self.content_type or "text/html"
        if encoding:
            content_type += f"; charset={encoding}"
        found = extract(body, url, content_type, Options(formats=self.formats, limits=_LIMITS))
        if "page" in found.facts.errors or found.facts.is_out_of_memory:
            raise ParserError(f"{url} cannot be read as a page.")
        for name, count in (found.facts.cuts + found.facts.warnings).items():
            logger.warning("%s: %s (%s).", url, name, count)
        add_all(sink, found.quads)


def add_all(graph: Graph, quads: Iterable[Quad]) -> None:
    """Add statements to a graph, whatever graphs they are in."""
    nodes: dict[str, BNode] = {}
    for quad in quads:
        subject, value = (_term(term, nodes) for term in (quad.subject, quad.object))
        graph.add((subject, URIRef(quad.predicate.value), value))


class RdfaParser(HtmlParser):
    """Reads RDFa alone."""

    formats = frozenset(("rdfa",))


class MicrodataParser(HtmlParser):
    """Reads Microdata alone."""

    formats = frozenset(("microdata",))


class JsonLdParser(HtmlParser):
    """Reads the JSON-LD in a page's scripts alone."""

    formats = frozenset(("jsonld",))


class XhtmlParser(HtmlParser):
    """Reads a page as XHTML, unless its source says otherwise."""

    content_type = _XHTML


def _base(source: InputSource) -> str:
    """Return the URL of a page; like rdflib, take one that has none for a file in this directory."""
    url = str(source.getPublicId() or source.getSystemId() or "")
    return urljoin(f"{Path.cwd().as_uri()}/", url)


def _read(source: InputSource) -> tuple[bytes, str]:
    """Return the bytes of a page, and their encoding if the source knows it."""
    stream = source.getByteStream() or source.getCharacterStream()
    if stream is None:
        raise ParserError("There is nothing to read.")
    data: bytes | str = stream.read()  # a stream of bytes may be one of characters
    if isinstance(data, str):
        return data.encode("utf-8", "replace"), "utf-8"
    answer = getattr(source, "response_info", None)
    return data, source.getEncoding() or (answer and answer.get_content_charset()) or ""


def _media_type(source: InputSource, body: bytes) -> str:
    """Return what the source says that the page is, "" if it says nothing that is known."""
    said = (getattr(source, "content_type", None) or "").partition(";")[0].strip().lower()
    if said in _TYPES:
        return str(said)
    return _XHTML if body.lstrip().startswith(_XML) else ""


def _term(term: Any, nodes: dict[str, BNode]) -> URIRef | BNode | Literal:
    if isinstance(term, NamedNode):
        return URIRef(term.value)
    if isinstance(term, BlankNode):
        return nodes.setdefault(term.value, BNode())
    if term.language:
        return Literal(term.value, lang=term.language)
    datatype = term.datatype.value
    if datatype == _STRING:  # rdflib takes it for another than a plain text
        return Literal(term.value)
    return Literal(term.value, datatype=URIRef(datatype), normalize=False)
