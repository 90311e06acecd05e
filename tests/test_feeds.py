"""Feeds: one clean item for each page that was read, in every format."""

from __future__ import annotations

import csv
import json
import re
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import pytest
from itemadapter import ItemAdapter
from pyoxigraph import RdfFormat, parse
from scrapy.exporters import XmlItemExporter

from rdfaspider.feeds import FIELDS, EveryUrl
from rdfaspider.items import Page
from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web

if TYPE_CHECKING:
    from tests.conftest import Scrapy

SITE = Parameters(
    seed=2,
    levels=2,
    pages=5,
    rdfa=0.4,
    jsonld=0.3,
    microdata=0.3,
    missing=0.1,
    redirected=0.1,
    disallowed=0.2,
)
FORMATS = ["triples_rdfa", "triples_jsonld", "triples_microdata", "triples_rdf"]
NAMES = ["url", "status", "fetched", "depth", "title", "language", "links", "triples"]
NAMES += [*FORMATS, "quads"]
POLITENESS = {"POLITENESS_DELAY": 0, "POLITENESS_AT_ONCE": 16}


def test_every_format_has_the_pages_that_were_read_and_nothing_else(
    scrapy: Scrapy, tmp_path: Path
) -> None:
    oracle = Oracle(Web(SITE))
    files = ["items.jl", "items.json", "items.csv", "items.xml"]
    outputs = [word for name in files for word in ("-o", name)]
    with running(SITE) as origin:
        result = scrapy("crawl", "rdfa", "-a", f"seeds={origin}/", *outputs, **POLITENESS)
    assert result.returncode == 0, result.stderr
    reach = oracle.reachable([f"{origin}/"], depth=99, agent="rdfaspider")
    assert reach.denied
    assert len(reach.fetched) > len(reach.pages), "redirects and failures are no items"

    lines = [json.loads(line) for line in (tmp_path / "items.jl").read_text().splitlines()]
    items = {item["url"]: item for item in lines}
    assert items.keys() == reach.pages.keys()
    assert len(lines) == len(items)
    for url, item in items.items():
        assert list(item) == NAMES
        assert item["status"] == 200
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", item["fetched"])
        quads = set(parse(item["quads"], RdfFormat.N_QUADS))
        assert quads == set(oracle.triples(url))
        assert item["triples"] == len(quads)
        assert item["triples"] == sum(item[name] for name in FORMATS)
        assert item["title"] and item["language"]
    assert items[f"{origin}/"]["depth"] == 0
    # A page may be read before a shorter way to it is found.
    assert {item["depth"] for item in lines} >= {0, 1, 2}

    assert json.loads((tmp_path / "items.json").read_text()) == lines
    with (tmp_path / "items.csv").open(newline="") as file:
        assert list(csv.DictReader(file)) == [{k: str(v) for k, v in i.items()} for i in lines]
    in_xml = ElementTree.parse(tmp_path / "items.xml").getroot()
    assert [{f.tag: f.text or "" for f in item} for item in in_xml] == [
        {k: str(v) for k, v in item.items()} for item in lines
    ]


def test_fields_are_chosen_as_ever(scrapy: Scrapy, tmp_path: Path) -> None:
    with running(Parameters(levels=0)) as origin:
        result = scrapy(
            "crawl",
            "rdfa",
            "-a",
            f"seeds={origin}/",
            "-o",
            "items.jl",
            FEED_EXPORT_FIELDS="title,jsonld,url",
        )
    assert result.returncode == 0, result.stderr
    (line,) = (tmp_path / "items.jl").read_text().splitlines()
    item = json.loads(line)
    assert list(item) == ["title", "jsonld", "url"]
    found = parse(json.dumps(item["jsonld"]), RdfFormat.JSON_LD)
    expected = Oracle(Web(Parameters(levels=0))).triples(f"{origin}/")
    assert {quad.triple for quad in found} == {quad.triple for quad in expected} != set()


def test_a_feed_may_ask_for_every_url() -> None:
    every = EveryUrl({"item_classes": ["rdfaspider.items.Page"]})
    assert every.accepts(Page("http://a.test/", 0))
    assert every.accepts(Page("http://a.test/", 0, outcome="failed", reason="404"))
    assert not every.accepts(Page("http://a.test/", 0, outcome="postponed", reason="robots"))
    assert not every.accepts({"url": "http://a.test/"}), "of another class"


def test_a_page_is_an_item_to_pipelines_of_users() -> None:
    page = Page("http://a.test/", 2, title="Old", body=b"<p>", found={"rdfa": 3})
    adapter = ItemAdapter(page)
    assert ItemAdapter.is_item(page)
    assert list(adapter) == list(adapter.field_names()) == list(FIELDS) == NAMES
    assert adapter["triples_rdfa"] == 3
    assert adapter["outcome"] == "done", "on request"
    assert "body" not in adapter
    with pytest.raises(KeyError):
        adapter["body"]
    adapter["title"] = "New"
    assert page.title == "New"
    with pytest.raises(KeyError, match="url"):
        adapter["url"] = "http://b.test/"


def test_characters_that_xml_cannot_have_do_not_spoil_a_feed() -> None:
    quad = '<http://a.test/> <http://a.test/p> "a\x01b" <http://a.test/> .\n'
    page = Page("http://a.test/", 0, title="One\x01", language="e\x02n", nquads=quad.encode())
    file = BytesIO()
    exporter = XmlItemExporter(file)
    exporter.start_exporting()
    exporter.export_item(page)
    exporter.finish_exporting()
    (item,) = ElementTree.fromstring(file.getvalue())
    assert item.findtext("title") == "One"
    assert item.findtext("language") == "en"
    assert list(parse(item.findtext("quads"), RdfFormat.N_QUADS)) == list(page.quads)
