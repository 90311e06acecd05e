"""Readers of triples that owe nothing to the generator, to hold its oracle against."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable
from urllib.parse import urljoin

import pytest
from lxml import html
from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, parse

Read = Callable[[bytes, str], set[Quad]]

_XSD = "http://www.w3.org/2001/XMLSchema#"
_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")


def read_rdfa(body: bytes, url: str) -> set[Quad]:
    """Return the triples that pyRdfa3 finds, with lexical forms as they are written."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import rdflib
        from pyRdfa import Options, pyRdfa

        processor = pyRdfa(Options(embedded_rdf=False), base=url, media_type="text/html")
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(rdflib, "NORMALIZE_LITERALS", False)
            text = processor.graph_from_source(io.BytesIO(body)).serialize(format="nt")
    return set(parse(text.encode(), RdfFormat.N_TRIPLES))


def read_jsonld(body: bytes, url: str) -> set[Quad]:
    """Return the triples that pyoxigraph finds in the script elements."""
    scripts = re.findall(rb'<script type="application/ld\+json">(.*?)</script>', body, re.DOTALL)
    return {quad for text in scripts for quad in parse(text, RdfFormat.JSON_LD, base_iri=url)}


def read_microdata(body: bytes, url: str) -> set[Quad]:
    """Return the triples of flat items, by the rules of Microdata to RDF."""
    document = html.document_fromstring(body.decode())
    language = document.get("lang")
    quads = set()
    for item in document.xpath("//*[@itemscope]"):
        subject, kind = NamedNode(urljoin(url, item.get("itemid"))), item.get("itemtype")
        quads.add(Quad(subject, _TYPE, NamedNode(kind)))
        for element in item.xpath(".//*[@itemprop]"):
            predicate = NamedNode(urljoin(kind, element.get("itemprop")))
            quads.add(Quad(subject, predicate, _value(element, url, language)))
    return quads


def _value(element: html.HtmlElement, url: str, language: str) -> NamedNode | Literal:
    text = element.text_content()
    if element.tag == "a":
        return NamedNode(urljoin(url, element.get("href")))
    if element.tag == "data":
        return Literal(element.get("value"), datatype=NamedNode(f"{_XSD}integer"))
    if element.tag == "time":
        kind = "dateTime" if "T" in element.get("datetime") else "date"
        return Literal(element.get("datetime"), datatype=NamedNode(_XSD + kind))
    return Literal(text) if element.get("lang") == "" else Literal(text, language=language)


@pytest.fixture(scope="session")
def readers() -> dict[str, Read]:
    return {"rdfa": read_rdfa, "jsonld": read_jsonld, "microdata": read_microdata}
