"""A graph as others read it: edge lists, WebGraph's ASCII form, Parquet, GraphML of the hosts, N-Quads.

Links are read block by block, and the URLs of a block's pages are looked up at once, so memory is bounded
whatever the size of the graph. User names and passwords are left out of URLs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO
from xml.sax.saxutils import quoteattr

import numpy as np

from rdfaspider.linkgraph.edges import CANONICAL, FOLLOW, KINDS, NOFOLLOW, REDIRECT
from rdfaspider.urls.iris import to_iri, without_userinfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rdfaspider.linkgraph.files.adjacency import Block
    from rdfaspider.linkgraph.files.varints import Array
    from rdfaspider.linkgraph.graph import Graph
    from rdfaspider.linkgraph.hosts import HostLinks

# How the links of each kind are said in RDF: Dublin Core's terms, and IANA's relations of links.
_PREDICATES = {
    FOLLOW: "http://purl.org/dc/terms/references",
    NOFOLLOW: "http://www.iana.org/assignments/relation/nofollow",
    CANONICAL: "http://www.iana.org/assignments/relation/canonical",
    REDIRECT: "http://purl.org/dc/terms/isReplacedBy",
}
_GRAPH = "urn:x-rdfaspider:linkgraph"


def write_edges(graph: Graph, names: Callable[[Array], list[str]], file: BinaryIO) -> Iterator[int]:
    """Write a line for each link: from where, to where, its kind, separated by tabs.

    Like the others, yield the number of links written so far.
    """
    for block, urls in _named(graph, names):
        sources = np.repeat(np.arange(len(block.degrees)), block.degrees) + block.first
        lines = [
            f"{urls[one]}\t{urls[other]}\t{KINDS[kind]}\n"
            for one, other, kind in zip(*_lists(sources, block), strict=True)
        ]
        file.write("".join(lines).encode())
        yield len(lines)


def write_nquads(
    graph: Graph, names: Callable[[Array], list[str]], file: BinaryIO
) -> Iterator[int]:
    """Write a statement for each link, all in one graph."""
    for block, urls in _named(graph, names):
        iris = {node: to_iri(url) for node, url in urls.items()}
        sources = np.repeat(np.arange(len(block.degrees)), block.degrees) + block.first
        lines = [
            f"<{iris[one]}> <{_PREDICATES[kind]}> <{iris[other]}> <{_GRAPH}> .\n"
            for one, other, kind in zip(*_lists(sources, block), strict=True)
        ]
        file.write("".join(lines).encode())
        yield len(lines)


def write_ascii(graph: Graph, file: BinaryIO) -> Iterator[int]:
    """Write WebGraph's ASCIIGraph: the number of pages, then the successors of each on a line."""
    file.write(f"{graph.nodes}\n".encode())
    for block in graph.outward.blocks():
        words = block.targets.tolist()
        start = 0
        lines = []
        for degree in block.degrees.tolist():
            lines.append(" ".join(map(str, words[start : start + degree])))
            start += degree
        file.write(("\n".join(lines) + "\n").encode())
        yield len(words)


def write_names(graph: Graph, names: Callable[[Array], list[str]], file: BinaryIO) -> Iterator[int]:
    """Write the URLs of all pages, a line each, in the order of their numbers in the graph."""
    for start in range(0, graph.nodes, 1 << 16):
        nodes = np.arange(start, min(start + (1 << 16), graph.nodes))
        file.write("".join([f"{without_userinfo(url)}\n" for url in names(nodes)]).encode())
        yield len(nodes)


def write_parquet(graph: Graph, names: Callable[[Array], list[str]], path: Path) -> Iterator[int]:
    """Write a table with source, target and kind of each link; ValueError if pyarrow is missing."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ValueError(
            "pyarrow, which writes Parquet, is not installed: pip install 'rdfaspider[analysis]'."
        ) from error
    text, kind = pyarrow.string(), pyarrow.dictionary(pyarrow.int8(), pyarrow.string())
    schema = pyarrow.schema([("source", text), ("target", text), ("kind", kind)])
    with parquet.ParquetWriter(path, schema, compression="zstd") as writer:
        for block, urls in _named(graph, names):
            sources = np.repeat(np.arange(len(block.degrees)), block.degrees) + block.first
            ones, others, _ = _lists(sources, block)
            kinds = pyarrow.DictionaryArray.from_arrays(block.kinds.astype(np.int8), list(KINDS))
            columns = ([urls[one] for one in ones], [urls[other] for other in others], kinds)
            writer.write_table(pyarrow.table(dict(zip(schema.names, columns, strict=True)), schema))
            yield len(ones)


def write_graphml(
    hosts: list[str], links: HostLinks, values: dict[str, Array], file: BinaryIO
) -> None:
    """Write the graph of hosts, with values for each host and the number of links of pages."""

    def put(text: str) -> None:
        file.write(text.encode())

    put('<?xml version="1.0" encoding="UTF-8"?>\n')
    put('<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n')
    for name, column in values.items():
        kind = "double" if column.dtype.kind == "f" else "long"
        put(f'  <key id="{name}" for="node" attr.name="{name}" attr.type="{kind}"/>\n')
    put('  <key id="host" for="node" attr.name="host" attr.type="string"/>\n')
    put('  <key id="links" for="edge" attr.name="links" attr.type="long"/>\n')
    put('  <graph edgedefault="directed">\n')
    for number, host in enumerate(hosts):
        data = [f'<data key="{name}">{column[number]}</data>' for name, column in values.items()]
        shown = quoteattr(host)[1:-1].replace("'", "&apos;")
        put(f'    <node id="h{number}"><data key="host">{shown}</data>{"".join(data)}</node>\n')
    for one, other, count in zip(*(column.tolist() for column in links), strict=True):
        put(
            f'    <edge source="h{one}" target="h{other}"><data key="links">{count}</data></edge>\n'
        )
    put("  </graph>\n</graphml>\n")


def _named(
    graph: Graph, names: Callable[[Array], list[str]]
) -> Iterator[tuple[Block, dict[int, str]]]:
    """Yield blocks with the URLs of their pages and of the pages these link to."""
    for block in graph.outward.blocks():
        filled = np.flatnonzero(block.degrees) + block.first
        nodes = np.union1d(filled, block.targets)
        urls = [without_userinfo(url) for url in names(nodes)]
        yield block, dict(zip(nodes.tolist(), urls, strict=True))


def _lists(sources: Array, block: Block) -> tuple[list[Any], list[Any], list[Any]]:
    return sources.tolist(), block.targets.tolist(), block.kinds.tolist()
