"""Mutated documents: extraction never raises, ends in time, and what comes out is sound.

The default run takes seconds, always with the same documents. A campaign takes as long as you like:

    pytest -n 0 -m campaign tests/extract/test_fuzz.py
    RDFASPIDER_FUZZ_COUNT=100000 RDFASPIDER_FUZZ_SEED=7 pytest -n 0 -m campaign tests/extract/test_fuzz.py

A failure tells the number of the document; the same seed makes it again.
"""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, parse

from rdfaspider.extract import Extraction, Facts, Limits, extract
from rdfaspider.urls import normalise
from tests.extract.mutations import mutated, soup
from tests.extract.samples import SAMPLES, Document

COUNT = 500
CAMPAIGN = int(os.environ.get("RDFASPIDER_FUZZ_COUNT", "10000"))
SEED = int(os.environ.get("RDFASPIDER_FUZZ_SEED", "1"))

# CPU seconds that no document may take: a few times what the slowest takes on an idle machine.
MOST_S = 2.0
# Of so many documents one may have too large a tree: formatting left open and many paragraphs.
ENDLESS = 1_000

CONTENT_TYPES = {
    ".html": "text/html",
    ".xhtml": "application/xhtml+xml",
    ".xml": "application/xml",
    ".svg": "image/svg+xml",
    ".ttl": "text/turtle",
    ".nq": "application/n-quads",
    ".jsonld": "application/ld+json",
}


URLS = [
    "http://site.example/dir/page.html",
    "https://user:secret@xn--bcher-kva.example:8443/%7Ea/b?c=d&e=%C3%A9#f",
    "http://site.example/100%?q={x}",
    "http://[::1]/",
    "http://site.example/" + "a" * 3000,
]


def check(document: Document, url: str) -> bool:
    """Check what is made of a document; return whether it was read."""
    # On a busy machine the same work takes more CPU time, now and then.
    for last in (False, False, True):
        start = time.process_time()
        extraction = extract(document.body, url, document.content_type)
        seconds = time.process_time() - start
        if seconds < MOST_S:
            break
        assert not last, f"{seconds:.1f} s"
    assert extraction.facts.errors == {}
    if extraction.facts.is_out_of_memory:
        assert extraction.facts.cuts.keys() <= {"page memory", "body", "tags", "roots"}
        return False
    check_statements(extraction)
    assert len(extraction.links) == len(extraction.relations) == len(extraction.texts)
    for link in extraction.links:
        assert link.startswith(("http://", "https://"))
        assert normalise(link) == link
    facts = json.loads(json.dumps(extraction.facts.to_json()))
    assert Facts.from_json(facts) == extraction.facts
    return True


def check_statements(extraction: Extraction) -> None:
    """The strict parser reads them, and finds in them what the extraction says about them."""
    quads = list(parse(extraction.nquads, RdfFormat.N_QUADS))
    assert len(quads) == extraction.facts.quads.total() <= Limits().quads
    assert {quad.predicate.value for quad in quads} == set(extraction.predicates)
    assert len({quad.graph_name for quad in quads}) <= 1


def run(documents: list[Document], count: int, seed: int) -> None:
    dice = random.Random(seed)
    unread = 0
    for number in range(count):
        document = soup(dice) if dice.random() < 0.1 else mutated(documents, dice)
        url = dice.choice(URLS)
        try:
            unread += not check(document, url)
        except BaseException as error:
            body = document.body
            error.add_note(
                f"document {number} of seed {seed}: {document.content_type} {body[:300]!r}"
            )
            raise
    assert unread <= 1 + count / ENDLESS


@pytest.fixture(scope="module")
def documents(vectors: Path) -> list[Document]:
    """Return real pages and the documents of the W3C's suites, each page as often as ten others."""
    paths = sorted((vectors / "pages").glob("*.html")) * 10
    for suite in ("rdfa-suite", "microdata-suite", "jsonld-suite"):
        paths += sorted(
            path for path in (vectors / suite).rglob("*") if path.suffix in CONTENT_TYPES
        )
    return [Document(path.read_bytes(), CONTENT_TYPES[path.suffix]) for path in paths]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.content_type)
def test_the_samples_are_good(sample: Document) -> None:
    check(sample, URLS[0])
    extraction = extract(sample.body, URLS[0], sample.content_type)
    assert extraction.nquads
    assert not extraction.facts.cuts.keys() - {"nofollow"}


def test_mutated_samples() -> None:
    run(SAMPLES, COUNT, 1)


def test_mutated_documents(documents: list[Document]) -> None:
    run([document for document in documents if document.body], COUNT // 2, 2)


@pytest.mark.campaign
@pytest.mark.timeout(0)
def test_campaign_with_samples() -> None:
    run(SAMPLES, CAMPAIGN, SEED)


@pytest.mark.campaign
@pytest.mark.timeout(0)
def test_campaign_with_documents(documents: list[Document]) -> None:
    run([document for document in documents if document.body], CAMPAIGN, SEED)
