"""The one type that travels from the spider through the pipelines to the scheduler."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pyoxigraph import RdfFormat, parse, serialize

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyoxigraph import Quad

Outcome = Literal["done", "failed", "denied", "postponed"]


@dataclass(slots=True, repr=False)
class Page:
    """What became of one URL that was taken from the frontier.

    Every URL taken yields exactly one Page, whatever happened to it, so that the counts add up:
    `done` was answered (with a page, a redirect, or something that is not a page), `failed` was
    not, `denied` was not asked for because robots.txt forbids it. `reason` labels the counter. A failure
    that is `transient` is worth another try. `postponed` is a URL that was not asked for and waits for
    another turn of its host, or one whose page could not be read yet. `number` is that of the scheduler's
    grant. `hops` counts the redirects that led here. `strikes` counts the pages of its domain that have
    cost a worker lately; its host is left alone.
    A page that is to be read (`is_read`) comes with a `body`, which the extract pipeline turns into
    links and quads. The quads are kept as N-Quads, a line each, which most hand on as they are.
    """

    url: str
    depth: int
    number: int = -1
    outcome: Outcome = "done"
    reason: str = "page"
    transient: bool = False
    strikes: int = 0
    hops: int = 0
    content_type: str = ""
    robots_header: list[str] = field(default_factory=list)
    body: bytes = b""
    status: int = 0  # of the answer, 0 if unknown
    fetched: float = 0.0  # seconds since the epoch, 0 if unknown
    # An Exchange: the request and its answer as they went over the line, until they are archived.
    exchange: Any = None
    noarchive: bool = False  # whether the page asks not to be
    links: list[str] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)  # of the links, in parallel
    texts: list[str] = field(default_factory=list)  # of the links, in parallel
    title: str = ""
    language: str = ""
    found: Mapping[str, int] = field(default_factory=dict)  # quads in the page, by format
    text: str = ""  # only where somebody wants to read it
    topic: tuple[int, int] | None = None  # its number and score, None where nobody has judged it
    topics: list[str] = field(default_factory=list)  # the names of all that it is about, best first
    nquads: bytes = b""
    # What the filter has to know of them, if they are as the extraction left them.
    predicates: list[str] | None = None
    longest: int = 0

    @property
    def quads(self) -> tuple[Quad, ...]:
        """The statements, read anew each time; to change them, set others."""
        # A term that no store would take is for the filter to find.
        return tuple(parse(self.nquads, RdfFormat.N_QUADS, lenient=True))

    @quads.setter
    def quads(self, quads: Iterable[Quad]) -> None:
        self.nquads = serialize(quads, format=RdfFormat.N_QUADS) or b""
        self.predicates = None

    @property
    def quad_count(self) -> int:
        # A line feed inside a literal is escaped.
        return self.nquads.count(b"\n")

    @property
    def is_read(self) -> bool:
        """Tell whether this is a page, with a body to read, rather than a redirect or a failure."""
        return self.outcome == "done" and self.reason == "page"

    def __repr__(self) -> str:
        """Keep the body and the quads out of logs."""
        return f"<Page {self.url} {self.outcome} {self.reason} depth {self.depth}>"


def is_for_page(meta: Mapping[str, Any]) -> bool:
    """Tell by the meta of a request whether it is for a page; robots.txt and sitemaps may be anything."""
    # Only what is in the frontier has a depth.
    return "depth" in meta and "sitemap" not in meta


def is_item(item: object) -> bool:
    """Tell whether an item is one to users: a page that was read, or what code of their own yields."""
    return not isinstance(item, Page) or item.is_read
