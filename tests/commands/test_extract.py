from __future__ import annotations

import argparse
import gzip
import io
import json
import subprocess
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any

import pytest
from pyoxigraph import Literal, RdfFormat, parse
from scrapy.settings import Settings

from rdfaspider.commands.trials.extract import Command
from rdfaspider.settings.identity import introduce
from rdfaspider.site.oracle import Oracle
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web
from tests.extract.samples import BOMB

if TYPE_CHECKING:
    from tests.conftest import Scrapy

PAGE = '<p about="/a" property="schema:name">One</p> <a href="/b">b</a>'
QUAD = '<http://a.test/a> <http://schema.org/name> "One" <http://a.test/> .\n'


def test_standard_input_with_a_base(scrapy: Scrapy) -> None:
    result = scrapy("extract", "-", "--base", "http://a.test/", stdin=PAGE)
    assert result.stdout == QUAD
    assert result.stderr == "1 triple, 1 link in http://a.test/\n"


def test_a_file(scrapy: Scrapy, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(PAGE)
    assert scrapy("extract", "page.html", "--base", "http://a.test/").stdout == QUAD
    assert "<file:///" in scrapy("extract", "page.html").stdout


def test_turtle_and_json(scrapy: Scrapy) -> None:
    arguments = ("extract", "-", "--base", "http://a.test/", "--format")
    assert 'schema:name "One"' in scrapy(*arguments, "turtle", stdin=PAGE).stdout
    assert "http://a.test/a" in json.dumps(
        json.loads(scrapy(*arguments, "jsonld", stdin=PAGE).stdout)
    )


def test_a_url(scrapy: Scrapy) -> None:
    parameters = Parameters(rdfa=1, jsonld=0, microdata=0)
    with running(parameters) as origin:
        result = scrapy("extract", f"{origin}/")
    quads = Oracle(Web(parameters)).triples(f"{origin}/")
    assert len(result.stdout.splitlines()) == len(quads) > 0


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["missing.html"], "missing.html: No such file or directory."),
        (["file:///missing.html"], "file:///missing.html: No such file or directory."),
        (["."], ".: Is a directory."),
        (["/proc/self/mem"], "/proc/self/mem: Input/output error."),
        (["file:///a%00b"], "file:///a%00b: embedded null byte."),
        (["file://elsewhere/a.html"], "file://elsewhere/a.html is on another machine."),
        (["ftp://a.test/"], "ftp://a.test/ is neither a file nor an http or https URL."),
        (["http://[bad/"], "Not a URL: 'http://[bad/'."),
        (
            ["http://127.0.0.1:1/"],
            "http://127.0.0.1:1/ cannot be fetched: the connection is refused",
        ),
        (["-", "--base", "nonsense"], "-: Not a URL: 'nonsense'."),
        (["empty.html"], "empty.html is empty."),
        (["empty.html.gz"], "empty.html.gz is empty."),
        (["torn.html.gz"], "torn.html.gz: damaged gzip data: Compressed file ended before"),
        (["photo.png"], "photo.png is image/png, which is not read"),
        (["page.html", "--content-type", "turtle"], "page.html is turtle, which is not read"),
        (["large.html"], "large.html has more than 1,000,000 bytes (DOWNLOAD_MAXSIZE)."),
        (["bomb.html.gz"], "bomb.html.gz has more than 1,000,000 bytes (DOWNLOAD_MAXSIZE)."),
        (["a\x1b[31m\u009b\u202eb"], r"a\x1b[31m\x9b\u202eb: No such file or directory."),
    ],
)
def test_bad_input_is_answered_by_a_sentence(
    here: Here,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "page.html").write_text(PAGE)
    (tmp_path / "photo.png").write_bytes(b"\x89PNG")
    (tmp_path / "large.html").write_bytes(b"x" * 1_000_001)
    (tmp_path / "empty.html").write_bytes(b"")
    (tmp_path / "empty.html.gz").write_bytes(gzip.compress(b""))
    (tmp_path / "torn.html.gz").write_bytes(gzip.compress(PAGE.encode())[:-9])
    (tmp_path / "bomb.html.gz").write_bytes(gzip.compress(bytes(1_000_001)))
    result = here(*arguments, stdin=PAGE, DOWNLOAD_MAXSIZE=1_000_000)
    assert result.returncode == 1
    assert result.stderr.startswith(f"scrapy extract: {sentence}")
    assert result.stderr.count("\n") == 1
    assert result.stdout == ""


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [("missing.html", "No such file"), ("http://127.0.0.1:1/", "refused"), ("-", "is empty")],
)
def test_bad_input_ends_the_process_with_1(scrapy: Scrapy, argument: str, sentence: str) -> None:
    result = scrapy("extract", argument)
    assert result.returncode == 1
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1


def test_a_wrong_setting_is_answered_by_a_sentence(scrapy: Scrapy) -> None:
    result = scrapy("extract", "-", stdin=PAGE, EXTRACT_FORMATS="rdfb")
    assert result.returncode == 1
    assert "EXTRACT_FORMATS=rdfb is wrong" in result.stderr
    assert "Traceback" not in result.stderr


TURTLE = '<http://a.test/a> <http://schema.org/name> "One" .'
RDF_XML = """<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">
  <rdf:Description rdf:about="http://a.test/a"><name xmlns="http://schema.org/">One</name>
  </rdf:Description></rdf:RDF>"""
JSON = '{"@id": "http://a.test/a", "http://schema.org/name": "One"}'
XHTML = f'<html xmlns="http://www.w3.org/1999/xhtml"><body>{PAGE}</body></html>'


@pytest.mark.parametrize(
    ("suffix", "body"),
    [
        (".html", PAGE),
        (".htm", PAGE),
        ("", PAGE),
        (".xhtml", XHTML),
        (".ttl", TURTLE),
        (".nt", TURTLE),
        (".nq", TURTLE),
        (".trig", TURTLE),
        (".rdf", RDF_XML),
        (".owl", RDF_XML),
        (".xml", RDF_XML),
        (".json", JSON),
        (".jsonld", JSON),
    ],
)
def test_a_page_is_read_by_its_name(
    here: Here, tmp_path: Path, serve: Serve, suffix: str, body: str
) -> None:
    base = ("--base", "http://a.test/")
    plain = tmp_path / f"a page{suffix}"
    plain.write_text(body)
    assert here(str(plain), *base).stdout == QUAD
    assert here(plain.as_uri(), *base).stdout == QUAD
    packed = gzip.compress(body.encode())
    for name in (f"b{suffix}.gz", f"c{suffix}"):
        (tmp_path / name).write_bytes(packed)
        assert here(str(tmp_path / name), *base).stdout == QUAD
    server = serve({f"/page{suffix}.gz": ("application/gzip", packed)})
    told = here(f"{server.origin}/page{suffix}.gz", *base)
    assert (
        told.stdout == QUAD if suffix else "is application/gzip, which is not read" in told.stderr
    )


def test_the_settings_of_a_crawl_hold(here: Here) -> None:
    page = f"""<p vocab="http://xmlns.com/foaf/0.1/" typeof="Person" resource="/x" role="note"></p>
      <script type="application/ld+json">{JSON}</script>"""

    def found(**settings: object) -> int:
        return here("-", stdin=page, **settings).stdout.count("\n")

    assert found() == 3
    assert found(EXTRACT_FORMATS="rdfa") == 2
    assert found(EXTRACT_ROLE=True) == 4
    assert found(EXTRACT_EXPAND=True) > 3
    assert found(EXTRACT_MAX_QUADS=1) == 1
    assert found(EXTRACT_MAX_BYTES=100) == 2


def test_the_version_of_rdfa_can_be_told(scrapy: Scrapy) -> None:
    page = '<img xmlns:ex="http://e/" src="/s" rel="ex:r" resource="/o">'
    arguments = ("extract", "-", "--base", "http://a.test/", "--rdfa")
    assert scrapy(*arguments, "1.0", stdin=page).stdout.startswith("<http://a.test/s>")
    assert scrapy(*arguments, "1.1", stdin=page).stdout.startswith("<http://a.test/>")


def test_relative_links_of_a_file_lead_to_files(scrapy: Scrapy, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text('<a href="b.html">b</a><a href="http://c.test">c</a>')
    result = scrapy("extract", "page.html", "--links")
    folder = tmp_path.resolve().as_uri()
    assert result.stdout == f"{folder}/b.html\nhttp://c.test/\n"
    assert result.stderr == f"0 triples, 2 links in {folder}/page.html\n"
    assert "links      2\n" in scrapy("extract", "page.html", "--explain").stdout


def test_explain_says_what_was_found_and_dropped(scrapy: Scrapy) -> None:
    page = PAGE + '<p id="p" role="note"><a href="mailto:x">x</a><title>T</title>'
    arguments = ("extract", "-", "--base", "http://a.test/", "--explain")
    result = scrapy(*arguments, stdin=page, EXTRACT_ROLE=True)
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert "title T" in lines
    assert "links 1" in lines
    assert "rdfa 2 triples" in lines
    assert "left out: invalid_links 1" in lines
    assert "a crawl drops: role 1 triple" in lines
    assert "a crawl keeps: 1 triple" in lines


def test_explain_accounts_for_every_triple(scrapy: Scrapy) -> None:
    page = (
        '<p property="schema:name">One<i id=a role=note></i><i id=b role=main></i>'
        '<p itemscope itemtype="http://schema.org/Thing"><i itemprop=name>Two</i>'
    )
    result = scrapy("extract", "-", "--explain", stdin=page, FILTER_DROP='name: * * "One"')
    lines = [" ".join(line.split()) for line in result.stdout.splitlines()]
    assert {"rdfa 3 triples", "microdata 2 triples"} <= set(lines), "pyRdfa3 finds the roles too"
    assert lines[-3:] == [
        "a crawl drops: name 1 triple",
        "a crawl drops: role 2 triples",
        "a crawl keeps: 2 triples",
    ]


def test_explain_counts_what_the_settings_leave_out(scrapy: Scrapy) -> None:
    links = "".join(f'<a href="/{n}">n</a>' for n in range(12))
    page = f'<p property="schema:name">One</p><p property="schema:url">Two</p>{links}<p>'
    changed = {"EXTRACT_MAX_QUADS": 1, "EXTRACT_MAX_BYTES": len(page), "EXTRACT_MAX_LINKS": 10}
    result = scrapy("extract", "-", "--explain", stdin=page + "x" * 1234, **changed)
    lines = result.stdout.splitlines()
    assert "links      12" in lines
    assert "left out: quads 1 or more (EXTRACT_MAX_QUADS is 1)" in lines
    assert f"left out: body 1,234 (EXTRACT_MAX_BYTES is {len(page):,})" in lines
    assert "a crawl drops: links 2 or more (EXTRACT_MAX_LINKS is 10)" in lines


def test_explain_names_limits_that_are_no_settings(scrapy: Scrapy) -> None:
    page = "".join(f'<a href="/{n}">n</a>' for n in range(10_007))
    lines = scrapy("extract", "-", "--explain", stdin=page).stdout.splitlines()
    assert "left out: links 7 (the limit is 10,000)" in lines


HOSTILE = "\x1b[31m \x07 \u009b5m \x7f \u202e \u2603 \u00e9"


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_explain_suits_every_terminal(monkeypatch: pytest.MonkeyPatch, encoding: str) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", encoding)
    page = f"<title>{HOSTILE}</title>"
    told = run_bytes("extract", "-", "--explain", stdin=page.encode())
    assert told.returncode == 0
    (title,) = [line for line in told.stdout.split(b"\n") if line.startswith(b"title")]
    text = title.decode(encoding)
    assert r"\x1b[31m" in text
    assert r"\x9b5m" in text
    assert r"\u202e" in text
    assert ("\u00e9" in text) is (encoding != "ascii")
    assert ("\u2603" in text) is (encoding == "utf-8")


def test_triples_are_utf_8_whatever_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    page = '<p property="schema:name">\u2603</p>'
    told = run_bytes("extract", "-", stdin=page.encode())
    assert "\u2603" in told.stdout.decode("utf-8")


@pytest.mark.parametrize("name", ["nquads", "turtle", "jsonld"])
def test_no_format_lets_a_page_command_the_terminal(here: Here, name: str) -> None:
    text = here("-", "--format", name, stdin=f'<p property="schema:name">{HOSTILE}</p>').stdout
    assert not any(unicodedata.category(c) == "Cc" for c in text.replace("\n", ""))
    assert "\u2603" in text
    kind = {"nquads": RdfFormat.N_QUADS, "turtle": RdfFormat.TURTLE, "jsonld": RdfFormat.JSON_LD}
    (quad,) = parse(text, kind[name])
    assert isinstance(quad.object, Literal)
    assert quad.object.value == HOSTILE


def test_a_reader_may_stop_reading(tmp_path: Path) -> None:
    (tmp_path / "many.nt").write_text(
        "".join(f'<http://a.test/{n}> <http://schema.org/name> "One" .\n' for n in range(20_000))
    )
    command = [sys.executable, "-m", "rdfaspider", "extract", str(tmp_path / "many.nt")]
    for more in ([], ["--format", "turtle"]):
        with subprocess.Popen(
            [*command, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            assert process.stderr is not None
            assert process.stdout.read(10)
            process.stdout.close()
            assert process.stderr.read() == b""
        assert process.returncode == 0


@pytest.mark.parametrize("contact", ["", "mailto:ada@a.test"])
def test_a_server_is_asked_as_in_a_crawl(scrapy: Scrapy, serve: Serve, contact: str) -> None:
    server = serve({"/": ("text/html", PAGE.encode())})
    assert scrapy("extract", f"{server.origin}/", POLITENESS_CONTACT=contact).returncode == 0
    (headers,) = server.asked
    settings = project_settings(POLITENESS_CONTACT=contact)
    introduce(settings, [])
    assert headers["User-Agent"] == settings["USER_AGENT"]
    assert contact in headers["User-Agent"]
    assert headers["Accept"] == settings["DEFAULT_REQUEST_HEADERS"]["Accept"]


def test_a_redirect_does_not_lead_to_a_private_address(scrapy: Scrapy, serve: Serve) -> None:
    canary = serve({"/": ("text/html", PAGE.encode())})
    server = serve({"/": ("location", f"{canary.origin}/".encode())})
    result = scrapy("extract", f"{server.origin}/")
    assert result.returncode == 1
    assert "has a loopback address" in result.stderr
    assert canary.asked == []
    allowed = canary.origin.removeprefix("http://")
    assert scrapy("extract", f"{server.origin}/", RESOLVER_ALLOW=allowed).returncode == 0
    assert len(canary.asked) == 1


def test_a_server_that_knows_no_types_is_not_asked_for_them(here: Here, serve: Serve) -> None:
    server = serve(
        {
            "/a.ttl": ("text/plain; charset=utf-8", TURTLE.encode()),
            "/b.nt": ("application/octet-stream", TURTLE.encode()),
            "/c": ("", PAGE.encode()),
            "/d": ("application/json", JSON.encode()),
        }
    )
    for path in ("a.ttl", "b.nt", "c"):
        result = here(f"{server.origin}/{path}", "--base", "http://a.test/")
        assert result.stdout == QUAD
    refused = here(f"{server.origin}/d")
    assert "is application/json, which is not read" in refused.stderr
    told = ("--content-type", "application/ld+json", "--base", "http://a.test/")
    assert here(f"{server.origin}/d", *told).stdout == QUAD


def run_bytes(*arguments: str, stdin: bytes) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "rdfaspider", *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, timeout=60, check=False)


def project_settings(**changes: object) -> Settings:
    settings = Settings()
    settings.setmodule("rdfaspider.settings", priority="project")
    settings.update(changes, priority="cmdline")
    return settings


Here = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def here(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Here:
    """Run the command in this process: for the many ways of input, of which a few are run as users do."""

    def run(
        *arguments: str, stdin: str = "", **changes: object
    ) -> subprocess.CompletedProcess[str]:
        command = Command()
        command.settings = project_settings(**changes)
        parser = argparse.ArgumentParser(conflict_handler="resolve")
        command.add_options(parser)
        options, names = parser.parse_known_args(arguments)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        command.run(names, options)
        written = capsys.readouterr()
        return subprocess.CompletedProcess(names, command.exitcode, written.out, written.err)

    return run


@dataclass
class Server:
    """Answers by path: a type and a body, or `location` and where to go."""

    origin: str
    answers: dict[str, tuple[str, bytes]]
    asked: list[Any] = field(default_factory=list)  # the headers of each request


Serve = Callable[[dict[str, tuple[str, bytes]]], Server]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start servers on loopback."""
    running: list[ThreadingHTTPServer] = []

    def start(answers: dict[str, tuple[str, bytes]]) -> Server:
        server = Server("", answers)

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked.append(self.headers)
                kind, body = server.answers[self.path]
                self.send_response(302 if kind == "location" else 200)
                if kind == "location":
                    self.send_header("Location", body.decode())
                elif kind:
                    self.send_header("Content-Type", kind)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        listening = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        Thread(target=listening.serve_forever, daemon=True).start()
        running.append(listening)
        server.origin = f"http://127.0.0.1:{listening.server_port}"
        return server

    yield start
    for listening in running:
        listening.shutdown()
        listening.server_close()


def compared(scrapy: Scrapy, page: str) -> subprocess.CompletedProcess[str]:
    return scrapy("extract", "-", "--compare", "--base", "http://a.test/", stdin=page)


def test_what_pyrdfa3_reads_as_well_is_the_same(scrapy: Scrapy) -> None:
    # Two blank nodes with the same properties, a list, and a role.
    page = (
        '<div typeof="schema:Person"><b property="schema:name">A</b></div>' * 2
        + '<p role="main" property="schema:x" inlist>B</p>'
    )
    same = compared(scrapy, page)
    assert (same.returncode, same.stdout) == (0, ""), same.stderr
    assert same.stderr == "pyRdfa3 reads the same in http://a.test/\n"


def test_what_pyrdfa3_reads_otherwise_is_shown(scrapy: Scrapy) -> None:
    # In HTML an empty @rel beside @property counts as absent, which pyRdfa3 does not know. The blank node
    # around it is the same for both.
    page = (
        '<div typeof="schema:Person"><b property="schema:name">A</b>'
        '<a rel="" property="schema:url" href="/b">C</a></div>'
    )
    found = compared(scrapy, page)
    assert found.returncode == 1, found.stderr
    signs = [line[0] for line in found.stdout.splitlines()]
    assert signs == sorted(signs, reverse=True) and set(signs) <= {"+", "-"}
    assert "schema.org/url" in found.stdout
    assert "schema.org/name" not in found.stdout  # what is the same is not shown


def test_what_pyrdfa3_cannot_read_has_an_exit_code_of_its_own(scrapy: Scrapy) -> None:
    deep = compared(scrapy, '<div property="schema:name">' * 1500)
    assert deep.returncode == 2, deep.stdout
    assert "pyRdfa3 cannot read http://a.test/ (RecursionError" in deep.stderr


def test_an_endless_tree_is_answered_by_a_sentence(scrapy: Scrapy, tmp_path: Path) -> None:
    (tmp_path / "endless.html").write_bytes(BOMB)
    result = scrapy("extract", "endless.html")
    assert result.returncode == 1
    assert result.stderr.endswith("endless.html takes more memory to read than a page may.\n")


def test_an_endless_tree_is_not_given_to_pyrdfa3(scrapy: Scrapy) -> None:
    found = compared(scrapy, BOMB.decode())
    assert found.returncode == 2, found.stdout
    assert "http://a.test/ takes more memory to read than a page may." in found.stderr


def test_a_crawl_counts_where_pyrdfa3_reads_otherwise(scrapy: Scrapy) -> None:
    parameters = Parameters(seed=2, levels=1, pages=2, rdfa=1, jsonld=0, microdata=0)
    with running(parameters) as origin:
        result = scrapy(
            *("crawl", "rdfa", "-a", f"seeds={origin}/"),
            EXTRACT_REFERENCE="pyrdfa3",
            POLITENESS_DELAY=0,
            STATS_DUMP=1,
        )
    assert result.returncode == 0, result.stderr
    assert "'extract/reference/same'" in result.stderr
    assert "'extract/reference/differs'" not in result.stderr
