"""The W3C test suite of Microdata to RDF, against a floor that only rises.

Graphs are compared as isomorphic with the lexical forms of their literals. The cases of vocabulary
expansion that name no registry (0073, 0074) are meant for the suite's own. The one negative case
(0085, an item that contains itself) wants an error: a crawler has a warning instead.

Run with RDFASPIDER_RAISE_FLOOR=1 to write a better count to the floor file.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path

import pytest
from pyoxigraph import CanonicalizationAlgorithm, Dataset, NamedNode, Quad, RdfFormat, parse

from rdfaspider.extract import Limits, microdata
from rdfaspider.extract.document.parse import parse as parse_page
from rdfaspider.extract.facts import Facts
from rdfaspider.extract.microdata.registry import REGISTRY, MicrodataRegistry
from rdfaspider.extract.triples.graph import Graph

Case = dict[str, str]

FLOOR = Path(__file__).with_name("microdata.json")
BASE = "http://w3c.github.io/microdata-rdf/tests/"
MANIFEST = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#"
NAMES = {f"{MANIFEST}action": "action", f"{MANIFEST}result": "result"}
OWN_REGISTRY = frozenset(("0073.html", "0074.html"))


@pytest.fixture(scope="session")
def suite(vectors: Path) -> Path:
    return vectors / "microdata-suite" / "tests"


@pytest.fixture(scope="session")
def cases(suite: Path) -> list[Case]:
    found: dict[str, Case] = {}
    for quad in parse((suite / "manifest.ttl").read_bytes(), RdfFormat.TURTLE, base_iri=BASE):
        if quad.predicate.value in NAMES:
            assert isinstance(quad.object, NamedNode)
            case = found.setdefault(str(quad.subject), {})
            case[NAMES[quad.predicate.value]] = quad.object.value.removeprefix(BASE)
    return list(found.values())


def test_suite_does_not_fall_below_its_floor(suite: Path, cases: list[Case]) -> None:
    failed = [case["action"] for case in cases if not passes(case, suite)]
    floor = json.loads(FLOOR.read_text())
    passed = len(cases) - len(failed)
    if passed > floor["passed"] and os.environ.get("RDFASPIDER_RAISE_FLOOR"):
        floor |= {"passed": passed, "of": len(cases), "failed": failed}
        FLOOR.write_text(json.dumps(floor, indent=1) + "\n")
    assert passed >= floor["passed"], f"newly failed {failed}"


def passes(case: Case, suite: Path) -> bool:
    """Tells whether a page gives the graph that the suite expects, or else a warning."""
    registry = REGISTRY
    if case["action"] in OWN_REGISTRY:
        registry = MicrodataRegistry.loads((suite / "test-registry.json").read_bytes())
    body = (suite / case["action"]).read_bytes()
    facts = Facts()
    document = parse_page(body, "text/html", microdata.ATTRIBUTES, Limits(), facts)
    graph = Graph(Limits(), facts.cuts, facts.warnings)
    url = BASE + case["action"]
    microdata.read(document, url, graph, registry)
    if "result" not in case:
        return facts.warnings["ItemLoop"] > 0
    expected = (suite / case["result"]).read_bytes()
    quads = parse(expected, RdfFormat.TURTLE, base_iri=BASE + case["result"])
    return canonical(
        parse(graph.nquads("<urn:x:g>"), RdfFormat.N_QUADS, lenient=True)
    ) == canonical(quads)


def canonical(quads: Iterable[Quad]) -> set[str]:
    dataset = Dataset(Quad(*quad.triple) for quad in quads)
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return {str(quad) for quad in dataset}
