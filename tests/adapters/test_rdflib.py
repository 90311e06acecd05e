"""rdflib reads pages through our parsers, which it finds by itself."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import rdflib
from rdflib import BNode, Dataset, Graph, Literal, Namespace, URIRef
from rdflib.compare import isomorphic
from rdflib.exceptions import ParserError

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from tests.extract.samples import BOMB

SCHEMA = Namespace("http://schema.org/")
XSD = Namespace("http://www.w3.org/2001/XMLSchema#")
URL = "http://a.example/dir/page"
PAGE = """<html vocab="http://schema.org/"><p typeof="Person"><b property="name" lang="en">Ada</b>
<i property="age" datatype="xsd:integer">036</i><a property="url" href="../ada">x</a></p>
<div itemscope itemtype="http://schema.org/Thing"><b itemprop="name">thing</b></div>
<script type="application/ld+json">{"@context": "https://schema.org", "@id": "#j", "name": "J"}</script>
"""


def parsed(format: str, data: str | bytes = PAGE) -> Graph:
    return Graph().parse(data=data, format=format, publicID=URL)


def test_each_format_has_its_parser() -> None:
    rdfa, microdata, jsonld = (parsed(name) for name in ("rdfa", "microdata", "jsonld-html"))
    (ada,) = rdfa.subjects(rdflib.RDF.type, SCHEMA.Person)
    assert rdfa.value(ada, SCHEMA.name) == Literal("Ada", lang="en")
    assert rdfa.value(ada, SCHEMA.url) == URIRef("http://a.example/ada")
    assert Literal("thing") in set(microdata.objects(None, SCHEMA.name))
    assert set(jsonld.objects(URIRef(f"{URL}#j"))) == {Literal("J")}
    for name in ("html", "text/html"):
        assert len(parsed(name)) == len(rdfa + microdata + jsonld)


def test_lexical_forms_stay_as_they_are() -> None:
    (age,) = parsed("rdfa").objects(None, SCHEMA.age)
    assert isinstance(age, Literal)
    assert (str(age), age.datatype) == ("036", XSD.integer)


def test_blank_nodes_of_two_pages_are_two() -> None:
    graph = parsed("rdfa") + parsed("rdfa")
    assert len(set(graph.subjects(rdflib.RDF.type, SCHEMA.Person))) == 2
    assert all(isinstance(node, BNode) for node in graph.subjects(rdflib.RDF.type, SCHEMA.Person))


@pytest.mark.filterwarnings("ignore:Dataset.default_context:DeprecationWarning")  # rdflib's own
def test_files_streams_texts_and_datasets(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE)
    expected = len(parsed("rdfa"))
    assert len(Graph().parse(tmp_path / "page.html", format="rdfa")) == expected
    assert len(Graph().parse(io.BytesIO(PAGE.encode()), format="rdfa", publicID=URL)) == expected
    assert len(Graph().parse(io.StringIO(PAGE), format="rdfa", publicID=URL)) == expected
    assert len(Graph().parse(data=PAGE, format="rdfa")) == expected
    dataset = Dataset()
    dataset.parse(data=PAGE, format="rdfa", publicID=URL)
    assert len([*dataset.quads()]) == expected


def test_a_page_of_the_web_is_read_by_its_type() -> None:
    with running(Parameters(seed=1, levels=1, pages=2)) as url:
        assert len(Graph().parse(f"{url}/", format="rdfa")) > 0
        assert len(Graph().parse(f"{url}/")) > 0, "rdflib knows the type of the answer"


def test_what_knows_its_encoding_is_read_by_it() -> None:
    page = '<meta charset="iso-8859-1"><p vocab="http://schema.org/" property="name">é€</p>'
    for data in (io.StringIO(page), io.BytesIO(page.encode())):
        graph = Graph().parse(data, format="rdfa", publicID=URL)
        (name,) = graph.objects(None, SCHEMA.name)
        assert (str(name) == "é€") == isinstance(data, io.StringIO)


def test_xhtml_is_read_as_such() -> None:
    page = '<html xmlns="http://www.w3.org/1999/xhtml"><body vocab="http://schema.org/">' + (
        '<p property="name"/>after</body></html>'
    )
    (name,) = parsed("application/xhtml+xml", page).objects(None, SCHEMA.name)
    assert name == Literal("")
    (name,) = parsed("rdfa", f'<?xml version="1.0"?>{page}').objects(None, SCHEMA.name)
    assert name == Literal("")
    (name,) = parsed("rdfa", page).objects(None, SCHEMA.name)
    assert "after" in str(name)


@pytest.mark.parametrize("data", ["", "\0\0", "<" * 5000, b"\xff\xfe\xfa", "<p property='"])
def test_what_is_no_page_has_no_statements(data: str | bytes) -> None:
    assert len(parsed("html", data)) == 0


def test_nothing_to_read_is_an_error() -> None:
    from rdflib.parser import InputSource

    from rdfaspider.adapters.rdflib import HtmlParser

    with pytest.raises(ParserError, match="nothing to read"):
        HtmlParser().parse(InputSource(), Graph())  # type: ignore[no-untyped-call]


def test_a_page_with_an_endless_tree_is_an_error() -> None:
    script = "import sys, rdflib; rdflib.Graph().parse(data=sys.stdin.buffer.read(), format='html')"
    done = subprocess.run([sys.executable, "-c", script], input=BOMB, capture_output=True)
    assert done.returncode == 1
    last = done.stderr.decode().splitlines()[-1]
    assert last.startswith("rdflib.exceptions.ParserError")
    assert "cannot be read" in last


def test_neither_the_crawler_nor_scrapy_is_loaded() -> None:
    script = (
        "import sys, rdflib\n"
        "rdflib.Graph().parse(data='<p property=\"dc:title\">x', format='rdfa')\n"
        "print([name for name in ('scrapy', 'twisted', 'rocksdict', 'aiohttp') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], check=True, capture_output=True, text=True
    )
    assert done.stdout.strip() == "[]"


def test_the_suite_of_w3c_as_pyrdfa3_reads_it(vectors: Path) -> None:
    """Where pyRdfa3 answers as the suite expects, both make the same graph of a page."""
    suite = vectors / "rdfa-suite"
    compared, different = 0, []
    for case in json.loads((suite / "manifest.json").read_text()):
        is_plain = case["version"] == "rdfa1.1" and case["host_language"] == "html5"
        if not is_plain or case["query_param"] or not case["expected"]:
            continue
        body = (suite / case["input"]).read_bytes()
        reference = by_pyrdfa3(body, case["base"])
        query = (suite / case["query"]).read_text()
        if reference is None or not reference.query(query).askAnswer:
            continue
        own = Graph().parse(data=body, format="rdfa", publicID=case["base"])
        compared += 1
        if not isomorphic(own, reference):
            different.append(case["num"])
    assert compared > 120
    assert different == []


def by_pyrdfa3(body: bytes, base: str) -> Graph | None:
    import pyRdfa

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = pyRdfa.options.Options(output_processor_graph=False)
        processor = pyRdfa.pyRdfa(options, base=base, media_type="text/html")
        try:
            found: Graph = processor.graph_from_source(io.BytesIO(body))
        except Exception:  # its own faults
            return None
    graph = Graph()
    for subject, predicate, value in found:
        # In RDF 1.1 a plain text is an xsd:string; rdflib takes them for two.
        is_string = isinstance(value, Literal) and value.datatype == XSD.string
        graph.add((subject, predicate, Literal(str(value)) if is_string else value))
    return graph
