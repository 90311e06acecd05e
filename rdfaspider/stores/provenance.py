"""The provenance of a page's triples, as triples of PROV-O and Dublin Core (row B5).

Each fetch is an activity with its own name. So nothing need be removed when a page is fetched again,
and writing the same fetch twice changes nothing:

    <urn:rdfaspider:fetch:HASH> a prov:Activity ;
        prov:generated <page graph> ; prov:used <urn:sha256:DIGEST OF THE BODY> ;
        prov:endedAtTime "…" ; http:statusCodeValue 200 ; dcterms:extent 2 (quads) ;
        prov:wasAssociatedWith <urn:rdfaspider:VERSION> ; dcterms:isPartOf <the crawl's graph> ;
        dc:subject "food/baking" (each topic of the page, where there is a topics file) .
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from hashlib import blake2b, sha256
from typing import TYPE_CHECKING

from pyoxigraph import Literal, NamedNode, Quad

from rdfaspider import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rdfaspider.items import Page

CRAWL = "urn:rdfaspider:crawl:"
PROV = "http://www.w3.org/ns/prov#"
DCTERMS = "http://purl.org/dc/terms/"
_SUBJECT = NamedNode("http://purl.org/dc/elements/1.1/subject")
_XSD = "http://www.w3.org/2001/XMLSchema#"
_STATUS = NamedNode("http://www.w3.org/2011/http#statusCodeValue")
_TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
_INTEGER = NamedNode(_XSD + "integer")
_GENERATED = re.compile(rb"(\S+) <" + re.escape(PROV).encode() + rb"generated> <([^>]*)>")


def crawl_graph(name: str) -> str:
    """Return the name of the provenance graph of a crawl."""
    return CRAWL + blake2b(name.encode(), digest_size=8).hexdigest()


def provenance(page: Page, graph: str, crawl: str, now: float) -> list[Quad]:
    """Return the provenance of a page whose quads are in `graph`; `now` stands in for an unknown time."""
    moment = datetime.fromtimestamp(page.fetched or now, UTC).isoformat(timespec="milliseconds")
    label = blake2b(f"{crawl} {graph} {moment}".encode(), digest_size=16).hexdigest()
    fetch, context = NamedNode(f"urn:rdfaspider:fetch:{label}"), NamedNode(crawl)
    facts: list[tuple[NamedNode, NamedNode | Literal]] = [
        (_TYPE, NamedNode(PROV + "Activity")),
        (NamedNode(PROV + "generated"), NamedNode(graph)),
        (NamedNode(PROV + "used"), NamedNode(f"urn:sha256:{sha256(page.body).hexdigest()}")),
        (
            NamedNode(PROV + "endedAtTime"),
            Literal(moment, datatype=NamedNode(_XSD + "dateTime")),
        ),
        (NamedNode(PROV + "wasAssociatedWith"), NamedNode(f"urn:rdfaspider:{__version__}")),
        (NamedNode(DCTERMS + "extent"), Literal(str(page.quad_count), datatype=_INTEGER)),
        (NamedNode(DCTERMS + "isPartOf"), context),
    ]
    if page.status:
        facts.append((_STATUS, Literal(str(page.status), datatype=_INTEGER)))
    facts += [(_SUBJECT, Literal(name)) for name in page.topics]
    return [Quad(fetch, predicate, value, context) for predicate, value in facts]


def removal_of_fetches(graphs: Iterable[str]) -> str:
    """Return a SPARQL Update that removes the provenance of pages."""
    return f"""DELETE {{ GRAPH ?crawl {{ ?fetch ?p ?o }} }} WHERE {{
  VALUES ?page {{ {" ".join(f"<{graph}>" for graph in graphs)} }}
  GRAPH ?crawl {{ ?fetch <{PROV}generated> ?page . ?fetch ?p ?o }}
  FILTER(STRSTARTS(STR(?crawl), "{CRAWL}"))
}}"""


def without_fetches(lines: Iterable[bytes], is_removed: Callable[[str], bool]) -> list[bytes]:
    """Return the N-Triples or N-Quads of a provenance graph, without those of removed pages."""
    kept = list(lines)
    gone = {
        found[1] for found in map(_GENERATED.match, kept) if found and is_removed(found[2].decode())
    }
    return [line for line in kept if line.partition(b" ")[0] not in gone] if gone else kept
