"""The one type that travels from the spider through the pipelines to the scheduler."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pyoxigraph import RdfFormat, parse, serialize

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pyoxigraph import Quad

# The most links that a page may be away from a seed.
MAX_DEPTH = 250

Outcome = Literal["done", "failed", "denied", "postponed"]


@dataclass(slots=True, repr=False)
class Page:
    """What became of one URL that was taken from the frontier.

    Every URL taken yields exactly one Page, whatever happened to it, so that the counts add up. `done`
    was answered, with a page, a redirect, or something that is not a page; `failed` was not; `denied` was
    not requested because robots.txt forbids it; `postponed` waits for another turn of its host, or could
    not be parsed yet. `reason` labels the counter. A `transient` failure is worth another try. `number`
    is that of the scheduler's grant. `hops` counts the redirects that led here. `strikes` counts the
    latest pages of its domain that took down a worker; its host is then left alone.
    A page to parse (`is_read`) has a `body`, which the extract pipeline turns into links and quads. The
    quads are kept as N-Quads, one per line.
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
    links: list[str] = field(default_factory=list)
    relations: list[str] = field(default_factory=list)  # of the links, in parallel
    texts: list[str] = field(default_factory=list)  # of the links, in parallel
    title: str = ""
    language: str = ""
    found: Mapping[str, int] = field(default_factory=dict)  # quads in the page, by format
    text: str = ""  # only if a topics file needs it
    topic: tuple[int, int] | None = None  # its number and score, None without a topics file
    topics: list[str] = field(default_factory=list)  # the names of all that it is about, best first
    nquads: bytes = b""
    # For the filter, if the quads are unchanged since the extraction.
    predicates: list[str] | None = None
    longest: int = 0

    @property
    def quads(self) -> tuple[Quad, ...]:
        """The statements, parsed at each access; to change them, set others."""
        # The filter finds terms that no store would accept.
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
    """Tell by its meta whether a request is for a page, rather than robots.txt or a sitemap."""
    # Only what is in the frontier has a depth.
    return "depth" in meta and "sitemap" not in meta


def is_item(item: object) -> bool:
    """Tell whether users call it an item: a page that was read, or what their own code yields."""
    return not isinstance(item, Page) or item.is_read
