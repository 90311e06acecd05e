"""What an element hands down to its children, and how declarations change it."""

from __future__ import annotations

from dataclasses import dataclass, replace

from rdfaspider.extract.contexts import RDFA, TERMS, XHTML_TERMS
from rdfaspider.extract.rdfa.names import Names, declared
from rdfaspider.extract.triples.graph import Graph
from rdfaspider.extract.triples.iris import Base
from rdfaspider.extract.triples.literals import language_suffix

DECLARATIONS = frozenset(("vocab", "prefix", "lang", "xml:lang", "xml:base"))
_USES_VOCABULARY = f"<{RDFA}usesVocabulary>"

Lists = tuple[str, dict[str, list[str]]]
"""A subject, and for each predicate the items that will become its list."""

Incomplete = tuple[str, str, list[str]]
"""A direction (forward, reverse, listed), a predicate, and the list if it is one."""


@dataclass(slots=True)
class Context:
    """The evaluation context of RDFa Core, section 7.2; terms are N-Quads strings."""

    subject: str
    target: str  # the parent object
    incomplete: list[Incomplete]
    lists: Lists
    language: str  # as a suffix, such as @en, or empty
    names: Names
    inner: Context | None = None  # what properties inside hand down, if one has been found


class Declarations:
    """Reads the attributes that declare a base, prefixes, a vocabulary or a language."""

    def __init__(self, host: str, graph: Graph) -> None:
        self._graph = graph
        self._has_base = host in ("svg", "xml", "xhtml5")
        self._has_lang = host in ("html5", "xhtml1", "xhtml5")
        self._prefixes_left = graph.limits.prefixes

    def initial(self, host: str, url: str, base: str) -> Context | None:
        """Return the context that the root element starts from, None when there is no base."""
        limit, spend = self._graph.limits.iri, self._graph.spend
        names = self._initial_names(host, Base(base, limit, spend), Base(url, limit, spend))
        subject = names.base.term("")
        return Context(subject, subject, [], (subject, {}), "", names) if subject else None

    def _initial_names(self, host: str, base: Base, document: Base) -> Names:
        return Names(base, document, XHTML_TERMS if host == "xhtml1" else TERMS, self._graph)

    def entered(self, context: Context, attributes: dict[str, str], is_root: bool) -> Context:
        """Return the context inside an element that declares something."""
        names = self._names(context.names, attributes)
        context = Context(
            context.subject,
            context.target,
            context.incomplete,
            context.lists,
            context.language,
            names,
        )
        language = attributes.get("xml:lang")
        if language is None and self._has_lang:
            language = attributes.get("lang")
        if language is not None:
            context.language = language_suffix(language.strip())
        if is_root and "xml:base" in attributes:
            subject = context.names.base.term("") or context.subject
            context.subject = context.target = subject
            context.lists = (subject, context.lists[1])
        return context

    def _names(self, names: Names, attributes: dict[str, str]) -> Names:
        if self._has_base and "xml:base" in attributes:
            names = self._based(names, attributes["xml:base"].strip())
        if prefixes := self._prefixes(attributes):
            names = replace(names, prefixes=names.prefixes | prefixes)
        vocabulary = attributes.get("vocab")
        if vocabulary is not None:
            names = replace(names, vocabulary=self._vocabulary(names.base, vocabulary.strip()))
        return names

    def _based(self, names: Names, reference: str) -> Names:
        """Return the names under another base; one that is too long would only grow inside."""
        base = names.base.resolve(reference)
        limit, spend = self._graph.limits.iri, self._graph.spend
        spend(len(base))
        if len(base) > limit:
            self._graph.cuts["iri"] += 1
            return names
        return replace(names, base=Base(base, limit, spend))

    def _vocabulary(self, base: Base, value: str) -> str:
        term = base.term(value) if value else None
        document = base.term("")
        if term is None or document is None:
            return ""
        self._graph.add(document, _USES_VOCABULARY, term)
        return term[1:-1]

    def _prefixes(self, attributes: dict[str, str]) -> dict[str, str]:
        found = {
            name[6:].lower(): attributes[name].strip()
            for name in attributes
            if name.startswith("xmlns:") and name not in ("xmlns:", "xmlns:_")
        }
        if "prefix" in attributes:
            more, malformed = declared(attributes["prefix"])
            found |= more
            if malformed:
                self._graph.warnings["Warning"] += malformed
        if len(found) > self._prefixes_left:
            self._graph.cuts["prefixes"] += len(found)
            return {}
        self._prefixes_left -= len(found)
        return found
