"""Extraction: one page's bytes to its links, its quads and the facts about it.

``extract`` is a pure function: it opens no file and no connection, keeps nothing between pages and
never raises, whatever the bytes are. HTML is parsed once, to a flat list of elements (``tree``),
and each reader walks that list: ``facts``, ``links``, ``rdfa``.
"""

from __future__ import annotations

import gc
from dataclasses import dataclass, field
from hashlib import blake2b

from pyoxigraph import Quad

from rdfaspider.extract import facts as heads
from rdfaspider.extract import iris, rdfa
from rdfaspider.extract import links as anchors
from rdfaspider.extract.encoding import to_utf8
from rdfaspider.extract.facts import Facts
from rdfaspider.extract.graph import Graph
from rdfaspider.extract.limits import Limits
from rdfaspider.extract.names import Labels
from rdfaspider.extract.parse import parse
from rdfaspider.extract.tree import Document
from rdfaspider.extract.vocabulary import Vocabularies

__all__ = ["FORMATS", "Extraction", "Facts", "Limits", "Options", "extract"]

FORMATS = frozenset(("rdfa",))


@dataclass(frozen=True, slots=True)
class Options:
    """What to look for in a page and how far to go."""

    formats: frozenset[str] = FORMATS
    limits: Limits = field(default_factory=Limits)
    role: bool = (
        False  # off: ARIA roles were 48 % of the triples of 104 real pages, and mean little
    )
    vocabularies: Vocabularies = field(default_factory=dict)  # IRI -> quads to expand terms with
    agent: str = "rdfaspider"  # the name that a meta element may address us by


@dataclass(slots=True)
class Extraction:
    """What one page holds; ``links``, ``relations`` and ``texts`` run in parallel."""

    links: list[str] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    quads: list[Quad] = field(default_factory=list)
    facts: Facts = field(default_factory=Facts)


_DEFAULTS = Options()
_ATTRIBUTES = rdfa.ATTRIBUTES | heads.ATTRIBUTES | anchors.ATTRIBUTES


def extract(
    body: bytes, url: str, content_type: str = "text/html", options: Options = _DEFAULTS
) -> Extraction:
    """Returns the links, the quads and the facts of the page at an absolute URL."""
    # A page makes tens of thousands of small objects and no cycles: to look for cycles meanwhile
    # would cost a tenth of the time.
    collects = gc.isenabled()
    gc.disable()
    try:
        return _extracted(body, url, content_type, options)
    finally:
        if collects:
            gc.enable()


def _extracted(body: bytes, url: str, content_type: str, options: Options) -> Extraction:
    extraction = Extraction()
    facts = extraction.facts
    limits = options.limits
    if len(body) > limits.body:
        facts.cuts["body"] += 1
        body = body[: limits.body]
    body, facts.encoding = to_utf8(body, content_type)
    names = _ATTRIBUTES | {"role"} if options.role else _ATTRIBUTES
    media_type = content_type.partition(";")[0].strip().lower()
    document = parse(body, media_type, names, limits, facts)
    heads.read_head(document, url, options.agent, facts)
    if not facts.nofollow:
        _read_links(document, limits, extraction)
    if "rdfa" in options.formats:
        extraction.quads = _rdfa(document, url, options, facts)
        facts.quads["rdfa"] = len(extraction.quads)
    return extraction


def _read_links(document: Document, limits: Limits, extraction: Extraction) -> None:
    found = anchors.links(document, extraction.facts.base, limits.links)
    extraction.links = found.urls
    extraction.relations = found.relations
    extraction.texts = found.texts
    extraction.facts.cuts.update(found.cuts)


def _rdfa(document: Document, url: str, options: Options, facts: Facts) -> list[Quad]:
    name = iris.term(url.partition("#")[0], options.limits.iri)
    if name is None:
        facts.cuts["url"] += 1
        return []
    if not (options.role or rdfa.is_worth(document)):
        return []
    labels = Labels(blake2b(url.encode("utf-8", "replace"), digest_size=8).hexdigest())
    graph = Graph(options.limits, facts.cuts)
    processor = rdfa.Processor(document, labels, graph, facts.warnings)
    processor.run(url, facts.base, options.role, options.vocabularies)
    return graph.quads(name)
