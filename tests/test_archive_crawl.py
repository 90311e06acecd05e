"""A crawl with an archive keeps what went over the line, as it went."""

from __future__ import annotations

import gzip
import subprocess
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from zipfile import ZipFile

import pytest
from warcio.archiveiterator import ArchiveIterator

from rdfaspider.archive.index.index import captures_in, look_up
from rdfaspider.archive.warc.reader import files_of, read

Scrapy = Callable[..., subprocess.CompletedProcess[str]]

PAGE = b"<p property='http://example.org/p'>words that make this page long enough</p>" * 5
LINKS = (
    "odd",
    "packed",
    "chunked",
    "moved",
    "missing",
    "image",
    "private",
    "secret",
    "copy",
    "long",
)
HOME = b"".join(b"<a href='/%b'>x</a>" % name.encode() for name in LINKS)
LONG = b"<p>long</p>" * 20_000


class Server(BaseHTTPRequestHandler):
    """Answers as the names of its pages say."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        name = self.path.strip("/") or "home"
        answer: Callable[[], None] = getattr(self, f"answer_{name.partition('.')[0]}", self.missing)
        answer()

    def send(self, body: bytes, *lines: bytes, first: bytes = b"200 Fine") -> None:
        self.wfile.write(b"\r\n".join((b"HTTP/1.1 " + first, *lines, b"", b"")) + body)

    def page(self, body: bytes, *lines: bytes) -> None:
        length = b"content-LENGTH: %d" % len(body)
        self.send(body, b"Content-Type: text/html; charset=utf-8", length, *lines)

    def answer_robots(self) -> None:
        self.send(b"User-agent: *\n", b"Content-Type: text/plain", b"Content-Length: 14")

    def answer_home(self) -> None:
        self.page(HOME)

    def answer_odd(self) -> None:
        self.page(PAGE, b"X-Odd: caf\xe9", b"x-odd: again", b"Set-Cookie: a=b")

    def answer_copy(self) -> None:
        self.page(PAGE)

    def answer_packed(self) -> None:
        self.page(gzip.compress(PAGE, mtime=0), b"Content-Encoding: gzip")

    def answer_chunked(self) -> None:
        chunks = b"".join(b"5\r\n%b\r\n" % PAGE[n : n + 5] for n in range(0, 50, 5)) + b"0\r\n\r\n"
        self.send(chunks, b"Content-Type: text/html", b"Transfer-Encoding: chunked")

    def answer_moved(self) -> None:
        self.send(b"", b"Location: /odd", b"Content-Length: 0", first=b"301 Gone Elsewhere")

    def missing(self) -> None:
        self.send(b"no", b"Content-Type: text/plain", b"Content-Length: 2", first=b"404 \xff")

    def do_POST(self) -> None:
        form = self.rfile.read(int(self.headers["Content-Length"]))
        assert form == b"password=hush-hush"
        self.page(PAGE + b"logged in")

    def answer_image(self) -> None:
        self.send(b"GIF", b"Content-Type: image/gif", b"Content-Length: 3")

    def answer_private(self) -> None:
        self.page(b"<meta name=robots content='noarchive'>" + PAGE)

    def answer_secret(self) -> None:
        self.page(PAGE + b"!", b"X-Robots-Tag: noarchive")

    def answer_long(self) -> None:
        self.page(LONG)

    def log_message(self, *arguments: Any) -> None:
        """Say nothing."""


@pytest.fixture
def server() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Server) as served:
        served.daemon_threads = True
        thread = Thread(target=served.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{served.server_port}/"
        served.shutdown()
        thread.join()


def crawl(scrapy: Scrapy, url: str, **settings: object) -> str:
    settings = {
        "POLITENESS_OFF_FOR_OWN_SERVERS": 1,
        "EXTRACT_PROCESSES": 0,
        "ARCHIVE": 1,
    } | settings
    done = scrapy("crawl", "rdfa", "-a", f"seeds={url}", **settings)
    assert done.returncode == 0, done.stderr
    return done.stderr


def answer(archive: Path, url: str) -> tuple[dict[bytes, bytes], bytes]:
    """Return the headers of the one record of a URL, and its block."""
    (capture,) = look_up(archive, url)
    record = read(archive, capture)
    return record.headers, record.block


def test_answers_are_kept_as_they_came(scrapy: Scrapy, server: str, tmp_path: Path) -> None:
    crawl(scrapy, server, EXTRACT_MAX_BYTES=100_000, ROBOTS_SITEMAPS=0)
    archive = tmp_path / "crawl" / "archive"
    for path in files_of(archive):
        with path.open("rb") as file:
            for record in ArchiveIterator(file, check_digests="raise"):
                record.raw_stream.read()
    kept = {capture.url.removeprefix(server) for capture in captures_in(archive)}
    assert kept == {"", "robots.txt", *LINKS} - {"private", "secret"}

    headers, block = answer(archive, f"{server}odd")
    head = (
        b"HTTP/1.1 200 Fine\r\nContent-Type: text/html; charset=utf-8\r\n"
        b"content-LENGTH: %d\r\nX-Odd: caf\xe9\r\nx-odd: again\r\nSet-Cookie: a=b\r\n\r\n"
    ) % len(PAGE)
    assert block == head + (PAGE if headers[b"warc-type"] == b"response" else b"")
    assert headers[b"warc-ip-address"] == b"127.0.0.1"
    two = {answer(archive, server + name)[0][b"warc-type"] for name in ("odd", "copy")}
    assert two == {b"response", b"revisit"}

    _, block = answer(archive, f"{server}packed")
    assert block.endswith(b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(PAGE, mtime=0))
    _, block = answer(archive, f"{server}chunked")
    assert block.endswith(
        b"X-Crawl-Transfer-Encoding: chunked\r\nContent-Length: 50\r\n\r\n" + PAGE[:50]
    )
    _, block = answer(archive, f"{server}moved")
    assert block.startswith(b"HTTP/1.1 301 Gone Elsewhere\r\nLocation: /odd\r\n")
    _, block = answer(archive, f"{server}missing")
    assert block.startswith(b"HTTP/1.1 404 \xff\r\n") and block.endswith(b"no")
    headers, block = answer(archive, f"{server}image")
    assert headers[b"warc-truncated"] == b"unspecified" and b"X-Crawl-Content-Length: 3" in block
    headers, block = answer(archive, f"{server}long")
    assert headers[b"warc-truncated"] == b"length"
    assert block.endswith(LONG[:100_001]) and b"X-Crawl-Content-Length: %d" % len(LONG) in block


def test_the_first_record_has_the_settings_without_secrets(
    scrapy: Scrapy, server: str, tmp_path: Path
) -> None:
    secret = {"STORE_TOKEN": "hush"}
    crawl(scrapy, server, FRONTIER_DEPTH=0, URLS_REJECT="suffix:x.test", **secret)
    (path,) = files_of(tmp_path / "crawl" / "archive")
    text = gzip.decompress(path.read_bytes())
    assert b"WARC-Type: warcinfo" in text and b"URLS_REJECT" in text
    assert b"hush" not in text


LOGIN = """
import scrapy
from rdfaspider.spiders import RdfaSpider

class Login(RdfaSpider):
    name = "login"

    async def start(self):
        login = self.seeds.urls[0] + "login"
        yield scrapy.FormRequest(login, formdata={"password": "hush-hush"}, callback=self.logged_in)

    def logged_in(self, response):
        yield scrapy.Request(self.seeds.urls[0])
"""


def test_passwords_do_not_reach_the_archive(scrapy: Scrapy, server: str, tmp_path: Path) -> None:
    (tmp_path / "members.py").write_text(LOGIN)
    settings = {"POLITENESS_OFF_FOR_OWN_SERVERS": 1, "EXTRACT_PROCESSES": 0, "ARCHIVE": 1}
    seed = server.replace("http://", "http://ann:hush-hush@")
    done = scrapy("crawl", "login", "-a", f"seeds={seed}", SPIDER_MODULES="members", **settings)
    assert done.returncode == 0, done.stderr
    archive = tmp_path / "crawl" / "archive"
    urls = {capture.url.removeprefix(server) for capture in captures_in(archive)}
    assert {"", "odd", "login"} <= urls
    text = b"".join(gzip.decompress(path.read_bytes()) for path in files_of(archive))
    assert b"POST /login HTTP/1.1" in text and b"hush" not in text and b"ann:" not in text
    assert scrapy("archive", "--wacz", "all.wacz").returncode == 0
    with ZipFile(tmp_path / "all.wacz") as package:
        assert not [name for name in package.namelist() if b"hush" in package.read(name)]
    assert scrapy("archive", f"{seed}odd").stdout == PAGE.decode()


def test_the_archive_is_off_unless_asked_for(scrapy: Scrapy, server: str, tmp_path: Path) -> None:
    crawl(scrapy, server, ARCHIVE=0)
    assert not (tmp_path / "crawl" / "archive").exists()


@pytest.mark.slow
def test_workers_write_files_of_their_own(scrapy: Scrapy, server: str, tmp_path: Path) -> None:
    crawl(scrapy, server, WORKERS=2, ROBOTS_SITEMAPS=0)
    archive = tmp_path / "crawl" / "archive"
    pages = {c.url.removeprefix(server) for c in captures_in(archive)} - {"robots.txt"}
    assert pages == {"", *LINKS} - {"private", "secret"}
    assert not [*archive.glob("*.open")]


def test_a_handler_that_does_not_tell_is_refused(
    scrapy: Scrapy, server: str, tmp_path: Path
) -> None:
    handler = "rdfaspider.downloader.handler"
    (tmp_path / "other.py").write_text(
        f"from {handler} import GuardedHttpDownloadHandler\n"
        "class Handler(GuardedHttpDownloadHandler):\n"
        "    async def download_request(self, request):\n"
        "        return await super().download_request(request)\n"
    )
    handlers = '{"http": "other.Handler"}'
    done = scrapy("crawl", "rdfa", "-a", f"seeds={server}", ARCHIVE=1, DOWNLOAD_HANDLERS=handlers)
    assert done.returncode and "ARCHIVE needs the download handler" in done.stderr


def test_a_full_archive_is_named_when_it_stops_the_crawl(
    server: str, tmp_path: Path, scrapy: Scrapy
) -> None:
    (tmp_path / "narrow.py").write_text(NARROW)
    pipelines = {"ITEM_PIPELINES": '{"narrow.Narrow": 1}'}
    settings = {"POLITENESS_OFF_FOR_OWN_SERVERS": 1, "EXTRACT_PROCESSES": 0, "ARCHIVE": 1}
    done = scrapy("crawl", "rdfa", "-a", f"seeds={server}", **settings, **pipelines)
    assert "The archive crawl/archive cannot be written: No space left on device." in done.stderr
    assert "stopped by its archive" in done.stderr and "Traceback" not in done.stderr


NARROW = """
import errno, os
from rdfaspider.archive.warc import file as warcfile

class Narrow:
    \"\"\"Makes the disk full for the archive, and for nothing else.\"\"\"
    def open_spider(self):
        def append(self, data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        warcfile.WarcFile.append = append

    def process_item(self, item):
        return item
"""


def test_an_archive_that_cannot_be_written_stops_the_crawl(
    scrapy: Scrapy, server: str, tmp_path: Path
) -> None:
    (tmp_path / "crawl").mkdir()
    (tmp_path / "crawl" / "archive").write_text("in the way")
    done = scrapy("crawl", "rdfa", "-a", f"seeds={server}", ARCHIVE=1)
    assert done.returncode and "Traceback" not in done.stderr
    assert "archive" in done.stderr
