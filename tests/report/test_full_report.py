"""The numbers of a full report, counted again in another way from what other commands print."""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import subprocess
import sys
from base64 import b64decode
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import networkx
import pytest
import rdflib

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.conftest import PROJECT

if TYPE_CHECKING:
    from tests.conftest import Scrapy

pytestmark = pytest.mark.slow

WEB = Parameters(
    seed=3,
    hosts=6,
    levels=3,
    pages=4,
    links_across=2,
    skew=0.7,
    redirected=0.05,
    missing=0.05,
    disallowed=0.1,
    duplicated=0.1,
)


def run(directory: Path, *arguments: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "rdfaspider", *arguments],
        cwd=directory,
        env={**os.environ, "PYTHONPATH": str(PROJECT), **environment},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


@pytest.fixture(scope="module")
def reported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the directory of a crawl of several hosts with a report."""
    directory = tmp_path_factory.mktemp("crawled")
    settings = (
        "-s",
        "POLITENESS_DELAY=0",
        "-s",
        "POLITENESS_AT_ONCE=8",
        "-s",
        "FRONTIER_RETRIES=0",
    )
    with running(WEB) as proxy:
        seeds = ("-a", f"seeds={Web(WEB).url(0, 0)}", "-a", "scope=all")
        run(directory, "crawl", "rdfa", *seeds, *settings, "-s", "JOBDIR=crawl", http_proxy=proxy)
    said = run(directory, "report", "--full", "-o", "out", "-s", "JOBDIR=crawl")
    assert said == f"The report is in {Path('out') / 'report.html'}.\n"
    return directory


@pytest.fixture
def crawled(reported: Path, tmp_path: Path) -> Path:
    """Return a copy of that directory, which is the one that `scrapy` works in."""
    shutil.copytree(reported, tmp_path, dirs_exist_ok=True)
    return tmp_path


def table(path: Path, name: str) -> list[dict[str, str]]:
    with (path / "out" / "csv" / f"{name}.csv").open(newline="") as file:
        return list(csv.DictReader(file))


def numbers(path: Path, name: str) -> dict[str, float]:
    """Return the bars or points of a figure."""
    with (path / "out" / "csv" / f"{name}.csv").open(newline="") as file:
        return {row[-2]: float(row[-1]) for row in list(csv.reader(file))[1:]}


def counted(values: Any) -> dict[str, float]:
    return {str(value): float(count) for value, count in Counter(values).items()}


def test_every_number_of_pages(crawled: Path, scrapy: Scrapy) -> None:
    scrapy("pages", "-o", "pages.jsonl")
    lines = (crawled / "pages.jsonl").read_text().splitlines()
    records = [defaultdict(lambda: None, json.loads(line)) for line in lines]
    pages = [record for record in records if record["reason"] == "page"]
    assert len(pages) > 100
    assert numbers(crawled, "statuses") == counted(r["status"] for r in records if r["status"])
    assert numbers(crawled, "outcomes") == counted(f"{r['state']}/{r['reason']}" for r in records)
    assert numbers(crawled, "types") == counted(r["content_type"] for r in pages)
    assert numbers(crawled, "encodings") == counted(r["encoding"] for r in pages)
    assert numbers(crawled, "declared") == counted(r["language"] for r in pages)
    depths = numbers(crawled, "depths")
    assert {k: v for k, v in depths.items() if v} == counted(r["depth"] for r in pages)
    assert sum(numbers(crawled, "sizes").values()) == len(pages)
    assert sum(numbers(crawled, "ages").values()) == sum(bool(r["modified"]) for r in pages)
    formats = {name: sum(bool(r[name]) for r in pages) for name in ("rdfa", "jsonld", "microdata")}
    assert numbers(crawled, "pages-with") == {
        name: count for name, count in formats.items() if count
    }
    triples = {float(k): v for k, v in numbers(crawled, "triples").items()}
    assert triples == Counter(float(r["triples"]) for r in pages if r["triples"])
    links = {float(k): v for k, v in numbers(crawled, "links").items()}
    assert links == Counter(float(r["links"]) for r in pages if r["links"])

    hosts = Counter(r["host"] for r in pages)
    for row in table(crawled, "hosts"):
        own = [r for r in pages if r["host"] == row["host"]]
        assert int(row["pages"]) == hosts[row["host"]]
        assert int(row["triples"]) == sum(r["triples"] for r in own)
        assert int(row["bytes"]) == sum(r["size"] for r in own)
        assert int(row["copies"]) == sum(r["copy_of"] is not None for r in own)
        assert int(row["with data"]) == sum(r["triples"] > 0 for r in own)
        everything = [r for r in records if r["host"] == row["host"]]
        assert int(row["failed"]) == sum(r["state"] == "failed" for r in everything)
        assert int(row["denied"]) == sum(r["state"] == "denied" for r in everything)
    assert {row["host"] for row in table(crawled, "hosts")} == {r["host"] for r in records}
    shares = numbers(crawled, "shares")
    assert sum(shares.values()) == len(hosts)
    sections = Counter()  # type: ignore[var-annotated]
    for r in pages:
        parts = urlsplit(r["url"])
        first, slash, _ = parts.path[1:].partition("/")
        sections[f"{parts.netloc}/{first}/" if slash else f"{parts.netloc}/"] += r["triples"]
    found = {row["section"]: int(row["triples"]) for row in table(crawled, "sections")}
    assert found == {name: count for name, count in sections.items() if count}

    totals = {row[""]: row["crawl"] for row in table(crawled, "totals")}
    assert int(totals["pages"]) == len(pages)
    assert int(totals["copies, byte for byte"]) == sum(r["copy_of"] is not None for r in pages) > 0
    assert int(totals["URLs found"]) == sum(
        int(totals[name])
        for name in ("done", "waiting", "failed", "denied by robots.txt or a rule")
    )


def test_every_number_of_triples(crawled: Path, scrapy: Scrapy) -> None:
    def asked(query: str) -> list[list[str]]:
        answer = scrapy("sparql", "--format", "csv", query)
        assert answer.returncode == 0, answer.stderr
        return list(csv.reader(answer.stdout.splitlines()))[1:]

    predicates = {
        row[0]: float(row[1])
        for row in asked("SELECT ?p (COUNT(*) AS ?n) { GRAPH ?g { ?s ?p ?o } } GROUP BY ?p")
    }
    types = asked("SELECT ?t (COUNT(*) AS ?n) { GRAPH ?g { ?s a ?t } } GROUP BY ?t")
    found = json.loads((crawled / "out" / "report.json").read_text())[0]["triples"]
    assert found["predicates"] == predicates
    assert found["triples"] == sum(predicates.values())
    assert found["types"] == {name: float(count) for name, count in types}
    graphs = asked("SELECT (COUNT(DISTINCT ?g) AS ?n) { GRAPH ?g { ?s ?p ?o } }")
    assert found["graphs"] == int(graphs[0][0])
    vocabularies: Counter[str] = Counter()
    for name, count in predicates.items():
        vocabularies[re.sub(r"[^#/]*$", "", name)] += int(count)
    assert found["vocabularies"] == vocabularies


def test_every_number_of_links(crawled: Path, scrapy: Scrapy) -> None:
    assert scrapy("graph", "-o", "links.tsv").returncode == 0
    graph = networkx.DiGraph()
    for line in (crawled / "links.tsv").read_text().splitlines():
        source, target, *_ = line.split("\t")
        if source.startswith("http"):
            graph.add_edge(source, target)
    found = json.loads((crawled / "out" / "report.json").read_text())[0]["links"]
    assert found["links"] == graph.number_of_edges() == sum(found["kinds"].values())
    inward = Counter(degree for _, degree in graph.in_degree() if degree)
    outward = Counter(degree for _, degree in graph.out_degree() if degree)
    assert {int(float(k)): v for k, v in numbers(crawled, "links-in-degrees").items()} == inward
    assert {int(float(k)): v for k, v in numbers(crawled, "links-out-degrees").items()} == outward
    alone = found["nodes"] - graph.number_of_nodes()
    assert found["weak"] == networkx.number_weakly_connected_components(graph) + alone
    assert found["strong"] == networkx.number_strongly_connected_components(graph) + alone
    answered = sum(graph.has_edge(target, source) for source, target in graph.edges)
    assert found["reciprocity"] == pytest.approx(answered / graph.number_of_edges())
    best = {row["URL"]: int(row["links in"]) for row in table(crawled, "best")}
    assert best.items() <= dict(graph.in_degree()).items()
    for column in ("sum of PageRank", "of hubs", "of authorities"):
        assert sum(float(row[column]) for row in table(crawled, "host-ranks")) == pytest.approx(1.0)
    for name, key in (("ranks", "pagerank"), ("hubs", "hub"), ("authorities", "authority")):
        scores = numbers(crawled, name)
        assert scores["1"] == max(scores.values()) >= max(each[key] for each in found["best"])


def test_the_numbers_are_in_the_store_too(crawled: Path, scrapy: Scrapy) -> None:
    for _ in range(2):  # the second replaces the first
        assert "urn:rdfaspider:report" in scrapy("report", "--full", "--store").stdout
    query = (
        "PREFIX void: <http://rdfs.org/ns/void#> SELECT ?host ?n { GRAPH <urn:rdfaspider:report>"
        " { ?h <http://purl.org/dc/terms/title> ?host ; void:documents ?n ;"
        " <urn:rdfaspider:report:term:rank> ?rank } }"
    )
    answer = scrapy("sparql", "--format", "csv", query).stdout.splitlines()[1:]
    hosts = {row["host"]: row["pages"] for row in table(crawled, "hosts")}
    assert dict(line.split(",") for line in answer) == hosts


def test_a_crawl_is_described_as_a_dataset(crawled: Path, scrapy: Scrapy) -> None:
    made = scrapy("export", "--void", "-o", "crawl.ttl")
    assert made.returncode == 0, made.stderr
    dataset = rdflib.Graph().parse(crawled / "crawl.ttl")
    node = rdflib.URIRef("urn:rdfaspider:report")
    void, dcat = (
        rdflib.Namespace(name) for name in (str(rdflib.VOID), "http://www.w3.org/ns/dcat#")
    )
    assert {void.Dataset, dcat.Dataset} == set(dataset.objects(node, rdflib.RDF.type))
    answer = scrapy("sparql", "--format", "csv", "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }").stdout
    assert 0 < int(str(dataset.value(node, void.triples))) <= int(answer.split()[1])
    hosts = {
        str(title)
        for host in dataset.objects(node, void.subset)
        for title in dataset.objects(host, rdflib.DCTERMS.title)
    }
    assert hosts == {row["host"] for row in table(crawled, "hosts")}


def test_crawls_stand_beside_each_other(crawled: Path, scrapy: Scrapy) -> None:
    shutil.copytree(crawled / "crawl" / "frontier", crawled / "other" / "frontier")
    made = scrapy("report", "--full", "-o", "both.html", "--against", "other")
    assert made.returncode == 0, made.stderr
    assert "other: " in made.stderr  # it has no store
    text = (crawled / "both.html").read_text()
    assert "2 crawls are compared." in text
    assert 'class="bar s1"' in text
    numbers = re.search(r'href="data:application/json;base64,([^"]+)"', text)
    assert numbers
    assert [each["name"] for each in json.loads(b64decode(numbers[1]))] == ["crawl", "other"]


def test_there_must_be_a_crawl(scrapy: Scrapy) -> None:
    made = scrapy("report", "--full", "-o", "out")
    assert made.returncode == 1
    assert "Traceback" not in made.stderr


def test_a_browser_shows_the_report_and_asks_nobody(crawled: Path) -> None:
    if (chromium := shutil.which("chromium")) is None:
        pytest.skip("no chromium: make .cache/chromium.ready installs it")
    from playwright.sync_api import sync_playwright

    asked: list[str] = []
    said: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        try:
            page = browser.new_page(viewport={"width": 400, "height": 800}, color_scheme="dark")
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda message: said.append(message.text))
            page.on("pageerror", lambda error: said.append(str(error)))
            page.goto((crawled / "out" / "report.html").as_uri())
            width = page.evaluate("document.documentElement.scrollWidth")
            figures = page.locator("svg")
            shown = [figures.nth(n).bounding_box() for n in range(figures.count())]
            colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
            paper = page.evaluate("matchMedia('(prefers-color-scheme: light)').matches")
        finally:
            browser.close()
    assert [url for url in asked if not url.startswith("file:")] == []
    assert said == []
    assert width <= 400, "the page is wider than a phone"
    assert len(shown) > 20
    assert all(box and box["width"] > 200 and box["height"] > 20 for box in shown)
    assert (colour, paper) == ("rgb(18, 22, 28)", False)
