"""The W3C RDFa test suite, part by part, against a floor that only rises.

Run with RDFASPIDER_RAISE_FLOOR=1 to write better counts to the floor file.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from pyoxigraph import Quad, RdfFormat, Store

from rdfaspider.extract import Extraction, Options, extract

Case = dict[str, Any]

FLOOR = Path(__file__).with_name("rdfa.json")
PARTS = [part for part in json.loads(FLOOR.read_text()) if part != "about"]
XSD = "http://www.w3.org/2001/XMLSchema#"
RDFA = "http://www.w3.org/ns/rdfa#"
VOCABULARY = "http://rdfa.info/vocabs/rdfa-test#"
ERRORS = frozenset(("DocumentError",))


@pytest.fixture(scope="session")
def suite(vectors: Path) -> Path:
    return vectors / "rdfa-suite"


@pytest.fixture(scope="session")
def cases(suite: Path) -> dict[str, list[Case]]:
    parts: dict[str, list[Case]] = defaultdict(list)
    for case in json.loads((suite / "manifest.json").read_text()):
        parts[f"{case['version']}/{case['host_language']}"].append(case)
    return parts


@pytest.fixture(scope="session")
def vocabularies(suite: Path) -> dict[str, list[Quad]]:
    page = (suite / "support" / "rdfa-test.html").read_bytes()
    return {VOCABULARY: extract(page, VOCABULARY).quads}


@pytest.mark.parametrize("part", PARTS)
def test_part_does_not_fall_below_its_floor(
    part: str,
    suite: Path,
    cases: dict[str, list[Case]],
    vocabularies: dict[str, list[Quad]],
) -> None:
    failed = [case["num"] for case in cases[part] if not passes(case, suite, vocabularies)]
    floor = json.loads(FLOOR.read_text())
    passed = len(cases[part]) - len(failed)
    if passed > floor[part]["passed"] and os.environ.get("RDFASPIDER_RAISE_FLOOR"):
        reasons = {name: floor[part]["failed"].get(name, "") for name in failed}
        floor[part] = {"passed": passed, "of": len(cases[part]), "failed": reasons}
        FLOOR.write_text(json.dumps(floor, indent=1) + "\n")
    assert passed >= floor[part]["passed"], f"{part}: newly failed {failed}"


@pytest.mark.parametrize("part", PARTS)
def test_every_case_that_fails_has_a_reason(part: str) -> None:
    floor = json.loads(FLOOR.read_text())[part]
    assert all(floor["failed"].values())
    assert floor["of"] - floor["passed"] == len(floor["failed"])


def test_every_part_of_the_suite_has_a_floor(cases: dict[str, list[Case]]) -> None:
    assert sorted(cases) == sorted(PARTS)


def passes(case: Case, suite: Path, vocabularies: dict[str, list[Quad]]) -> bool:
    """Tells whether the query answers as the suite expects."""
    expands = "vocab_expansion" in (case["query_param"] or "")
    # Of RDFa 1.0 only the cases in XHTML declare it; the suite says what the others are read by.
    is_told = case["version"] == "rdfa1.0" and case["host_language"] != "xhtml1"
    version = "1.0" if is_told else ""
    options = Options(role=True, vocabularies=vocabularies if expands else {}, rdfa=version)
    body = (suite / case["input"]).read_bytes()
    extraction = extract(body, case["base"], case["media_type"], options)
    processor = case["query_param"] == "rdfagraph=processor"
    graph = processor_graph(extraction) if processor else triples(extraction)
    store = Store()
    store.load(hidden(graph).encode(), RdfFormat.TURTLE)
    answer = store.query(hidden((suite / case["query"]).read_text()))
    return bool(answer) is case["expected"]


def triples(extraction: Extraction) -> str:
    return "".join(f"{quad.triple} .\n" for quad in extraction.quads)


def processor_graph(extraction: Extraction) -> str:
    """Returns what the facts know about the run as a processor graph."""
    warnings: Counter[str] = extraction.facts.warnings
    return "".join(
        f"[] a <{RDFA}{name}>, <{RDFA}{'Error' if name in ERRORS else 'Warning'}> .\n"
        for name in warnings
    )


def hidden(text: str) -> str:
    """Hides XSD from the store, which would rewrite "01"^^xsd:integer and forgive a wrong form."""
    text = re.sub(rf"\^\^(xsd:string\b|<{XSD}string>)", "", text)
    return text.replace(XSD, "urn:hidden:")
