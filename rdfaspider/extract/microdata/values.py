"""The values of Microdata's properties, other than items: links, numbers, times and texts.

@content comes first, on any element, and is a string. Without it, the element decides which attribute
holds the value; the text comes last.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from rdfaspider.extract.contexts import XSD
from rdfaspider.extract.document.tree import Document
from rdfaspider.extract.triples.graph import Graph
from rdfaspider.extract.triples.iris import Base
from rdfaspider.extract.triples.literals import time_suffix

_LINKS = {
    **dict.fromkeys(("a", "area", "link"), "href"),
    **dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src"),
    "object": "data",
}
_NUMBERS = frozenset(("data", "meter"))
_SOURCES = {**_LINKS, "data": "value", "meter": "value", "time": "datetime"}
_INTEGER = re.compile(r"-?\d+", re.A)
_DOUBLE = re.compile(r"-?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?", re.A)


class ItemValues:
    """Makes terms out of attributes and text, each element's once, within the graph's limits."""

    def __init__(
        self, document: Document, base: Base, languages: Sequence[str], graph: Graph
    ) -> None:
        self._document = document
        self._base = base
        self._languages = languages
        self._graph = graph
        self._known: dict[int, str | None] = {}

    def value(self, index: int) -> str | None:
        """Return the value that an element has; None means that there is none worth keeping."""
        if index not in self._known:
            self._known[index] = self._value(index)
        return self._known[index]

    def resource(self, index: int) -> str | None:
        """Return the value that an element has if that is a link: no text is read for it."""
        _, tag, attributes, _ = self._document.elements[index]
        return self.value(index) if _LINKS.get(tag) in attributes else None

    def link(self, reference: str) -> str | None:
        """Return the term for a reference; one that is not a valid IRI is counted."""
        term = self._base.term(reference)
        if term is None:
            self._graph.cuts["iri"] += 1
        return term

    def _value(self, index: int) -> str | None:
        _, tag, attributes, node = self._document.elements[index]
        language = self._languages[index]
        if "content" in attributes:
            return self._graph.literal(attributes["content"], language) or None
        text = attributes.get(_SOURCES.get(tag, ""))
        if tag in _LINKS and text is not None:
            return self.link(text)
        if text is None:
            text = self._document.text(node)
        if tag in _LINKS and not text:
            return None  # such as an image that a script will load
        suffix = self._suffix(tag, text, language)
        return self._graph.literal(text, suffix) or None

    def _suffix(self, tag: str, text: str, language: str) -> str:
        if tag in _NUMBERS:
            return number_suffix(text)
        return (tag == "time" and time_suffix(text)) or language


def number_suffix(text: str) -> str:
    """Return the datatype of a number as a suffix, or an empty string."""
    if _INTEGER.fullmatch(text):
        return f"^^<{XSD}integer>"
    return f"^^<{XSD}double>" if _DOUBLE.fullmatch(text) else ""
