"""JSON-LD contexts without a network: bundled contexts replace links to them.

Bundled are the contexts that pages use most: schema.org, ActivityStreams and the two that travel
with it. They hold absolute IRIs only, so that any subset of one stands alone, and a block gets
just the terms that it mentions: the 3,000 terms of schema.org would cost more than the block.
Of schema.org's only those are kept that differ from its ``@vocab``: prefixes and coerced terms.

A link to any other context is counted and left out. A name that only the missing context could explain
must not be mistaken for one relative to the page: it is put under ``UNKNOWN`` and dropped later.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any, NamedTuple

from pyoxigraph import NamedNode

from rdfaspider.extract.contexts import PREFIXES
from rdfaspider.extract.datafiles import read_data
from rdfaspider.extract.jsonld.text import TooBig
from rdfaspider.extract.triples import iris

UNKNOWN = "urn:unknown-jsonld-context:"

# What authors write for schema.org, page of a term and forgotten scheme included.
_SCHEMA = re.compile(r"\s*(?:https?:)?(?://)?(?:[\w-]+\.)?schema\.org(?:[/#:].*|\s*)", re.I | re.S)
_FILES = {
    "www.w3.org/ns/activitystreams": "activitystreams",
    "www.w3.org/ns/activitystreams.jsonld": "activitystreams",
    "www.w3.org/2018/credentials/v1": "credentials",
    "w3id.org/security/v1": "security",
}
_NAMESPACES = frozenset(PREFIXES.values())
_INLINED = 50_000  # terms that a block may pull in
_TERMS = 1_000  # that a block may define; the parser recurses from term to term
_IRI = 8_192  # characters of an IRI in a context
_RELATIVE = 50_000  # characters of all that are relative or compact
_COSTS = 100  # terms whose copying costs as much as the rest of a change of context
_WORK = 3_000_000  # terms times changes of context: what the parser copies, half a second of it

Terms = dict[str, Any]
Contexts = Mapping[str, Any]
"""Further contexts by absolute URL, each what stands under ``@context``."""


@cache
def references() -> frozenset[str]:
    """Return the keys whose values name a resource: ``@id`` and the links of schema.org."""
    terms = _read("schema").items()
    links = [name for name, term in terms if isinstance(term, dict) and term["@type"] == "@id"]
    return frozenset(("@id", *links))


class Place(NamedTuple):
    """Where a context stands: what its links are relative to and which links led to it."""

    base: str
    chain: frozenset[str] = frozenset()
    around: frozenset[str] = frozenset()  # links that led to the definition it is scoped to


class Inliner:
    """Replaces the links of one block's contexts; ``names`` are the words that the block uses."""

    def __init__(self, names: set[str], contexts: Contexts) -> None:
        self.missing = 0
        self._has_scoped = False
        self._names = names
        self._contexts = contexts
        self._left = _INLINED
        self._room = _RELATIVE
        self._kept: dict[str, Terms] = {}  # by link: what a block needs of a bundled context
        self._switches = 0
        self._terms: set[str] = set()

    def inlined(self, value: Any, place: Place) -> Any:
        """Return the value of an ``@context`` without links; raise TooBig if it is too large."""
        found = self._flat(value, place)
        self._switches += len(found)
        return found[0] if len(found) == 1 else found

    def is_cheap(self, words: int) -> bool:
        """Tell whether the parser can afford the changes of context in a block of many words.

        The parser copies all terms at each change, and any word may be one with a scoped context.
        """
        terms = len(self._terms)
        changes = self._switches + self._has_scoped * words
        return terms <= _TERMS and (_COSTS + terms) * changes <= _WORK

    def _flat(self, value: Any, place: Place) -> list[Any]:
        if isinstance(value, list):
            return [context for item in value for context in self._flat(item, place)]
        if isinstance(value, str):
            return self._linked(value, place)
        return [self._local(value, place) if isinstance(value, dict) else value]

    def _linked(self, link: str, place: Place) -> list[Any]:
        url = iris.Base(place.base, len(link)).resolve(link.strip())
        if url in place.chain:
            return [link]  # it includes itself: the parser will refuse it
        if url in place.around:
            return [{}]  # its terms are in force already
        content = self._loaded(link, url)
        if content is None:
            self.missing += 1
            return [{}]
        return self._flat(content, Place(url, place.chain | {url}, place.around))

    def _loaded(self, link: str, url: str) -> Any:
        """Return the context behind a link, None if it is not known; raise TooBig."""
        content = self._contexts.get(url, self._kept.get(link))
        if content is None:
            terms = bundled(link) or bundled(url)
            if terms is None:
                return None
            kept = [name for name in terms if name[0] == "@" or name in self._names]
            content = self._kept[link] = {name: terms[name] for name in kept}
        self._left -= len(content) if isinstance(content, dict) else 1
        if self._left < 0:
            raise TooBig("contexts")
        return content

    def _check(self, context: Terms) -> None:
        """Raise TooBig for IRIs that the parser would copy too often.

        It puts a vocabulary, a base or a prefix before each name of the block, and each of them
        may be relative to the one before.
        """
        for definition in context.values():
            iri = definition.get("@id") if isinstance(definition, dict) else definition
            if isinstance(iri, str):
                if len(iri) > _IRI:
                    raise TooBig("contexts")
                if "://" not in iri:
                    self._room -= len(iri)
        if self._room < 0:
            raise TooBig("contexts")

    def _local(self, context: Terms, place: Place) -> Terms:
        context = self._imported(context, place)
        self._check(context)
        if isinstance(context.get("@base"), str):
            context = {**context, "@base": _base(context["@base"])}
        self._terms.update(context)
        inner = Place(place.base, frozenset(), place.chain | place.around)
        local = dict(context)
        for name, definition in context.items():
            if isinstance(definition, dict) and "@context" in definition:
                self._has_scoped = True
                scoped = self.inlined(definition["@context"], inner)
                local[name] = {**definition, "@context": scoped}
        return local

    def _imported(self, context: Terms, place: Place) -> Terms:
        link = context.get("@import")
        if not isinstance(link, str):
            return context
        source = self._loaded(link, iris.Base(place.base, len(link)).resolve(link))
        own = {name: value for name, value in context.items() if name != "@import"}
        if source is None:
            self.missing += 1
            return own
        if not isinstance(source, dict) or "@import" in source:
            return context  # an error, which the parser reports
        return {**source, **own}


def bundled(link: str) -> Terms | None:
    """Return the bundled context that a link means, or None."""
    if _SCHEMA.fullmatch(link):
        return _read("schema")
    address = link.partition("://")[2].rstrip("/#")
    if address in _FILES:
        return _read(_FILES[address])
    # Not a context, but the vocabulary that the author means.
    return {"@vocab": link} if link in _NAMESPACES else None


@cache
def _read(name: str) -> Terms:
    terms: Terms = json.loads(read_data(f"jsonld/{name}.json"))
    return terms


def _base(base: str) -> str | None:
    """Return a base as the parser wants it: no dots in its folders, and none instead of a bad one."""
    if not iris.is_absolute(base):
        return base
    if "/./" in base or "/../" in base:
        base = iris.Base(base, len(base)).resolve(base)
    try:
        NamedNode(base)
    except ValueError:
        return None
    return base
