"""`scrapy archive` prints, lists, checks and packs."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
from collections.abc import Callable
from pathlib import Path
from zipfile import ZipFile

import brotli  # type: ignore[import-untyped]
import pytest

from rdfaspider.archive.archive import Archive, Entry
from rdfaspider.archive.exchange import Exchange, Headers
from rdfaspider.archive.index.index import add_segment, captures_in
from rdfaspider.archive.warc.reader import files_of

Scrapy = Callable[..., subprocess.CompletedProcess[str]]

TEXT = b"<p>Words, and more words.</p>\n" * 20
DAY = 86_400


def exchange(name: str, body: bytes, began: float, coding: bytes = b"") -> Exchange:
    headers: Headers = ((b"Content-Type", b"text/html"), (b"Content-Length", b"%d" % len(body)))
    if coding:
        headers += ((b"Content-Encoding", coding),)
    return Exchange(
        f"http://site.test/{name}", "GET", (), b"", "1.1", 200, b"OK", headers, body, "", began, 0.1
    )


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """Fill the archive of a crawl with one page of three days and packed ones, and one copy."""
    directory = tmp_path / "crawl" / "archive"
    archive = Archive(directory, file_bytes=1_500)
    for day in range(3):
        page = exchange("a", TEXT + b"day %d" % day, 1_800_000_000 + day * DAY)
        archive.put([Entry(page)])
    archive.put([Entry(exchange("gzip", gzip.compress(TEXT), 1_800_000_000, b"gzip"))])
    archive.put([Entry(exchange("br", brotli.compress(TEXT), 1_800_000_000, b"br"))])
    archive.put([Entry(exchange("copy", TEXT + b"day 1", 1_800_000_000))])
    archive.close()
    assert archive.counters["revisits"] == 1 and archive.counters["files"] > 1
    return directory


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["http://site.test/a"], TEXT + b"day 2"),
        (["http://site.test/a", "--date", "2027-01-16"], TEXT + b"day 1"),
        (["http://site.test/a", "--date", "1999"], TEXT + b"day 0"),
        (["http://SITE.test/gzip"], TEXT),
        (["http://site.test/br"], TEXT),
        (["http://site.test/copy"], TEXT + b"day 1"),
    ],
)
def test_a_page_is_printed(
    scrapy: Scrapy, archive: Path, arguments: list[str], printed: bytes
) -> None:
    done = scrapy("archive", *arguments)
    assert (done.returncode, done.stdout) == (0, printed.decode())


def test_headers_are_printed_if_asked_for(scrapy: Scrapy, archive: Path) -> None:
    done = scrapy("archive", "--headers", "http://site.test/a")
    assert done.stdout.startswith("HTTP/1.1 200 OK\nContent-Type: text/html\n")


def test_what_is_kept_is_listed(scrapy: Scrapy, archive: Path) -> None:
    heading, *lines = scrapy("archive", "--list").stdout.splitlines()
    assert heading == "date status type bytes URL"
    assert len(lines) == 6
    assert lines[0].startswith("20270115080000 200 text/html ")
    assert len(scrapy("archive", "--list", "http://site.test/a").stdout.splitlines()) == 4


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["http://site.test/none"], "is not in the archive"),
        (["http://site.test/a", "--date", "soon"], "is no date"),
        (["--list", "-s", "JOBDIR=elsewhere"], "There is no archive in elsewhere"),
    ],
)
def test_what_cannot_be_done_is_said_in_a_sentence(
    scrapy: Scrapy, archive: Path, arguments: list[str], words: str
) -> None:
    done = scrapy("archive", *arguments)
    assert done.returncode == 1
    assert words in done.stderr and done.stderr.count("\n") == 1


SAID = "<p property='http://example.org/p'>{}</p>"


@pytest.fixture
def days(tmp_path: Path) -> None:
    """Fill the archive with a page that says another day's number on three days, and with what is no page."""
    archive = Archive(tmp_path / "crawl" / "archive")
    for day in (0, 1, 10):
        body = (SAID.format(day) + "x" * 300).encode()
        archive.put([Entry(exchange("a", body, NOVEMBER_30 + day * DAY))])
    copy = (SAID.format(0) + "x" * 300).encode()
    archive.put([Entry(exchange("copy", copy, NOVEMBER_30))])
    kept = exchange("missing", b"none", NOVEMBER_30)
    archive.put([Entry(kept._replace(status=404))])
    image = ((b"Content-Type", b"image/png"),)
    archive.put([Entry(exchange("image", b"x", NOVEMBER_30)._replace(headers=image))])
    hidden = b"<meta name=robots content=noindex>" + SAID.format("no").encode()
    archive.put([Entry(exchange("hidden", hidden, NOVEMBER_30))])
    archive.put([Entry(exchange("damaged", b"no gzip", NOVEMBER_30, b"gzip"))])
    archive.close()
    assert archive.counters["revisits"] == 1


NOVEMBER_30 = 1_795_996_800  # the first second of 2026-11-30


@pytest.mark.parametrize(
    ("date", "name", "said"),
    [
        ("", "a", "10"),
        ("2026", "a", "0"),
        ("2026-11-30", "a", "0"),
        ("2026-12-01", "a", "1"),
        ("2026-12-05 12", "a", "1"),
        ("2026-12-05 13", "a", "10"),
        ("20261130120001", "a", "1"),
        ("2030-01-01", "a", "10"),
        ("", "copy", "0"),
    ],
)
@pytest.mark.usefixtures("days")
def test_the_graph_of_a_page_is_that_of_the_nearest_date(
    scrapy: Scrapy, date: str, name: str, said: str
) -> None:
    url = f"http://site.test/{name}"
    done = scrapy("archive", "--quads", *(["--date", date] if date else []), url)
    assert done.returncode == 0, done.stderr
    assert done.stdout == f'<{url}> <http://example.org/p> "{said}" <{url}> .\n'


@pytest.mark.usefixtures("days")
def test_the_graph_is_made_by_the_settings_as_they_are_now(scrapy: Scrapy) -> None:
    url, rule = "http://site.test/a", '["p: * <http://example.org/p> *"]'
    assert scrapy("archive", "--quads", url, FILTER_DROP=rule).stdout == ""
    assert scrapy("archive", "--quads", url, EXTRACT_FORMATS="jsonld").stdout == ""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["missing"], "was answered with the status 404 on 20261130000000"),
        (["image"], "is no page but image/png"),
        (["hidden"], "says noindex, so there is no graph of it"),
        (["damaged"], "cannot be unpacked"),
        (["none"], "is not in the archive"),
        (["a", "--date", "2026-13-99"], "is no date"),
        (["a", "--date", "20261"], "is no date"),
    ],
)
@pytest.mark.usefixtures("days")
def test_why_there_is_no_graph_is_said_in_a_sentence(
    scrapy: Scrapy, arguments: list[str], words: str
) -> None:
    name, *options = arguments
    done = scrapy("archive", "--quads", f"http://site.test/{name}", *options)
    assert done.returncode == 1 and not done.stdout
    assert words in done.stderr and done.stderr.count("\n") == 1


def test_a_sound_archive_has_no_fault(scrapy: Scrapy, archive: Path) -> None:
    done = scrapy("archive", "--check")
    assert done.returncode == 0
    assert done.stdout.endswith("6 captures: 0 faults.\n")


def test_answers_that_nothing_has_changed_are_no_faults(scrapy: Scrapy, archive: Path) -> None:
    with_304 = Archive(archive)
    for day in range(8):
        page = exchange("a", b"", 1_900_000_000 + day * DAY)
        with_304.put([Entry(page._replace(status=304, reason=b"Not Modified", headers=()))])
    with_304.close()
    result = scrapy("archive", "--check")
    assert result.returncode == 0, result.stdout
    assert result.stdout.endswith("14 captures: 0 faults.\n")


def test_what_is_wrong_is_found(scrapy: Scrapy, archive: Path) -> None:
    first, second, *_ = files_of(archive)
    data = gzip.decompress(first.read_bytes()).replace(b"more words", b"less words")
    records = [b"WARC/1.1" + part for part in data.split(b"WARC/1.1")[1:]]
    first.write_bytes(b"".join(gzip.compress(record) for record in records))
    second.write_bytes(second.read_bytes()[:-10])
    (some, *_) = captures_in(archive)
    add_segment(archive, [some._replace(filename="gone.warc.gz")])
    done = scrapy("archive", "--check")
    assert done.returncode == 1
    assert "another payload than its digest says" in done.stdout
    assert f"{second.name} is damaged" in done.stdout
    assert "gone.warc.gz, which is not there" in done.stdout


def test_an_archive_is_packed_for_replay(scrapy: Scrapy, archive: Path, tmp_path: Path) -> None:
    done = scrapy("archive", "--wacz", "crawl.wacz")
    assert done.returncode == 0, done.stderr
    with ZipFile(tmp_path / "crawl.wacz") as package:
        assert package.testzip() is None
        about = json.loads(package.read("datapackage.json"))
        for resource in about["resources"]:
            data = package.read(resource["path"])
            assert resource["hash"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
            assert resource["bytes"] == len(data)
        total = hashlib.sha256(package.read("datapackage.json")).hexdigest()
        assert json.loads(package.read("datapackage-digest.json"))["hash"] == f"sha256:{total}"
        lines = package.read("indexes/index.cdxj").splitlines(keepends=True)
        assert lines == [capture.line() for capture in captures_in(archive)]
        for path in files_of(archive):
            assert package.read(f"archive/{path.name}") == path.read_bytes()
        pages = package.read("pages/pages.jsonl").splitlines()
        assert len(pages) == 1 + 5  # the revisit is no page of its own
