from __future__ import annotations

import bz2
import gzip
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING

import pytest
from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, parse

from rdfaspider.commands.results.export import _Tally
from rdfaspider.stores import Refused, open_store
from rdfaspider.stores.changes import Change
from rdfaspider.stores.dump import FORMATS, Format
from rdfaspider.stores.embedded import Embedded
from rdfaspider.stores.embedded.oxigraph import OxigraphStore
from rdfaspider.stores.outbox.database import OutboxDatabase
from rdfaspider.stores.selection import TYPE
from rdfaspider.terminal import StatusLine
from tests.commands.test_sparql import endpoint
from tests.stores.conftest import PROJECT, oxigraph_server, url_of
from tests.test_terminal import Screen

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from tests.commands.conftest import IntoHead
    from tests.conftest import Scrapy

PAGE = "http://site.test/a"
NAME = NamedNode("http://schema.org/name")


def quads(*names: str) -> list[Quad]:
    page = NamedNode(PAGE)
    return [Quad(page, NAME, Literal(n), page) for n in names]


@pytest.fixture
def outbox(tmp_path: Path) -> None:
    """Leave an outbox with one page that was refused and one that waits."""
    database = OutboxDatabase(str(tmp_path / "crawl" / "outbox"))
    database.put([(Change.replacing("http://site.test/b", quads("refused")), b"")])
    database.refuse(database.batch(1)[0], Refused(400, "malformed data"))
    database.put([(Change.replacing(PAGE, quads("waits")), b"")])
    database.close()


@pytest.mark.parametrize("kind", ["", "nquads:"])
def test_a_store_is_written_whole(scrapy: Scrapy, tmp_path: Path, kind: str) -> None:
    url = f"{kind}{tmp_path / 'crawl' / 'store'}"
    with open_store(url) as store:
        store.replace(PAGE, quads("old"))
        store.replace(PAGE, quads("one", "two"))
    result = scrapy("export", STORE_URL=url)
    assert result.returncode == 0, result.stderr
    assert set(parse(result.stdout.encode(), RdfFormat.N_QUADS)) == set(quads("one", "two"))


OTHER = "http://other.test/b"
PERSON = NamedNode("http://schema.org/Person")


@pytest.fixture
def store(tmp_path: Path) -> set[Quad]:
    """Leave a store of two pages on two hosts, one of which has a person; return its quads."""
    other = NamedNode(OTHER)
    second = [Quad(other, TYPE, PERSON, other), Quad(other, NAME, Literal("Füße\n"), other)]
    with open_store(str(tmp_path / "crawl" / "store")) as store:
        store.replace(PAGE, quads("one", "two"))
        store.replace(OTHER, second)
    return {*quads("one", "two"), *second}


DECOMPRESS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    ".gz": gzip.decompress,
    ".bz2": bz2.decompress,
    ".zst": zstd.decompress,
}


@pytest.mark.parametrize("kind", FORMATS, ids=lambda kind: kind.name)
def test_every_format_says_the_same(
    scrapy: Scrapy, tmp_path: Path, store: set[Quad], kind: Format
) -> None:
    result = scrapy("export", "-o", f"out{kind.suffix}")
    assert result.returncode == 0, result.stderr
    text = (tmp_path / f"out{kind.suffix}").read_bytes()
    lines = result.stderr.splitlines()
    assert lines[0] == (
        f"4 triples of 2 graphs written as {kind.name} in out{kind.suffix}, {len(text):,} bytes."
    )
    found = list(parse(text, kind.rdf))
    if kind.has_graphs:
        assert set(found) == store
        assert len(lines) == 1
    else:
        assert {quad.triple for quad in found} == {quad.triple for quad in store}
        assert lines[1:] == [
            f"{kind.name} has no named graphs, so the page of each triple is lost; nquads, trig and jsonld"
            " keep it."
        ]
    if kind.name in ("turtle", "trig"):
        assert b"a schema:Person" in text
    assert scrapy("export", "--format", kind.name).stdout.encode() == text


@pytest.mark.parametrize("suffix", DECOMPRESS)
@pytest.mark.parametrize("kind", ["nq", "ttl"])
def test_a_file_is_compressed_by_its_name(
    scrapy: Scrapy, tmp_path: Path, store: set[Quad], kind: str, suffix: str
) -> None:
    result = scrapy("export", "-o", f"out.{kind}{suffix}", "--host", "site.test")
    assert result.returncode == 0, result.stderr
    text = DECOMPRESS[suffix]((tmp_path / f"out.{kind}{suffix}").read_bytes())
    expected = scrapy("export", "--format", kind, "--host", "site.test").stdout
    assert text.decode() == expected
    assert '"one"' in expected
    assert [path.name for path in tmp_path.iterdir() if path.name != "crawl"] == [
        f"out.{kind}{suffix}"
    ]


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--host", "site.test"], {"one", "two"}),
        (["--host", "site.test", "--host", "OTHER.test"], {"one", "two", "Füße\n", PERSON.value}),
        (["--host", "nowhere.test"], set()),
        (["--type", PERSON.value], {"Füße\n", PERSON.value}),
        (["--predicate", NAME.value], {"one", "two", "Füße\n"}),
        (["--type", PERSON.value, "--predicate", NAME.value], {"Füße\n"}),
        (["--construct", "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o FILTER(?o = 'two') }"], {"two"}),
        (["--construct", "part.rq"], {"one"}),
    ],
)
def test_a_part_can_be_written(
    scrapy: Scrapy, tmp_path: Path, store: set[Quad], options: list[str], names: set[str]
) -> None:
    (tmp_path / "part.rq").write_text("CONSTRUCT { ?s ?p ?o } { ?s ?p ?o FILTER(?o = 'one') }")
    result = scrapy("export", *options)
    assert result.returncode == 0, result.stderr
    found = parse(result.stdout.encode(), RdfFormat.N_QUADS)
    assert {quad.object.value for quad in found} == names
    assert result.stderr.startswith(f"{len(names)} triple")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rdf4j", "update", "fuseki-gsp"])
def test_a_part_of_what_is_on_a_server(
    scrapy: Scrapy, tmp_path: Path, request: pytest.FixtureRequest, kind: str
) -> None:
    url = url_of(kind, request, tmp_path)
    with open_store(url) as store:
        store.replace(PAGE, quads("one", "two"))
        store.replace(OTHER, quads("other"))
    result = scrapy("export", "--host", "site.test", "-o", "out.trig.zst", STORE_URL=url)
    assert result.returncode == 0, result.stderr
    text = zstd.decompress((tmp_path / "out.trig.zst").read_bytes())
    assert set(parse(text, RdfFormat.TRIG)) == set(quads("one", "two"))
    query = "CONSTRUCT { ?s ?p ?o } { ?s ?p ?o FILTER(?o = 'other') }"
    constructed = scrapy("export", "--construct", query, "--format", "nt", STORE_URL=url)
    assert constructed.stdout == f'<{PAGE}> <{NAME.value}> "other" .\n'


def test_what_was_there_stays_when_the_export_fails(scrapy: Scrapy, tmp_path: Path) -> None:
    (tmp_path / "out.nq").write_text("before")
    with endpoint("torn") as server:
        result = scrapy("export", "-o", "out.nq", STORE_URL=f"update+{server}")
    assert result.returncode == 1
    assert "cannot be reached: IncompleteRead" in result.stderr
    assert [path.read_text() for path in tmp_path.iterdir()] == ["before"]


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_an_interrupted_export_leaves_no_torn_file(tmp_path: Path, end: signal.Signals) -> None:
    command = [sys.executable, "-m", "rdfaspider", "export", "-o", "out.nq"]
    with endpoint("slow", Event()) as server:
        command += ["-s", f"STORE_URL=update+{server}"]
        environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
        with subprocess.Popen(
            command, cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True
        ) as process:
            while not [*tmp_path.glob(".out.nq.*.part")]:
                assert process.poll() is None
                time.sleep(0.01)
            process.send_signal(end)
            assert process.stderr
            errors = process.stderr.read()
    assert not (tmp_path / "out.nq").exists()
    if end == signal.SIGINT:
        assert (errors, process.returncode) == ("scrapy export: interrupted.\n", 130)
        assert not [*tmp_path.iterdir()]


def test_a_link_stays_a_link_and_a_file_keeps_its_mode(
    scrapy: Scrapy, tmp_path: Path, store: set[Quad]
) -> None:
    target, link = tmp_path / "target.nq", tmp_path / "link.nq"
    target.touch(0o640)
    link.symlink_to(target)
    assert scrapy("export", "-o", "link.nq").returncode == 0
    assert link.is_symlink()
    assert target.stat().st_size > 100
    assert target.stat().st_mode & 0o777 == 0o640
    assert scrapy("export", "-o", "/dev/null").returncode == 0
    assert Path("/dev/null").is_char_device()


def test_a_reader_that_has_seen_enough(tmp_path: Path, into_head: IntoHead) -> None:
    with open_store(str(tmp_path / "crawl" / "store")) as store:
        store.replace(PAGE, quads(*(f"{number:0100}" for number in range(5000))))
    for kind in ("nquads", "turtle"):
        line, errors, code = into_head("export", "--format", kind)
        assert line
        assert (errors, code) == ("", 0)


def test_how_far_it_has_come_is_shown(tmp_path: Path) -> None:
    screen = Screen()
    with StatusLine(screen, interval=0) as line:
        tally = _Tally()
        assert sum(1 for _ in tally.watch(quads("one") * 10_000, line)) == 10_000
    assert "4,096 triples of 1 graph …" in screen.text
    assert "8,192 triples of 1 graph …" in screen.text


@pytest.mark.slow
def test_what_the_embedded_store_refused_is_written_with_the_reason(
    scrapy: Scrapy, tmp_path: Path
) -> None:
    nothing = scrapy("export", "--aside")
    assert nothing.returncode == 1
    with Embedded(OxigraphStore(str(tmp_path / "crawl" / "store"))) as store:
        store.put([Change(PAGE, b"<broken .\n", 1), Change.replacing(OTHER, quads("fine"))])
    result = scrapy("export", "--aside")
    assert (result.returncode, result.stderr) == (0, "1 page was refused.\n")
    why, head, quad = result.stdout.splitlines()
    assert why.startswith("# Parser error")
    assert head.startswith(f"# <{PAGE}> replaces")
    assert quad == f"<broken <{PAGE}> ."


def test_an_outbox_is_written_and_what_was_refused_says_why(scrapy: Scrapy, outbox: None) -> None:
    waiting = scrapy("export", "--outbox").stdout
    assert waiting == f'<{PAGE}> <http://schema.org/name> "waits" <{PAGE}> .\n'
    refused = scrapy("export", "--aside").stdout
    assert refused.startswith("# 400 <http://site.test/b> malformed data\n")
    assert '"refused" <http://site.test/b> .' in refused


def test_an_outbox_is_sent_without_a_crawl(scrapy: Scrapy, outbox: None, tmp_path: Path) -> None:
    with oxigraph_server(tmp_path / "server") as (_, url):
        result = scrapy("export", "--send", STORE_URL=f"gsp+{url}/store")
        exported = scrapy("export", STORE_URL=f"gsp+{url}/store")
    assert result.stdout == "2 quads sent, 0 pages refused, 0 wait.\n"
    assert {quad.object.value for quad in parse(exported.stdout, RdfFormat.N_QUADS)} == {
        "waits",
        "refused",
    }


def test_what_cannot_be_sent_stays(scrapy: Scrapy, outbox: None) -> None:
    url = "update+http://127.0.0.1:1/update"
    result = scrapy("export", "--send", STORE_URL=url, STORE_DRAIN_SECONDS=0.1)
    assert result.stdout == "0 quads sent, 0 pages refused, 2 wait.\n"
    assert result.returncode == 1
    assert '"waits"' in scrapy("export", "--outbox").stdout


KNOWN = (
    "take one of nquads (.nq), trig (.trig), jsonld (.jsonld), ntriples (.nt), turtle (.ttl); a file is"
    " compressed if its name ends in .gz, .bz2, .zst."
)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["-s", "JOBDIR=nowhere"], "There is no store in nowhere/store"),
        (["-s", "JOBDIR=file"], "There is no store in file/store"),
        (["--outbox"], "There is no outbox in crawl/outbox"),
        (
            ["--send", "-s", "STORE_URL=gsp+http://127.0.0.1:1/"],
            "There is no outbox in crawl/outbox",
        ),
        (
            ["-s", "STORE_URL=rdf4j+http://me:secret@127.0.0.1:1/repositories/a"],
            "cannot be reached",
        ),
        (["-o", "nowhere/out.nq"], "No such file"),
        (["-o", "crawl"], "Is a directory"),
        (["--format", "rdfxml"], f"There is no format rdfxml: {KNOWN}"),
        (["-o", "out.csv"], f"There is no format of files like out.csv: {KNOWN}"),
        (["-o", "out.csv.gz"], f"There is no format of files like out.csv.gz: {KNOWN}"),
        (["-o", "out.nq.xz"], f"There is no format of files like out.nq.xz: {KNOWN}"),
        (["--host", "http://site.test/"], "http://site.test/ is not a host"),
        (["--type", "Person"], "Person is not an IRI"),
        (["--construct", "SELECT * { ?s ?p ?o }"], "--construct needs a CONSTRUCT"),
        (["--construct", "CONSTRUCT nonsense {}"], "wrong in line 1,"),
        (["--construct", "CONSTRUCT {} {}", "--host", "a.test"], "--host and --construct cannot"),
        (["--host", "a.test", "--outbox"], "--host is about the store and cannot go with --outbox"),
        (["--aside", "--format", "turtle"], "as N-Quads only"),
    ],
)
def test_a_mistake_is_answered_by_a_sentence(
    scrapy: Scrapy, tmp_path: Path, store: set[Quad], options: list[str], sentence: str
) -> None:
    (tmp_path / "file").touch()
    before = {*tmp_path.rglob("*")}
    result = scrapy("export", *options)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("scrapy export: ")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert "secret" not in result.stderr
    assert {*tmp_path.rglob("*")} == before


@pytest.mark.parametrize("options", [[], ["--outbox"], ["--aside"], ["--send"]])
def test_looking_makes_no_crawl(scrapy: Scrapy, tmp_path: Path, options: list[str]) -> None:
    scrapy("export", *options)
    assert [*tmp_path.iterdir()] == []
