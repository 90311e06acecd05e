"""The quads that each contender left behind, read from where it puts them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, parse

from rdfaspider.stores import open_store

Quads = frozenset[Quad]

_TIME = NamedNode("http://www.w3.org/2001/XMLSchema#dateTime")


def of_redis(url: str) -> Quads:
    """Read the items of scrapy-redis: what extruct found, of which RDFa is expanded JSON-LD."""
    from redis import Redis

    with Redis.from_url(url) as client:
        items = [json.loads(item) for item in client.lrange("extruct:items", 0, -1)]
    return frozenset(quad for item in items for quad in _of_item(item))


def _of_item(item: dict[str, list[object]]) -> Iterator[Quad]:
    url = str(item["url"])
    for found in (item["rdfa"], item["json-ld"]):
        yield from _in_graph(url, json.dumps(found), RdfFormat.JSON_LD)


def of_feed(path: Path) -> Quads:
    """Read a feed of items with triples."""
    items = [json.loads(line) for line in path.read_text().splitlines()]
    found = (_in_graph(item["url"], item["triples"], RdfFormat.N_TRIPLES) for item in items)
    return frozenset(quad for quads in found for quad in quads)


def of_files(paths: Iterable[Path]) -> Quads:
    """Read files of N-Quads whose graphs are the pages."""
    texts = (path.read_bytes() for path in paths)
    quads = (quad for text in texts for quad in parse(text, RdfFormat.N_QUADS))
    return frozenset(
        Quad(quad.subject, quad.predicate, _respelt(quad.object), quad.graph_name) for quad in quads
    )


def of_store(url: str) -> Quads:
    with open_store(url, read_only=True) as store:
        return frozenset(store.quads())


def _in_graph(url: str, text: str, kind: RdfFormat) -> Iterable[Quad]:
    graph = NamedNode(url)
    for quad in parse(text, kind, base_iri=url):
        yield Quad(quad.subject, quad.predicate, _respelt(quad.object), graph)


def _respelt(term: Any) -> Any:
    """Undo rdflib's spelling of times in UTC: it is the same value."""
    if isinstance(term, Literal) and term.datatype == _TIME and term.value.endswith("+00:00"):
        return Literal(term.value.removesuffix("+00:00") + "Z", datatype=_TIME)
    return term
