"""Hostile archives end in a counted skip, in bounded memory, and the good pages among them are read."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import tracemalloc
import zlib
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rdfaspider.archive.answers import Answer, Answers, Wanted
from rdfaspider.archive.har import read_har
from rdfaspider.archive.index.captures import Capture
from rdfaspider.archive.index.index import add_segment
from rdfaspider.stores import open_store

Scrapy = Callable[..., subprocess.CompletedProcess[str]]

MOST = 1_000_000
HTML = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"
PAGE = HTML + b"\r\n<p property='http://example.org/p'>good</p>"


def record(block: bytes, kind: bytes = b"response", **headers: bytes) -> bytes:
    """Return a record as a gzip member; headers are named with _ for -."""
    given = {b"WARC-Target-URI": b"http://site.test/", b"WARC-Date": b"2026-11-16T00:00:00Z"}
    given |= {name.replace("_", "-").encode(): value for name, value in headers.items()}
    lines = b"".join(b"%b: %b\r\n" % pair for pair in given.items())
    head = b"WARC/1.1\r\nWARC-Type: %b\r\n%bContent-Length: %d\r\n\r\n"
    return gzip.compress(head % (kind, lines, len(block)) + block + b"\r\n\r\n")


def wanted() -> Wanted:
    return Wanted(lambda url: True, lambda date: True, lambda kind: "html" in kind, MOST)


def read(path: Path, *records: bytes) -> tuple[list[Answer], Counter[str]]:
    path.write_bytes(b"".join(records))
    counts: Counter[str] = Counter()
    with path.open("rb") as file:
        found = [answer for _, answer in Answers(wanted(), counts).read(file, path) if answer]
    return found, counts


@contextmanager
def little_memory(most: int) -> Iterator[None]:
    tracemalloc.start()
    yield
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < most


def bomb(window: int) -> bytes:
    packer = zlib.compressobj(9, wbits=window)
    return b"".join(packer.compress(bytes(1 << 20)) for _ in range(300)) + packer.flush()


@pytest.mark.parametrize(
    ("block", "reason"),
    [
        (b"", "unreadable"),
        (b"\0" * 500, "unreadable"),
        (b"HTTP/1.1 2\0\0 OK\r\n\r\n", "unreadable"),
        (b"HTTP/1.1 \xb2\xb2\xb2 OK\r\n\r\n", "unreadable"),
        (HTML + b"X: x\r\n" * 500_000, "unreadable"),
        (HTML + b"X: " + b"x" * 1_500_000, "unreadable"),
        (HTML + b"Content-Encoding: gzip\r\n\r\nnonsense", "unreadable"),
        (HTML + b"Content-Encoding: br\r\n\r\nnonsense", "unreadable"),
        (HTML + b"Content-Encoding: zstd\r\n\r\nnonsense", "unreadable"),
        (HTML + b"Content-Encoding: %b\r\n\r\n" % b",".join([b"gzip"] * 50), "unreadable"),
        (b"HTTP/1.1 200 OK\r\nContent-Type: html\0" + b"x" * 100_000 + b"\r\n\r\n", ""),
        (HTML + b"Transfer-Encoding: chunked\r\n\r\n" + b"2\r\nab\r\n" * 140_000, ""),
        (HTML + b"Transfer-Encoding: chunked\r\n\r\n-5\r\nab\r\n", ""),
        (HTML + b"Transfer-Encoding: chunked\r\n\r\n" + b"f" * 200 + b"\r\nab", ""),
    ],
)
def test_a_hostile_answer_is_skipped_or_cut(tmp_path: Path, block: bytes, reason: str) -> None:
    check_skipped_or_cut(tmp_path, block, reason)


@pytest.mark.parametrize(("encoding", "window"), [(b"gzip", 31), (b"deflate", -15)])
def test_a_bomb_is_cut(tmp_path: Path, encoding: bytes, window: int) -> None:
    block = HTML + b"Content-Encoding: " + encoding + b"\r\n\r\n" + bomb(window)
    check_skipped_or_cut(tmp_path, block, "")


def check_skipped_or_cut(tmp_path: Path, block: bytes, reason: str) -> None:
    with little_memory(24 << 20):
        found, counts = read(tmp_path / "a.warc.gz", record(block), record(PAGE))
    assert found[-1].body.endswith(b"good</p>")
    assert len(found) == (1 if reason else 2)
    assert all(len(answer.body) <= MOST for answer in found)
    assert counts[f"skipped/{reason}"] == bool(reason)


@pytest.mark.parametrize(
    ("kind", "headers"),
    [
        (b"response", {"WARC_Target_URI": b"dns:site.test"}),
        (b"response", {"WARC_Target_URI": b"ftp://site.test/"}),
        (b"response", {"WARC_Target_URI": b"file:///etc/passwd"}),
        (b"response", {"WARC_Target_URI": b"../../etc/passwd"}),
        (b"response", {"WARC_Target_URI": b""}),
        (b"resource", {}),
        (b"conversion", {}),
        (b"continuation", {}),
        (b"metadata", {}),
        (b"request", {}),
        (b"", {}),
        (b"\0\xff", {}),
        (b"revisit", {"WARC_Payload_Digest": b"sha1:NONE"}),
    ],
)
def test_what_is_no_answer_of_http_is_left_out(
    tmp_path: Path, kind: bytes, headers: dict[str, bytes]
) -> None:
    found, counts = read(tmp_path / "a.warc.gz", record(PAGE, kind, **headers), record(PAGE))
    assert len(found) == 1 and counts["records"] == 2


@pytest.mark.parametrize(
    "date", [b"", b"soon", b"0000-00-00T00:00:00Z", b"9999-99-99T99:99:99Z", b"9" * 50_000, b"\0"]
)
def test_an_absurd_date_is_no_date(tmp_path: Path, date: bytes) -> None:
    (found,), _ = read(tmp_path / "a.warc.gz", record(PAGE, WARC_Date=date))
    assert found.fetched == 0.0


@pytest.mark.parametrize(
    "identity", [b"", b"<http://site.test/other>", b"<urn:rdfaspider:fetch:x>", b"<urn:uuid:\0>"]
)
def test_a_name_that_may_be_of_something_else_is_none(tmp_path: Path, identity: bytes) -> None:
    (found,), _ = read(tmp_path / "a.warc.gz", record(PAGE, WARC_Record_ID=identity))
    assert found.source is None


def test_long_headers_of_many_records_are_not_remembered(tmp_path: Path) -> None:
    many = [
        record(
            HTML.replace(b"html", b"html;%05d" % n + b"x" * 50_000) + b"\r\n",
            WARC_Payload_Digest=b"sha1:%05d" % n + b"x" * 30_000,
            WARC_Date=b"%05d" % n + b"x" * 20_000,
        )
        for n in range(500)
    ]
    with little_memory(6 << 20):
        path = tmp_path / "a.warc.gz"
        path.write_bytes(b"".join(many))
        counts: Counter[str] = Counter()
        with path.open("rb") as file:
            assert sum(1 for _, answer in Answers(wanted(), counts).read(file, path) if answer)


def test_an_index_leads_nowhere_else(tmp_path: Path) -> None:
    """Give an archive an index that says that bodies are in other directories."""
    secret = tmp_path / "secret.warc.gz"
    digest = b"sha1:A"
    secret.write_bytes(record(PAGE.replace(b"good", b"secret"), WARC_Payload_Digest=digest))
    archive = tmp_path / "archive"
    archive.mkdir()
    length = secret.stat().st_size
    for name in ("../secret.warc.gz", str(secret), "", ".", "\0", "x" * 5_000):
        url, date = "http://site.test/", "20261116000000"
        add_segment(archive, [Capture(url, date, "text/html", "200", "sha1:A", length, 0, name)])
    revisit = record(
        HTML + b"\r\n",
        b"revisit",
        WARC_Payload_Digest=digest,
        WARC_Filename=b"../secret.warc.gz",
        WARC_Refers_To_Target_URI=b"http://site.test/",
        WARC_Refers_To_Date=b"2026-11-16T00:00:00Z",
    )
    found, counts = read(archive / "a.warc.gz", revisit, record(PAGE))
    assert len(found) == 1 and counts["skipped/revisit"] == 1


def entry(**changes: Any) -> dict[str, Any]:
    return {
        "startedDateTime": "2026-11-16T00:00:00.000Z",
        "request": {"url": "http://site.test/"},
        "response": {
            "status": 200,
            "headers": [],
            "content": {"mimeType": "text/html", "text": "good"},
        },
    } | changes


def response(**changes: Any) -> dict[str, Any]:
    whole: dict[str, Any] = entry()["response"]
    return {"response": whole | changes}


@pytest.mark.parametrize(
    "bad",
    [
        None,
        [],
        "entry",
        entry(request=None),
        entry(request={"url": 5}),
        entry(request={"url": "file:///etc/passwd"}),
        entry(startedDateTime=[]),
        entry(startedDateTime={"a": 1}),
        entry(response=None),
        entry(**response(status=float("inf"))),
        entry(**response(status="9" * 5_000)),
        entry(**response(status=None)),
        entry(**response(headers=None)),
        entry(**response(headers=[{"name": 5, "value": 5}])),
        entry(**response(content={"mimeType": 5, "text": "x"})),
        entry(**response(content={"mimeType": "text/html", "text": 5})),
        entry(**response(content={"mimeType": "text/html", "text": "abc", "encoding": "base64"})),
        entry(**response(content={"mimeType": "\ud800", "text": "x"})),
    ],
)
def test_a_bad_entry_of_a_har_file_costs_only_itself(tmp_path: Path, bad: Any) -> None:
    path = tmp_path / "a.har"
    path.write_text(json.dumps({"log": {"entries": [bad, entry()]}}))
    counts: Counter[str] = Counter()
    (found,) = read_har(path, wanted(), counts)
    assert found.body == b"good"
    assert counts["records"] == 2 and sum(counts.values()) == 3


@pytest.mark.parametrize(
    "text",
    ["[" * 100_000, '{"log":' * 100_000, "", "\0", "null", '{"log": {"entries": {}}}', "nan"],
)
def test_a_har_file_that_is_none_is_damaged(tmp_path: Path, text: str) -> None:
    path = tmp_path / "a.har"
    path.write_text(text)
    counts: Counter[str] = Counter()
    assert [*read_har(path, wanted(), counts)] == []
    assert counts == {"damaged": 1}


def test_a_directory_of_all_that_is_read_to_its_end(scrapy: Scrapy, tmp_path: Path) -> None:
    """Give the command links that lead in circles and out, pipes, and files of all kinds of damage."""
    folder = tmp_path / "given"
    (folder / "inner").mkdir(parents=True)
    (folder / "inner" / "circle").symlink_to(folder)
    (folder / "itself.warc.gz").symlink_to(folder / "itself.warc.gz")
    (folder / "gone.warc.gz").symlink_to(tmp_path / "gone")
    os.mkfifo(folder / "pipe.warc.gz")
    (folder / "folder.warc.gz").mkdir()
    (folder / "empty.warc.gz").touch()
    good = record(PAGE, WARC_Target_URI=b"http://site.test/1")
    (folder / "1.warc.gz").write_bytes(good + good[:-9])
    (folder / "2.warc").write_bytes(b"\0" * 100_000)
    (folder / "3.warc.gz").write_bytes(gzip.compress(bytes(50_000_000)) + good)
    zeros = record(PAGE, WARC_Target_URI=b"http://site.test/\0")
    no_url = record(PAGE, WARC_Target_URI=b"http://[")
    last = record(PAGE, WARC_Target_URI=b"http://site.test/4", WARC_Date=b"never")
    (folder / "4.warc.gz").write_bytes(zeros + no_url + last)
    (folder / "5.har").write_text("{")
    done = scrapy("replay", "--to", "again", "--processes", "1", "given", STORE_PROVENANCE=1)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    assert "4 damaged" in done.stdout
    with open_store(str(tmp_path / "again"), read_only=True) as store:
        graphs = {quad.graph_name.value for quad in store.quads()}  # type: ignore[union-attr]
    pages = {graph for graph in graphs if graph.startswith("http:")}
    assert {"http://site.test/1", "http://site.test/4"} <= pages and len(pages) <= 3


def test_a_package_is_named_as_what_it_is(scrapy: Scrapy, tmp_path: Path) -> None:
    (tmp_path / "x.wacz").write_bytes(b"PK")
    done = scrapy("replay", "x.wacz")
    assert done.returncode == 1 and "is a package" in done.stderr
    assert done.stderr.count("\n") == 1
