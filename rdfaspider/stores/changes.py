"""A change of one graph, in the forms that stores and files take, and the digest of a graph."""

from __future__ import annotations

from collections import Counter, defaultdict
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Self

from pyoxigraph import BlankNode, NamedNode, RdfFormat, Triple, parse, serialize

from rdfaspider.blanknodes import colours
from rdfaspider.items import is_valid

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyoxigraph import Quad

# Graphs removed by one request.
_REMOVALS = 500


class Change(NamedTuple):
    """The triples that replace the content of a graph, or are added to it.

    They are N-Triples or, if `is_named`, N-Quads of the graph. Pages come as N-Quads and the embedded store
    takes them as such; rewriting every line on the way would cost as much as parsing it. Invariant: each
    triple is one line, so that changes can be joined and a bad one harms no other.
    """

    graph: str
    lines: bytes
    quads: int
    replaces: bool = True
    # For the stream of changes: when the page was visited, and why its graph is cleared.
    time: float = 0.0
    cause: str = ""
    # For the search index: those of the page. No store has them.
    title: str = ""
    text: str = ""
    is_named: bool = False

    @classmethod
    def replacing(cls, graph: str, quads: Iterable[Quad]) -> Self:
        """Make `quads` the content of `graph`; raise ValueError if an IRI among them is not valid."""
        NamedNode(graph)
        triples = []
        for quad in quads:
            if not is_valid(quad):  # in N-Triples, a line feed in it would tear the next lines
                raise ValueError(f"The graph {graph} has an invalid IRI: {str(quad)!r}.")
            triples.append(Triple(quad.subject, quad.predicate, quad.object))
        # serialize() returns None for nothing.
        return cls(graph, serialize(triples, format=RdfFormat.N_TRIPLES) or b"", len(triples))

    @classmethod
    def of_page(cls, graph: str, nquads: bytes, count: int | None = None) -> Self:
        """Make N-Quads, a line each, the content of `graph`; raise ValueError if that is not an IRI.

        `count` is the number of lines, where it is known.
        """
        NamedNode(graph)
        tail = f" <{graph}> .\n".encode()
        count = nquads.count(b"\n") if count is None else count
        # All lines are of this graph, as they should be, and the last one is complete.
        if nquads.count(tail) == count and nquads[-1:] in (b"\n", b""):
            return cls(graph, nquads, count, is_named=True)
        return cls.replacing(graph, parse(nquads, RdfFormat.N_QUADS, lenient=True))

    @classmethod
    def adding(cls, quads: Iterable[Quad]) -> list[Self]:
        """Return one change per named graph of `quads`; raise ValueError for a quad without one."""
        graphs = defaultdict(list)
        for quad in quads:
            if not isinstance(quad.graph_name, NamedNode):
                raise ValueError(f"A quad of no named graph: {quad}.")
            graphs[quad.graph_name.value].append(quad)
        return [cls.replacing(*item)._replace(replaces=False) for item in graphs.items()]

    def has_content_of(self, other: Self) -> bool:
        """Tell whether another change leaves the same graph, except for labels of blank nodes."""
        if self.replaces != other.replaces:
            return False
        is_same = self.is_named == other.is_named and self.lines == other.lines
        return is_same or self.digest() == other.digest()

    def unnamed(self) -> Self:
        """Return the same change as N-Triples."""
        return self._replace(lines=self.triples, is_named=False) if self.is_named else self

    @property
    def triples(self) -> bytes:
        """The triples as N-Triples."""
        # A line feed inside a literal is escaped, so this is only found at the end of a line.
        return self.lines.replace(self._end, b" .\n") if self.is_named else self.lines

    def nquads(self) -> bytes:
        return self.lines if self.is_named else self.lines.replace(b" .\n", self._end)

    @property
    def _end(self) -> bytes:
        return f" <{self.graph}> .\n".encode()

    def digest(self) -> bytes:
        """Return the digest of the triples; equal texts that are escaped differently count as different."""
        triples = self.triples
        if b"_:" in triples:
            return digest(parse(triples, RdfFormat.N_TRIPLES, lenient=True))
        return _digest_of(triples.splitlines())


TEST = Change("urn:rdfaspider:test", b"<%b> <%b> <%b> .\n" % ((b"urn:rdfaspider:test",) * 3), 1)


def removals(graphs: Iterable[str]) -> Iterator[list[Change]]:
    """Yield the changes that empty graphs, in batches of the size of a request."""
    rest = iter(graphs)
    while batch := [Change(graph, b"", 0) for graph in islice(rest, _REMOVALS)]:
        yield batch


def update(changes: Sequence[Change]) -> bytes:
    """Return one SPARQL Update that applies all changes.

    It drops graphs rather than clearing them, because some stores only know how to drop.
    """
    drops = [f"DROP SILENT GRAPH <{change.graph}> ;\n" for change in changes if change.replaces]
    return "".join(drops).encode() + insertion(changes)


def insertion(changes: Sequence[Change]) -> bytes:
    """Return the SPARQL Update that inserts the triples of changes."""
    data = [
        part
        for change in changes
        if change.quads
        for part in (f"GRAPH <{change.graph}> {{\n".encode(), change.triples, b"}\n")
    ]
    return b"".join([b"INSERT DATA {\n", *data, b"}\n"]) if data else b""


def digest(quads: Iterable[Quad]) -> bytes:
    """Return 16 bytes that are the same for graphs that differ only in the labels of blank nodes.

    Blank nodes are coloured by their statements, round by round, in time linear in the number of
    quads; exact canonical labels would take exponential time on a hostile page. Different graphs may
    share a digest only if their blank nodes look alike for several links around.
    """
    lines, linked = [], []
    for quad in quads:
        subject, value = quad.subject, quad.object
        if isinstance(subject, BlankNode) or isinstance(value, BlankNode):
            linked.append((subject, quad.predicate.value, value))
        else:
            lines.append(f"{subject} {quad.predicate} {value}".encode())
    if linked:
        lines += _coloured(linked)
    return _digest_of(lines)


def _digest_of(lines: list[bytes]) -> bytes:
    return blake2b(b"\n".join(sorted(set(lines))), digest_size=16).digest()


def _coloured(triples: Sequence[tuple[object, str, object]]) -> list[bytes]:
    """Return a line per triple, with colours in place of blank nodes."""
    words = [(str(s).encode(), p.encode(), str(o).encode()) for s, p, o in triples]
    get = colours(words).get
    lines = Counter(b" ".join((get(s, s), p, get(o, o))) for s, p, o in words)
    # Alike nodes give equal lines, and their number must count, so equal lines are numbered.
    return [line + b" %d" % number for line in lines for number in range(1, lines[line] + 1)]


def statements(change: Change) -> list[bytes]:
    """Return the triples of a change, each once, as N-Triples without a full stop, sorted.

    Blank nodes are labelled by what is said of them. So a statement about one is the same text in two
    versions of a page if nothing that is said around the node has changed.
    """
    triples = change.triples
    if b"_:" not in triples:
        return sorted({line.removesuffix(b" .") for line in triples.splitlines()})
    plain, linked = set(), []
    for quad in parse(triples, RdfFormat.N_TRIPLES, lenient=True):
        words = (
            str(quad.subject).encode(),
            str(quad.predicate).encode(),
            str(quad.object).encode(),
        )
        if words[0].startswith(b"_:") or words[2].startswith(b"_:"):
            linked.append(words)
        else:
            plain.add(b" ".join(words))
    labels = _labels(colours(linked))
    get = labels.get
    return sorted(plain | {b" ".join((get(s, s), p, get(o, o))) for s, p, o in linked})


def _labels(colour_of: dict[bytes, bytes]) -> dict[bytes, bytes]:
    """Return a label for each blank node: its colour, and a number where several are alike."""
    seen: Counter[bytes] = Counter()
    labels = {}
    for node, colour in colour_of.items():
        seen[colour] += 1
        number = b"x%d" % seen[colour] if seen[colour] > 1 else b""
        labels[node] = b"_:b" + colour.hex().encode() + number
    return labels
