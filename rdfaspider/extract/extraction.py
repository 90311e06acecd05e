"""What to look for in a page, and what was found: light enough for a process that reads none itself."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Self

from pyoxigraph import Quad, RdfFormat, parse

from rdfaspider.extract.document.limits import Limits
from rdfaspider.extract.facts import Facts
from rdfaspider.extract.own import FORMATS
from rdfaspider.items import Content

if TYPE_CHECKING:
    from rdfaspider.extract.rdfa.vocabulary import Vocabularies


@dataclass(frozen=True, slots=True)
class Options:
    """What to look for in a page and how far to go."""

    formats: frozenset[str] = FORMATS
    limits: Limits = field(default_factory=Limits)
    role: bool = True  # @role gives triples, as the Role Attribute specification says
    vocabularies: Vocabularies = field(default_factory=dict)  # IRI -> quads to expand terms with
    anchors: bool = True  # whether links come with their relations and texts
    rdfa: str = ""  # the version to read all pages by, 1.0 or 1.1; else each by what it declares
    agent: str = "rdfaspider"  # the name that a meta element may address us by
    text: int = 0  # characters of the page's text to give
    reference: str = ""  # another processor of RDFa to compare with (``reference``)
    digest: bool = False  # whether to give a digest of the body
    analyse: bool = False  # whether to detect the language of the text and to sketch it


@dataclass(slots=True)
class Extraction(Content):
    """What one page holds: its content and facts about it.

    Its statements are N-Quads, because bytes can be passed to a store or another process for free;
    ``quads`` parses them. All IRIs in them are valid.
    """

    facts: Facts = field(default_factory=Facts)
    _quads: list[Quad] | None = field(default=None, repr=False, compare=False)

    @property
    def quads(self) -> list[Quad]:
        """The statements of the page in a graph named by its URL, lexical forms as on the page."""
        if self._quads is None:
            self._quads = list(parse(self.nquads, RdfFormat.N_QUADS, lenient=True))
        return self._quads

    def encode(self) -> bytes:
        """Return a line of JSON, which has the ``size`` of the N-Quads, and the N-Quads.

        What is empty is left out: it is most, and every word of the line is written and read.
        """
        header = {name: value for name in _CONTENT if (value := getattr(self, name))}
        header |= {"facts": self.facts.to_json(), "size": len(self.nquads)}
        if self.links:  # one string takes a quarter of the time of many, and no URL has a line end
            header["links"] = "\n".join(self.links)
        return json.dumps(header).encode() + b"\n" + self.nquads

    @classmethod
    def decode(cls, header: dict[str, Any], nquads: bytes) -> Self:
        """Return what was encoded, from the parsed line of JSON and the N-Quads."""
        content = {name: header[name] for name in _CONTENT if name in header}
        if "links" in content:
            content["links"] = content["links"].split("\n")
        return cls(nquads=nquads, facts=Facts.from_json(header["facts"]), **content)


_CONTENT = [item.name for item in fields(Content) if item.name != "nquads"]
