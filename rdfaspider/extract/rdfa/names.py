"""How the attribute values of RDFa name things: terms, CURIEs, safe CURIEs, IRIs.

A ``Names`` is what is in scope at an element: prefixes, vocabulary, base. Elements that declare
nothing share their parent's, so that each distinct attribute value is worked out once per scope.
"""

from __future__ import annotations

import re

from rdfaspider.extract.contexts import PREFIXES, XHTML_VOCABULARY
from rdfaspider.extract.document.tree import Spend
from rdfaspider.extract.triples import iris
from rdfaspider.extract.triples.graph import Labels, Warnings

_TOKENS = (
    1_000  # of one attribute that are looked at: each may become an IRI of thousands of characters
)

_TERM = re.compile(r"[^\W\d][\w.\-·/]*")
_NCNAME = re.compile(r"[^\W\d][\w.\-·]*")


class Names:
    """The prefixes, the vocabulary and the base in scope, and what values mean under them."""

    __slots__ = (
        "_document",
        "_labels",
        "_limit",
        "_predicates",
        "_resources",
        "_spend",
        "_terms",
        "_values",
        "base",
        "prefixes",
        "vocabulary",
        "warnings",
    )

    def __init__(
        self,
        base: iris.Base,
        document: iris.Base,
        terms: dict[str, str],
        labels: Labels,
        warnings: Warnings,
        limit: int,
        spend: Spend,
    ) -> None:
        self.base = base
        self._document = document
        self.prefixes: dict[str, str] = {}
        self.vocabulary = ""
        self.warnings = warnings
        self._terms = terms
        self._labels = labels
        self._limit = limit
        self._spend = spend
        self._values: dict[str, tuple[str, ...]] = {}
        self._predicates: dict[str, tuple[str, ...]] = {}
        self._resources: dict[str, str | None] = {}

    def changed(
        self,
        *,
        base: iris.Base | None = None,
        prefixes: dict[str, str] | None = None,
        vocabulary: str | None = None,
    ) -> Names:
        """Return the scope of an element that declares something."""
        base = base or self.base
        names = type(self)(
            base,
            self._document,
            self._terms,
            self._labels,
            self.warnings,
            self._limit,
            self._spend,
        )
        names.prefixes = {**self.prefixes, **prefixes} if prefixes else self.prefixes
        names.vocabulary = self.vocabulary if vocabulary is None else vocabulary
        return names

    def values(self, value: str) -> tuple[str, ...]:
        """Return the terms that a list of terms, CURIEs and absolute IRIs names."""
        try:
            return self._values[value]
        except KeyError:
            tokens = value.split(maxsplit=_TOKENS)
            if len(tokens) > _TOKENS:
                self.warnings["TooManyTokens"] += 1
                del tokens[_TOKENS:]
            named = [name for token in tokens if (name := self._name(token)) is not None]
            answer = self._values[value] = tuple(dict.fromkeys(named))
            if len(answer) > 1 or (answer and len(answer[0]) > iris.SHORT):
                self._spend(sum(map(len, answer)))
            return answer

    def predicates(self, value: str) -> tuple[str, ...]:
        """Return the values that can be predicates: those that are not blank nodes."""
        try:
            return self._predicates[value]
        except KeyError:
            answer = tuple(name for name in self.values(value) if name[0] == "<")
            self._predicates[value] = answer
            return answer

    def resource(self, value: str) -> str | None:
        """Return the term that @about or @resource names, or None when it must be ignored."""
        try:
            return self._resources[value]
        except KeyError:
            answer = self._resources[value] = self._resource(value.strip())
            if answer and len(answer) > iris.SHORT:
                self._spend(len(answer))
            return answer

    def _resource(self, value: str) -> str | None:
        if value.startswith("["):
            curie = self._curie(value[1:-1]) if value.endswith("]") else None
            if curie is None and value != "[]":
                self.warnings["UnresolvedCURIE"] += 1
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
            return iris.term(token, self._limit)
        self.warnings["UnresolvedCURIE"] += 1
        return None

    def _term(self, token: str) -> str | None:
        if self.vocabulary:
            return iris.term(self.vocabulary + token, self._limit)
        iri = self._terms.get(token) or self._terms.get(token.lower())
        if iri is None:
            self.warnings["UnresolvedTerm"] += 1
            return None
        return f"<{iri}>"

    def _curie(self, value: str) -> str | None:
        prefix, colon, reference = value.partition(":")
        if not colon or reference.startswith("//"):
            return None
        if prefix == "_":
            return self._labels.named(reference)
        namespace = self._namespace(prefix.lower())
        if namespace is None:
            return None
        iri = namespace + reference
        found = iris.term(iri, self._limit)
        return self._document.term(iri) if found is None and not iris.is_absolute(iri) else found

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
