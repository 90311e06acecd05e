"""Microdata to RDF, second edition: the items of a page as triples.

Of a property's value @content comes first, on any element, and is a string. Without it, the element decides
which attribute holds the value; the text comes last.

An item is described once for each namespace that its names may come from: its type's, or when it
has no type those of the items that have it as a value. An item that contains itself through @itemref
is wrong in Microdata but valid in RDF: it is described, and counted as a warning.
"""

from __future__ import annotations

from collections import defaultdict

from rdfaspider.extract.contexts import RDF
from rdfaspider.extract.document.tree import Document
from rdfaspider.extract.microdata.registry import REGISTRY, MicrodataRegistry
from rdfaspider.extract.microdata.scopes import Scopes
from rdfaspider.extract.triples import iris
from rdfaspider.extract.triples.graph import Full, Graph
from rdfaspider.extract.triples.literals import number_suffix, time_suffix

ATTRIBUTES = frozenset(("itemscope", "itemprop", "itemprop-reverse", "lang", "xml:lang"))

Item = tuple[int, str]
"""The index of an item, and the namespace that its names are taken from."""

_TYPE = f"<{RDF}type>"
_LINKS = {
    **dict.fromkeys(("a", "area", "link"), "href"),
    **dict.fromkeys(("audio", "embed", "iframe", "img", "source", "track", "video"), "src"),
    "object": "data",
}
_SOURCES = {**_LINKS, "data": "value", "meter": "value", "time": "datetime"}
_HOSTS = frozenset(("html5", "xhtml1", "xhtml5"))
_VISIT = 20  # characters that each property counts, so that items which share useless ones end too


def is_worth(document: Document) -> bool:
    """Tell whether a document has an item."""
    return "itemscope" in document.attributes


def read(
    document: Document, base: str, graph: Graph, registry: MicrodataRegistry = REGISTRY
) -> None:
    """Add the triples of a document's items to the graph, or as many as the limits allow.

    The document must list all elements that have one of the ``ATTRIBUTES``. Those that are remarkable only
    for their @id are listed if an item refers to others. What is not a valid IRI is left out and counted
    among the cuts of the graph as ``iri``.
    """
    if document.host not in _HOSTS:
        return
    if any("itemref" in each and "itemscope" in each for _, _, each, _ in document.elements):
        was_cut = document.is_cut
        document.list_also("id")
        if document.is_cut and not was_cut:
            graph.cuts["elements"] += 1
    reader = _Reader(document, base, graph, registry)
    try:
        reader.run()
    except Full as full:
        graph.cuts[str(full)] += 1


class _Reader:
    """Describes the items of one document."""

    def __init__(
        self, document: Document, base: str, graph: Graph, registry: MicrodataRegistry
    ) -> None:
        self._base = iris.Base(base, graph.limits.iri, graph.spend)
        self._elements = document.elements
        self._text = document.text
        self._graph = graph
        self._registry = registry
        self._scopes = Scopes(document)
        self._values: dict[int, str | None] = {}
        self._untyped = f"{self._base.iri}#"
        self._written: set[Item] = set()
        self._open: set[Item] = set()  # those whose inner items are still being written
        self._subjects: dict[int, str] = {}
        self._types: dict[str, tuple[list[str], str]] = {}  # by @itemtype
        self._predicates: defaultdict[str, dict[str, list[str]]] = defaultdict(dict)

    def run(self) -> None:
        """Describe the items that are nobody's property, and depth first those inside them."""
        for top in self._scopes.top:
            pending = [self._item(top, self._untyped)]
            while pending:
                item = pending.pop()
                if item in self._open:  # met again, on the way back
                    self._open.remove(item)
                elif item not in self._written:
                    self._written.add(item)
                    self._open.add(item)
                    pending.append(item)
                    pending += self._described(*item)

    def _described(self, index: int, namespace: str) -> list[Item]:
        """Write the triples of an item; return the items inside it that are not above it too."""
        subject = self._subject(index)
        for kind in self._typed(index)[0]:
            self._graph.add(subject, _TYPE, kind)
        properties = self._scopes.properties(index)
        self._graph.spend(_VISIT * len(properties))
        inner: list[Item] = []
        for place in properties:
            attributes = self._elements[place][2]
            forward = self._named(namespace, attributes.get("itemprop", ""))
            reverse: list[str] = []
            if "itemprop-reverse" in attributes:
                reverse = self._named(namespace, attributes["itemprop-reverse"])
            if not (forward or reverse):
                continue
            if "itemscope" in attributes:
                value: str | None = self._subject(place)
                inner.append(self._item(place, namespace))
            else:
                value = self._value(place, is_link=not forward)
            if value is not None:
                self._relate(subject, forward, reverse, value)
        return self._without_loops(inner)

    def _relate(self, subject: str, forward: list[str], reverse: list[str], value: str) -> None:
        for predicate in forward:
            self._graph.add(subject, predicate, value)
            if predicate in self._registry.implied:
                for wider in self._registry.implied[predicate]:
                    self._graph.add(subject, wider, value)
        if reverse and value[0] != '"':
            for predicate in reverse:
                self._graph.add(value, predicate, subject)

    def _without_loops(self, inner: list[Item]) -> list[Item]:
        kept = [item for item in inner if item not in self._open]
        if len(kept) < len(inner):
            self._graph.warnings["ItemLoop"] += len(inner) - len(kept)
        return kept

    def _value(self, index: int, is_link: bool) -> str | None:
        """Return the value that an element has, None if there is none worth keeping.

        If only a link will do, no text is read.
        """
        _, tag, attributes, _ = self._elements[index]
        if is_link and _LINKS.get(tag) not in attributes:
            return None
        if index not in self._values:
            self._values[index] = self._read_value(index)
        return self._values[index]

    def _read_value(self, index: int) -> str | None:
        _, tag, attributes, node = self._elements[index]
        suffix = self._scopes.languages[index]
        if "content" in attributes:
            return self._graph.literal(attributes["content"], suffix) or None
        text = attributes.get(_SOURCES.get(tag, ""))
        if tag in _LINKS and text is not None:
            return self._link(text)
        if text is None:
            text = self._text(node)
        if tag in _LINKS and not text:
            return None  # such as an image that a script will load
        if tag in ("data", "meter"):
            suffix = number_suffix(text)
        elif tag == "time":
            suffix = time_suffix(text) or suffix
        return self._graph.literal(text, suffix) or None

    def _link(self, reference: str) -> str | None:
        """Return the term for a reference; one that is not a valid IRI is counted."""
        term = self._base.term(reference)
        if term is None:
            self._graph.cuts["iri"] += 1
        return term

    def _item(self, index: int, namespace: str) -> Item:
        return index, self._typed(index)[1] or namespace

    def _subject(self, index: int) -> str:
        """Return the node of an item: what @itemid names, or a blank node."""
        if index not in self._subjects:
            name = self._elements[index][2].get("itemid")
            found = None if name is None else self._link(name)
            self._subjects[index] = found or self._graph.fresh()
        return self._subjects[index]

    def _typed(self, index: int) -> tuple[list[str], str]:
        """Return the types of an item and the namespace of the first, empty if there is none."""
        value = self._elements[index][2].get("itemtype", "")
        if value not in self._types:
            kinds = self._terms([token for token in value.split() if iris.is_absolute(token)])
            namespace = self._registry.namespace(kinds[0][1:-1]) if kinds else ""
            self._types[value] = (kinds, namespace)
        return self._types[value]

    def _named(self, namespace: str, value: str) -> list[str]:
        """Return the predicates that the names in a value of @itemprop stand for."""
        known = self._predicates[namespace]
        if value not in known:
            names = value.split()
            self._graph.spend(len(value) + len(names) * len(namespace))
            names = [name if iris.is_absolute(name) else namespace + name for name in names]
            known[value] = self._terms(names)
        return known[value]

    def _terms(self, names: list[str]) -> list[str]:
        found = [iris.term(name, self._graph.limits.iri) for name in names]
        terms = [term for term in found if term is not None]
        if len(terms) < len(names):
            self._graph.cuts["iri"] += len(names) - len(terms)
        return terms
