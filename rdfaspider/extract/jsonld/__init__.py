"""JSON-LD 1.1: the blocks in the script elements of a page, and whole documents.

pyoxigraph expands JSON-LD to statements. Here a block is made ready for it: JSON that only a strict
parser refuses is repaired, contexts are put in place of links to them, and what would make the
parser slow or overflow its stack is rejected. Each block stands alone: a bad one is counted in
``Facts.cuts`` ("jsonld syntax", "jsonld invalid", "jsonld size", "jsonld depth", "jsonld contexts")
and does not affect the others; the valid statements of an invalid block are kept.

`text` repairs JSON. `contexts` replaces links to contexts by the contexts that are bundled
(`extract/data/jsonld/`); no other is fetched. It also checks those of the block itself: sizes, `@base`,
`@import`. What other keywords mean is left to pyoxigraph.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from pyoxigraph import RdfFormat

from rdfaspider.extract.document.tree import Document
from rdfaspider.extract.jsonld import text as jsontext
from rdfaspider.extract.jsonld.contexts import UNKNOWN, Contexts, Inliner, Place, references
from rdfaspider.extract.jsonld.text import TooBig
from rdfaspider.extract.mediatypes import JSON_LD
from rdfaspider.extract.triples import iris
from rdfaspider.extract.triples.graph import Full, Graph
from rdfaspider.extract.triples.statements import Statements

ATTRIBUTES = frozenset(("type",))

_BLOCKS = 2_000  # of a page
_DEPTH = 64  # nested brackets; the time of the parser grows with the square of it
_ASIDE = frozenset(("@context", "@value"))
_ADDRESS = re.compile(r"\s*+(?:https?:|/)", re.I)
_NO_CONTEXTS: Contexts = {}

Ready = tuple[bytes, str]
"""What the parser is given, and the prefix of IRIs whose statements are not wanted."""


def blocks(document: Document) -> Iterator[tuple[str, str]]:
    """Yield the @id and the text of each script element that holds JSON-LD."""
    for _, tag, attributes, node in document.elements:
        if tag == "script" and "type" in attributes:
            media_type = attributes["type"].partition(";")[0].strip().lower()
            if media_type == JSON_LD:
                yield attributes.get("id", ""), document.text(node)


def read_blocks(document: Document, base: str, graph: Graph) -> None:
    """Add the statements of all blocks of a page to its graph, or as many as the limits allow."""
    try:
        for number, (_, text) in enumerate(blocks(document)):
            if number == _BLOCKS:
                graph.cuts["jsonld blocks"] += 1
                break
            if text.strip():
                _read(_prepared(text, base, graph, _NO_CONTEXTS, is_page=True), base, graph)
    except Full as full:
        graph.cuts[str(full)] += 1


def read_document(text: str, base: str, graph: Graph, contexts: Contexts = _NO_CONTEXTS) -> None:
    """Add the statements of a JSON-LD document, which is not repaired; raise Full."""
    _read(_prepared(text, base, graph, contexts), base, graph)


def _prepared(
    text: str, base: str, graph: Graph, contexts: Contexts, is_page: bool = False
) -> Ready | None:
    """Return a text in the form that the parser accepts, or None; its value is freed before parsing."""
    try:
        value, is_repaired = jsontext.read(text) if is_page else (jsontext.loads(text), False)
        if is_repaired:
            graph.warnings["RepairedJson"] += 1
        if value is None:
            return None
        nodes, names = _surveyed(value)
        inliner = _inlined(nodes, names, base, contexts)
    except TooBig as error:
        graph.cuts[f"jsonld {error}"] += 1
        return None
    except ValueError:
        graph.cuts["jsonld syntax"] += 1
        return None
    if is_page:
        _encode(nodes)
    unwanted = ""
    if inliner.missing:
        graph.cuts["jsonld unknown context"] += inliner.missing
        unwanted = UNKNOWN
        value = {"@context": {"@vocab": UNKNOWN}, "@graph": value}
    body = jsontext.dumps(value)
    if not inliner.is_cheap(body.count(b'"')):
        graph.cuts["jsonld contexts"] += 1
        return None
    return body, unwanted


def _read(ready: Ready | None, base: str, graph: Graph) -> None:
    if ready is None:
        return
    faults = Statements(graph).read(ready[0], RdfFormat.JSON_LD, base, ready[1])
    if faults:
        graph.cuts["jsonld invalid"] += faults


def _surveyed(value: Any) -> tuple[list[dict[str, Any]], set[str]]:
    """Return the objects of a block and all words that may be terms; raise TooBig."""
    names: set[str] = set()
    nodes, aside = _objects(value, names, _ASIDE)
    definitions, _ = _objects(aside, names, frozenset())
    if "@json" in names:
        nodes, _ = _objects(value, names, _ASIDE.union(_literals(definitions)))
    names.update([name.partition(":")[0] for name in names if ":" in name])
    return nodes, names


def _inlined(
    nodes: list[dict[str, Any]], names: set[str], base: str, contexts: Contexts
) -> Inliner:
    """Replace the links to contexts in all nodes; raise TooBig if the contexts are too large."""
    inliner = Inliner(names, contexts)
    place = Place(base)
    for node in nodes:
        if "@context" in node:
            node["@context"] = inliner.inlined(node["@context"], place)
    return inliner


def _encode(nodes: list[dict[str, Any]]) -> None:
    """Encode what no IRI may hold in addresses, as a browser does: the parser would drop them."""
    keys = references()
    for node in nodes:
        for key in keys.intersection(node):
            value = node[key]
            node[key] = [*map(_address, value)] if isinstance(value, list) else _address(value)


def _address(value: Any) -> Any:
    is_address = isinstance(value, str) and _ADDRESS.match(value)
    return iris.encoded(value.strip()) if is_address else value


def _objects(
    value: Any, names: set[str], passed: frozenset[str]
) -> tuple[list[dict[str, Any]], list[Any]]:
    """Return the objects of a value, and the values under names to be passed over.

    Contexts and literals are passed over, since an ``@context`` in there is not one of the block.
    All words that may be terms are added to the names. Raise TooBig when the value is nested too
    deep.
    """
    objects: list[dict[str, Any]] = []
    aside: list[Any] = []
    level = [value]
    for _ in range(_DEPTH):
        below: list[Any] = []
        for item in level:
            if isinstance(item, dict):
                objects.append(item)
                names.update(item)
                for name, inner in item.items():
                    (aside if name in passed else below).append(inner)
            elif isinstance(item, list):
                below.extend(item)
            elif isinstance(item, str):
                names.add(item)
        if not below:
            return objects, aside
        level = below
    raise TooBig("depth")


def _literals(definitions: list[dict[str, Any]]) -> list[str]:
    """Return the terms whose values are JSON literals."""
    return [
        name
        for context in definitions
        for name, definition in context.items()
        if isinstance(definition, dict) and definition.get("@type") == "@json"
    ]
