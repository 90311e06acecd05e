"""scrapy validate: pages against shapes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, parse

from rdfaspider.report.validation import Shapes, chosen
from rdfaspider.stores import open_store
from rdfaspider.stores.selection import Selection

SCHEMA = "http://schema.org/"
TYPE = NamedNode("http://www.w3.org/1999/02/22-rdf-syntax-ns#type")
SHAPES = """
@prefix sh: <http://www.w3.org/ns/shacl#> .
@prefix schema: <http://schema.org/> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
<http://shapes.example/#Recipe> a sh:NodeShape ; sh:targetClass schema:Recipe ;
    sh:property [ sh:path schema:name ; sh:minCount 1 ] ;
    sh:property [ sh:path schema:image ; sh:minCount 1 ; sh:severity sh:Warning ] .
"""


def page(url: str, *names: str, image: bool = True) -> list[Quad]:
    graph, thing = NamedNode(url), NamedNode(f"{url}#it")
    facts: list[tuple[NamedNode, NamedNode | Literal]] = [(TYPE, NamedNode(f"{SCHEMA}Recipe"))]
    facts += [(NamedNode(f"{SCHEMA}name"), Literal(name)) for name in names]
    if image:
        facts.append((NamedNode(f"{SCHEMA}image"), NamedNode(f"{url}.png")))
    return [Quad(thing, predicate, value, graph) for predicate, value in facts]


@pytest.fixture
def crawl(tmp_path: Path) -> Path:
    """A store with three pages of two hosts: one without a name, one without an image."""
    with open_store(str(tmp_path / "crawl" / "store")) as store:
        for quads in (
            page("http://good.example/1", "Soup"),
            page("http://good.example/2", "Bread", image=False),
            page("http://bad.example/1"),
        ):
            store.replace(quads[0].graph_name.value, quads)  # type: ignore[union-attr]
        store.replace("urn:rdfaspider:report", page("http://bad.example/none"))
    (tmp_path / "shapes.ttl").write_text(SHAPES)
    return tmp_path


def scrapy(directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "rdfaspider", "validate", *arguments]
    return subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def test_findings_by_host_and_shape(crawl: Path) -> None:
    done = scrapy(crawl, "shapes.ttl")
    assert done.stdout.startswith("3 of 3 pages checked; 1 violates a shape.\n")
    found = rows(done.stdout)
    assert ["bad.example", "1", "1", "1", "0", "0"] in found
    assert ["good.example", "2", "0", "0", "1", "0"] in found
    assert ["1", "Violation", "MinCount", "name", "Recipe", "http://bad.example/1"] in found
    assert ["1", "Warning", "MinCount", "image", "Recipe", "http://good.example/2"] in found
    assert done.returncode == 1


def test_a_host_that_conforms(crawl: Path) -> None:
    done = scrapy(crawl, "shapes.ttl", "--host", "good.example")
    assert done.stdout.startswith("2 of 2 pages checked; 0 violate a shape.\n")
    assert done.returncode == 0


def test_reports_are_written_in_the_graphs_of_their_pages(crawl: Path) -> None:
    scrapy(crawl, "shapes.ttl", "-o", "found.nq")
    quads = [*parse((crawl / "found.nq").read_bytes(), RdfFormat.N_QUADS)]
    results = {
        quad.graph_name.value
        for quad in quads
        if quad.object == NamedNode("http://www.w3.org/ns/shacl#ValidationResult")
    }
    assert results == {"http://bad.example/1", "http://good.example/2"}


def test_a_sample_is_always_the_same(crawl: Path) -> None:
    with open_store(str(crawl / "crawl" / "store"), read_only=True) as store:
        first, number, _ = chosen(store, Selection(), 2)
        assert (len(first), number) == (2, 3)
        assert chosen(store, Selection(), 2)[0] == first
        assert set(first) < set(chosen(store, Selection(), 0)[0])
    assert scrapy(crawl, "shapes.ttl", "--sample", "2").stdout.startswith("2 of 3 pages checked")


@pytest.mark.parametrize(
    "text, sentence",
    [
        (None, "shapes.ttl cannot be read: No such file or directory."),
        ("this is @no turtle", "shapes.ttl is no RDF that can be read: "),
        ("<urn:a> <urn:b> <urn:c> .", "shapes.ttl has no shapes: none of its things is a"),
    ],
)
def test_files_without_shapes(crawl: Path, text: str | None, sentence: str) -> None:
    path = crawl / "shapes.ttl"
    path.unlink() if text is None else path.write_text(text)
    done = scrapy(crawl, "shapes.ttl")
    assert f"scrapy validate: {sentence}" in done.stderr
    assert done.returncode == 1
    assert "Traceback" not in done.stderr


def test_a_page_is_one_graph(crawl: Path) -> None:
    """What another page says of a thing does not heal it."""
    shapes = Shapes(crawl / "shapes.ttl")
    quads = page("http://bad.example/1")
    assert [found.severity for found in shapes.check(quads)[0]] == ["Violation"]
    named = [*quads, *page("http://bad.example/1", "Soup")]
    assert shapes.check(named)[0] == []
