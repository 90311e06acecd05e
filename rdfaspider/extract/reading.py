"""Reads a page: each reader in turn, and each fails alone."""

from __future__ import annotations

import gc
from hashlib import blake2b, sha1

from rdfaspider.extract import facts as heads
from rdfaspider.extract import jsonld, links, microdata, own, rdf, rdfa, reference
from rdfaspider.extract.containment import contained
from rdfaspider.extract.document.encoding import to_utf8
from rdfaspider.extract.document.limits import Limits, without_tags
from rdfaspider.extract.document.parse import parse
from rdfaspider.extract.document.tree import Document
from rdfaspider.extract.extraction import Extraction, Options
from rdfaspider.extract.facts import Facts
from rdfaspider.extract.mediatypes import MEDIA_TYPES
from rdfaspider.extract.own import FORMATS
from rdfaspider.extract.rdfa.rdfa10 import Processor10, declared_version
from rdfaspider.extract.triples import iris
from rdfaspider.extract.triples.comparison import Differences, differences
from rdfaspider.extract.triples.graph import Graph
from rdfaspider.pages.language import detect
from rdfaspider.pages.sketch import sketch_of
from rdfaspider.urls import to_iri, without_userinfo

_DEFAULTS = Options()
_ATTRIBUTES = rdfa.ATTRIBUTES | heads.ATTRIBUTES | links.ATTRIBUTES


def extract(
    body: bytes, url: str, content_type: str = "text/html", options: Options = _DEFAULTS
) -> Extraction:
    """Return the links, the quads and the facts of the page at an absolute URL.

    A failure is counted in the cuts of the facts, and does not affect what else was found.
    """
    # A page makes tens of thousands of small objects and no cycles: collecting garbage meanwhile
    # would take a tenth of the time.
    collects = gc.isenabled()
    gc.disable()
    extraction = Extraction()
    is_noted = True
    try:
        with contained("page", extraction.facts):
            _extract(body, url, content_type, options, extraction)
    except MemoryError:  # not even that could be noted
        is_noted = False
    finally:
        if collects:
            gc.enable()
    if not is_noted:  # what held the memory is gone only now
        extraction = Extraction()
        extraction.facts.cuts["page memory"] += 1
    return extraction


def _extract(
    body: bytes, url: str, content_type: str, options: Options, extraction: Extraction
) -> None:
    facts, limits = extraction.facts, options.limits
    if options.digest and body:
        facts.digest = sha1(body, usedforsecurity=False).hexdigest()
    if len(body) > limits.body:
        facts.cuts["body"] += len(body) - limits.body
        body = body[: limits.body]
    public = without_userinfo(url)  # links keep a password, as they may need it; triples do not
    name = iris.term(to_iri(public.partition("#")[0]), limits.iri)
    digest = blake2b(public.encode("utf-8", "replace"), digest_size=8).hexdigest()
    graph = Graph(limits, facts.cuts, facts.warnings, digest, len(name or ""))
    media_type = content_type.partition(";")[0].strip().lower()
    if "rdf" in options.formats and media_type in MEDIA_TYPES:
        with contained("rdf", facts):
            rdf.read_document(body, media_type, public, graph)
        facts.quads["rdf"] = len(graph.triples)
    else:
        _read_page(body, url, content_type, options, extraction, graph)
        if options.reference:
            with contained("reference", facts):
                found = compare(body, url, content_type, options.rdfa)
                facts.reference = (len(found.ours), len(found.theirs))
    for path in sorted(options.formats - FORMATS):
        with contained(path, facts):
            own.read(path, body, public, content_type, graph)
        facts.quads[path] = len(graph.triples) - facts.quads.total()
    if name is None:
        facts.cuts["url"] += 1
    elif graph.triples:
        with contained("output", facts):
            extraction.longest = graph.length_of_longest()
            extraction.predicates = [predicate[1:-1] for predicate in graph.predicates()]
            extraction.nquads = graph.nquads(name)


def compare(body: bytes, url: str, content_type: str, version: str = "") -> Differences:
    """Return where the RDFa of a page differs from what pyRdfa3 reads; ValueError if that cannot be told.

    `version` is that of RDFa, "" for what the page declares.
    """
    public = without_userinfo(url)
    # As pyRdfa3 reads: with roles, and as much as it finds.
    options = Options(formats=frozenset(("rdfa",)), limits=Limits(links=0), rdfa=version)
    own = extract(body, public, content_type, options)
    for trace in own.facts.errors.values():
        raise ValueError(f"{public} cannot be read ({trace.rpartition(chr(10))[2]}).")
    if own.facts.is_out_of_memory:
        raise ValueError(f"{public} takes more memory to read than a page may.")
    theirs = reference.triples(body, public, content_type, version)
    return differences((quad.triple for quad in own.quads), theirs)


def _read_page(
    body: bytes,
    url: str,
    content_type: str,
    options: Options,
    extraction: Extraction,
    graph: Graph,
) -> None:
    facts, limits, formats = extraction.facts, options.limits, options.formats
    body, facts.encoding = to_utf8(body, content_type)
    if len(body) > 2 * limits.tags:  # no tag is shorter
        size, body = len(body), without_tags(body, limits.tags)
        if len(body) < size:
            facts.cuts["tags"] += 1
    names = _ATTRIBUTES
    names |= jsonld.ATTRIBUTES if "jsonld" in formats else frozenset()
    names |= microdata.ATTRIBUTES if "microdata" in formats else frozenset()
    names |= {"role"} if options.role else frozenset()
    media_type = content_type.partition(";")[0].strip().lower()
    document = parse(body, media_type, names, limits, facts)
    # Not contained: a page whose robots directives cannot be read is not read at all.
    heads.read_head(document, url, options.agent, facts)
    if limits.links:
        with contained("links", facts):
            links.read_links(document, url, options, extraction)
    base = without_userinfo(facts.base)
    if "rdfa" in formats and rdfa.is_worth(document, options.role):
        with contained("rdfa", facts):
            facts.rdfa = options.rdfa or declared_version(document, body)
            reader = Processor10 if facts.rdfa == "1.0" else rdfa.Processor
            reader(document, graph).run(
                without_userinfo(url), base, options.role, options.vocabularies
            )
    facts.quads["rdfa"] = len(graph.triples)
    if "jsonld" in formats:
        with contained("jsonld", facts):
            jsonld.read_blocks(document, base, graph)
        facts.quads["jsonld"] = len(graph.triples) - facts.quads.total()
    if "microdata" in formats and microdata.is_worth(document):
        with contained("microdata", facts):
            microdata.read(document, base, graph)
        facts.quads["microdata"] = len(graph.triples) - facts.quads.total()
    if options.text or options.analyse:
        with contained("text", facts):
            _read_text(document, options, facts)


def _read_text(document: Document, options: Options, facts: Facts) -> None:
    """Read the text, which the document does not survive."""
    text = " ".join(document.visible_text().split())
    facts.text = text[: options.text]
    if options.analyse:
        facts.words, sketch = sketch_of(text)
        facts.sketch = sketch.hex()
        facts.detected, facts.certainty = detect(text)
