"""The provenance of pages leads to their records, and is the same when these are read again."""

from __future__ import annotations

import csv
import gzip
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.stores import open_store

Scrapy = Callable[..., subprocess.CompletedProcess[str]]

DOCS = Path(__file__).parent.parent / "docs" / "archive.md"
SETTINGS = {
    "POLITENESS_OFF_FOR_OWN_SERVERS": 1,
    "EXTRACT_PROCESSES": 0,
    "ARCHIVE": 1,
    "STORE_PROVENANCE": 1,
}


@pytest.fixture
def crawled(scrapy: Scrapy) -> str:
    """Crawl a generated web with copies, which become revisits; return its first page."""
    with running(Parameters(seed=2, levels=2, pages=4, duplicated=0.3, redirected=0.1)) as url:
        done = scrapy("crawl", "rdfa", "-a", f"seeds={url}", **SETTINGS)
    assert done.returncode == 0, done.stderr
    return url


def quads_in(store: Path) -> set[str]:
    with open_store(str(store), read_only=True) as opened:
        return {str(quad) for quad in opened.quads()}


def query_of_the_docs() -> str:
    found = re.search(r"^ {4}PREFIX prov:.*?^ {4}\} ORDER BY \S+$", DOCS.read_text(), re.M | re.S)
    assert found
    return re.sub(r"(?m)^ {4}", "", found[0])


def test_the_query_of_the_docs_finds_the_record(
    scrapy: Scrapy, crawled: str, tmp_path: Path
) -> None:
    graphs = set(re.findall(r"#generated> <([^>]*)>", "".join(quads_in(tmp_path / "crawl/store"))))
    assert len(graphs) > 10
    kinds = set()
    for graph in sorted(graphs)[:3]:
        (tmp_path / "record.rq").write_text(
            query_of_the_docs().replace("https://example.org/a", graph)
        )
        done = scrapy("sparql", "record.rq", "--format", "csv")
        assert done.returncode == 0, done.stderr
        (row,) = csv.DictReader(done.stdout.splitlines())
        data = (tmp_path / "crawl" / "archive" / row["file"]).read_bytes()
        begin, length = int(row["offset"]), int(row["length"])
        record = gzip.decompress(data[begin : begin + length]).decode()
        date = row["date"].replace(".000+00:00", "Z").replace("+00:00", "Z")
        for line in (
            f"WARC-Record-ID: <{row['record']}>",
            f"WARC-Target-URI: {graph}",
            f"WARC-Payload-Digest: {row['digest']}",
            f"WARC-Date: {date}",
        ):
            assert f"\r\n{line}\r\n" in record
        kinds.add(record.partition("WARC-Type: ")[2].partition("\r\n")[0])
    assert "response" in kinds


@pytest.mark.parametrize("processes", ["0", "1"])
def test_a_replay_gives_the_provenance_of_the_crawl(
    scrapy: Scrapy, crawled: str, tmp_path: Path, processes: str
) -> None:
    before = quads_in(tmp_path / "crawl" / "store")
    assert any("wasDerivedFrom" in quad for quad in before)
    done = scrapy("replay", "--to", "again", "--processes", processes, STORE_PROVENANCE=1)
    assert done.returncode == 0, done.stderr
    assert quads_in(tmp_path / "again") == before
    # And into its own store it adds nothing.
    done = scrapy("replay", "--processes", processes, STORE_PROVENANCE=1)
    assert done.returncode == 0, done.stderr
    assert quads_in(tmp_path / "crawl" / "store") == before
