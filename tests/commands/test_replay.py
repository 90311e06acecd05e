"""`scrapy replay` reads pages again from archives of any maker, without the network."""

from __future__ import annotations

import base64
import gzip
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from rdfaspider.archive.answers import Answers, Wanted
from rdfaspider.archive.archive import Archive, Entry
from rdfaspider.archive.exchange import Exchange
from rdfaspider.archive.index.captures import REVISIT
from rdfaspider.archive.index.index import captures_in
from rdfaspider.archive.warc.reader import files_of
from rdfaspider.archive.warc.records import digest as digest_of
from rdfaspider.commands.results.replay import _paths, _read
from rdfaspider.pipelines.replay import Position
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.stores import open_store
from tests.stores.conftest import FaultyServer

pytestmark = pytest.mark.slow

Scrapy = Callable[..., subprocess.CompletedProcess[str]]

PROJECT = Path(__file__).parents[2]


def any_text(text: str) -> bool:
    return True


ALL = Wanted(any_text, any_text, any_text, 1 << 20)


def page(text: str) -> bytes:
    return f"<p property='http://example.org/p'>{text}</p>".encode()


def said_in(store: Path) -> dict[str, str]:
    """Return what the pages of a store say, by their URLs."""
    with open_store(str(store), read_only=True) as opened:
        return {quad.graph_name.value: quad.object.value for quad in opened.quads()}  # type: ignore[union-attr]


def quads_in(store: Path) -> set[str]:
    with open_store(str(store), read_only=True) as opened:
        return {str(quad) for quad in opened.quads()}


def replay(scrapy: Scrapy, *arguments: str, **settings: object) -> str:
    done = scrapy("replay", "--to", "again", "--processes", "0", *arguments, **settings)
    assert done.returncode == 0, done.stderr
    return done.stdout


def warc(path: Path, *answers: tuple[str, bytes], **options: Any) -> Path:
    """Write answers as warcio does, which leaves closing its files to others."""
    with warnings.catch_warnings(), path.open("wb") as file:
        warnings.simplefilter("ignore", ResourceWarning)
        writer = WARCWriter(file, gzip=options.get("gzip", True))
        for url, body in answers:
            fields = [("Content-Type", "text/html"), *options.get("headers", ())]
            head = StatusAndHeaders(options.get("status", "200 OK"), fields, protocol="HTTP/1.1")
            date = {"WARC-Date": options["date"]} if "date" in options else {}
            record = writer.create_warc_record(
                url, "response", io.BytesIO(body), http_headers=head, warc_headers_dict=date
            )
            writer.write_record(record)
            del record
    return path


def test_a_replay_gives_the_store_of_the_crawl(scrapy: Scrapy, tmp_path: Path) -> None:
    parameters = Parameters(seed=2, levels=3, pages=4, duplicated=0.3, redirected=0.1, missing=0.1)
    settings = {"POLITENESS_OFF_FOR_OWN_SERVERS": 1, "EXTRACT_PROCESSES": 0, "ARCHIVE": 1}
    with running(parameters) as url:
        done = scrapy("crawl", "rdfa", "-a", f"seeds={url}", **settings)
    assert done.returncode == 0, done.stderr
    crawled = quads_in(tmp_path / "crawl" / "store")
    done = scrapy("replay", "--to", "again", "--processes", "2")
    assert done.returncode == 0, done.stderr
    assert "skipped: no page" in done.stdout and "skipped: revisit" not in done.stdout
    captures = captures_in(tmp_path / "crawl" / "archive")
    assert REVISIT in {capture.mime for capture in captures}
    assert crawled and quads_in(tmp_path / "again") == crawled
    again = scrapy("replay")  # into the store of the crawl itself
    assert "0 graphs are new or changed" in again.stdout, again.stderr


@pytest.mark.parametrize("packed", [True, False])
def test_files_of_warcio_are_read(scrapy: Scrapy, tmp_path: Path, packed: bool) -> None:
    first, rest = page("c")[:4], page("c")[4:]
    chunked = b"4\r\n%b\r\n%x\r\n%b\r\n0\r\n\r\n" % (first, len(rest), rest)
    files = [
        warc(tmp_path / "a.warc", ("http://site.test/a", page("a")), gzip=packed),
        warc(
            tmp_path / "b.warc",
            ("http://site.test/b", gzip.compress(page("b"))),
            headers=[("Content-Encoding", "gzip")],
            gzip=packed,
        ),
        warc(
            tmp_path / "c.warc",
            ("http://site.test/c", chunked),
            headers=[("Transfer-Encoding", "chunked")],
            gzip=packed,
        ),
        warc(tmp_path / "d.warc", ("http://site.test/d", page("d")), status="404 No", gzip=packed),
    ]
    told = replay(scrapy, *map(str, files))
    assert said_in(tmp_path / "again") == {f"http://site.test/{name}": name for name in "abc"}
    assert "1 skipped: status" in told


def test_standard_input_is_read(tmp_path: Path) -> None:
    path = warc(tmp_path / "a.warc.gz", ("http://site.test/a", page("a")))
    subprocess.run(
        [sys.executable, "-m", "rdfaspider", "replay", "--to", "again", "--processes", "0", "-"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROJECT)},
        input=path.read_bytes(),
        check=True,
        capture_output=True,
    )
    assert said_in(tmp_path / "again") == {"http://site.test/a": "a"}


def test_a_directory_is_read_in_order(scrapy: Scrapy, tmp_path: Path) -> None:
    folder = tmp_path / "collections" / "some" / "archive"
    folder.mkdir(parents=True)
    warc(folder / "2.warc.gz", ("http://site.test/a", page("later")))
    warc(folder / "1.warc.gz", ("http://site.test/a", page("earlier")))
    replay(scrapy, "collections")
    assert said_in(tmp_path / "again") == {"http://site.test/a": "later"}


def test_a_har_file_is_read(scrapy: Scrapy, tmp_path: Path) -> None:
    def entry(name: str, status: int = 200, **content: str) -> dict[str, Any]:
        return {
            "startedDateTime": "2026-11-16T00:00:00.000Z",
            "request": {"url": f"http://site.test/{name}"},
            "response": {
                "status": status,
                "headers": [{"name": "Content-Type", "value": "text/html; charset=latin-1"}],
                "content": {"mimeType": "text/html", **content},
            },
        }

    coded = base64.b64encode(page("b")).decode()
    entries = [
        entry("a", text=page("ä").decode()),
        entry("b", text=coded, encoding="base64"),
        entry("c", status=500, text="no"),
        entry("d"),
        {"request": "nonsense"},
    ]
    (tmp_path / "x.har").write_text(json.dumps({"log": {"entries": entries}}))
    (tmp_path / "y.har").write_text("[" * 100_000)
    told = replay(scrapy, "x.har", "y.har")
    assert said_in(tmp_path / "again") == {"http://site.test/a": "ä", "http://site.test/b": "b"}
    for words in ("skipped: status", "skipped: no page", "skipped: unreadable", "1 damaged"):
        assert words in told


@pytest.mark.parametrize(
    ("options", "names"),
    [
        (["--host", "One.test"], "ab"),
        (["--url", "*/a", "--url", "*/c"], "ac"),
        (["--since", "2026-11"], "c"),
        (["--since", "20261116030405", "--until", "20261116030405"], "c"),
        (["--until", "2026"], "abc"),
        (["--until", "2025-12-31"], "ab"),
        (["--type", "text/turtle"], ""),
        (["--type", "text/html"], "abc"),
    ],
)
def test_what_is_asked_for_is_read(
    scrapy: Scrapy, tmp_path: Path, options: list[str], names: str
) -> None:
    one = ("http://one.test/a", page("a")), ("http://one.test/b", page("b"))
    warc(tmp_path / "1.warc.gz", *one, date="2025-01-02T03:04:05Z")
    warc(tmp_path / "2.warc.gz", ("http://two.test/c", page("c")), date="2026-11-16T03:04:05Z")
    replay(scrapy, "1.warc.gz", "2.warc.gz", *options)
    assert sorted(said_in(tmp_path / "again").values()) == [*names]


def test_wishes_of_pages_are_heeded(scrapy: Scrapy, tmp_path: Path) -> None:
    warc(tmp_path / "1.warc.gz", ("http://site.test/a", page("a")))
    headers = [("X-Robots-Tag", "noindex")]
    warc(tmp_path / "2.warc.gz", ("http://site.test/b", page("b")), headers=headers)
    replay(scrapy, "1.warc.gz", "2.warc.gz")
    assert said_in(tmp_path / "again") == {"http://site.test/a": "a"}


def test_the_last_word_on_a_page_counts(scrapy: Scrapy, tmp_path: Path) -> None:
    """Unless it is asked for, what the crawl has taken out of its store does not come back."""
    visits = {
        "gone": [200, 410],
        "missing": [200, 404, 404],
        "missing-once": [200, 404],
        "moved": [200, 301],
        "back": [200, 410, 200],
        "not-modified": [200, 404, 304, 404],
        "broken": [200, 500, 500],
        "noindex": [200, 200],
        "never-there": [404, 404],
    }
    archive = Archive(tmp_path / "crawl" / "archive")
    for name, statuses in visits.items():
        for day, status in enumerate(statuses):
            headers: list[tuple[bytes, bytes]] = [(b"Content-Type", b"text/html")]
            if name == "noindex" and day:
                headers.append((b"X-Robots-Tag", b"noindex"))
            exchange = Exchange(
                url=f"http://site.test/{name}",
                method="GET",
                asked=(),
                sent=b"",
                version="1.1",
                status=status,
                reason=b"",
                headers=tuple(headers),
                body=page(name) if status == 200 else b"",
                address="",
                began=1_800_000_000.0 + day * 86_400,
                seconds=0.1,
            )
            outcome = "done/page" if status == 200 else f"failed/{status}"
            archive.put([Entry(exchange, (("outcome", outcome),))])
    archive.close()
    done = scrapy("replay", "--processes", "0")
    assert done.returncode == 0, done.stderr
    there = {"missing-once", "back", "not-modified", "broken"}
    assert set(said_in(tmp_path / "crawl" / "store").values()) == there
    assert "3 skipped: gone" in done.stdout
    done = scrapy("replay", "--gone", "--to", "all", "--processes", "0")
    assert set(said_in(tmp_path / "all").values()) == there | {"gone", "missing", "moved"}


@pytest.mark.parametrize("date", ["yesterday", "2026-13", "2026-11-1"])
@pytest.mark.parametrize("option", ["--since", "--until"])
def test_what_is_no_date_is_refused(scrapy: Scrapy, tmp_path: Path, option: str, date: str) -> None:
    warc(tmp_path / "a.warc.gz", ("http://site.test/a", page("a")))
    done = scrapy("replay", "a.warc.gz", option, date)
    assert done.returncode == 1 and f"{date} is no date" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("argument", ["nowhere", "."])
def test_what_cannot_be_read_is_said_in_a_sentence(scrapy: Scrapy, argument: str) -> None:
    done = scrapy("replay", argument)
    assert done.returncode == 1 and done.stderr.count("\n") == 1
    assert "neither a file" in done.stderr or "There is no WARC" in done.stderr


def test_wgets_files_are_read(scrapy: Scrapy, tmp_path: Path) -> None:
    if shutil.which("wget") is None:
        pytest.skip("no wget")
    with running(Parameters(seed=2, levels=2, pages=3)) as url:
        subprocess.run(
            ["wget", "-q", "-r", "-l", "3", "--warc-file=kept", "-P", "pages", url],
            cwd=tmp_path,
            timeout=60,
        )
        settings = {"POLITENESS_OFF_FOR_OWN_SERVERS": 1, "EXTRACT_PROCESSES": 0}
        assert scrapy("crawl", "rdfa", "-a", f"seeds={url}", **settings).returncode == 0
    replay(scrapy, "kept.warc.gz")
    again = quads_in(tmp_path / "again")
    assert again and again == quads_in(tmp_path / "crawl" / "store")


def test_a_replay_that_was_killed_goes_on(scrapy: Scrapy, tmp_path: Path) -> None:
    archive = Archive(tmp_path / "crawl" / "archive", about=[("software", "rdfaspider/0")])
    headers = ((b"Content-Type", b"text/html"),)
    notes = (("outcome", "done/page"),)
    for number in range(12_000):
        url, body = f"http://site.test/{number}", page(str(number))
        exchange = Exchange(url, "GET", (), b"", "1.1", 200, b"OK", headers, body, "", 1.8e9, 0.1)
        archive.put([Entry(exchange, notes)])
    archive.close()
    command = [sys.executable, "-m", "rdfaspider", "replay", "--to", "again", "--processes", "0"]
    environment = {**os.environ, "PYTHONPATH": str(PROJECT)}
    position = tmp_path / "crawl" / "replay" / "position.json"
    with subprocess.Popen(command, cwd=tmp_path, env=environment) as process:
        while process.poll() is None and not position.exists():
            time.sleep(0.01)
        process.send_signal(signal.SIGKILL)
    (path,) = files_of(tmp_path / "crawl" / "archive")
    _, offset = json.loads(position.read_text())["position"]
    assert 0 < offset < path.stat().st_size
    kept = position.read_text()
    again = scrapy("replay", "--to", "again", "--processes", "0", FILTER_LITERAL_LENGTH=99)
    assert again.stdout.startswith("12,000 pages") and "Goes on" not in again.stderr
    position.write_text(kept)
    done = scrapy("replay", "--to", "again", "--processes", "0")
    assert done.stderr == f"Goes on at {offset:,} of {path.relative_to(tmp_path)}.\n"
    assert 0 < int(done.stdout.split(" ")[0].replace(",", "")) < 12_000
    assert len(said_in(tmp_path / "again")) == 12_000
    assert not position.exists()


def test_revisits_have_their_bodies_when_a_replay_goes_on(tmp_path: Path) -> None:
    """Write a body in one file and in the first record of another, and then revisits of both."""
    first = warc(tmp_path / "1.warc.gz", ("http://site.test/a", page("a")))
    second = warc(tmp_path / "2.warc.gz", ("http://site.test/b", page("b")))
    offset = second.stat().st_size
    with second.open("ab") as file:
        writer = WARCWriter(file, gzip=True)
        for name in "ab":
            head = StatusAndHeaders("200 OK", [("Content-Type", "text/html")], protocol="HTTP/1.1")
            digest = digest_of(page(name)).decode()
            refers = f"http://site.test/{name}", "2026-11-16T00:00:00Z"
            again = f"http://site.test/{name}/again"
            writer.write_record(writer.create_revisit_record(again, digest, *refers, head))
    counts: Counter[str] = Counter()
    position = Position(str(second), offset)
    found = [*_read([first, second], Answers(ALL, counts), position)]
    read = [(answer.url[17:], answer.body) for _, answer in found if answer]
    assert read == [("a/again", page("a")), ("b/again", page("b"))], counts


def test_pages_that_a_store_has_not_taken_are_sent_by_the_same_command(
    scrapy: Scrapy, tmp_path: Path, faulty: FaultyServer
) -> None:
    warc(
        tmp_path / "a.warc.gz", ("http://site.test/a", page("a")), ("http://site.test/b", page("b"))
    )
    faulty.fault = lambda body: 503
    command = "replay", "--to", f"update+{faulty.url}", "--processes", "0", "a.warc.gz"
    done = scrapy(*command, STORE_DRAIN_SECONDS=1)
    assert done.returncode == 1
    sentence = "The store does not have 2 pages yet: run the same command again to send them."
    assert sentence in done.stderr and "--send" not in done.stderr
    faulty.fault = lambda body: None
    done = scrapy(*command)
    assert done.returncode == 0, done.stderr
    assert {quad.object.value for quad in faulty.store} == {"a", "b"}


def test_a_file_that_gets_its_name_meanwhile_is_read(tmp_path: Path) -> None:
    archive = Archive(tmp_path, about=[("software", "rdfaspider/0")])
    headers = ((b"Content-Type", b"text/html"),)
    body = page("a" * 300)
    for name in "ab":  # the second is a revisit
        url = f"http://site.test/{name}"
        exchange = Exchange(url, "GET", (), b"", "1.1", 200, b"OK", headers, body, "", 1.8e9, 0.1)
        archive.put([Entry(exchange, (("outcome", "done/page"),))])
    (path,) = _paths([str(tmp_path)])
    assert path.suffix == ".open"
    reading = _read([path], Answers(ALL, Counter()), None)
    position, first = next(found for found in reading if found[1])
    archive.close()
    second = next(answer for _, answer in reading if answer)
    assert first and first.body == second.body == body
    (named,) = _paths([str(tmp_path)])
    assert position.file == str(named)  # where a replay goes on
    again = [answer for _, answer in _read([path], Answers(ALL, Counter()), position) if answer]
    assert [answer.url for answer in again] == ["http://site.test/b"]
