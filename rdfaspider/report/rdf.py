"""The numbers of a report as RDF: a description of the crawl by VoID and DCAT, with its hosts as subsets.

    <urn:rdfaspider:report> a void:Dataset, dcat:Dataset ; dcterms:title "…" ; dcterms:created "…" ;
        prov:wasGeneratedBy [ a prov:Activity ; prov:wasAssociatedWith <urn:rdfaspider:VERSION> ] ;
        void:triples … ; void:documents … ;
        void:classPartition [ void:class … ; void:entities … ] ;
        void:propertyPartition [ void:property … ; void:triples … ] ;
        void:subset <urn:rdfaspider:report:host:HOST> .
    <urn:rdfaspider:report:host:HOST> a void:Dataset ; dcterms:title "HOST" ;
        void:documents … ; void:triples … ;
        report:withData … ; report:failed … ; report:denied … ; report:rank … .

`report:` is urn:rdfaspider:report:term:. A graph of this name holds it all, so that it can be replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from time import gmtime, strftime
from typing import Any
from urllib.parse import quote

from pyoxigraph import BlankNode, Literal, NamedNode, Quad

from rdfaspider import __version__
from rdfaspider.report.triples import vocabulary_of
from rdfaspider.stores.provenance import PROV
from rdfaspider.terminal import plural

GRAPH = "urn:rdfaspider:report"
_TERM = f"{GRAPH}:term:"
_VOID = "http://rdfs.org/ns/void#"
_DCAT = "http://www.w3.org/ns/dcat#"
_DCTERMS = "http://purl.org/dc/terms/"
_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
_DATE = NamedNode("http://www.w3.org/2001/XMLSchema#dateTime")

Node = NamedNode | BlankNode
Value = NamedNode | BlankNode | Literal


def quads_of(found: Mapping[str, Any]) -> Iterator[Quad]:
    """Yield the description of a crawl, in the graph `GRAPH`."""
    graph = NamedNode(GRAPH)
    for subject, predicate, value in _statements(found):
        yield Quad(subject, NamedNode(predicate), value, graph)


def _statements(found: Mapping[str, Any]) -> Iterator[tuple[Node, str, Value]]:
    crawl = NamedNode(GRAPH)
    made = strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(found["made"]))
    yield crawl, _TYPE, NamedNode(_VOID + "Dataset")
    yield crawl, _TYPE, NamedNode(_DCAT + "Dataset")
    hosts, pages = found["pages"]["host_count"], found["pages"]["pages"]
    title = f"Structured data of {plural(pages, 'page')} of {plural(hosts, 'host')}"
    yield crawl, _DCTERMS + "title", Literal(title)
    yield crawl, _DCTERMS + "created", Literal(made, datatype=_DATE)
    activity, software = BlankNode(), NamedNode(f"urn:rdfaspider:{__version__}")
    yield crawl, PROV + "wasGeneratedBy", activity
    yield activity, _TYPE, NamedNode(PROV + "Activity")
    yield activity, PROV + "wasAssociatedWith", software
    yield software, _TYPE, NamedNode(PROV + "SoftwareAgent")
    yield crawl, _VOID + "documents", Literal(found["pages"]["pages"])
    for name in ("seen", "done", "waiting", "failed", "denied"):
        yield crawl, _TERM + name, Literal(found["urls"][name])
    for name in ("copies", "near_copies"):
        yield crawl, _TERM + name.replace("_c", "C"), Literal(found["pages"][name])
    if found["links"]:
        yield crawl, _TERM + "links", Literal(found["links"]["links"])
    yield from _parts(crawl, found["triples"] or {})
    yield from _languages(crawl, found["pages"])
    yield from _hosts(crawl, found)


def _parts(crawl: Node, stored: Mapping[str, Any]) -> Iterator[tuple[Node, str, Value]]:
    if not stored:
        return
    yield crawl, _VOID + "triples", Literal(stored["triples"])
    yield crawl, _VOID + "properties", Literal(stored["predicate_count"])
    yield crawl, _VOID + "classes", Literal(stored["type_count"])
    for name in dict.fromkeys(map(vocabulary_of, stored["predicates"])):
        yield crawl, _VOID + "vocabulary", NamedNode(name)
    for key, part, term, count in (
        ("types", "classPartition", "class", "entities"),
        ("predicates", "propertyPartition", "property", "triples"),
    ):
        for name, number in stored[key].items():
            node = BlankNode()
            yield crawl, _VOID + part, node
            yield node, _VOID + term, NamedNode(name)
            yield node, _VOID + count, Literal(number)


def _languages(crawl: Node, pages: Mapping[str, Any]) -> Iterator[tuple[Node, str, Value]]:
    for key in ("declared", "detected"):
        for name, number in pages[key].items():
            node = BlankNode()
            yield crawl, _TERM + key, node
            yield node, _DCTERMS + "language", Literal(name)
            yield node, _VOID + "documents", Literal(number)


def _hosts(crawl: Node, found: Mapping[str, Any]) -> Iterator[tuple[Node, str, Value]]:
    ranks = {each["host"]: each["rank"] for each in (found["links"] or {"hosts": ()})["hosts"]}
    for each in found["pages"]["hosts"]:
        host = NamedNode(f"{GRAPH}:host:{quote(each['host'], safe='.:')}")
        yield crawl, _VOID + "subset", host
        yield host, _TYPE, NamedNode(_VOID + "Dataset")
        yield host, _DCTERMS + "title", Literal(each["host"])
        yield host, _VOID + "documents", Literal(each["pages"])
        yield host, _VOID + "triples", Literal(each["triples"])
        yield host, _TERM + "withData", Literal(each["rich"])
        yield host, _TERM + "failed", Literal(each["failed"])
        yield host, _TERM + "denied", Literal(each["denied"])
        if each["host"] in ranks:
            yield host, _TERM + "rank", Literal(ranks[each["host"]])
