"""A change of one graph, in the forms that stores and files take it, and the digest of a graph."""

from __future__ import annotations

from collections import defaultdict
from hashlib import blake2b
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple, Self

from pyoxigraph import BlankNode, NamedNode, RdfFormat, Triple, parse, serialize

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyoxigraph import Quad

# Rounds of refinement: nodes that look alike so many links around are taken for alike.
_ROUNDS = 8

# Graphs removed by one request.
_REMOVALS = 500


class Change(NamedTuple):
    """The triples that replace the content of a graph, or are added to it, as N-Triples.

    Invariant: each triple is a line, and nothing but a triple ends one. So changes can be put together, and
    what is wrong with one of them is its own affair.
    """

    graph: str
    triples: bytes
    quads: int
    replaces: bool = True

    @classmethod
    def replacing(cls, graph: str, quads: Iterable[Quad]) -> Self:
        """Make `quads` the content of `graph`; ValueError if that, or one of their terms, is no IRI."""
        NamedNode(graph)
        triples = [Triple(quad.subject, quad.predicate, quad.object) for quad in quads]
        # Nothing is serialised to None.
        body = serialize(triples, format=RdfFormat.N_TRIPLES) or b""
        if body.count(b"\n") != len(triples):
            # In a literal it would be escaped; such an IRI comes from a parser that was told to be lenient.
            raise ValueError(f"There is a line feed in an IRI of the graph {graph}.")
        return cls(graph, body, len(triples))

    @classmethod
    def of_page(cls, graph: str, nquads: bytes) -> Self:
        """Make N-Quads, a line each, the content of `graph`; ValueError if that is no IRI."""
        NamedNode(graph)
        tail, count = f" <{graph}> .\n".encode(), nquads.count(b"\n")
        # All lines are of this graph, as they should, and the last one has an end.
        if nquads.count(tail) == count and nquads[-1:] in (b"\n", b""):
            return cls(graph, nquads.replace(tail, b" .\n"), count)
        return cls.replacing(graph, parse(nquads, RdfFormat.N_QUADS, lenient=True))

    @classmethod
    def adding(cls, quads: Iterable[Quad]) -> list[Self]:
        """Make one change for each graph that `quads` belong to; ValueError if to none."""
        graphs = defaultdict(list)
        for quad in quads:
            if not isinstance(quad.graph_name, NamedNode):
                raise ValueError(f"A quad of no named graph: {quad}.")
            graphs[quad.graph_name.value].append(quad)
        return [cls.replacing(*item)._replace(replaces=False) for item in graphs.items()]

    def nquads(self) -> bytes:
        # A line feed inside a literal is escaped, so this is the end of a line and nothing else.
        return self.triples.replace(b" .\n", f" <{self.graph}> .\n".encode())

    def digest(self) -> bytes:
        """Return the digest of the triples; that of the same quads may differ in how texts are escaped."""
        if b"_:" in self.triples:
            return digest(parse(self.nquads(), RdfFormat.N_QUADS, lenient=True))
        return _digest_of(self.triples.splitlines())


def removals(graphs: Iterable[str]) -> Iterator[list[Change]]:
    """Yield the changes that leave nothing in graphs, as many at a time as one request should have."""
    rest = iter(graphs)
    while batch := [Change(graph, b"", 0) for graph in islice(rest, _REMOVALS)]:
        yield batch


def update(changes: Sequence[Change]) -> bytes:
    """Return one SPARQL Update that makes all changes.

    It drops graphs rather than clearing them, because some stores know only that.
    """
    drops = [f"DROP SILENT GRAPH <{change.graph}> ;\n" for change in changes if change.replaces]
    return "".join(drops).encode() + insertion(changes)


def insertion(changes: Sequence[Change]) -> bytes:
    """Return the SPARQL Update that inserts what the changes bring."""
    data = [
        part
        for change in changes
        if change.quads
        for part in (f"GRAPH <{change.graph}> {{\n".encode(), change.triples, b"}\n")
    ]
    return b"".join([b"INSERT DATA {\n", *data, b"}\n"]) if data else b""


def digest(quads: Iterable[Quad]) -> bytes:
    """Return 16 bytes that are the same for graphs that differ in the labels of blank nodes only.

    Blank nodes are coloured by what is said about them, round by round, in time linear in the
    quads: exact canonical labels would take exponential time on a hostile page. Graphs that
    differ may share a digest only if every blank node has its like within several links.
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
    """Return a line for each triple, with colours in the place of blank nodes."""
    words = [
        (_word(subject), predicate.encode(), _word(value)) for subject, predicate, value in triples
    ]
    colours = {word: b"_" for triple in words for word in triple[::2] if word.startswith(b"_:")}
    distinct = 0
    for _ in range(_ROUNDS):
        said = defaultdict(list)
        for subject, predicate, value in words:
            said[subject].append(b">" + predicate + b" " + colours.get(value, value))
            said[value].append(b"<" + predicate + b" " + colours.get(subject, subject))
        colours = {node: _hash(colour, said[node]) for node, colour in colours.items()}
        if len(set(colours.values())) == distinct:
            break
        distinct = len(set(colours.values()))
    get = colours.get
    # Nodes alike leave equal lines: their number must count, so each line says how many there are.
    lines = [b" ".join((get(s, s), p, get(o, o))) for s, p, o in words]
    return [line + b" %d" % number for number, line in _numbered(lines)]


def _numbered(lines: list[bytes]) -> Iterable[tuple[int, bytes]]:
    seen: dict[bytes, int] = defaultdict(int)
    for line in lines:
        seen[line] += 1
        yield seen[line], line


def _word(term: object) -> bytes:
    return str(term).encode()


def _hash(colour: bytes, said: list[bytes]) -> bytes:
    return blake2b(colour + b"\n".join(sorted(said)), digest_size=16).digest()
