"""Records are faithful, other tools read them, and a file that was torn is mended."""

from __future__ import annotations

import gzip
import io
import resource
import signal
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from warcio.archiveiterator import ArchiveIterator
from warcio.checker import Checker

from rdfaspider.archive import archive as module
from rdfaspider.archive.archive import Archive, ArchiveError, Entry
from rdfaspider.archive.check import check
from rdfaspider.archive.content import answer
from rdfaspider.archive.exchange import Exchange
from rdfaspider.archive.index.index import captures_in, look_up
from rdfaspider.archive.warc.members import pack
from rdfaspider.archive.warc.reader import files_of, read
from rdfaspider.archive.warc.records import digest, records_of
from tests.archive.judges import validate_by_fastwarc

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of parts of its own
    from fastwarc.warc import ArchiveIterator as FastWarc

BODY = b"<p>Some words that are long enough to be worth a reference.</p>" * 10


def exchange(url: str = "http://site.test/", body: bytes = BODY, **changes: Any) -> Exchange:
    whole = Exchange(
        url,
        "GET",
        ((b"Host", b"site.test"), (b"Authorization", b"Basic c2VjcmV0"), (b"Cookie", b"secret")),
        b"",
        "1.1",
        200,
        b"OK",
        ((b"Content-Type", b"text/html; charset=utf-8"), (b"content-length", b"%d" % len(body))),
        body,
        "192.0.2.1",
        1_800_000_000.25,
        0.125,
    )
    return whole._replace(**changes)


def entries(count: int) -> list[Entry]:
    return [Entry(exchange(f"http://site.test/{n}", BODY + b"%d" % n)) for n in range(count)]


def records(path: Path) -> Iterator[Any]:
    with path.open("rb") as file:
        for record in ArchiveIterator(file, check_digests="raise"):
            record.raw = record.raw_stream.read()
            yield record


def kinds(archive: Path) -> list[str]:
    return [record.rec_type for path in files_of(archive) for record in records(path)]


def is_valid(archive: Path, capsys: pytest.CaptureFixture[str]) -> bool:
    """Ask warcio's check and FastWARC, which verify all digests."""

    class Command:
        inputs = tuple(map(str, files_of(archive)))
        verbose = True

    capsys.readouterr()
    code = Checker(Command).process_all()
    assert "digest not present" not in capsys.readouterr().out.replace("no digest to check", "")
    validate_by_fastwarc(archive)
    return not code


HEADER = st.tuples(
    st.from_regex(rb"\A[A-Za-z][A-Za-z-]{0,10}\Z"),
    st.binary(max_size=20).map(lambda value: value.strip()),
)


@given(st.lists(HEADER, max_size=5), st.binary(max_size=600), st.sampled_from(["1.0", "1.1"]))
def test_a_response_is_read_back_by_others(
    headers: list[tuple[bytes, bytes]], body: bytes, version: str
) -> None:
    given = exchange(body=body, headers=tuple(headers), version=version)
    _, written = records_of(given, digest(body), None, (), request=True)
    data = b"".join(map(pack, written))
    kinds = []
    for record in ArchiveIterator(io.BytesIO(data), no_record_parse=True):
        block = record.raw_stream.read()
        kinds.append(record.rec_type)
    assert kinds == ["metadata", "request", "response"]
    head, _, payload = block.partition(b"\r\n\r\n")
    assert payload == body
    assert head.startswith(b"HTTP/%b 200 OK" % version.encode())
    for name, value in headers:
        if name.lower() not in (b"content-length", b"transfer-encoding"):
            assert b"%b: %b" % (name, b" ".join(value.splitlines())) in head
    assert head.count(b"\r\n") <= len(headers) + 1  # nobody has written a header of their own
    blocks = [record.reader.read() for record in FastWarc(io.BytesIO(data), parse_http=False)]
    assert blocks[2:] == [block]


def test_an_archive_is_valid_and_found_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = Archive(tmp_path, about=[("software", "x"), ("odd", "a\r\nb: c")])
    archive.put(entries(30))
    assert [capture.url for capture in look_up(tmp_path, "http://site.test/7")]  # while it is open
    archive.close()
    assert is_valid(tmp_path, capsys)
    assert kinds(tmp_path) == ["warcinfo"] + ["metadata", "request", "response"] * 30
    assert archive.counters["records"] == 90
    assert archive.counters["bytes"] < sum(path.stat().st_size for path in files_of(tmp_path))
    (capture,) = look_up(tmp_path, "http://site.test/7")
    assert read(tmp_path, capture).payload == BODY + b"7"
    assert (capture.date, capture.mime, capture.status) == ("20270115080000", "text/html", "200")
    assert not look_up(tmp_path, "http://site.test/31")


def test_secrets_of_requests_are_left_out(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.put(entries(1))
    asked = ((b"X-Api-Key", b"hush"), (b"x-auth-token", b"hush"), (b"Content-Length", b"30"))
    archive.put([Entry(exchange("http://site.test/login", asked=asked, method="POST"))])
    archive.close()
    (path,) = files_of(tmp_path)
    text = gzip.decompress(path.read_bytes())
    assert b"Host: site.test" in text
    assert b"c2VjcmV0" not in text and b"Cookie" not in text
    assert b"hush" not in text
    assert b"POST /login HTTP/1.1\r\nX-Crawl-Content-Length: 30\r\n\r\n" in text


def test_a_body_that_is_known_is_a_revisit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    archive = Archive(tmp_path)
    archive.put([Entry(exchange("http://site.test/a")), Entry(exchange("http://site.test/b"))])
    archive.close()
    again = Archive(tmp_path)  # what an earlier run kept is known
    again.put([Entry(exchange("http://site.test/c", began=1_800_000_100.0))])
    again.close()
    assert is_valid(tmp_path, capsys)
    revisits = [r for path in files_of(tmp_path) for r in records(path) if r.rec_type == "revisit"]
    assert len(revisits) == 2
    for revisit in revisits:
        header = revisit.rec_headers.get_header
        assert header("WARC-Refers-To-Target-URI") == "http://site.test/a"
        assert header("WARC-Refers-To-Date") == "2027-01-15T08:00:00Z"
        assert header("WARC-Payload-Digest") == digest(BODY).decode()
        assert revisit.raw == b""


def test_a_body_whose_file_was_taken_away_is_kept_again(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.put([Entry(exchange("http://site.test/a"))])
    archive.close()
    (path,) = files_of(tmp_path)
    path.rename(tmp_path / "elsewhere")
    again = Archive(tmp_path)
    again.put([Entry(exchange("http://site.test/b"))])
    again.close()
    assert kinds(tmp_path) == ["warcinfo", "metadata", "request", "response"]


def test_what_is_short_cut_or_no_page_is_no_revisit(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    for changes in ({"body": b"short"}, {"truncated": "length"}, {"status": 404}):
        archive.put([Entry(exchange(**changes)), Entry(exchange(**changes))])
    archive.close()
    assert "revisit" not in kinds(tmp_path)


def test_what_was_cut_says_so_and_has_the_length_that_is_there(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    headers = ((b"Content-Length", b"99999"), (b"Transfer-Encoding", b"chunked"))
    archive.put([Entry(exchange(truncated="length", headers=headers))])
    archive.close()
    (path,) = files_of(tmp_path)
    *_, response = records(path)
    assert response.rec_headers.get_header("WARC-Truncated") == "length"
    assert response.http_headers.headers == [
        ("X-Crawl-Content-Length", "99999"),
        ("X-Crawl-Transfer-Encoding", "chunked"),
        ("Content-Length", str(len(BODY))),
    ]


def test_files_are_ended_by_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    archive = Archive(tmp_path, file_bytes=5_000)
    for entry in entries(20):
        archive.put([entry])
    archive.close()
    assert archive.counters["files"] == len([*files_of(tmp_path)]) > 3
    assert is_valid(tmp_path, capsys)
    assert len([*captures_in(tmp_path)]) == 20


def test_a_torn_end_is_cut_wherever_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Kill the writer, as it were, at every so many bytes of the last page."""
    writer = Archive(tmp_path / "whole")
    writer.put(entries(3))
    (path,) = (tmp_path / "whole").glob("*.open")
    before = path.stat().st_size
    writer.put(entries(4)[3:])
    data = path.read_bytes()
    (journal,) = (tmp_path / "whole" / "index").glob("*.open")
    lines = journal.read_bytes().splitlines(keepends=True)
    for end in (*range(before, len(data), 97), len(data)):
        torn = tmp_path / str(end)
        (torn / "index").mkdir(parents=True)
        (torn / path.name).write_bytes(data[:end])
        (torn / "index" / journal.name).write_bytes(b"".join(lines[:3])[: end - before + 500])
        Archive(torn).close()
        whole = 4 if end == len(data) else 3
        assert len([*captures_in(torn)]) == whole, end
        assert not [*torn.glob("*.open"), *torn.glob("index/*.open")]
        assert kinds(torn) == ["warcinfo"] + ["metadata", "request", "response"] * whole
        assert is_valid(torn, capsys)
    writer.close()


def test_a_file_that_somebody_writes_to_is_left_alone(tmp_path: Path) -> None:
    one = Archive(tmp_path)
    one.put(entries(2))
    two = Archive(tmp_path)
    two.put(entries(3)[2:])
    one.put([Entry(exchange("http://site.test/last", b"x"))])
    one.close()
    two.close()
    assert len([*files_of(tmp_path)]) == 2
    assert len([*captures_in(tmp_path)]) == 4


def test_a_page_that_had_its_record_at_a_kill_gets_no_second(tmp_path: Path) -> None:
    dead = Archive(tmp_path)
    dead.put(entries(2))
    (path,) = tmp_path.glob("*.open")
    data = path.read_bytes()
    dead.close()
    (closed,) = files_of(tmp_path)
    closed.unlink()
    path.write_bytes(data)
    for _ in range(3):
        Archive(tmp_path)  # which is killed before it has fetched anything
    archive = Archive(tmp_path)
    sources = archive.put(entries(3))
    changed = exchange("http://site.test/1", BODY + b"changed")
    archive.put([Entry(changed), Entry(changed)])
    archive.close()
    assert [resumed.date for resumed in sources[:2]] == [1_800_000_000] * 2
    assert len({source.identity for source in sources}) == 3
    for source in sources:
        data = (tmp_path / source.filename).read_bytes()
        text = gzip.decompress(data[source.offset : source.offset + source.length])
        assert b"WARC-Record-ID: <%b>" % source.identity.encode() in text
        assert b"WARC-Payload-Digest: %b" % source.digest.encode() in text
    urls = [capture.url[-1] for capture in captures_in(tmp_path)]
    assert sorted(urls) == ["0", "1", "1", "1", "2"]
    assert archive.counters["resumed"] == 2


def killed(directory: Path, kept: list[Entry]) -> None:
    """Leave an archive as a writer does that is killed when it has kept some entries."""
    dead = Archive(directory)
    dead.put(kept)
    (path,) = directory.glob("*.open")
    data = path.read_bytes()
    dead.close()
    path.with_name(path.name.removesuffix(".open")).unlink()
    path.write_bytes(data)


def test_another_answer_with_the_same_body_is_kept(tmp_path: Path) -> None:
    old = exchange(body=b"", status=301, headers=((b"Location", b"/old"),))
    killed(tmp_path, [Entry(old), Entry(exchange("http://site.test/a", status=500))])
    archive = Archive(tmp_path)
    archive.put([Entry(old._replace(status=302, headers=((b"Location", b"/new"),)))])
    archive.put([Entry(exchange("http://site.test/a"))])
    archive.close()
    found = [(capture.url[-1], capture.status) for capture in captures_in(tmp_path)]
    assert sorted(found) == [("/", "301"), ("/", "302"), ("a", "200"), ("a", "500")]
    (new,) = [capture for capture in captures_in(tmp_path) if capture.status == "302"]
    assert b"Location: /new" in read(tmp_path, new).block


def test_few_digests_are_known_at_a_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_KNOWN", 2)
    archive = Archive(tmp_path)
    archive.put(entries(5))
    archive.put(entries(5)[:1] + entries(5)[4:])
    archive.close()
    assert archive.counters["revisits"] == 1


def descriptors() -> int:
    return len([*Path("/proc/self/fd").iterdir()])


@pytest.mark.parametrize("room", [0, 1_000, 100_000])
def test_nothing_is_written_after_what_could_not_be(tmp_path: Path, room: int) -> None:
    """Let no file grow beyond a size, as on a full disk: at the first record, at a page, and in the index."""
    open_before = descriptors()
    archive = Archive(tmp_path)
    noise = Random(1).randbytes(2 * room)
    pages = [Entry(exchange("http://site.test/large", noise)), *entries(3)]
    if room > 1_000:  # the lines of the index are longer than the records
        long = "x" * 1_000
        pages = [Entry(exchange(f"http://site.test/{long}?{n}", b"%d" % n)) for n in range(300)]
    with no_files_beyond(room), pytest.raises(ArchiveError, match="cannot be written") as raised:
        for _ in range(300):
            archive.put(pages)
    with pytest.raises(ArchiveError) as again:
        archive.put([Entry(exchange("http://site.test/again", noise))])
    assert again.value is raised.value
    archive.close()
    assert descriptors() == open_before
    mended = Archive(tmp_path)
    mended.put([Entry(exchange("http://site.test/again", noise)), *entries(3)])
    mended.close()
    assert not [*check(tmp_path, Counter())]
    for capture in captures_in(tmp_path):
        answer(tmp_path, capture)


@contextmanager
def no_files_beyond(size: int) -> Iterator[None]:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
        signal.signal(signal.SIGXFSZ, handler)


def test_what_was_not_modified_is_a_revisit_of_what_was_there(tmp_path: Path) -> None:
    archive = Archive(tmp_path, file_bytes=1 << 20)
    body = b"<p>The body of the page.</p>" * 20
    first = exchange("http://site.test/a", body)
    archive.put([Entry(first)])
    headers = ((b"ETag", b'"v1"'),)
    archive.put(
        [Entry(first._replace(status=304, reason=b"Not Modified", headers=headers, body=b""))]
    )
    archive.close()
    then, now = captures_in(tmp_path)
    assert (now.status, now.mime) == ("304", "warc/revisit")
    record = read(tmp_path, now)
    assert record.kind == "revisit"
    assert record.text(b"warc-profile").endswith("/revisit/server-not-modified")
    assert record.text(b"warc-refers-to-target-uri") == "http://site.test/a"
    assert b"warc-payload-digest" not in record.headers
    head, found = answer(tmp_path, now)
    assert head.startswith(b"HTTP/1.1 304")
    assert found == body
    assert then.status == "200"
