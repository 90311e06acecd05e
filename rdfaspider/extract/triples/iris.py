"""Reference resolution of RFC 3986 for IRIs that become RDF terms.

A URL normaliser would not do here: RDF compares IRIs character by character, so an IRI must come
out as it was written, resolved against its base and nothing more. The one exception are characters
that no IRI may hold (a space, ``{``, a stray ``%``): they are percent-encoded, as a browser does.
"""

from __future__ import annotations

import re

from pyoxigraph import NamedNode

from rdfaspider.extract.document.tree import Spend

SHORT = 100  # characters of a term that is not counted when it is made: a page has no room for many

_PARTS = re.compile(
    r"(?:([A-Za-z][A-Za-z0-9+.\-]*):)?(?://([^/?#]*))?([^?#]*)(\?[^#]*)?(#.*)?", re.S
)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")
_ILLEGAL = re.compile(r"[\x00-\x20<>\"{}|\\^`\x7f-\x9f\ue000-\uf8ff]|%(?![0-9A-Fa-f]{2})")

# References that need no work, as most do: (1) an absolute IRI, (2) a path from the root, (3) a fragment.
_TAIL = r"(?:/[\w~!$&'()*+,;=:@\-][\w.~!$&'()*+,;=:@\-]*+)*+/?(?:\?[\w.~!$&'()*+,;=:@/?\-]*+)?"
_TARGET = r"#[\w.~!$&'()*+,;=:@/?\-]*+"
_PLAIN = re.compile(rf"https?://[\w.\-]++(?::\d++)?{_TAIL}(?:{_TARGET})?", re.A)
_ROOTED = re.compile(rf"(?=/[^/]){_TAIL}", re.A)
_FRAGMENT = re.compile(_TARGET, re.A)
_DOTS = re.compile(r"(?:^|/)\.\.?(?:/|$)")


def is_absolute(reference: str) -> bool:
    """Tell whether a reference names its scheme."""
    return _SCHEME.match(reference) is not None


def encoded(iri: str) -> str:
    """Return the IRI with the characters that no IRI may hold percent-encoded."""
    return _ILLEGAL.sub(_percent, iri) if _ILLEGAL.search(iri) else iri


def term(iri: str, limit: int) -> str | None:
    """Return an absolute IRI as an N-Quads term, or None when it is not a valid IRI."""
    if len(iri) > limit:
        return None
    if _PLAIN.fullmatch(iri):
        return f"<{iri}>"
    iri = encoded(iri)
    try:
        NamedNode(iri)
    except ValueError:
        return None
    return f"<{iri}>"


class Base:
    """A base IRI, split once, that resolves references and remembers the answers as terms.

    ``spend`` is told the length of each long answer, for a long base makes them all long.
    """

    def __init__(self, iri: str, limit: int, spend: Spend | None = None) -> None:
        self.iri = iri.partition("#")[0]
        self.scheme, self.authority, self.path, self.query, _ = _split(self.iri)
        origin = f"{self.scheme}://{self.authority}"
        self._origin = origin if _PLAIN.fullmatch(origin) else ""
        self._fragment = limit - len(self.iri) if _PLAIN.fullmatch(self.iri) else 0
        self._limit = limit
        self._terms: dict[str, str | None] = {}
        self._spend = spend

    def term(self, reference: str) -> str | None:
        """Return the term for a reference, or None when the result is not a valid IRI."""
        # Most references occur once: an exception for each would cost more than looking twice.
        if reference in self._terms:
            return self._terms[reference]
        answer = self._terms[reference] = self._term(reference.strip(" \t\n\r\f"))
        if self._spend and answer and len(answer) > SHORT:
            self._spend(len(answer))
        return answer

    def _term(self, reference: str) -> str | None:
        if self._origin and len(reference) < self._limit and _ROOTED.fullmatch(reference):
            return f"<{self._origin}{reference}>"
        if len(reference) <= self._fragment and _FRAGMENT.fullmatch(reference):
            return f"<{self.iri}{reference}>"
        return term(self.resolve(reference), self._limit)

    def resolve(self, reference: str) -> str:
        """Return the target of a reference as section 5.2 of RFC 3986 defines it."""
        if not reference:
            return self.iri
        if _PLAIN.fullmatch(reference):
            return reference
        scheme, authority, path, query, fragment = _split(reference)
        if scheme:
            return _join(scheme, authority, _without_dots(path), query, fragment)
        if authority is not None:
            return _join(self.scheme, authority, _without_dots(path), query, fragment)
        if not path:
            return _join(self.scheme, self.authority, self.path, query or self.query, fragment)
        if not path.startswith("/"):
            is_first = self.authority is not None and not self.path
            path = f"/{path}" if is_first else self.path[: self.path.rfind("/") + 1] + path
        return _join(self.scheme, self.authority, _without_dots(path), query, fragment)


def _split(iri: str) -> tuple[str, str | None, str, str, str]:
    match = _PARTS.fullmatch(iri)
    assert match is not None  # every part is optional
    scheme, authority, path, query, fragment = match.groups()
    return scheme or "", authority, path, query or "", fragment or ""


def _join(scheme: str, authority: str | None, path: str, query: str, fragment: str) -> str:
    start = f"{scheme}:" if scheme else ""
    return f"{start}{'' if authority is None else '//' + authority}{path}{query}{fragment}"


def _without_dots(path: str) -> str:
    if not _DOTS.search(path):
        return path
    kept: list[str] = []
    segments = path.split("/")
    for segment in segments:
        if segment == "..":
            if len(kept) > 1 or (kept and kept[0]):
                kept.pop()
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/".join(kept)


def _percent(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode())
