"""What a page says about itself: language, base, canonical address, wishes to robots."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, fields
from typing import Any, Self

from rdfaspider.extract.document.tree import Document
from rdfaspider.extract.triples.iris import Base
from rdfaspider.urls import MAX_LENGTH

ATTRIBUTES = frozenset(("href", "rel", "name", "lang", "xml:lang"))

_LANGUAGE = 100  # characters kept of a language tag; real ones have 35 at most
# Cuts that the author of a page could have avoided.
_FAULTS = ("iri", "jsonld invalid", "jsonld syntax", "jsonld unknown context", "rdf invalid")
# Robots directives about the training of models.
DIRECTIVES = frozenset(("noai", "noimageai"))
_SPEAKING = frozenset(("a", "area", "base", "link", "meta"))


@dataclass(slots=True)
class Facts:
    """What is known about a page besides its links and quads.

    ``cuts`` counts what was left out, by the name of the limit or the reason; ``warnings`` counts
    what RDFa's processor graph would hold, by the local name of its class. A reader that failed is
    among the cuts, as "READER memory" or "READER error"; ``errors`` has the traceback of the latter.
    A reader called "page" is what comes before all others: if that failed, nothing was found.
    """

    encoding: str = ""
    host: str = ""  # the host language: html5, xhtml1, xhtml5, svg or xml
    rdfa: str = ""  # the version of RDFa that the page was read by, if it was
    title: str = ""
    text: str = ""  # as much of it as was asked for
    language: str = ""
    canonical: str = ""
    base: str = ""
    noindex: bool = False
    nofollow: bool = False
    noarchive: bool = False
    # What it reserves (rdfaspider/pipelines/rights.py).
    signals: list[str] = field(default_factory=list)
    reservation: str = ""  # of text and data mining: "1" or "0"
    policy: str = ""  # where the terms of that are
    license: str = ""
    quads: Counter[str] = field(default_factory=Counter)  # by format
    cuts: Counter[str] = field(default_factory=Counter)
    warnings: Counter[str] = field(default_factory=Counter)
    errors: dict[str, str] = field(default_factory=dict)  # by reader
    # If another processor was asked: how many triples of RDFa only we found, and how many only that one.
    reference: tuple[int, int] | None = None
    digest: str = ""  # SHA-1 of the body, in hexadecimal, if it was asked for
    # If an analysis was: the language of the text and how certain that is, in percent; its words; its
    # sketch (rdfaspider/pages/sketch.py) in hexadecimal.
    detected: str = ""
    certainty: int = 0
    words: int = 0
    sketch: str = ""

    @property
    def faults(self) -> int:
        """How many statements could not be read as they were written."""
        return sum(self.cuts[name] for name in _FAULTS) + self.warnings.total()

    @property
    def is_out_of_memory(self) -> bool:
        return any(cut.endswith(" memory") for cut in self.cuts)

    def to_json(self) -> dict[str, Any]:
        """Return the fields that are not empty, as all are by default."""
        return {name: value for name in _NAMES if (value := getattr(self, name))}

    @classmethod
    def from_json(cls, given: dict[str, Any]) -> Self:
        # JSON knows lists and plain objects only.
        return cls(
            **given | {name: make(given[name]) for name, make in _MADE.items() if name in given}
        )


_NAMES = tuple(item.name for item in fields(Facts))
# The fields that JSON cannot express.
_MADE: dict[str, Callable[[Any], Any]] = {
    **dict.fromkeys(("quads", "cuts", "warnings"), Counter),
    "reference": tuple,
}


def read_head(document: Document, url: str, agent: str, facts: Facts) -> None:
    """Fill in what the root, base, meta and link elements say."""
    root = document.elements[0][2]
    facts.language = (root.get("xml:lang") or root.get("lang", "")).strip()[:_LANGUAGE]
    base = canonical = license = ""
    for _, tag, attributes, _ in document.elements:
        if tag not in _SPEAKING:
            continue
        relations = attributes["rel"].lower().split() if "rel" in attributes else ()
        if not license and "license" in relations:
            license = attributes.get("href", "").strip()
        if tag == "meta":
            name = attributes.get("name", "").strip().lower()
            if name in ("robots", agent.lower()):
                _read_robots(attributes.get("content", ""), facts)
            elif name.startswith("tdm-"):
                _read_reservation(name, attributes.get("content", "").strip(), facts)
        elif tag == "base":
            base = base or attributes.get("href", "").strip()
        elif tag == "link" and "canonical" in relations:
            canonical = canonical or attributes.get("href", "").strip()
    facts.base = _resolved(url, base) or url.partition("#")[0]
    facts.canonical = _resolved(facts.base, canonical) if canonical else ""
    facts.license = address_of(facts.base, license) if license else ""
    facts.policy = address_of(facts.base, facts.policy) if facts.policy else ""


def _read_reservation(name: str, content: str, facts: Facts) -> None:
    """Read what the TDM Reservation Protocol has in meta elements."""
    if name == "tdm-reservation" and content in ("0", "1"):
        # Of two that differ, the one that reserves.
        facts.reservation = max(facts.reservation, content)
    elif name == "tdm-policy":
        facts.policy = facts.policy or content


def address_of(base: str, reference: str) -> str:
    """Return the address of a document that people can read, empty when it would not be one."""
    term = Base(base, MAX_LENGTH).term(reference) or "<>"
    return term[1:-1] if term.startswith(("<http://", "<https://")) else ""


def _resolved(base: str, reference: str) -> str:
    """Return the absolute IRI without its fragment, empty when it would not be a valid one."""
    term = Base(base, MAX_LENGTH).term(reference) or "<>"
    return term[1:-1].partition("#")[0]


def _read_robots(content: str, facts: Facts) -> None:
    rules = set(content.lower().replace(",", " ").split())
    facts.noindex = facts.noindex or not rules.isdisjoint(("noindex", "none"))
    facts.nofollow = facts.nofollow or not rules.isdisjoint(("nofollow", "none"))
    facts.noarchive = facts.noarchive or "noarchive" in rules
    facts.signals += sorted(rules & DIRECTIVES)
