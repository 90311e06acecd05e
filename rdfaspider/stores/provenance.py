"""The provenance of a page's triples, as triples of PROV-O and Dublin Core (row B5).

Each fetch is an activity with its own name. So nothing need be removed when a page is fetched again,
and writing the same fetch twice changes nothing:

    <urn:rdfaspider:fetch:HASH> a prov:Activity ;
        prov:generated <page graph> ; prov:used <urn:sha256:DIGEST OF THE BODY> ;
        prov:endedAtTime "…" ; http:statusCodeValue 200 ; dcterms:extent 2 (quads) ;
        prov:wasAssociatedWith <urn:rdfaspider:VERSION> ; dcterms:isPartOf <the crawl's graph> ;
        <urn:rdfaspider:rendered> true (if its scripts had run: docs/rendering.md) ;
        dc:subject "food/baking" (each topic of the page, where there is a topics file) ;
        dcterms:license <…> ; dcterms:accessRights "noai" (each signal that the page gave) ;
        tdm:reservation 1 ; tdm:policy <…> .

If its answer was archived, the page's graph leads to the record (docs/archive.md):

    <page graph> prov:wasDerivedFrom <urn:uuid:…> .
    <urn:uuid:…> a prov:Entity ; prov:generatedAtTime "…" ; archive:file "NAME.warc.gz" ;
        archive:offset 1234 ; archive:length 567 ; archive:digest "sha1:…" .

Then the activity is named by the record and by what came of it. So whoever reads the record again and finds
the same tells the same, and another version that finds more tells of an activity of its own.

A graph that was cleared says when, and where its page is now if it has moved. One whose page robots.txt
forbids to visit again says when it was found so:

    <page graph> prov:invalidatedAtTime "…" ; dcterms:isReplacedBy <another page graph> .
    <page graph> <urn:rdfaspider:stale> "…" .
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode, Quad

from rdfaspider import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from rdfaspider.items import Page, Source

CRAWL = "urn:rdfaspider:crawl:"
PROV = "http://www.w3.org/ns/prov#"
DCTERMS = "http://purl.org/dc/terms/"
_SUBJECT = NamedNode("http://purl.org/dc/elements/1.1/subject")
_XSD = "http://www.w3.org/2001/XMLSchema#"
_STATUS = NamedNode("http://www.w3.org/2011/http#statusCodeValue")
_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_INTEGER = NamedNode(_XSD + "integer")
_RENDERED = NamedNode("urn:rdfaspider:rendered")
_TDM = "http://www.w3.org/ns/tdmrep#"
_ARCHIVE = "urn:rdfaspider:archive:"
_DERIVED = PROV + "wasDerivedFrom"
_FROM_RECORD = re.compile(rb"<([^>]*)> <" + re.escape(_DERIVED).encode() + rb"> (\S+)")
_GENERATED = re.compile(rb"(\S+) <" + re.escape(PROV).encode() + rb"generated> <([^>]*)>")


def crawl_graph(name: str) -> str:
    """Return the name of the provenance graph of a crawl."""
    return CRAWL + blake2b(name.encode(), digest_size=8).hexdigest()


def provenance(page: Page, graph: str, crawl: str, now: float) -> list[Quad]:
    """Return the provenance of a page whose quads are in `graph`; `now` stands in for an unknown time."""
    source = page.source
    moment = _time((source.date if source else 0.0) or page.fetched or now)
    what = f"{source.identity} {__version__} {page.quad_count}" if source else moment.value
    label = blake2b(f"{crawl} {graph} {what}".encode(), digest_size=16).hexdigest()
    fetch, context = NamedNode(f"urn:rdfaspider:fetch:{label}"), NamedNode(crawl)
    facts: list[tuple[NamedNode, NamedNode | Literal]] = [
        (_TYPE, NamedNode(PROV + "Activity")),
        (NamedNode(PROV + "generated"), NamedNode(graph)),
        (NamedNode(PROV + "used"), NamedNode(f"urn:sha256:{sha256(page.body).hexdigest()}")),
        (NamedNode(PROV + "endedAtTime"), moment),
        (NamedNode(PROV + "wasAssociatedWith"), NamedNode(f"urn:rdfaspider:{__version__}")),
        (NamedNode(DCTERMS + "extent"), _integer(page.quad_count)),
        (NamedNode(DCTERMS + "isPartOf"), context),
    ]
    if page.status:
        facts.append((_STATUS, _integer(page.status)))
    if page.rendered:
        facts.append((_RENDERED, Literal("true", datatype=NamedNode(_XSD + "boolean"))))
    facts += [(_SUBJECT, Literal(name)) for name in page.topics]
    facts += _rights(page)
    quads = [Quad(fetch, predicate, value, context) for predicate, value in facts]
    return quads + _about_record(source, graph, context) if source else quads


def _rights(page: Page) -> Iterator[tuple[NamedNode, NamedNode | Literal]]:
    """Yield what the page reserved when it was fetched (pipelines/rights.py)."""
    if page.license:
        yield NamedNode(DCTERMS + "license"), NamedNode(page.license)
    if page.policy:
        yield NamedNode(_TDM + "policy"), NamedNode(page.policy)
    for name in page.signals:
        if name == "tdm-reservation":
            yield NamedNode(_TDM + "reservation"), _integer(1)
        else:
            yield NamedNode(DCTERMS + "accessRights"), Literal(name)


def ended(graph: str, crawl: str, now: float, replaced_by: str = "") -> list[Quad]:
    """Return that a graph was cleared, and by which other one it is replaced, if it is."""
    subject, context = NamedNode(graph), NamedNode(crawl)
    quads = [Quad(subject, NamedNode(PROV + "invalidatedAtTime"), _time(now), context)]
    if replaced_by:
        name = NamedNode(DCTERMS + "isReplacedBy")
        quads.append(Quad(subject, name, NamedNode(replaced_by), context))
    return quads


def stale(graph: str, crawl: str, now: float) -> list[Quad]:
    """Return that a graph may be stale, because its page may not be visited again."""
    return [Quad(NamedNode(graph), NamedNode("urn:rdfaspider:stale"), _time(now), NamedNode(crawl))]


def _about_record(source: Source, graph: str, context: NamedNode) -> list[Quad]:
    record = NamedNode(source.identity)
    facts: list[tuple[NamedNode, NamedNode | Literal]] = [
        (_TYPE, NamedNode(PROV + "Entity")),
        (NamedNode(_ARCHIVE + "file"), Literal(source.filename)),
    ]
    if source.date:
        facts.append((NamedNode(PROV + "generatedAtTime"), _time(source.date)))
    if source.digest:
        facts.append((NamedNode(_ARCHIVE + "digest"), Literal(source.digest)))
    if source.length:
        facts.append((NamedNode(_ARCHIVE + "offset"), _integer(source.offset)))
        facts.append((NamedNode(_ARCHIVE + "length"), _integer(source.length)))
    quads = [Quad(record, predicate, value, context) for predicate, value in facts]
    return [*quads, Quad(NamedNode(graph), NamedNode(_DERIVED), record, context)]


def _time(seconds: float) -> Literal:
    moment = datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds")
    return Literal(moment, datatype=NamedNode(_XSD + "dateTime"))


def _integer(number: int) -> Literal:
    return Literal(str(number), datatype=_INTEGER)


def removal_of_fetches(graphs: Iterable[str]) -> str:
    """Return a SPARQL Update that removes the provenance of pages."""
    pages = f"VALUES ?page {{ {' '.join(f'<{graph}>' for graph in graphs)} }}"
    is_crawl = f'FILTER(STRSTARTS(STR(?crawl), "{CRAWL}"))'
    return " ;\n".join(
        f"DELETE {{ GRAPH ?crawl {{ {what} }} }} WHERE {{ {pages} GRAPH ?crawl {{ {where} }} {is_crawl} }}"
        for what, where in (
            ("?record ?p ?o", f"?page <{_DERIVED}> ?record . ?record ?p ?o"),
            ("?page ?p ?o", "?page ?p ?o"),
            ("?fetch ?p ?o", f"?fetch <{PROV}generated> ?page . ?fetch ?p ?o"),
        )
    )


def without_fetches(lines: Iterable[bytes], is_removed: Callable[[str], bool]) -> list[bytes]:
    """Return the N-Triples or N-Quads of a provenance graph, without those of removed pages."""
    kept = list(lines)
    gone = {
        found[1] for found in map(_GENERATED.match, kept) if found and is_removed(found[2].decode())
    }
    for found in map(_FROM_RECORD.match, kept):
        if found and is_removed(found[1].decode()):
            gone.add(found[2])
    for subject in {line.partition(b" ")[0] for line in kept}:
        if subject.startswith(b"<") and is_removed(subject[1:-1].decode()):
            gone.add(subject)
    return [line for line in kept if line.partition(b" ")[0] not in gone] if gone else kept
