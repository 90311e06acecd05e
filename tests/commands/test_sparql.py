from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyoxigraph import Literal, NamedNode, Quad

from rdfaspider.stores import open_store
from tests.stores.conftest import rdf4j_server

if TYPE_CHECKING:
    from tests.conftest import Scrapy

PAGE = "http://site.test/a"
NAME = "http://schema.org/name"


@pytest.fixture
def store(tmp_path: Path) -> None:
    page, name = NamedNode(PAGE), NamedNode(NAME)
    with open_store(str(tmp_path / "crawl" / "store")) as store:
        store.replace(PAGE, [Quad(page, name, Literal(text), page) for text in ("one", "two")])


SELECT = "SELECT ?s ?name { ?s <http://schema.org/name> ?name } ORDER BY ?name"


def test_a_table_is_aligned_and_counted(scrapy: Scrapy, store: None) -> None:
    result = scrapy("sparql", SELECT)
    assert result.returncode == 0, result.stderr
    assert result.stdout == (
        "s                   name\n"
        "------------------  ----\n"
        "http://site.test/a  one\n"
        "http://site.test/a  two\n"
        "(2 rows)\n"
    )


@pytest.mark.parametrize("name", ["csv", "tsv", "xml"])
def test_other_formats(scrapy: Scrapy, store: None, name: str) -> None:
    result = scrapy("sparql", SELECT, "--format", name)
    assert result.returncode == 0, result.stderr
    assert "one" in result.stdout


def test_json_from_standard_input(scrapy: Scrapy, store: None) -> None:
    result = scrapy("sparql", "-", "--format", "json", stdin=SELECT)
    rows = json.loads(result.stdout)["results"]["bindings"]
    assert [row["name"]["value"] for row in rows] == ["one", "two"]


def test_a_query_in_a_file(scrapy: Scrapy, store: None, tmp_path: Path) -> None:
    (tmp_path / "ask.rq").write_text(f"ASK {{ GRAPH <{PAGE}> {{ ?s ?p 'one' }} }}")
    assert scrapy("sparql", "ask.rq").stdout == "yes\n"


def test_a_graph_comes_as_turtle(scrapy: Scrapy, store: None) -> None:
    result = scrapy("sparql", "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }")
    assert f"<{PAGE}>" in result.stdout
    assert '"one"' in result.stdout


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["SELECT nonsense"], "scrapy sparql: error at 1:"),
        ([SELECT, "--format", "turtle"], "Rows cannot be written as turtle"),
        (["CONSTRUCT WHERE { ?s ?p ?o }", "--format", "csv"], "A graph cannot be written as csv"),
        ([SELECT, "-s", "JOBDIR=nowhere"], "There is no store in nowhere"),
    ],
)
def test_a_mistake_is_answered_by_a_sentence(
    scrapy: Scrapy, store: None, arguments: list[str], sentence: str
) -> None:
    result = scrapy("sparql", *arguments)
    assert result.returncode == 1
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_a_store_that_is_being_written_is_left_alone(scrapy: Scrapy, tmp_path: Path) -> None:
    with open_store(str(tmp_path / "crawl" / "store")):
        result = scrapy("sparql", SELECT)
    assert result.returncode == 1
    assert "in use by another crawl" in result.stderr


def test_a_server_is_asked_as_the_embedded_store_is(scrapy: Scrapy, tmp_path: Path) -> None:
    with rdf4j_server(tmp_path / "rdf4j") as (_, repositories):
        url = f"rdf4j+{repositories}/crawl"
        page, name = NamedNode(PAGE), NamedNode(NAME)
        with open_store(url) as store:
            store.replace(PAGE, [Quad(page, name, Literal(text), page) for text in ("one", "two")])
        table = scrapy("sparql", SELECT, STORE_URL=url)
        rows = {
            kind: scrapy("sparql", SELECT, "--format", kind, STORE_URL=url)
            for kind in ("json", "csv", "tsv", "xml")
        }
        graph = scrapy("sparql", "CONSTRUCT WHERE { ?s ?p ?o }", STORE_URL=url)
        yes = scrapy("sparql", "ASK { ?s ?p 'one' }", STORE_URL=url)
        wrong = scrapy("sparql", "SELECT nonsense", STORE_URL=url)
    assert table.stdout.endswith("http://site.test/a  two\n(2 rows)\n")
    assert all(result.returncode == 0 and "one" in result.stdout for result in rows.values())
    assert f"<{PAGE}>" in graph.stdout
    assert yes.stdout == "yes\n"
    assert wrong.returncode == 1
    assert "MALFORMED QUERY" in wrong.stderr


def test_a_store_that_cannot_be_queried_says_so(scrapy: Scrapy, tmp_path: Path) -> None:
    (tmp_path / "files").mkdir()
    result = scrapy("sparql", SELECT, STORE_URL="nquads:files")
    assert result.returncode == 1
    assert "cannot be queried" in result.stderr
