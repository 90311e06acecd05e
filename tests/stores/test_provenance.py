from __future__ import annotations

from hashlib import sha256
from typing import Any
from uuid import UUID

from pyoxigraph import Literal, NamedNode, Quad, Store

from rdfaspider import __version__
from rdfaspider.items import Page, Source
from rdfaspider.stores.provenance import crawl_graph, provenance

URL = "http://site.test/a"


def page(**facts: Any) -> Page:
    node = NamedNode(URL)
    quads = [Quad(node, NamedNode("http://schema.org/name"), Literal("x"), node)]
    page = Page(URL, 0, body=b"body", **facts)
    page.quads = quads
    return page


def test_a_fetch_tells_when_what_and_by_whom() -> None:
    crawl = crawl_graph("some crawl")
    store = Store()
    store.extend(provenance(page(status=200, fetched=86400.5), URL, crawl, now=0.0))
    assert {quad.graph_name for quad in store} == {NamedNode(crawl)}
    assert store.query(
        f"""PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX dcterms: <http://purl.org/dc/terms/>
        PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
        ASK {{ GRAPH ?crawl {{ ?fetch a prov:Activity ; prov:generated <{URL}> ;
            prov:used <urn:sha256:{sha256(b"body").hexdigest()}> ; dcterms:extent 1 ;
            prov:endedAtTime "1970-01-02T00:00:00.500+00:00"^^xsd:dateTime ;
            prov:wasAssociatedWith <urn:rdfaspider:{__version__}> ; dcterms:isPartOf ?crawl ;
            <http://www.w3.org/2011/http#statusCodeValue> 200 }} }}"""
    )


SOURCE = Source(f"urn:uuid:{UUID(int=1)}", "a.warc.gz", 5, 7, "sha1:ABC", 86400.0)


def test_a_graph_leads_to_the_record_of_its_answer() -> None:
    store = Store()
    facts = page(status=200, fetched=86401.5, source=SOURCE)
    store.extend(provenance(facts, URL, crawl_graph("x"), now=0.0))
    assert store.query(
        f"""PREFIX prov: <http://www.w3.org/ns/prov#> PREFIX archive: <urn:rdfaspider:archive:>
        PREFIX xsd: <http://www.w3.org/2001/XMLSchema#>
        ASK {{ GRAPH ?crawl {{
            <{URL}> prov:wasDerivedFrom <{SOURCE.identity}> .
            <{SOURCE.identity}> a prov:Entity ; archive:file "a.warc.gz" ; archive:offset 5 ;
                archive:length 7 ; archive:digest "sha1:ABC" ;
                prov:generatedAtTime "1970-01-02T00:00:00.000+00:00"^^xsd:dateTime .
            ?fetch prov:generated <{URL}> ;
                prov:endedAtTime "1970-01-02T00:00:00.000+00:00"^^xsd:dateTime }} }}"""
    )


def test_a_record_that_is_read_again_tells_the_same_unless_more_is_found() -> None:
    crawl = crawl_graph("x")
    first = set(provenance(page(fetched=1.0, source=SOURCE), URL, crawl, now=5.0))
    again = set(provenance(page(fetched=2.0, source=SOURCE), URL, crawl, now=6.0))
    assert first == again
    more = page(fetched=1.0, source=SOURCE)
    more.nquads += more.nquads.replace(b'"x"', b'"y"')
    activities = {
        quad.subject
        for quad in [*first, *provenance(more, URL, crawl, now=5.0)]
        if quad.predicate.value.endswith("#endedAtTime")
    }
    assert len(activities) == 2


def test_a_record_without_a_place_has_none() -> None:
    source = SOURCE._replace(length=0, digest="", date=0.0)
    facts = provenance(page(fetched=1.0, source=source), URL, crawl_graph("x"), now=0.0)
    told = {str(quad.predicate) for quad in facts if str(quad.subject) == f"<{source.identity}>"}
    assert not any(word in name for name in told for word in ("offset", "length", "digest", "At"))


def test_the_same_fetch_is_told_once_and_another_one_beside_it() -> None:
    crawl = crawl_graph("some crawl")
    first, again, later = (
        set(provenance(page(fetched=moment), URL, crawl, now=5.0)) for moment in (1.0, 1.0, 2.0)
    )
    assert first == again
    assert {quad.subject for quad in first}.isdisjoint(quad.subject for quad in later)


def test_what_is_not_known_is_not_told() -> None:
    facts = provenance(page(), URL, crawl_graph("x"), now=0.0)
    assert not any("statusCodeValue" in quad.predicate.value for quad in facts)
    assert any("1970-01-01" in str(quad.object) for quad in facts)


def test_a_fetch_tells_the_topics_of_its_page() -> None:
    fetched = page()
    fetched.topics = ["food/baking", "music"]
    facts = provenance(fetched, URL, crawl_graph("x"), now=0.0)
    subjects = [quad.object for quad in facts if quad.predicate.value.endswith("/subject")]
    assert subjects == [Literal("food/baking"), Literal("music")]


def test_crawls_have_graphs_of_their_own() -> None:
    assert crawl_graph("a") != crawl_graph("b")
