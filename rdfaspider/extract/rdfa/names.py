"""How the attribute values of RDFa name things: terms, CURIEs, safe CURIEs, IRIs.

A ``Names`` is what is in scope at an element: prefixes, vocabulary, base. Elements that declare
nothing share their parent's, so that each distinct attribute value is worked out once per scope. The
pages of a site declare the same things and use the same few names, so short names that mean the same on
any page are remembered from page to page.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import lru_cache

from rdfaspider.extract.contexts import PREFIXES, XHTML_VOCABULARY
from rdfaspider.extract.triples import iris
from rdfaspider.extract.triples.graph import Graph

# Tokens of one attribute that are looked at: each may become an IRI of thousands of characters.
_TOKENS = 1_000

_TERM = re.compile(r"[^\W\d][\w.\-·/]*")
_NCNAME = re.compile(r"[^\W\d][\w.\-·]*")

_Scope = tuple[type, str, tuple[tuple[str, str], ...]]
_REMEMBERED = 500  # names in a scope; a page may bring many of its own: then it begins again
# Characters of a name, and prefixes in scope, with which it is remembered.
_SHORT_NAME = 60
_FEW_PREFIXES = 24


@lru_cache(20)
def _remembered(scope: _Scope) -> dict[str, tuple[str, ...]]:
    """Return what short names mean in a scope, on any page: ``Names`` reads and fills it."""
    return {}


@dataclass(eq=False)
class Names:
    """The prefixes, the vocabulary and the base in scope, and what values mean under them."""

    base: iris.Base
    document: iris.Base
    terms: dict[str, str]
    graph: Graph
    prefixes: dict[str, str] = field(default_factory=dict)
    vocabulary: str = ""

    def __post_init__(self) -> None:
        self._values: dict[str, tuple[str, ...]] = {}
        self._resources: dict[str, str | None] = {}
        self._known = self._lasting()

    def _lasting(self) -> dict[str, tuple[str, ...]]:
        """Return what names mean on any page that declares the same, if that is not long to remember."""
        prefixes = self.prefixes
        if len(prefixes) > _FEW_PREFIXES or self.graph.limits.iri < iris.SHORT:
            return {}
        if any(len(text) > iris.SHORT for text in (self.vocabulary, *prefixes, *prefixes.values())):
            return {}
        return _remembered((type(self), self.vocabulary, tuple(prefixes.items())))

    def values(self, value: str) -> tuple[str, ...]:
        """Return the terms that a list of terms, CURIEs and absolute IRIs names."""
        answer = self._known.get(value)
        if answer is None:
            answer = self._values.get(value)
        if answer is None:
            answer = self._values[value] = self._all_named(value)
            if self._is_lasting(value, answer):
                if len(self._known) >= _REMEMBERED:
                    self._known.clear()
                self._known[value] = answer
        return answer

    def _all_named(self, value: str) -> tuple[str, ...]:
        tokens = value.split(maxsplit=_TOKENS)
        if len(tokens) > _TOKENS:
            self.graph.warnings["TooManyTokens"] += 1
            del tokens[_TOKENS:]
        named = [name for token in tokens if (name := self._name(token)) is not None]
        answer = tuple(dict.fromkeys(named))
        if len(answer) > 1 or (answer and len(answer[0]) > iris.SHORT):
            self.graph.spend(sum(map(len, answer)))
        return answer

    def _is_lasting(self, value: str, answer: tuple[str, ...]) -> bool:
        """Tell whether a name means this on every page where the same is declared.

        It has no warning or length to count, is no blank node, and is neither a term of the host language
        nor relative to the page.
        """
        if len(answer) != 1 or answer[0][0] != "<" or len(answer[0]) > iris.SHORT:
            return False
        if len(value) > _SHORT_NAME or len(value.split()) != 1:
            return False
        prefix, colon, _ = value.strip().partition(":")
        if not colon:
            return bool(self.vocabulary)
        namespace = self._namespace(prefix.lower())
        return namespace is None or iris.is_absolute(namespace)

    def predicates(self, value: str) -> tuple[str, ...]:
        """Return the values that can be predicates: those that are not blank nodes."""
        answer = self._known.get(value)  # IRIs alone
        return answer or tuple([name for name in self.values(value) if name[0] == "<"])

    def resource(self, value: str) -> str | None:
        """Return the term that @about or @resource names, or None when it must be ignored."""
        if value in self._resources:
            return self._resources[value]
        answer = self._resources[value] = self._resource(value.strip())
        if answer and len(answer) > iris.SHORT:
            self.graph.spend(len(answer))
        return answer

    def _resource(self, value: str) -> str | None:
        if value.startswith("["):
            curie = self._curie(value[1:-1]) if value.endswith("]") else None
            if curie is None and value != "[]":
                self.graph.warnings["UnresolvedCURIE"] += 1
            return curie
        curie = self._curie(value)
        return self.base.term(value) if curie is None else curie

    def _name(self, token: str) -> str | None:
        if _TERM.fullmatch(token):
            return self._term(token)
        curie = self._curie(token)
        if curie is not None:
            return curie
        if iris.is_absolute(token):
            return iris.term(token, self.graph.limits.iri)
        self.graph.warnings["UnresolvedCURIE"] += 1
        return None

    def _term(self, token: str) -> str | None:
        if self.vocabulary:
            return iris.term(self.vocabulary + token, self.graph.limits.iri)
        iri = self.terms.get(token) or self.terms.get(token.lower())
        if iri is None:
            self.graph.warnings["UnresolvedTerm"] += 1
            return None
        return f"<{iri}>"

    def _curie(self, value: str) -> str | None:
        prefix, colon, reference = value.partition(":")
        if not colon or reference.startswith("//"):
            return None
        if prefix == "_":
            return self.graph.named(reference)
        namespace = self._namespace(prefix.lower())
        if namespace is None:
            return None
        iri = namespace + reference
        found = iris.term(iri, self.graph.limits.iri)
        return self.document.term(iri) if found is None and not iris.is_absolute(iri) else found

    def _namespace(self, prefix: str) -> str | None:
        if not prefix:
            return XHTML_VOCABULARY
        return self.prefixes.get(prefix) or PREFIXES.get(prefix)


def declared(value: str) -> tuple[dict[str, str], int]:
    """Read @prefix: return its mappings and how many declarations were malformed."""
    tokens = value.split()
    found: dict[str, str] = {}
    malformed = 0
    position = 0
    while position < len(tokens):
        prefix = tokens[position]
        if not prefix.endswith(":") or position + 1 == len(tokens):
            malformed += 1
            position += 1
            continue
        if _NCNAME.fullmatch(prefix[:-1]) and prefix != "_:":
            found[prefix[:-1].lower()] = tokens[position + 1]
        else:
            malformed += 1
        position += 2
    return found, malformed
