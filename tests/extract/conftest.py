"""What the tests of extraction share: graphs to compare, and the reference processor."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Callable, Iterator

import pytest
import rdflib
from lxml import etree
from pyoxigraph import (
    CanonicalizationAlgorithm,
    Dataset,
    Literal,
    NamedNode,
    Quad,
    RdfFormat,
    parse,
)

from rdfaspider.extract import Options, extract

URL = "http://site.example/dir/page.html"

XML_LITERAL = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#XMLLiteral")

Triples = Callable[..., set[str]]
Graphs = Callable[[bytes, str, str], tuple[set[str], set[str]]]


@pytest.fixture
def triples() -> Triples:
    """Extract the triples of a page, as N-Triples lines without the final dot."""

    def run(
        body: str, content_type: str = "text/html", url: str = URL, **options: object
    ) -> set[str]:
        quads = extract(body.encode(), url, content_type, Options(**options)).quads  # type: ignore[arg-type]
        assert all(quad.graph_name.value == url for quad in quads)  # type: ignore[union-attr]
        return {str(quad.triple) for quad in quads}

    return run


@pytest.fixture
def graphs() -> Iterator[Graphs]:
    """Return what extract and pyRdfa3 make of a page: equal when the graphs are isomorphic."""
    normalise = rdflib.NORMALIZE_LITERALS
    rdflib.NORMALIZE_LITERALS = False
    logging.getLogger("rdflib").setLevel(logging.CRITICAL)
    yield _graphs
    rdflib.NORMALIZE_LITERALS = normalise


def _graphs(body: bytes, url: str, content_type: str) -> tuple[set[str], set[str]]:
    quads = extract(body, url, content_type, Options(formats=frozenset({"rdfa"}))).quads
    own = Dataset(Quad(*quad.triple) for quad in quads)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from pyRdfa import pyRdfa, termorcurie

        termorcurie._bnodes.clear()  # it would share _:a with the page before
        found = pyRdfa(base=url, media_type=content_type).graph_from_source(io.BytesIO(body))
        lines = found.serialize(format="nt")
    reference = Dataset(parse(lines, RdfFormat.N_TRIPLES, lenient=True))
    return _canonical(own), _canonical(reference)


def _canonical(dataset: Dataset) -> set[str]:
    dataset = Dataset(_with_canonical_xml(quad) for quad in dataset)
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return {str(quad) for quad in dataset}


def _with_canonical_xml(quad: Quad) -> Quad:
    """Write the attributes of XML in one order: pyRdfa3 has that of the page."""
    value = quad.object
    if not (isinstance(value, Literal) and value.datatype == XML_LITERAL):
        return quad
    text = etree.canonicalize(f"<x>{value.value}</x>")
    return Quad(quad.subject, quad.predicate, Literal(text, datatype=XML_LITERAL))
