"""Scrapy's own commands, run as a user does in an empty directory: they work, and leave no crawl behind."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from rdfaspider.site.web import Web

if TYPE_CHECKING:
    from tests.conftest import Scrapy

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parent.parent.parent
SITE = Parameters(levels=1, pages=3, disallowed=0.3)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("site") / "access.log"


@pytest.fixture(scope="module")
def origin(log: Path) -> Iterator[str]:
    with running(SITE, log=log) as url:
        yield url


@pytest.fixture(autouse=True)
def no_crawl(tmp_path: Path) -> Iterator[None]:
    """No command of Scrapy's starts a frontier or a store."""
    yield
    assert not (tmp_path / "crawl").exists()


def test_list_names_the_one_spider(scrapy: Scrapy) -> None:
    assert scrapy("list").stdout == "rdfa\n"


def test_version_and_settings(scrapy: Scrapy) -> None:
    assert "\nScrapy " in scrapy("version").stdout
    assert scrapy("settings", "--get", "BOT_NAME").stdout == "rdfaspider\n"


@pytest.mark.parametrize("spider", [[], ["--spider=rdfa"]])
def test_fetch(scrapy: Scrapy, origin: str, spider: list[str]) -> None:
    result = scrapy("fetch", f"{origin}/", "--nolog", *spider)
    assert result.returncode == 0, result.stderr
    assert "<html" in result.stdout
    assert scrapy("fetch", "--headers", "--nolog", f"{origin}/").stdout.count("User-Agent") == 1


def test_view(scrapy: Scrapy, origin: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened = tmp_path / "opened"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", f"{browser} %s")
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    result = scrapy("view", f"{origin}/")
    assert opened.read_text().startswith(f"file://{tmp_path}"), result.stderr


@pytest.mark.parametrize("spider", [[], ["--spider=rdfa"]])
def test_shell_evaluates(scrapy: Scrapy, origin: str, spider: list[str]) -> None:
    result = scrapy("shell", f"{origin}/", "-c", "response.status", *spider)
    assert result.stdout == "200\n", result.stderr


def test_shell_has_a_prompt(origin: str, tmp_path: Path) -> None:
    """On a real terminal, with a second URL typed there."""
    terminal, theirs = pty.openpty()
    with subprocess.Popen(
        [sys.executable, "-m", "rdfaspider", "shell", f"{origin}/", "--nolog"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(PROJECT), "TERM": "dumb"},
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        close_fds=True,
    ) as process:
        os.close(theirs)
        said = _until(terminal, b">>> ")
        os.write(terminal, f"fetch('{origin}/robots.txt')\r".encode())
        said += _until(terminal, b">>> ")
        os.write(terminal, b"print(response.url, response.status)\r")
        said += _until(terminal, b">>> ")  # what is typed sooner may be lost
        os.write(terminal, b"\x04")
        process.wait(30)
    os.close(terminal)
    assert f"{origin}/robots.txt 200".encode() in said


def _until(terminal: int, text: bytes) -> bytes:
    said = b""
    while not said.endswith(text):
        said += os.read(terminal, 1)
    return said


def test_shell_reads_a_file(scrapy: Scrapy, tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<title>A file</title>")
    result = scrapy("shell", "./page.html", "-c", "response.css('title::text').get()")
    assert result.stdout == "A file\n", result.stderr


def test_a_redirect_does_not_open_what_was_not_typed(scrapy: Scrapy, tmp_path: Path) -> None:
    redirect = tmp_path / "moved.py"
    redirect.write_text(
        "from http.server import *\n"
        "class Moved(BaseHTTPRequestHandler):\n"
        "    def do_GET(self):\n"
        "        self.send_response(404 if self.path == '/robots.txt' else 302)\n"
        "        self.send_header('Location', 'http://127.0.0.1:1/')\n"
        "        self.send_header('Content-Length', '0')\n"
        "        self.end_headers()\n"
        "server = HTTPServer(('127.0.0.1', 0), Moved)\n"
        "print(server.server_port, flush=True)\n"
        "server.serve_forever()\n"
    )
    with subprocess.Popen([sys.executable, redirect], stdout=-1, stderr=-3, text=True) as server:
        assert server.stdout
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/"
        try:
            for command in (["fetch", url], ["shell", url, "-c", "response"]):
                result = scrapy(*command)
                assert "resolver/refused/loopback" in result.stderr or result.stdout == "None\n"
                assert "Connection refused" not in result.stderr
        finally:
            server.kill()


def test_parse_prints_a_clean_item(scrapy: Scrapy, origin: str) -> None:
    result = scrapy("parse", f"{origin}/", "--nocolour")
    assert result.returncode == 0, result.stderr
    assert f"'url': '{origin}/'" in result.stdout
    assert "'status': 200" in result.stdout
    assert f"<{origin}/>" in result.stdout, "its quads"
    assert "nquads" not in result.stdout
    assert "'body'" not in result.stdout


def test_check_runs_the_contracts(scrapy: Scrapy, origin: str, tmp_path: Path) -> None:
    (tmp_path / "contracts.py").write_text(
        "from rdfaspider.spiders.rdfa import RdfaSpider\n"
        "class Contracted(RdfaSpider):\n"
        "    name = 'contracted'\n"
        "    def parse(self, response, **kwargs):\n"
        f'        """@url {origin}/\n        @returns items 1 1\n        @scrapes url title"""\n'
        "        return super().parse(response)\n"
    )
    result = scrapy("check", SPIDER_MODULES="contracts")
    assert "Ran 2 contracts" in result.stderr
    assert "OK" in result.stderr.splitlines(), result.stderr
    assert "Ran 0 contracts" in scrapy("check").stderr


def test_bench(scrapy: Scrapy) -> None:
    result = scrapy("bench", CLOSESPIDER_TIMEOUT=2)
    assert result.returncode == 0, result.stderr
    assert "'finish_reason': 'closespider_timeout'" in result.stderr
    assert "pages/min" in result.stderr


PLAIN = """
import scrapy

class Plain(scrapy.Spider):
    name = "plain"

    def __init__(self, origin):
        self.start_urls = [f"{origin}/"]

    def parse(self, response):
        yield {"url": response.url, "links": len(response.css("a"))}
        for link in response.css("a"):
            yield response.follow(link, self.parse_more, cb_kwargs={"from_page": response.url})
        yield response.follow("http://127.0.0.1:1/private", self.parse_more, errback=self.failed)

    def parse_more(self, response, from_page=None):
        yield {"url": response.url, "from": from_page}

    def failed(self, failure):
        yield {"refused": type(failure.value).__name__}
"""


def test_a_plain_spider_works_as_in_any_project(
    scrapy: Scrapy, origin: str, log: Path, tmp_path: Path
) -> None:
    before = len(log.read_text().splitlines())
    (tmp_path / "plain.py").write_text(PLAIN)
    feed = ["-O", "items.csv", "-s", "FEED_EXPORT_FIELDS=url,links,from,refused"]
    command = ["runspider", "plain.py", "-a", f"origin={origin}", *feed]
    result = scrapy(*command, POLITENESS_DELAY=0.2)
    assert result.returncode == 0, result.stderr
    first, *rest = (tmp_path / "items.csv").read_text().splitlines()[1:]
    assert first.startswith(f"{origin}/,")
    assert ",,,ForbiddenAddressError" in rest, "a link to another server of this machine"
    assert sum(row.endswith(f"{origin}/,") for row in rest) >= 2, "callbacks with arguments"
    # Polite by default, and with all of Scrapy's own.
    for wanted in ("'robotstxt/forbidden': ", "'request_depth_max': 1", "'scheduler/enqueued': "):
        assert wanted in result.stderr
    times = [float(line.split()[0]) for line in log.read_text().splitlines()[before:]]
    assert len(times) > 3
    # Scrapy's delay varies by half.
    assert min(after - first for first, after in pairwise(times)) > 0.09


def test_a_spider_made_by_genspider_runs(
    scrapy: Scrapy, origin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", origin)
    assert "Created spider 'mine'" in scrapy("genspider", "mine", Web(SITE).url(0, 0)).stdout
    result = scrapy("runspider", "mine.py")
    assert result.returncode == 0, result.stderr
    assert "'finish_reason': 'finished'" in result.stderr
    assert "'downloader/response_status_count/200': 2" in result.stderr, "robots.txt and the page"


def test_startproject_and_edit(
    scrapy: Scrapy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert scrapy("startproject", "other").returncode == 0
    assert (tmp_path / "other" / "scrapy.cfg").exists()
    monkeypatch.setenv("EDITOR", "echo")
    assert scrapy("edit", "rdfa").stdout.endswith("spiders/rdfa.py\n")


def test_a_reader_that_has_enough_of_the_help_sees_no_error(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "rdfaspider", "--help"]
    with os.fdopen(write, "wb") as closed:
        done = subprocess.run(command, cwd=tmp_path, stdout=closed, stderr=subprocess.PIPE)
    assert done.stderr == b""
