"""RDFa 1.1: the processing sequence of RDFa Core, and of its host languages, over a document.

The sequence (RDFa Core, section 7.5) needs from an element's surroundings only what its parent
left behind. So one pass over the flat list suffices: each element takes the context of its parent
and leaves one for its children. Lists are written when the pass is over. An element that can bring
no triple by itself, such as a plain link, is processed only if a descendant needs its context.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pyoxigraph import RdfFormat

from rdfaspider.extract.contexts import RDF, XHTML_TERMS, XHTML_VOCABULARY
from rdfaspider.extract.document.tree import UNPLACED, Document, Element
from rdfaspider.extract.rdfa.context import DECLARATIONS, Context, Declarations, Incomplete, Lists
from rdfaspider.extract.rdfa.names import Names
from rdfaspider.extract.rdfa.patterns import copy_patterns
from rdfaspider.extract.rdfa.vocabulary import Vocabularies, expand
from rdfaspider.extract.triples.graph import Full, Graph
from rdfaspider.extract.triples.literals import time_suffix
from rdfaspider.extract.triples.statements import Statements

_RESOURCES = frozenset(("about", "resource", "href", "src", "property", "rel", "rev", "typeof"))
ATTRIBUTES = DECLARATIONS | _RESOURCES
_COMPLEX = frozenset(("about", "inlist", "rel", "rev", "typeof"))
_SOURCES = frozenset(("property", "typeof", "vocab"))  # each of them makes a triple
TYPE = f"<{RDF}type>"
_NIL = f"<{RDF}nil>"
_FIRST = f"<{RDF}first>"
_REST = f"<{RDF}rest>"
_ROLE = f"<{XHTML_VOCABULARY}role>"
XML_LITERAL = f"^^<{RDF}XMLLiteral>"
_HTML_LITERAL = f"^^<{RDF}HTML>"
_UNTYPABLE = frozenset((f"^^<{RDF}langString>", f"^^<{RDF}dirLangString>"))

Resources = tuple[str, str | None, str | None]
"""The new subject, the current object resource and the typed resource."""


def is_worth(document: Document, role: bool = False) -> bool:
    """Tell, without a walk, whether a document can hold a triple; a no is always right."""
    sources = _SOURCES | {"role"} if role else _SOURCES
    if document.embedded or not sources.isdisjoint(document.attributes):
        return True
    relations = (each.get(name) for *_, each, _ in document.elements for name in ("rel", "rev"))
    return any(
        ":" in value or not XHTML_TERMS.keys().isdisjoint(value.lower().split())
        for value in relations
        if value
    )


class Processor:
    """Walks one document and fills a graph with its triples."""

    def __init__(self, document: Document, graph: Graph) -> None:
        self._document = document
        self._text = document.text
        self._graph = graph
        self._declarations = Declarations(document.host, graph)
        self._lists: list[Lists] = []
        self._roles: dict[Names, Names] = {}  # the scopes of @role, by those around them
        self._hangs = False  # whether a plain link may be the end of a relation
        self._is_html = document.host in ("html5", "xhtml1", "xhtml5")
        self._is_html5 = document.host in ("html5", "xhtml5")

    def run(self, url: str, base: str, role: bool, vocabularies: Vocabularies) -> None:
        """Add every triple of the document to the graph, or as many as the limits allow."""
        initial = self._declarations.initial(self._document.host, url, base)
        if initial is None:
            return
        try:
            self._walk(initial, role)
            self._write_lists()
            for place, subtree in self._document.embedded:
                base = initial.names.base.resolve(place)
                # RDF/XML, as SVG's metadata element holds it.
                statements = Statements(self._graph)
                if statements.read(subtree, RdfFormat.RDF_XML, base):
                    self._graph.warnings["DocumentError"] += 1
            if self._is_html5:
                copy_patterns(self._graph)
            if vocabularies:
                expand(self._graph, vocabularies)
        except Full as full:
            self._graph.cuts[str(full)] += 1

    def _walk(self, initial: Context, role: bool) -> None:
        contexts: list[Any] = []  # by element: a Context, or what it takes to make it
        declarations = DECLARATIONS | self._document.namespaces
        is_silent = declarations.isdisjoint
        is_simple = (_COMPLEX | declarations | {"role"}).isdisjoint
        for element in self._document.elements:
            parent, _, attributes, _ = element
            if parent == UNPLACED:
                if not self._hangs:  # nothing can come of it
                    contexts.append(None)
                    continue
                parent = self._document.place(len(contexts))
                element = (parent, *element[1:])
            context = initial if parent < 0 else contexts[parent]
            if type(context) is tuple:
                context = contexts[parent] = self._element(*context)
            if context is None:  # what is inside is part of a literal
                contexts.append(None)
                continue
            if "property" in attributes and is_simple(attributes):
                contexts.append(self._plain(context, element))
                continue
            if not is_silent(attributes):
                context = self._declarations.entered(context, attributes, parent < 0)
            if role and "role" in attributes:
                self._add_roles(context.names, attributes)
            if "property" in attributes and _COMPLEX.isdisjoint(attributes):
                contexts.append(self._plain(context, element))
            elif _RESOURCES.isdisjoint(attributes):
                contexts.append(context)
            elif context.incomplete or _can_speak(context.names, attributes):
                contexts.append(self._element(context, element))
            else:
                contexts.append((context, element))

    def _plain(self, context: Context, element: Element) -> Context | None:
        """Do what ``_element`` would do for the commonest kind: a property and its value."""
        attributes = element[2]
        resource = None
        if "href" in attributes or "src" in attributes or "resource" in attributes:
            if "content" in attributes or "datatype" in attributes:
                return self._element(context, element)
            resource = _linked(context.names, attributes)
        subject = context.target
        predicates = context.names.predicates(attributes["property"])
        if predicates:
            value = self._value(context, element, resource)
            if value:
                for predicate in predicates:
                    self._graph.add(subject, predicate, value)
        if context.incomplete:
            self._complete(context, subject)
        elif subject == context.subject:
            return context  # nothing has changed
        if context.inner is None:
            context.inner = Context(
                subject, subject, [], context.lists, context.language, context.names
            )
        return context.inner

    def _element(self, context: Context, element: Element) -> Context | None:
        """Apply steps 5 to 13 to one element; return the context of its children, None if they have none."""
        attributes = element[2]
        names = context.names
        prop, rel, rev = attributes.get("property"), attributes.get("rel"), attributes.get("rev")
        if prop is not None and self._is_html5 and (rel is not None or rev is not None):
            rel, rev = without_terms(rel), without_terms(rev)
        about = names.resource(attributes["about"]) if "about" in attributes else None
        linked = _linked(names, attributes)
        related = rel is not None or rev is not None
        found = self._resources(context, element, related, about, linked)
        if found is None:
            return context
        subject, target, typed = found
        if typed is not None:
            for kind in names.values(attributes["typeof"]):
                self._graph.add(typed, TYPE, kind)
        lists = context.lists if subject == context.target else (subject, {})
        incomplete: list[Incomplete] = []
        if related:
            listed = "inlist" in attributes
            incomplete = self._relate(names, found, rel or "", rev or "", lists, listed)
            if target is None:
                target = self._graph.fresh()
            elif not listed:
                lists = (target, {})
        if prop and (predicates := names.predicates(prop)):
            resource = None if related else linked
            if resource is None and "about" not in attributes:
                resource = typed
            value = self._value(context, element, resource)
            for predicate in predicates if value else ():
                if "inlist" in attributes:
                    self._graph.spend(len(value))
                    self._list(lists, predicate).append(value)
                else:
                    self._graph.add(subject, predicate, value)
        if context.incomplete:
            self._complete(context, subject)
        return Context(subject, target or subject, incomplete, lists, context.language, names)

    def _resources(
        self,
        context: Context,
        element: Element,
        related: bool,
        about: str | None,
        linked: str | None,
    ) -> Resources | None:
        """Return the resources of an element, None if it must be skipped (steps 5 and 6).

        In step 5.2 the root, and in HTML head and body, stand for the document unless they name something
        else.
        """
        parent, tag, attributes, _ = element
        has_type = "typeof" in attributes
        has_form = "content" in attributes or "datatype" in attributes
        if related or ("property" in attributes and not has_form):  # step 6 or 5.1
            subject = about or context.target
            target = linked if related else None
            if not has_type:
                return subject, target, None
            if about is not None or (parent < 0 and not related):
                return subject, target, subject
            typed = linked or self._graph.fresh()
            return subject, typed, typed
        is_rooted = parent < 0 or (self._is_html and tag in ("head", "body"))
        named = about or linked
        if named is None:
            if has_type and not is_rooted:
                named = self._graph.fresh()
            elif is_rooted or "property" in attributes:
                named = context.target
            else:
                return None
        return named, None, named if has_type else None

    def _value(self, context: Context, element: Element, resource: str | None = None) -> str:
        """Return the value of @property (step 11); the resource, if any, is used when there is no literal.

        An empty string means that the literal is too long to be kept.
        """
        _, tag, attributes, node = element
        text, suffix = attributes.get("content"), context.language
        if text is None and self._is_html5 and (tag == "time" or "datetime" in attributes):
            text = attributes["datetime"] if "datetime" in attributes else self._text(node)
            suffix = time_suffix(text) or suffix
        if "datatype" in attributes:
            suffix = self._datatype(context, attributes["datatype"])
            if text is None:
                text = self._content(context, suffix, node)
        elif text is None:
            if resource:
                return resource
            text = self._text(node)
        return self._graph.literal(text, suffix)

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

    def _relate(
        self, names: Names, found: Resources, rel: str, rev: str, lists: Lists, listed: bool
    ) -> list[Incomplete]:
        """Add triples of @rel and @rev (steps 9 and 10); return those that lack a resource."""
        subject, target, _ = found
        incomplete: list[Incomplete] = []
        for predicate in names.predicates(rel):
            if listed:
                items = self._list(lists, predicate)
                if target is None:
                    incomplete.append(("listed", predicate, items))
                else:
                    items.append(target)
            elif target is None:
                incomplete.append(("forward", predicate, []))
            else:
                self._graph.add(subject, predicate, target)
        for predicate in names.predicates(rev):
            if target is None:
                incomplete.append(("reverse", predicate, []))
            else:
                self._graph.add(target, predicate, subject)
        if incomplete:
            self._hangs = True
        return incomplete

    def _list(self, lists: Lists, predicate: str) -> list[str]:
        """Return the list under construction; those that hold any are noted for the end."""
        if not lists[1]:
            self._lists.append(lists)
        return lists[1].setdefault(predicate, [])

    def _complete(self, context: Context, subject: str) -> None:
        """Complete the parent's incomplete triples with the subject (step 12)."""
        for direction, predicate, items in context.incomplete:
            if direction == "forward":
                self._graph.add(context.subject, predicate, subject)
            elif direction == "reverse":
                self._graph.add(subject, predicate, context.subject)
            else:
                self._graph.spend(len(subject))
                items.append(subject)

    def _write_lists(self) -> None:
        add = self._graph.add
        for subject, lists in self._lists:
            for predicate, items in lists.items():
                head = _NIL
                for item in reversed(items):
                    cell = self._graph.fresh()
                    add(cell, _FIRST, item)
                    add(cell, _REST, head)
                    head = cell
                add(subject, predicate, head)

    def _add_roles(self, names: Names, attributes: dict[str, str]) -> None:
        identity = attributes.get("id", "").strip()
        subject = names.base.term(f"#{identity}") if identity else None
        scope = self._roles.get(names)
        if scope is None:
            scope = self._roles[names] = replace(names, vocabulary=XHTML_VOCABULARY)
        for kind in scope.values(attributes["role"]):
            self._graph.add(subject or self._graph.fresh(), _ROLE, kind)


def _can_speak(names: Names, attributes: dict[str, str]) -> bool:
    """Tell whether an element may bring triples by itself."""
    if "property" in attributes or "typeof" in attributes:
        return True
    rel = attributes.get("rel")
    rev = attributes.get("rev")
    return bool((rel and names.predicates(rel)) or (rev and names.predicates(rev)))


def _linked(names: Names, attributes: dict[str, str]) -> str | None:
    """Return the resource of @resource, @href or @src, the first that names one."""
    term = names.resource(attributes["resource"]) if "resource" in attributes else None
    if term is None and "href" in attributes:
        term = names.base.term(attributes["href"])
    if term is None and "src" in attributes:
        term = names.base.term(attributes["src"])
    return term


def without_terms(value: str | None) -> str | None:
    """Return what HTML keeps of @rel and @rev beside @property: CURIEs and IRIs."""
    if value is None:
        return None
    return " ".join(token for token in value.split() if ":" in token) or None
