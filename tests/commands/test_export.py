from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyoxigraph import Literal, NamedNode, Quad, RdfFormat, parse

from rdfaspider.stores import open_store
from rdfaspider.stores.changes import Change
from rdfaspider.stores.spool import Spool
from tests.stores.conftest import oxigraph_server

if TYPE_CHECKING:
    from tests.conftest import Scrapy

PAGE = "http://site.test/a"


def quads(*names: str) -> list[Quad]:
    page = NamedNode(PAGE)
    return [Quad(page, NamedNode("http://schema.org/name"), Literal(n), page) for n in names]


@pytest.fixture
def spool(tmp_path: Path) -> None:
    """Leave an outbox with one page that was refused and one that waits."""
    spool = Spool(str(tmp_path / "crawl" / "outbox"))
    spool.put(Change.replacing("http://site.test/b", quads("refused")))
    spool.set_aside(spool.batch(1)[0], 400, "malformed data")
    spool.put(Change.replacing(PAGE, quads("waits")))
    spool.close()


@pytest.mark.parametrize("kind", ["", "nquads:"])
def test_a_store_is_written_whole(scrapy: Scrapy, tmp_path: Path, kind: str) -> None:
    url = f"{kind}{tmp_path / 'crawl' / 'store'}"
    with open_store(url) as store:
        store.replace(PAGE, quads("old"))
        store.replace(PAGE, quads("one", "two"))
    result = scrapy("export", STORE_URL=url)
    assert result.returncode == 0, result.stderr
    assert set(parse(result.stdout.encode(), RdfFormat.N_QUADS)) == set(quads("one", "two"))


def test_a_file_is_compressed_by_its_name(scrapy: Scrapy, tmp_path: Path) -> None:
    with open_store(str(tmp_path / "crawl" / "store")) as store:
        store.replace(PAGE, quads("one"))
    for name in ("out.nq", "out.nq.gz"):
        assert scrapy("export", "-o", name).returncode == 0
    plain = (tmp_path / "out.nq").read_bytes()
    assert list(parse(plain, RdfFormat.N_QUADS)) == quads("one")
    assert gzip.decompress((tmp_path / "out.nq.gz").read_bytes()) == plain


def test_an_outbox_is_written_and_what_was_refused_says_why(scrapy: Scrapy, spool: None) -> None:
    waiting = scrapy("export", "--outbox").stdout
    assert waiting == f'<{PAGE}> <http://schema.org/name> "waits" <{PAGE}> .\n'
    refused = scrapy("export", "--aside").stdout
    assert refused.startswith("# 400 <http://site.test/b> malformed data\n")
    assert '"refused" <http://site.test/b> .' in refused


def test_an_outbox_is_sent_without_a_crawl(scrapy: Scrapy, spool: None, tmp_path: Path) -> None:
    with oxigraph_server(tmp_path / "server") as (_, url):
        result = scrapy("export", "--send", STORE_URL=f"gsp+{url}/store")
        exported = scrapy("export", STORE_URL=f"gsp+{url}/store")
    assert result.stdout == "2 quads sent, 0 pages refused, 0 wait.\n"
    assert {quad.object.value for quad in parse(exported.stdout, RdfFormat.N_QUADS)} == {
        "waits",
        "refused",
    }


def test_what_cannot_be_sent_stays(scrapy: Scrapy, spool: None) -> None:
    url = "update+http://127.0.0.1:1/update"
    result = scrapy("export", "--send", STORE_URL=url, STORE_DRAIN_SECONDS=0.1)
    assert result.stdout == "0 quads sent, 0 pages refused, 2 wait.\n"
    assert result.returncode == 1
    assert '"waits"' in scrapy("export", "--outbox").stdout


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ([], "There is no store in crawl/store"),
        (["--outbox"], "There is no outbox in crawl/outbox"),
        (["-s", "STORE_URL=gopher://x"], "STORE_URL=gopher://x is wrong"),
        (
            ["-s", "STORE_URL=rdf4j+http://me:secret@127.0.0.1:1/repositories/a"],
            "cannot be reached",
        ),
        (["-o", "nowhere/out.nq"], "No such file"),
    ],
)
def test_a_mistake_is_answered_by_a_sentence(
    scrapy: Scrapy, options: list[str], sentence: str
) -> None:
    result = scrapy("export", *options)
    assert result.returncode == 1
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr
    assert "secret" not in result.stderr
