"""The value of a property: step 11 of the processing sequence, and what HTML adds to it."""

from __future__ import annotations

from typing import Any

from rdfaspider.extract.contexts import RDF
from rdfaspider.extract.document.tree import Document, Element
from rdfaspider.extract.rdfa.context import Context
from rdfaspider.extract.triples.graph import Graph
from rdfaspider.extract.triples.literals import time_suffix

XML_LITERAL = f"^^<{RDF}XMLLiteral>"
_HTML_LITERAL = f"^^<{RDF}HTML>"
_UNTYPABLE = frozenset((f"^^<{RDF}langString>", f"^^<{RDF}dirLangString>"))


class Values:
    """Makes literals out of attributes and text, within the limits of the graph."""

    def __init__(self, document: Document, graph: Graph) -> None:
        self._document = document
        self._text = document.text
        self._graph = graph
        self._has_times = document.host in ("html5", "xhtml5")

    def value(self, context: Context, element: Element, resource: str | None = None) -> str:
        """Return the value of @property; the resource, if any, is used when there is no literal.

        An empty string means that the literal is too long to be kept.
        """
        _, tag, attributes, node = element
        if "datatype" in attributes:
            return self._typed(context, tag, attributes, node)
        if "content" in attributes:
            return self._graph.literal(attributes["content"], context.language)
        text = self._time(tag, attributes, node) if self._has_times else None
        if text is not None:
            return self._graph.literal(text, time_suffix(text) or context.language)
        return resource or self._graph.literal(self._text(node), context.language)

    def _time(self, tag: str, attributes: dict[str, str], node: Any) -> str | None:
        if "datetime" in attributes:
            return attributes["datetime"]
        return self._text(node) if tag == "time" else None

    def _typed(self, context: Context, tag: str, attributes: dict[str, str], node: Any) -> str:
        suffix = self._datatype(context, attributes["datatype"])
        text = attributes.get("content")
        if text is None and self._has_times:
            text = self._time(tag, attributes, node)
        return self._graph.literal(
            self._content(context, suffix, node) if text is None else text, suffix
        )

    def _datatype(self, context: Context, datatype: str) -> str:
        for kind in context.names.values(datatype):
            if kind[0] == "<" and (suffix := f"^^{kind}") not in _UNTYPABLE:
                return suffix
        return context.language

    def _content(self, context: Context, suffix: str, node: Any) -> str:
        if suffix == XML_LITERAL:
            return self._document.xml(node, context.names.prefixes, self._spend)
        if suffix == _HTML_LITERAL:
            return self._document.html(node, self._spend)
        return self._text(node)

    def _spend(self, characters: int) -> None:
        self._graph.spend(4 * characters)  # writing mark-up takes longer than reading text
