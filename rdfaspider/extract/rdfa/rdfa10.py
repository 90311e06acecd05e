"""RDFa 1.0, for documents that declare it: what differs from RDFa 1.1, and nothing else.

The sequence is that of *RDFa in XHTML: Syntax and Processing*, section 5.5. Beside RDFa 1.1:

* names need a declaration by xmlns:…, or are link types of XHTML; @vocab, @prefix, @inlist and absolute
  IRIs mean nothing, and only safe CURIEs are CURIEs in @about and @resource;
* @src names a subject, as @about does, and @typeof always types the subject;
* @property always gives a literal, of XML where the element has child elements and no @datatype, and
  what is inside such a literal is not read again.

What HTML adds (``time``, @datetime, terms of @rel beside @property) holds for both versions.

The root's @version decides which documents these are, then the document type of XHTML+RDFa 1.0; all else is
RDFa 1.1. In HTML the document type counts only if the page is well-formed XML. pyRdfa3 decides in the same
way, and it spares the many pages that took the document type from a template, but no declaration of their
prefixes.
"""

from __future__ import annotations

import re

from rdfaspider.extract.contexts import LINK_TYPES, XHTML_VOCABULARY
from rdfaspider.extract.document.tree import Document, Element
from rdfaspider.extract.document.xml import parsed_xml
from rdfaspider.extract.rdfa.context import Context, Declarations
from rdfaspider.extract.rdfa.names import Names
from rdfaspider.extract.rdfa.processor import TYPE, XML_LITERAL, Processor, without_terms
from rdfaspider.extract.triples.graph import Graph
from rdfaspider.extract.triples.iris import Base

_DECLARED = re.compile(r"RDFa ?(1\.[01])")
_DOCTYPE = re.compile(
    rb"(?:\s|<\?.*?\?>|<!--.*?-->)*+<!DOCTYPE\s+html\s+PUBLIC\s+"
    rb"""["']-//W3C//DTD XHTML\+RDFa 1\.0//EN["']\s+"""
    rb"""["']http://www\.w3\.org/MarkUp/DTD/xhtml-rdfa-1\.dtd["']""",
    re.S | re.I,
)
_START = 4096  # bytes in which a document type is looked for


def declared_version(document: Document, body: bytes) -> str:
    """Return 1.0 or 1.1 for a document that was parsed from a body in UTF-8."""
    attribute = _DECLARED.search(document.elements[0][2].get("version", ""))
    if attribute:
        return attribute[1]
    if document.host not in ("html5", "xhtml1") or not _DOCTYPE.match(body[:_START]):
        return "1.1"
    return "1.0" if document.host == "xhtml1" or _is_xml(body) else "1.1"


def _is_xml(body: bytes) -> bool:
    try:
        parsed_xml(body)
    except ValueError:
        return False
    return True


class Processor10(Processor):
    """Walks a document of RDFa 1.0 as ``Processor`` walks others."""

    def __init__(self, document: Document, graph: Graph) -> None:
        super().__init__(document, graph)
        self._declarations = _Declarations(document.host, graph)

    def _plain(self, context: Context, element: Element) -> Context | None:
        return self._element(context, element)

    def _element(self, context: Context, element: Element) -> Context | None:
        """Apply steps 4 to 11 to one element; return the context of its children."""
        parent, tag, attributes, _ = element
        names = context.names
        prop, rel, rev = attributes.get("property"), attributes.get("rel"), attributes.get("rev")
        if prop is not None and self._is_html5:
            rel, rev = without_terms(rel), without_terms(rev)
        related = rel is not None or rev is not None
        named = _named(names, attributes, "about", "src")
        target = _named(names, attributes, "resource", "href")
        if not related:
            named, target = named or target, None
        if named is None:
            if parent < 0 or (self._is_html and tag in ("head", "body")):
                named = names.base.term("")
            elif "typeof" in attributes:
                named = self._graph.fresh()
            elif prop is None and not related:
                return context
        subject = named or context.target
        for kind in names.values(attributes.get("typeof", "")):
            self._graph.add(subject, TYPE, kind)
        incomplete, has_markup = [], False
        if related:
            found = (subject, target, None)
            incomplete = self._relate(names, found, rel or "", rev or "", context.lists, False)
            target = target or self._graph.fresh()
        if prop and (predicates := names.predicates(prop)):
            value = self._value(context, element)
            if value:
                for predicate in predicates:
                    self._graph.add(subject, predicate, value)
            has_markup = value.endswith(XML_LITERAL)
        if context.incomplete:
            self._complete(context, subject)
        if has_markup:
            return None
        return Context(
            subject, target or subject, incomplete, context.lists, context.language, names
        )

    def _value(self, context: Context, element: Element, resource: str | None = None) -> str:
        _, tag, attributes, node = element
        if self._asks(tag, attributes) or not self._document.has_elements(node):
            return super()._value(context, element)
        return self._graph.literal(self._content(context, XML_LITERAL, node), XML_LITERAL)

    def _asks(self, tag: str, attributes: dict[str, str]) -> bool:
        if "content" in attributes or "datatype" in attributes:
            return True
        return self._is_html5 and (tag == "time" or "datetime" in attributes)


def _named(names: Names, attributes: dict[str, str], resource: str, link: str) -> str | None:
    """Return what an attribute for IRIs and CURIEs names, or else one for IRIs alone."""
    value = attributes.get(resource)
    if value is not None and (term := names.resource(value)) is not None:
        return term
    value = attributes.get(link)
    return None if value is None else names.base.term(value)


class _Declarations(Declarations):
    """Knows xmlns:… alone."""

    def _initial_names(self, host: str, base: Base, document: Base) -> Names:
        return _Names(base, document, LINK_TYPES, self._graph)

    def entered(self, context: Context, attributes: dict[str, str], is_root: bool) -> Context:
        known = attributes.copy()
        known.pop("prefix", None)
        known.pop("vocab", None)
        return super().entered(context, known, is_root)


class _Names(Names):
    """Resolves CURIEs by their declaration only, and terms only as link types."""

    def _resource(self, value: str) -> str | None:
        return super()._resource(value) if value.startswith("[") else self.base.term(value)

    def _name(self, token: str) -> str | None:
        if ":" not in token:
            return self._term(token)
        curie = self._curie(token)
        if curie is None:
            self.graph.warnings["UnresolvedCURIE"] += 1
        return curie

    def _namespace(self, prefix: str) -> str | None:
        return self.prefixes.get(prefix) if prefix else XHTML_VOCABULARY
