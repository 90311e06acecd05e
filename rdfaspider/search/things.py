"""What a page says, as things that can be found: each with a name, types and words.

A thing is a subject of the page's statements. Its words are its literals, and those of the blank nodes that
it leads to: an author or an offer is most often written that way. The page itself is a thing too, with its
title and its text. Everything is bounded, because a page may be hostile.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from contextlib import suppress
from typing import NamedTuple

from pyoxigraph import BlankNode, Literal, NamedNode, RdfFormat, parse

# Characters of a name, a literal, the words of a thing and those of a page.
_NAME, _LITERAL, _WORDS, _PAGE = 200, 4_000, 20_000, 100_000
# Things of a page, and steps from a thing to blank nodes.
_THINGS, _STEPS = 1_000, 3

_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
# What names a thing, the best first.
_NAMES = {
    name: place
    for place, name in enumerate(
        (
            "http://schema.org/name",
            "https://schema.org/name",
            "http://xmlns.com/foaf/0.1/name",
            "http://www.w3.org/2004/02/skos/core#prefLabel",
            "http://www.w3.org/2000/01/rdf-schema#label",
            "http://purl.org/dc/terms/title",
            "http://purl.org/dc/elements/1.1/title",
            "http://ogp.me/ns#title",
            "http://schema.org/headline",
            "https://schema.org/headline",
            "http://www.w3.org/2006/vcard/ns#fn",
            "http://purl.org/goodrelations/v1#name",
        )
    )
}
# Literals that people read; numbers and dates are for SPARQL.
_READ = frozenset(
    (
        "http://www.w3.org/2001/XMLSchema#string",
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString",
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML",
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral",
    )
)
_TAG = re.compile("<[^<>]{0,2000}>")
# White space and control characters, among them the marks of found words (reading.py).
_GAP = re.compile(r"[\s\x00-\x1f\x7f]+")


class Thing(NamedTuple):
    """A thing as one page describes it; `subject` is "" for a blank node."""

    subject: str
    name: str
    types: tuple[str, ...]
    words: str


class Said(NamedTuple):
    """What a page says: its things, and how often it uses each predicate."""

    things: list[Thing]
    predicates: Counter[str]


class _Node:
    """What is said of a subject."""

    __slots__ = ("below", "literals", "name", "place", "types")

    def __init__(self) -> None:
        self.name, self.place = "", len(_NAMES)
        self.types: dict[str, None] = {}
        self.literals: list[str] = []
        self.below: list[str] = []


def read(page: str, triples: bytes, title: str = "", text: str = "") -> Said:
    """Return what N-Triples say, on a page with a title and a text."""
    nodes: dict[str, _Node] = defaultdict(_Node)
    predicates: Counter[str] = Counter()
    with suppress(SyntaxError):  # no store takes what follows either
        for triple in parse(triples, RdfFormat.N_TRIPLES, lenient=True):
            about, predicate = triple.subject, triple.predicate.value
            predicates[predicate] += 1
            subject = str(about) if isinstance(about, BlankNode) else about.value
            _add(nodes[subject], predicate, triple.object)
    if title or text:
        node = nodes[page]
        if title and node.place:  # unless the page has a name of the best kind
            node.literals.append(node.name)
            node.name = plain(title)[:_NAME]
        node.literals.append(plain(text))
    return Said(_things(nodes), predicates)


def _add(node: _Node, predicate: str, value: object) -> None:
    if isinstance(value, Literal):
        if value.datatype.value not in _READ:
            return
        words = value.value[:_LITERAL]
        words = plain(words if value.language else _TAG.sub(" ", words))
        place = _NAMES.get(predicate)
        if place is not None and place < node.place and words:
            words, node.name, node.place = node.name, words[:_NAME], place
        if words:
            node.literals.append(words)
    elif predicate == _TYPE and isinstance(value, NamedNode):
        node.types[value.value] = None
    elif isinstance(value, BlankNode):
        node.below.append(str(value))


def plain(text: str) -> str:
    """Return a text in one line."""
    return _GAP.sub(" ", text).strip()


def _things(nodes: dict[str, _Node]) -> list[Thing]:
    things: list[Thing] = []
    left = _PAGE
    for subject, node in nodes.items():
        words = _words(nodes, node)[: min(_WORDS, left)]
        if not (node.name or words or node.types):
            continue
        left -= len(words)
        is_blank = subject.startswith("_:")
        if is_blank and not (node.name or node.types):
            continue  # its words are those of the thing that leads to it
        things.append(Thing("" if is_blank else subject, node.name, tuple(node.types), words))
        if len(things) == _THINGS or not left:
            break
    return things


def _words(nodes: dict[str, _Node], node: _Node) -> str:
    """Return the literals of a node and of those below it, each once."""
    found = dict.fromkeys(node.literals)
    seen, level = {id(node)}, [node]
    for _ in range(_STEPS):
        following = []
        for each in level:
            for key in each.below:
                other = nodes.get(key)
                if other is None or id(other) in seen or len(seen) > _THINGS:
                    continue
                seen.add(id(other))
                following.append(other)
                found |= dict.fromkeys([other.name, *other.literals])
        level = following
    return " · ".join(filter(None, found))
