"""The toRdf and html parts of the W3C JSON-LD 1.1 test suite, against a floor that only rises.

Run with RDFASPIDER_RAISE_FLOOR=1 to write better counts to the floor file. Cases that do not apply
are listed in the floor file with the reason, and so are those that fail.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import CanonicalizationAlgorithm, Dataset, Quad, RdfFormat, parse

from rdfaspider.extract import rdf
from rdfaspider.extract.document.html import HtmlDocument
from rdfaspider.extract.document.limits import Limits
from rdfaspider.extract.facts import Facts, read_head
from rdfaspider.extract.jsonld import ATTRIBUTES, blocks, read_blocks
from rdfaspider.extract.triples.graph import Graph

Case = dict[str, Any]

FLOOR = Path(__file__).with_name("jsonld.json")
PARTS = ("toRdf", "html")
PAGE = "<http://page.example/>"


@pytest.fixture(scope="session")
def suite(vectors: Path) -> Path:
    return vectors / "jsonld-suite" / "tests"


@pytest.fixture(scope="session")
def contexts(suite: Path) -> dict[str, Any]:
    """Return the contexts that the cases link to, by the address that they have there."""
    found: dict[str, Any] = {}
    for path in suite.rglob("*.jsonld"):
        content = json.loads(path.read_text(encoding="utf-8"))
        if isinstance(content, dict) and "@context" in content:
            found[base_of(suite) + path.relative_to(suite).as_posix()] = content["@context"]
    return found


@pytest.mark.parametrize("part", PARTS)
def test_part_does_not_fall_below_its_floor(
    part: str, suite: Path, contexts: dict[str, Any]
) -> None:
    floors = json.loads(FLOOR.read_text())
    floor = floors[part]
    cases = applicable(part, suite, floor["not applicable"])
    failed = [case["@id"][1:] for case in cases if not passes(case, suite, contexts)]
    passed = len(cases) - len(failed)
    if passed > floor["passed"] and os.environ.get("RDFASPIDER_RAISE_FLOOR"):
        reasons = {name: floor["failed"].get(name, "") for name in failed}
        floors[part] = {**floor, "passed": passed, "of": len(cases), "failed": reasons}
        FLOOR.write_text(json.dumps(floors, indent=1) + "\n")
    assert passed >= floor["passed"], f"newly failed: {set(failed) - set(floor['failed'])}"


@pytest.mark.parametrize("part", PARTS)
def test_every_case_left_out_has_a_reason(part: str) -> None:
    floor = json.loads(FLOOR.read_text())[part]
    assert all(floor["failed"].values())
    assert all(floor["not applicable"].values())
    assert floor["of"] - floor["passed"] == len(floor["failed"])


def applicable(part: str, suite: Path, left_out: dict[str, str]) -> list[Case]:
    """Returns the cases of a part whose files are there and that ask for statements."""
    manifest = json.loads((suite / f"{part}-manifest.jsonld").read_text(encoding="utf-8"))
    return [
        case
        for case in manifest["sequence"]
        if "jld:ToRDFTest" in case["@type"]
        and case["@id"][1:] not in left_out
        and (suite / case["input"].partition("#")[0]).exists()
    ]


def base_of(suite: Path) -> str:
    manifest = json.loads((suite / "toRdf-manifest.jsonld").read_text(encoding="utf-8"))
    base: str = manifest["baseIri"]
    return base


def passes(case: Case, suite: Path, contexts: dict[str, Any]) -> bool:
    """Tells whether the statements, or the fault reported, are those that the case expects."""
    path, _, fragment = case["input"].partition("#")
    options = case.get("option", {})
    base = options.get("base", base_of(suite) + path)
    body = (suite / path).read_bytes()
    graph = Graph(Limits(), Counter(), Counter())
    facts = Facts(cuts=graph.cuts, warnings=graph.warnings)
    if path.endswith(".html"):
        read_page(body, base, fragment, options, graph, facts)
    else:
        rdf.read_document(body, "application/ld+json", base, graph, contexts)
    faults = sum(graph.cuts.values()) + sum(facts.warnings.values())
    if "jld:NegativeEvaluationTest" in case["@type"]:
        return faults > 0
    if "expect" not in case:
        return faults == 0
    expected = parse((suite / case["expect"]).read_bytes(), RdfFormat.N_QUADS)
    return canonical(parse(graph.nquads(PAGE), RdfFormat.N_QUADS, lenient=True)) == canonical(
        expected
    )


def read_page(
    body: bytes, base: str, fragment: str, options: Case, graph: Graph, facts: Facts
) -> None:
    """Reads the one block that the case is about, or all that there are."""
    document = HtmlDocument(body, ATTRIBUTES | {"href", "id"}, Limits().elements)
    read_head(document, base, "", facts)
    wanted = [name for name, _ in blocks(document)]
    if fragment:
        wanted = [fragment] if fragment in wanted else []
        graph.cuts["no such block"] += not wanted
        document.elements[1:] = [e for e in document.elements if e[2].get("id") in wanted]
    elif not options.get("extractAllScripts"):
        scripts = [e for e in document.elements if e[1] == "script"]
        document.elements[1:] = [e for e in scripts if "ld+json" in e[2].get("type", "")][:1]
    read_blocks(document, facts.base, graph)


def canonical(quads: Iterable[Quad]) -> set[str]:
    """Returns the statements with canonical blank nodes, all in one graph as a page has them."""
    dataset = Dataset(Quad(*quad.triple) for quad in quads)
    dataset.canonicalize(CanonicalizationAlgorithm.RDFC_1_0)
    return {str(quad) for quad in dataset}
