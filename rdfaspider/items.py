"""The one type that travels from the spider through the pipelines to the scheduler."""

from __future__ import annotations

import re
import typing
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from pyoxigraph import BlankNode, DefaultGraph, Literal, NamedNode, RdfFormat, parse, serialize

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyoxigraph import Quad

Outcome = typing.Literal["done", "failed", "denied", "postponed"]

# An absolute IRI, without the characters that no IRI may contain (RFC 3987).
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|\\^`]*")


class Source(NamedTuple):
    """The record of an archive that holds the answer a page was read from, and where it is.

    A record that is no gzip member of its own has no place: its `length` is 0.
    """

    identity: str  # an IRI
    filename: str
    offset: int
    length: int  # bytes on disk
    digest: str  # of the payload, as the record has it
    date: float  # seconds since the epoch, 0 if unknown


@dataclass(slots=True, kw_only=True)
class Content:
    """What the extraction finds in a page and the pipelines pass on.

    `links`, `relations` and `texts` run in parallel. The statements are N-Quads, a line each, which most
    parts of the crawler hand on as they are.
    """

    links: list[str] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    nquads: bytes = b""
    predicates: list[str] = field(default_factory=list)  # of the statements, each once
    longest: int = 0  # characters of the longest object, as it is written
    nofollow: list[str] = field(default_factory=list)  # links that the page asks not to follow
    canonical: str = ""  # that one of the links which the page names as its canonical form
    media: dict[str, int] = field(default_factory=dict)  # embedded or linked, by their kind


# The fields of Content: what robots directives call `nofollow`, and what they call `noindex`.
LINKS = ("links", "relations", "texts")
STATEMENTS = ("nquads", "predicates", "longest")
# What is recorded of a page for the link graph, whatever its directives.
BESIDE = ("nofollow", "canonical", "media")
# What a rendered document is, whatever its page was.
RENDERED_TYPE = "text/html; charset=utf-8"
# Kinds of media.
MEDIA = ("image", "audio", "video", "other")


@dataclass(slots=True, repr=False)
class Page(Content):
    """What became of one URL that was taken from the frontier.

    Every URL taken yields exactly one Page, whatever happened to it, so that the counts add up. `done`
    was answered, with a page, a redirect, or something that is not a page; `failed` was not; `denied` was
    not requested because robots.txt forbids it; `postponed` waits for another turn of its host, or could
    not be parsed yet. `reason` labels the counter. A `transient` failure is worth another try. `number`
    is that of the scheduler's grant. `hops` counts the redirects that led here. `strikes` counts the
    latest pages of its domain that took down a worker; its host is then left alone.
    A page to parse (`is_read`) has a `body`, which the extract pipeline turns into its `Content`. `checked`
    are the statements that the extraction or the filter has left: statements set later are other bytes, and
    are checked before they are stored. `invalid` counts statements dropped because no store can take them.
    """

    url: str
    depth: int
    number: int = -1
    outcome: Outcome = "done"
    reason: str = "page"
    transient: bool = False
    strikes: int = 0
    hops: int = 0
    latency: float = 0.0  # seconds to the headers of the answer
    content_type: str = ""
    encoding: str = ""
    robots_header: list[str] = field(default_factory=list)
    body: bytes = b""
    rendered: bytes = b""  # the document as scripts left it, if that is read
    status: int = 0  # of the answer, 0 if unknown
    fetched: float = 0.0  # seconds since the epoch, 0 if unknown
    modified: int = 0  # by its server, as `fetched`
    problems: int = 0  # statements in it that are not written as they should be
    # An Exchange: the request and its answer as they went over the line, until they are archived.
    exchange: Any = None
    noarchive: bool = False  # whether the page asks not to be
    tdm_header: tuple[str, str] = ("", "")  # tdm-reservation and tdm-policy of the answer
    tdm_file: tuple[str, str] = ("", "")  # the same, as the tdmrep.json of its service says
    no_training: bool = False  # whether robots.txt asks that no models are trained with it
    # What it reserves (pipelines/rights.py), and where its policy and licence are.
    signals: tuple[str, ...] = ()
    policy: str = ""
    license: str = ""
    source: Source | None = None  # where they are archived
    title: str = ""
    language: str = ""
    found: Mapping[str, int] = field(default_factory=dict)  # quads in the page, by format
    text: str = ""  # only if a topics file or the search index needs it
    # A Beside (frontier/__init__.py), which the spider makes when it chooses the links to follow.
    beside: Any = None
    topic: tuple[int, int] | None = None  # its number and score, None without a topics file
    topics: list[str] = field(default_factory=list)  # the names of all that it is about, best first
    checked: bytes = b""
    invalid: int = 0
    digest: bytes = b""  # SHA-1 of the body, if PAGES
    noindex: bool = False  # whether the page asks that its statements are not stored
    # A Visit (frontier/__init__.py), if the page was visited before and kept.
    visit: Any = None
    etag: str = ""  # validators, as its server sent them
    last_modified: str = ""
    fresh: float = 0.0  # seconds for which its server says that it will not change
    changed: bool | None = None  # whether its graph is another than before, once it is stored
    missed: bool = False  # whether it was not where it was before
    cleared: str = ""  # why its graph is cleared, if it is
    moved_to: str = ""  # where it is now, if its graph is cleared because it has moved
    replaces: list[str] = field(default_factory=list)  # pages that have moved here
    dates: list[tuple[str, float]] = field(default_factory=list)  # when others changed, by its word
    # Language, certainty, words and sketch, if they are found out during the crawl.
    analysis: tuple[str, int, int, bytes] | None = None
    # The statements that were counted last, and how many they are.
    _counted: tuple[bytes, int] = (b"", 0)

    @property
    def quads(self) -> tuple[Quad, ...]:
        """The statements, parsed each time; to change them, set others."""
        # Lenient, because it is for the filter to find terms that no store can take.
        return tuple(parse(self.nquads, RdfFormat.N_QUADS, lenient=True))

    @quads.setter
    def quads(self, quads: Iterable[Quad]) -> None:
        """Set the statements; N-Quads cannot express invalid ones, so these are dropped and counted."""
        given = list(quads)
        valid = [quad for quad in given if is_valid(quad) and _is_valid(quad.graph_name)]
        self.invalid += len(given) - len(valid)
        self.nquads = serialize(valid, format=RdfFormat.N_QUADS) or b""

    @property
    def is_checked(self) -> bool:
        return self.nquads is self.checked

    def take(self, content: Content, names: Iterable[str]) -> None:
        """Copy fields of what was extracted."""
        for name in names:
            setattr(self, name, getattr(content, name))
        self.checked = content.nquads

    def keep(self, quads: Iterable[Quad]) -> None:
        """Set statements that are checked already."""
        self.nquads = self.checked = serialize(quads, format=RdfFormat.N_QUADS) or b""

    def check(self) -> None:
        """Drop and count the statements that no store can take, unless they are checked."""
        if self.is_checked:
            return
        try:
            self.quads = self.quads
        except SyntaxError:  # one is not even N-Quads: find out which
            quads: list[Quad] = []
            for line in self.nquads.split(b"\n"):
                try:
                    quads += parse(line, RdfFormat.N_QUADS, lenient=True)
                except SyntaxError:
                    self.invalid += 1
            self.quads = quads
        self.checked = self.nquads

    @property
    def quad_count(self) -> int:
        if self._counted[0] is not self.nquads:
            # A line feed inside a literal is escaped.
            self._counted = self.nquads, self.nquads.count(b"\n")
        return self._counted[1]

    @property
    def text_language(self) -> str:
        """The language of the text as the page declares it, else as it was detected; "" if unknown."""
        return self.language or (self.analysis[0] if self.analysis else "")

    @property
    def html(self) -> tuple[bytes, str]:
        """What is read of the page, and its type: the rendered document, else the body."""
        if self.rendered:
            return self.rendered, RENDERED_TYPE
        return self.body, self.content_type

    @property
    def is_read(self) -> bool:
        """Tell whether this is a page, with a body to read, rather than a redirect or a failure."""
        return self.outcome == "done" and self.reason == "page"

    def __repr__(self) -> str:
        """Keep the body and the quads out of logs."""
        return f"<Page {self.url} {self.outcome} {self.reason} depth {self.depth}>"


def is_item(item: object) -> bool:
    """Tell whether users call it an item: a page that was read, or what their own code yields."""
    return not isinstance(item, Page) or item.is_read


def is_valid(quad: Quad) -> bool:
    """Tell whether every store can take the triple of a quad: all its IRIs are absolute and valid."""
    return _is_iri(quad.predicate.value) and _is_valid(quad.subject) and _is_valid(quad.object)


def _is_valid(term: object) -> bool:
    if isinstance(term, NamedNode):
        return _is_iri(term.value)
    if isinstance(term, Literal):
        return _is_iri(term.datatype.value)
    return isinstance(term, BlankNode | DefaultGraph)


@lru_cache(4096)
def _is_iri(text: str) -> bool:
    """Tell whether a text is an IRI; a crawl meets the same predicates and types again and again."""
    return _IRI.fullmatch(text) is not None
