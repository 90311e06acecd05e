"""Where two graphs differ, whatever their blank nodes are called.

Whether they are isomorphic is decided exactly (RDFC-1.0). If not, blank nodes are matched so that few
triples differ: those that are alike in all that is said around them, then, pair by pair, those that share
most. What is matched otherwise would only make the list longer.
"""

from __future__ import annotations

from collections import defaultdict
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from lxml import etree
from pyoxigraph import CanonicalizationAlgorithm, Dataset, Literal, NamedNode, Quad, Triple

from rdfaspider.blanknodes import colours

if TYPE_CHECKING:
    from collections.abc import Iterable

# Blank nodes that are matched pair by pair, which takes the square of their number.
_MOST = 200
_XML = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral")

Words = tuple[bytes, bytes, bytes]


class Differences(NamedTuple):
    """The triples, as N-Triples without the full stop, that only one of two graphs has."""

    ours: list[str]
    theirs: list[str]

    def __bool__(self) -> bool:
        return bool(self.ours or self.theirs)


def differences(ours: Iterable[Triple], theirs: Iterable[Triple]) -> Differences:
    """Compare two graphs; blank nodes of theirs that match get our labels."""
    own, other = list(map(_plain, ours)), list(map(_plain, theirs))
    if _canonical(own) == _canonical(other):
        return Differences([], [])
    first, second = {_words(each) for each in own}, {_words(each, b"t") for each in other}
    called = _matches(first, second).get
    renamed = {(called(s, s), p, called(o, o)) for s, p, o in second}
    return Differences(_lines(first - renamed), _lines(renamed - first))


def _plain(triple: Triple) -> Triple:
    """Write language tags in lower case, and XML in canonical form: both mean the same otherwise."""
    value = triple.object
    if isinstance(value, Literal):
        if value.language:
            value = Literal(value.value, language=value.language.lower())
        elif value.datatype == _XML:
            with suppress(ValueError, SyntaxError):  # not well-formed
                text = etree.canonicalize(f"<x>{value.value}</x>")
                value = Literal(text.removeprefix("<x>").removesuffix("</x>"), datatype=_XML)
    return Triple(triple.subject, triple.predicate, value)


def _canonical(triples: Iterable[Triple]) -> set[str]:
    dataset = Dataset(Quad(*triple) for triple in triples)
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return {str(quad) for quad in dataset}


def _words(triple: Triple, mark: bytes = b"") -> Words:
    """Return the terms of a triple, with a mark on the labels of blank nodes."""
    subject, predicate, value = (str(term).encode() for term in triple)
    return _marked(subject, mark), predicate, _marked(value, mark)


def _marked(term: bytes, mark: bytes) -> bytes:
    return b"_:" + mark + term[2:] if term.startswith(b"_:") else term


def _lines(triples: Iterable[Words]) -> list[str]:
    return sorted(b" ".join(triple).decode() for triple in triples)


def _matches(ours: set[Words], theirs: set[Words]) -> dict[bytes, bytes]:
    """Return which blank node of ours each of theirs is."""
    mine, others = _by_colour(ours), _by_colour(theirs)
    found = {
        others[colour][0]: nodes[0]
        for colour, nodes in mine.items()
        if len(nodes) == len(others.get(colour, ())) == 1
    }
    matched = set(found.values())
    left = [node for nodes in mine.values() for node in nodes if node not in matched]
    right = [node for nodes in others.values() for node in nodes if node not in found]
    while left and right and max(len(left), len(right)) <= _MOST:
        said, heard = _said(ours, {}), _said(theirs, found)
        shared, node, other = max(
            (len(said[node] & heard[other]), node, other) for node in left for other in right
        )
        if not shared:
            break
        found[other] = node
        left.remove(node)
        right.remove(other)
    return found


def _by_colour(triples: set[Words]) -> dict[bytes, list[bytes]]:
    nodes = defaultdict(list)
    for node, colour in colours(sorted(triples)).items():
        nodes[colour].append(node)
    return nodes


def _said(triples: set[Words], called: dict[bytes, bytes]) -> dict[bytes, set[Words]]:
    """Return what is said of each blank node, in which those that are matched have our labels."""
    said = defaultdict(set)
    for subject, predicate, value in triples:
        said[subject].add((b">", predicate, called.get(value, value)))
        said[value].add((b"<", predicate, called.get(subject, subject)))
    return said
