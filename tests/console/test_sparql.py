"""The SPARQL endpoint of a crawl that writes, asked by the clients that people use."""

from __future__ import annotations

import io
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import pytest
from rdflib import Graph, URIRef
from rdflib.plugins.stores.sparqlstore import SPARQLStore
from SPARQLWrapper import CSV, JSON, POST, TURTLE, SPARQLWrapper

from rdfaspider.console.query.process import ROWS, TRIPLES, Body, chosen
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from rdfaspider.stores.queries import over
from tests.conftest import PROJECT
from tests.console.conftest import WEB
from tests.console.crawls import Console, crawling
from tests.console.test_browser import Watched, browser  # noqa: F401

if TYPE_CHECKING:
    from playwright.sync_api import Browser

pytestmark = pytest.mark.timeout(240)

TYPES = "SELECT ?type (COUNT(*) AS ?things) { ?thing a ?type } GROUP BY ?type"
ENDLESS = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n0 ?o }"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Console]:
    """Return the console of a crawl that writes all the time, whose queries may take 15 seconds."""
    with (
        running(WEB) as proxy,
        crawling(
            tmp_path_factory.mktemp("crawl"),
            *("-a", f"seeds={Web(WEB).url(0, 0)}", "-a", "scope=all"),
            proxy=proxy,
            POLITENESS_DELAY=0.05,
            POLITENESS_SERVER_DELAY=0,
            CONSOLE_QUERY_TIMEOUT=15,
        ) as console,
    ):
        console.until(lambda: console.get("crawl")["triples"] > 100)
        yield console


def ask(console: Console, query: str, accept: str = "", **more: str) -> tuple[int, str, bytes]:
    """Ask by a form; return status, media type and body."""
    response, body = console.request(
        "POST",
        "/sparql",
        urlencode({"query": query, **more}).encode(),
        authorization=f"Bearer {console.token}",
        content_type="application/x-www-form-urlencoded",
        accept=accept,
    )
    return response.status, response.headers.get_content_type(), body


def test_sparqlwrapper_asks_a_crawl_that_writes(asked: Console) -> None:
    client: Any = SPARQLWrapper(f"http://127.0.0.1:{asked.port}/sparql")
    client.addCustomHttpHeader("Authorization", f"Bearer {asked.token}")
    client.setReturnFormat(JSON)
    client.setQuery(TYPES)
    rows: Any = client.queryAndConvert()
    things = {
        row["type"]["value"]: int(row["things"]["value"]) for row in rows["results"]["bindings"]
    }
    assert sum(things.values()) > 10
    client.setMethod(POST)
    client.setReturnFormat(CSV)
    assert b"type,things" in client.queryAndConvert()
    client.setReturnFormat(TURTLE)
    client.setQuery("CONSTRUCT { ?thing a ?type } { ?thing a ?type }")
    graph = Graph().parse(data=client.queryAndConvert(), format="turtle")
    assert len(graph) > 10
    asked.until(lambda: asked.counts()["waiting"] > 0)


def test_commands_read_a_crawl_that_writes(asked: Console) -> None:
    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "rdfaspider", *arguments, "-s", "JOBDIR=crawl"]
        environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
        return subprocess.run(
            command, cwd=asked.directory, env=environment, capture_output=True, text=True
        )

    rows = run("sparql", "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }", "--format", "csv")
    assert rows.returncode == 0, rows.stderr
    assert int(rows.stdout.split()[1]) > 100
    assert rows.stderr == "scrapy sparql: the crawl runs; this is what it has stored by now.\n"
    quads = run("export")
    assert quads.returncode == 0, quads.stderr
    assert quads.stdout.count("\n") >= int(rows.stdout.split()[1])


def test_rdflib_asks_it(asked: Console) -> None:
    store = SPARQLStore(
        f"http://127.0.0.1:{asked.port}/sparql",
        headers={"Authorization": f"Bearer {asked.token}"},
    )
    graph = Graph(store=store)
    assert sum(int(row.things) for row in graph.query(TYPES)) > 10  # type: ignore[union-attr, misc]
    (page, *_) = graph.query("SELECT DISTINCT ?g { GRAPH ?g { ?s a ?t } } LIMIT 1")
    named = Graph(store=store, identifier=URIRef(str(page[0])))  # type: ignore[index]
    about = list(named.triples((None, None, None)))
    whole = list(graph.query(f"SELECT * {{ GRAPH <{page[0]}> {{ ?s ?p ?o }} }}"))  # type: ignore[index]
    assert len(about) == len(whole) > 0, "the graph that the request names"


def test_new_pages_are_seen_soon(asked: Console) -> None:
    def count() -> int:
        _, _, body = ask(asked, "SELECT (COUNT(*) AS ?n) { ?s ?p ?o }")
        return int(json.loads(body)["results"]["bindings"][0]["n"]["value"])

    before, crawled = count(), asked.get("crawl")["triples"]
    assert before >= 100
    asked.until(lambda: asked.get("crawl")["triples"] > crawled + 50)
    asked.until(lambda: count() > before, 30)
    assert asked.get("store")["age"] < 30


@pytest.mark.parametrize("accept", [*ROWS, ""])
def test_rows_come_in_every_format(asked: Console, accept: str) -> None:
    status, kind, body = ask(asked, "SELECT ?s { ?s a ?t } LIMIT 1", accept)
    assert (status, kind) == (200, accept or "application/sparql-results+json"), body


@pytest.mark.parametrize("accept", [*TRIPLES, ""])
def test_triples_come_in_every_format(asked: Console, accept: str) -> None:
    status, kind, body = ask(asked, "DESCRIBE ?s { ?s a ?t } LIMIT 1", accept)
    assert (status, kind) == (200, accept or "text/turtle"), body


@pytest.mark.parametrize(
    ("accept", "best"),
    [
        ("text/csv;q=0.5, application/sparql-results+xml", "application/sparql-results+xml"),
        ("text/*", "text/xml"),
        ("image/png", ""),
        ("text/csv;q=0", ""),
        ("text/csv;q=nonsense, */*;q=0.1", "application/sparql-results+json"),
        ("", "application/sparql-results+json"),
    ],
)
def test_the_best_format_is_chosen(accept: str, best: str) -> None:
    assert chosen(accept, ROWS) == best


@pytest.mark.parametrize(
    ("query", "changed"),
    [
        ("SELECT * { ?s ?p ?o }", "SELECT * FROM <g:1> FROM NAMED <g:2> { ?s ?p ?o }"),
        ("ASK WHERE { ?s ?p ?o }", "ASK FROM <g:1> FROM NAMED <g:2> WHERE { ?s ?p ?o }"),
        (
            "CONSTRUCT { ?s a ?p } WHERE { ?s a ?p }",
            "CONSTRUCT { ?s a ?p } FROM <g:1> FROM NAMED <g:2> WHERE { ?s a ?p }",
        ),
    ],
)
def test_the_graphs_of_a_request(query: str, changed: str) -> None:
    assert over(query, ["g:1"], ["g:2"]) == changed


def test_nonsense_gets_a_sentence(asked: Console) -> None:
    status, _, body = ask(asked, "SELECT nonsense")
    assert status == 400 and b"error" in body
    assert ask(asked, "")[0] == 400
    assert ask(asked, "DELETE WHERE { ?s ?p ?o }")[0] == 400, "an update"
    assert ask(asked, TYPES, "image/png")[0] == 406
    assert ask(asked, TYPES, **{"default-graph-uri": "x> { } #"})[0] == 400
    response, _ = asked.request(
        "POST", "/sparql", b"x", authorization=f"Bearer {asked.token}", content_type="text/html"
    )
    assert response.status == 400


def test_the_store_asks_no_other_server(asked: Console) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.5)
        address = f"http://127.0.0.1:{listener.getsockname()[1]}/"
        status, _, body = ask(asked, f"SELECT * {{ SERVICE <{address}> {{ ?s ?p ?o }} }}")
        assert status == 400 and b"SERVICE" in body
        status, _, body = ask(asked, f"SELECT * {{ # SERVICE <{address}> {{\n ?s a ?type }}")
        assert status == 200 and b"#it" in body, "it only speaks of it"
        with pytest.raises(TimeoutError):
            listener.accept()


def test_a_query_that_fails_soon_gets_a_sentence() -> None:
    output = io.BytesIO()
    body = Body(output)
    body.kind = "text/csv"
    body.write(b"a,b\n")
    assert body.refuse(503, "It has failed.")
    assert json.loads(output.getvalue()) == {"status": 503, "error": "It has failed."}


def test_a_query_that_fails_late_is_cut_off() -> None:
    output = io.BytesIO()
    body = Body(output)
    body.kind = "text/csv"
    for _ in range(10):
        body.write(bytes(10_000))
    assert not body.refuse(503, "It has failed.")
    head, _, rest = output.getvalue().partition(b"\n")
    assert json.loads(head) == {"status": 200, "type": "text/csv"}
    assert len(rest) == 100_000


def test_columns_come_as_they_appear(asked: Console) -> None:
    _, _, body = ask(asked, "SELECT * { ?s ?p ?o } LIMIT 1", "text/csv")
    assert body.split(b"\r\n")[0] == b"s,p,o"


def queries_running(console: Console) -> int:
    process = Path(f"/proc/{console.process.pid}/task/{console.process.pid}/children")
    commands = [Path(f"/proc/{child}/cmdline") for child in process.read_text().split()]
    return sum(b"console.query." in each.read_bytes() for each in commands if each.exists())


@pytest.mark.slow
def test_a_query_that_runs_for_ever_is_ended_and_the_crawl_goes_on(asked: Console) -> None:
    before, begin = asked.counts()["done"], time.monotonic()
    with ThreadPoolExecutor(6) as pool:
        answers = list(pool.map(lambda _: ask(asked, ENDLESS), range(6)))
    assert [status for status, _, _ in answers] == [503] * 6
    assert time.monotonic() - begin < 90
    assert any(b"took more than 15 seconds" in body for _, _, body in answers)
    assert asked.counts()["done"] > before + 20
    asked.until(lambda: not queries_running(asked), 10)
    assert ask(asked, TYPES)[0] == 200


def test_other_sites_cannot_ask(asked: Console) -> None:
    response, _ = asked.request("GET", f"/sparql?{urlencode({'query': TYPES})}")
    assert response.status == 401


def test_copies_are_removed(asked: Console) -> None:
    directory = asked.directory / "crawl" / "console-store"
    for _ in range(2):
        assert ask(asked, TYPES)[0] == 200
    assert len(list(directory.iterdir())) == 1


@pytest.mark.slow
def test_the_query_page(browser: Browser, asked: Console) -> None:  # noqa: F811
    watched = Watched(browser, asked)
    page = watched.page
    watched.open("/query")
    page.get_by_role("button", name="Types").click()
    page.locator(".yasr td", has_text="http").first.wait_for(timeout=20_000)
    page.get_by_text("The latest answers show the store as it was").wait_for()
    page.goto(f"{watched.home}/")
    page.locator("td.n a").first.click()
    page.locator(".yasr td").first.wait_for(timeout=20_000)
    assert "GRAPH <http" in page.locator(".yasqe").inner_text()
    watched.check()


def test_no_copy_is_left_behind(tmp_path: Path) -> None:
    with running(WEB) as proxy:
        seeds = ("-a", f"seeds={Web(WEB).url(0, 0)}")
        with crawling(tmp_path, *seeds, proxy=proxy, POLITENESS_DELAY=0.2) as console:
            console.until(lambda: console.counts()["done"] > 3)
            assert ask(console, TYPES)[0] == 200
            console.use("stop")
            assert "Crawl stopped" in console.wait()
        assert not (tmp_path / "crawl" / "console-store").exists()
