"""What a crawl looks for, and what a page is worth to it: the gain that an order learns from.

any                               every triple counts
new                               only triples that the store did not have
vocabulary:http://schema.org/     triples with a property or a type of this vocabulary
type:http://schema.org/Product    triples about things of this type
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, NamedTuple, cast

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyoxigraph import NamedNode, Quad

_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_SCHEMES = ("http://", "https://")


class Objective(NamedTuple):
    """One of the four kinds, with the IRI that two of them need, without its scheme."""

    kind: Literal["any", "new", "vocabulary", "type"]
    iri: str = ""

    def gain(self, quads: Iterable[Quad], new: int | None = None) -> float:
        """Return what a page with these quads is worth.

        `new` is how many of them the store did not have; as long as nobody knows, all are new.
        """
        if self.kind == "new" and new is not None:
            return float(new)
        if self.kind == "vocabulary":
            return float(sum(self._speaks(quad) for quad in quads))
        if self.kind == "type":
            return self._about(list(quads))
        return float(sum(1 for _ in quads))

    def _speaks(self, quad: Quad) -> bool:
        name = quad.predicate.value
        if name == _TYPE:
            return _without_scheme(_value(quad)).startswith(self.iri)
        return _without_scheme(name).startswith(self.iri)

    def _about(self, quads: list[Quad]) -> float:
        things = {
            quad.subject
            for quad in quads
            if quad.predicate.value == _TYPE and _without_scheme(_value(quad)) == self.iri
        }
        return float(sum(quad.subject in things for quad in quads))


def objective(text: str) -> Objective:
    """Read an objective; ValueError in a sentence if it is none.

    Half of the web writes http://schema.org/ and half https://, so the scheme does not matter.
    """
    kind, colon, iri = text.strip().partition(":")
    if kind in ("any", "new") and not colon:
        return Objective(cast("Literal['any', 'new']", kind))
    if kind in ("vocabulary", "type") and iri.startswith(_SCHEMES):
        return Objective(cast("Literal['vocabulary', 'type']", kind), _without_scheme(iri))
    raise ValueError(
        f"{text[:200]!r} is no objective: write any, new, vocabulary:IRI or type:IRI"
        " with an http or https IRI."
    )


def _value(quad: Quad) -> str:
    return str(cast("NamedNode", quad.object).value) if hasattr(quad.object, "value") else ""


def _without_scheme(iri: str) -> str:
    return iri.partition("://")[2]
