"""Holds the pages of a store against shapes (SHACL), each page by itself, and counts what is found.

pyshacl does the work. A page is one graph: what other pages say of the same things does not count. A sample
is always the same pages of a store, those with the smallest digests of their names.
"""

from __future__ import annotations

import heapq
import signal
from collections import Counter, defaultdict
from contextlib import contextmanager
from dataclasses import dataclass, field
from hashlib import blake2b
from logging import getLogger
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pyoxigraph import Quad, RdfFormat, parse

from rdfaspider.stores.selection import Selection
from rdfaspider.urls import host

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rdfaspider.stores import PageStore

# Pages that are read from the store together.
_TOGETHER = 200
# Triples of a page that is not checked: no page that people wrote has as many.
_LARGEST = 20_000
# Seconds for a page; a pattern of a shape may take for ever on a text that was made for it.
_TIME = 10.0
_SH = "http://www.w3.org/ns/shacl#"


class Finding(NamedTuple):
    """What is wrong: by which shape, at which path, and which of its constraints."""

    severity: str
    shape: str
    path: str
    constraint: str


@dataclass
class Findings:
    """What was found in pages, by host and by shape; `examples` has a page for each finding."""

    pages: Counter[str] = field(default_factory=Counter)
    faulty: Counter[str] = field(default_factory=Counter)
    results: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    findings: Counter[Finding] = field(default_factory=Counter)
    examples: dict[Finding, str] = field(default_factory=dict)
    too_large: int = 0
    unchecked: int = 0

    @property
    def severities(self) -> Counter[str]:
        return sum(self.results.values(), Counter())

    def add(self, page: str, found: Iterable[Finding]) -> None:
        name = host(page)
        self.pages[name] += 1
        is_faulty = False
        for finding in found:
            is_faulty = is_faulty or finding.severity == "Violation"
            self.results[name][finding.severity] += 1
            self.findings[finding] += 1
            self.examples.setdefault(finding, page)
        self.faulty[name] += is_faulty


class Shapes:
    """The shapes of a file."""

    def __init__(self, path: Path) -> None:
        """Read a file; raise ValueError in a sentence if it has no shapes, or pyshacl is missing."""
        try:
            import pyshacl
            import rdflib
        except ImportError:
            raise ValueError(
                "Shapes need pyshacl, which is not installed: pip install 'rdfaspider[shacl]'."
            ) from None
        self._validate: Callable[..., Any] = pyshacl.validate
        # It logs every literal that is not what its type says; shapes are for that.
        getLogger("rdflib.term").setLevel("ERROR")
        try:
            self.shapes = rdflib.Graph().parse(path)
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}.") from error
        except Exception as error:  # each of rdflib's parsers has errors of its own
            reason = " ".join(str(error).split())[:200]
            raise ValueError(f"{path} is no RDF that can be read: {reason}") from error
        kinds = [rdflib.URIRef(_SH + kind) for kind in ("NodeShape", "PropertyShape")]
        if not any((None, rdflib.RDF.type, kind) in self.shapes for kind in kinds):
            raise ValueError(f"{path} has no shapes: none of its things is a sh:NodeShape.")

    def check(self, quads: Iterable[Quad]) -> tuple[list[Finding], bytes]:
        """Return what is wrong with the triples of a page, and pyshacl's report as N-Triples.

        Raise TimeoutError if it takes too long, and ValueError if the shapes cannot be used.
        """
        import rdflib

        from rdfaspider.adapters.rdflib import add_all

        data = rdflib.Graph()
        add_all(data, quads)
        with _limited():
            conforms, report, words = self._validate(data, shacl_graph=self.shapes, inplace=True)
        if conforms is False and isinstance(report, Exception):
            raise ValueError(f"The shapes cannot be used: {words}")
        nodes = report.subjects(object=_iri("ValidationResult"))
        found = [_finding(report, self.shapes, node) for node in nodes]
        return found, report.serialize(format="nt", encoding="utf-8")


@contextmanager
def _limited() -> Iterator[None]:
    """Raise TimeoutError in the block when it has taken too long. Only for the main thread."""

    def ring(number: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, _TIME)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def _iri(name: str) -> Any:
    import rdflib

    return rdflib.URIRef(_SH + name)


def _finding(report: Any, shapes: Any, node: Any) -> Finding:
    def value(name: str) -> Any:
        return report.value(node, _iri(name))

    shape = value("sourceShape")
    # The shape of a property has mostly no name: the one that it belongs to has.
    owner = next(shapes.subjects(_iri("property"), shape), None)
    named = shape if str(shape).startswith(("http", "urn")) or owner is None else owner
    severity = str(value("resultSeverity")).removeprefix(_SH)
    constraint = str(value("sourceConstraintComponent")).removeprefix(_SH)
    path = value("resultPath")
    return Finding(
        severity,
        str(named),
        "" if path is None else str(path),
        constraint.removesuffix("ConstraintComponent"),
    )


def chosen(store: PageStore, selection: Selection, most: int) -> tuple[list[str], int, int]:
    """Return the pages to check, how many there are, and how many are too large; 0 chooses all."""
    pages: list[tuple[bytes, str]] = []
    number = too_large = 0
    for graph, size in store.sizes(selection):
        if not graph.startswith("http"):  # what is said of the crawl itself
            continue
        number += 1
        if size > _LARGEST:
            too_large += 1
            continue
        # The greatest digest is first in the heap, and the first to go.
        key = bytes(255 - byte for byte in blake2b(graph.encode(), digest_size=8).digest())
        if most and len(pages) == most:
            heapq.heappushpop(pages, (key, graph))
        elif most:
            heapq.heappush(pages, (key, graph))
        else:
            pages.append((key, graph))
    return sorted(graph for _, graph in pages), number, too_large


def graphs_of(store: PageStore, pages: Sequence[str]) -> Iterator[tuple[str, list[Quad]]]:
    """Yield the triples of each page."""
    for start in range(0, len(pages), _TOGETHER):
        some = pages[start : start + _TOGETHER]
        quads: dict[str, list[Quad]] = {page: [] for page in some}
        for quad in store.select(Selection(pages=frozenset(some))):
            quads[quad.graph_name.value].append(quad)  # type: ignore[union-attr]
        yield from quads.items()


def report_quads(page: str, report: bytes) -> Iterator[Quad]:
    """Yield pyshacl's report on a page, in the graph of the page's name."""
    from pyoxigraph import NamedNode

    for triple in parse(report, RdfFormat.N_TRIPLES, rename_blank_nodes=True, lenient=True):
        yield Quad(triple.subject, triple.predicate, triple.object, NamedNode(page))
