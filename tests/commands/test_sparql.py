from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Quad

from rdfaspider.stores import open_store
from rdfaspider.terminal import cells
from tests.stores.conftest import fuseki_server, gateway_to, oxigraph_server, rdf4j_server

if TYPE_CHECKING:
    from tests.commands.conftest import AtTerminal, IntoHead
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


@pytest.mark.parametrize("command", [("sparql", SELECT), ("export",)])
def test_a_store_that_is_written_names_the_console(
    scrapy: Scrapy, store: None, tmp_path: Path, command: tuple[str, ...]
) -> None:
    with open_store(str(tmp_path / "crawl" / "store")):
        result = scrapy(*command)
    assert result.returncode == 1
    assert result.stderr == (
        f"scrapy {command[0]}: The store crawl/store is in use by another crawl: wait until that one ends."
        " A crawl that is started with -s CONSOLE_PORT=8010 can be queried and exported while it runs.\n"
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


NODES = ", ".join(f'"{name}": {{"type": "uri", "value": "{PAGE}"}}' for name in "spog")
ROW = f'{{"name": {{"type": "literal", "value": "one"}}, {NODES}}}'.encode()
BEGIN = b'{"head": {"vars": ["name", "s", "p", "o", "g"]}, "results": {"bindings": ['


@contextmanager
def endpoint(fault: str, released: Event | None = None) -> Iterator[str]:
    """Run a SPARQL endpoint with a fault; `slow` sends half of its rows until it is released."""
    ended = released or Event()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            query = self.rfile.read(int(self.headers["Content-Length"]))
            if fault == "drop":
                return
            if fault == "hang":
                ended.wait(10)
            elif fault.isdigit():
                self.answer(int(fault), "text/plain", b"the words\nof the server")
            elif fault == "html":
                self.answer(200, "text/html", b"<p>Welcome!")
            elif b"ASK" in query:
                self.answer(200, "application/sparql-results+json", b'{"head":{},"boolean":false}')
            elif fault == "nonsense":
                self.answer(200, "application/sparql-results+json", b'{"head": nonsense}')
            else:
                self.answer_by_halves()

        def answer(self, status: int, kind: str, body: bytes, length: int = 0) -> None:
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(length or len(body)))
            self.end_headers()
            self.wfile.write(body)
            self.wfile.flush()

        def answer_by_halves(self) -> None:
            # More than the reader takes at once.
            half = b",".join([ROW] * 100) + b" " * 100_000
            whole = BEGIN + half + b"," + half + b"]}}"
            first = len(BEGIN + half)
            self.answer(200, "application/sparql-results+json", whole[:first], len(whole))
            if fault == "slow":
                assert ended.wait(10)
                self.wfile.write(whole[first:])

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/query"
        finally:
            ended.set()
            server.shutdown()
            thread.join()


LONG = "http://site.test/" + "long/" * 40


@pytest.fixture
def awkward(tmp_path: Path) -> None:
    """Leave a store of texts that are long, steer terminals, or are written in many scripts."""
    page, name = NamedNode(PAGE), NamedNode(NAME)
    texts = ["\x1b[2J\x1b]0;owned\x07two\nlines\tand a tab", "Füße 漢字 \u202eexe", "x" * 5000]
    values: list[Literal | BlankNode | NamedNode] = [BlankNode("c0ffee"), NamedNode(LONG)]
    values += map(Literal, texts)
    with open_store(str(tmp_path / "crawl" / "store")) as store:
        store.replace(PAGE, [Quad(page, name, value, page) for value in values])


@pytest.mark.parametrize("columns", [50, 80, 120])
def test_a_table_fits_the_terminal(awkward: None, at_terminal: AtTerminal, columns: int) -> None:
    shown = at_terminal("sparql", "SELECT ?s ?name { ?s ?p ?name }", columns=columns)
    assert shown.code == 0
    *table, count, empty = shown.lines
    assert len(table) == 7
    assert max(map(cells, table)) == columns
    assert (count, empty) == ("(5 rows, long cells cut: --format csv has them whole)", "")
    assert "\x1b" not in shown.text
    assert r"\x1b[2J\x1b]0;" in shown.text
    assert "  _:b0" in shown.text


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_a_terminal_gets_the_characters_that_it_has(
    awkward: None, at_terminal: AtTerminal, encoding: str
) -> None:
    shown = at_terminal("sparql", "SELECT ?name { ?s ?p ?name }", encoding=encoding)
    assert shown.code == 0
    assert max(map(cells, shown.lines)) == 80
    fuesse = {"ascii": r"F\xfc\xdfe \u6f22\u5b57", "latin-1": r"Füße \u6f22\u5b57"}
    assert fuesse.get(encoding, "Füße 漢字") + r" \u202eexe" in shown.text


def test_what_is_not_a_terminal_gets_everything_a_row_a_line(awkward: None, scrapy: Scrapy) -> None:
    result = scrapy("sparql", "SELECT ?name ?s { ?s ?p ?name }")
    lines = result.stdout.splitlines()
    assert len(lines) == 8
    assert f"{'x' * 5000}  {PAGE}" in lines
    assert f"{LONG}  {PAGE}" in lines
    assert r"\x1b[2J\x1b]0;owned\x07two\nlines\tand a tab" in result.stdout
    assert sum(map(len, lines)) < 5000 + 8 * 150


@pytest.mark.parametrize("form", ["csv", "tsv", "json", "xml"])
def test_data_is_escaped_on_a_terminal_and_nowhere_else(
    awkward: None, at_terminal: AtTerminal, scrapy: Scrapy, form: str
) -> None:
    query = ("sparql", "SELECT ?name { ?s ?p ?name }", "--format", form)
    shown, piped = at_terminal(*query), scrapy(*query)
    assert shown.code == piped.returncode == 0
    assert not set(shown.text) & set("\x1b\x07\u202e")
    assert r"\u202eexe" in shown.text
    assert "\u202eexe" in piped.stdout
    assert ("\x1b[2J" in piped.stdout) == (form != "json")


def test_a_graph_is_escaped_on_a_terminal(awkward: None, at_terminal: AtTerminal) -> None:
    for command in (("sparql", "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }"), ("export",)):
        shown = at_terminal(*command)
        assert shown.code == 0
        assert "\u202e" not in shown.text
        assert "x" * 5000 in shown.text


def test_a_pipe_of_few_characters(
    awkward: None, scrapy: Scrapy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    result = scrapy("sparql", "SELECT ?name { ?s ?p ?name FILTER(STRSTARTS(?name, 'F')) }")
    assert (result.returncode, result.stderr) == (0, "")
    assert r"\u6f22\u5b57" in result.stdout


@pytest.mark.parametrize("form", ["table", "csv", "json"])
def test_a_reader_that_has_seen_enough(tmp_path: Path, into_head: IntoHead, form: str) -> None:
    page, name = NamedNode(PAGE), NamedNode(NAME)
    with open_store(str(tmp_path / "crawl" / "store")) as store:
        store.replace(PAGE, [Quad(page, name, Literal(f"{n:0100}"), page) for n in range(5000)])
    line, errors, code = into_head("sparql", "SELECT ?name { ?s ?p ?name }", "--format", form)
    assert "name" in line
    assert (errors, code) == ("", 0)


def test_all_variables_come_in_the_order_they_appear(scrapy: Scrapy, store: None) -> None:
    result = scrapy("sparql", "SELECT DISTINCT * { ?z ?p ?a # ?b\n FILTER(?a = 'one') }")
    assert result.stdout.splitlines()[0].split() == ["z", "p", "a"]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["SELECT nonsense"], "after SELECT nonsense."),
        ([SELECT, "--format", "turtle"], "Rows cannot be written as turtle"),
        (["CONSTRUCT WHERE { ?s ?p ?o }", "--format", "csv"], "A graph cannot be written as csv"),
        ([SELECT, "--format", "yaml"], "There is no format yaml: choose one of table, json"),
        ([SELECT, "-s", "JOBDIR=nowhere"], "There is no store in nowhere"),
        ([SELECT, "-s", "JOBDIR=file"], "There is no store in file"),
        ([SELECT, "-s", "STORE_URL=nquads:nowhere"], "There are no N-Quads files in nowhere"),
        (["missing.rq"], "missing.rq is neither a query nor a file that can be read"),
        (["crawl"], "crawl is neither a query nor a file that can be read: Is a directory"),
        ([""], "neither a query nor a file"),
        (["latin.rq"], "latin.rq is not a text in UTF-8"),
        (["-"], "wrong in line 1, at its beginning."),
    ],
)
def test_a_mistake_is_answered_by_a_sentence(
    scrapy: Scrapy, store: None, tmp_path: Path, arguments: list[str], sentence: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "latin.rq").write_bytes(b"ASK { ?s ?p '\xfc' }")
    before = {*tmp_path.iterdir()}
    result = scrapy("sparql", *arguments)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("scrapy sparql: ")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert {*tmp_path.iterdir()} == before


def test_asking_makes_no_crawl(scrapy: Scrapy, tmp_path: Path) -> None:
    result = scrapy("sparql", SELECT)
    assert result.stderr.startswith("scrapy sparql: There is no store in crawl/store: run a crawl")
    assert (result.returncode, [*tmp_path.iterdir()]) == (1, [])


@pytest.mark.parametrize("kind", ["rdf4j", "gsp", "update"])
def test_a_server_that_does_not_answer_is_named_without_the_password(
    scrapy: Scrapy, kind: str
) -> None:
    url = f"{kind}+http://me:secret@127.0.0.1:1/repositories/a"
    result = scrapy("sparql", SELECT, STORE_URL=url)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith(
        "scrapy sparql: http://127.0.0.1:1/repositories/a cannot be reached: "
    )
    assert "secret" not in result.stderr
    assert result.stderr.count("\n") == 1


FAULTS = {
    "401": "answers 401: the words of the server Are STORE_USER and STORE_PASSWORD right?",
    "404": "answers 404: the words of the server",
    "500": "answers 500: the words of the server",
    "hang": "takes too long to answer: more than 0.5 seconds (STORE_TIMEOUT)",
    "drop": "cannot be reached",
    "html": "answers a query with text/html, which is not what a SPARQL server does",
    "torn": "cannot be reached: IncompleteRead",
    "nonsense": "error",
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_server_with_a_fault_gets_a_sentence(scrapy: Scrapy, fault: str) -> None:
    with endpoint(fault) as server:
        url = server.replace("//", "//me:secret@")
        result = scrapy("sparql", SELECT, STORE_URL=f"update+{url}", STORE_TIMEOUT=0.5)
    assert result.returncode == 1
    assert result.stderr.startswith("scrapy sparql: ")
    assert FAULTS[fault] in result.stderr
    assert "secret" not in result.stderr
    assert result.stderr.count("\n") == 1


def test_rows_are_shown_before_the_last_one_has_come() -> None:
    released = Event()
    with endpoint("slow", released) as server, open_store(f"update+{server}") as store:
        rows = store.query(SELECT)
        assert [next(rows)["name"].value for _ in range(100)] == ["one"] * 100
        assert not released.is_set()
        released.set()
        assert sum(1 for _ in rows) == 100


@pytest.mark.slow
def test_fuseki_is_asked_as_the_embedded_store_is(scrapy: Scrapy, tmp_path: Path) -> None:
    with fuseki_server(tmp_path / "fuseki") as (_, dataset):
        for kind in ("gsp+{}/data", "update+{}/update"):
            url = kind.format(dataset)
            page, name = NamedNode(PAGE), NamedNode(NAME)
            quads = [Quad(page, name, Literal(text), page) for text in ("one", "two")]
            with open_store(url) as store:
                store.replace(PAGE, quads)
            table = scrapy("sparql", SELECT, STORE_URL=url)
            assert (table.stderr, table.returncode) == ("", 0)
            assert table.stdout.endswith("http://site.test/a  two\n(2 rows)\n")
        wrong = scrapy("sparql", "SELECT nonsense", STORE_URL=url)
        assert "at line 1, column" in wrong.stderr


def test_a_server_that_cannot_look_into_all_graphs_is_said_to(
    scrapy: Scrapy, tmp_path: Path
) -> None:
    """Oxigraph's server is one when nobody tells it otherwise; so a proxy takes the option away."""
    with oxigraph_server(tmp_path / "oxigraph") as (_, server), gateway_to(server) as gateway:
        with open_store(f"update+{server}/update") as store:
            store.replace(PAGE, [Quad(NamedNode(PAGE), NamedNode(NAME), Literal("one"))])
        gateway.keeps_parameters = False
        url = f"update+http://127.0.0.1:{gateway.server_port}/update"
        blind = scrapy("sparql", SELECT, STORE_URL=url)
        seeing = scrapy("sparql", "SELECT ?n { GRAPH ?page { ?s ?p ?n } }", STORE_URL=url)
    assert "has its pages in named graphs" in blind.stderr
    assert blind.stdout.endswith("(0 rows)\n")
    assert (seeing.stderr, seeing.stdout) == ("", "n\n---\none\n(1 row)\n")


@pytest.mark.slow
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
