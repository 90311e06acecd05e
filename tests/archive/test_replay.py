"""Other tools validate what a crawl keeps, and replay it."""

from __future__ import annotations

import re
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.error import HTTPError

import pytest

from rdfaspider.archive.archive import Archive, Entry
from rdfaspider.archive.content import answer
from rdfaspider.archive.index.captures import REVISIT
from rdfaspider.archive.index.index import captures_in
from rdfaspider.archive.warc.reader import files_of
from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running
from tests.archive.judges import said, tool, validate
from tests.archive.test_archive import entries, exchange
from tests.stores.conftest import free_port

Scrapy = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def crawled(scrapy: Scrapy, tmp_path: Path) -> Path:
    """Crawl a generated web with copies, redirects and dead links; return its archive."""
    parameters = Parameters(seed=2, levels=2, pages=4, duplicated=0.3, redirected=0.1, missing=0.1)
    settings = {"POLITENESS_OFF_FOR_OWN_SERVERS": 1, "EXTRACT_PROCESSES": 0, "ARCHIVE": 1}
    with running(parameters) as url:
        done = scrapy("crawl", "rdfa", "-a", f"seeds={url}", **settings)
    assert done.returncode == 0, done.stderr
    return tmp_path / "crawl" / "archive"


def test_validators_are_content_with_a_crawl(crawled: Path) -> None:
    validate(crawled)


def test_validators_are_content_with_odd_answers(tmp_path: Path) -> None:
    archive = Archive(tmp_path)
    archive.put(entries(3))
    odd = ((b"X-Odd", b"caf\xe9"), (b"Transfer-Encoding", b"chunked"), (b"Content-Length", b"1"))
    answers: tuple[dict[str, Any], ...] = (
        {"headers": odd},
        {"headers": (), "status": 204, "reason": b"", "body": b""},
        {"truncated": "disconnect", "address": ""},
        {"version": "1.0", "reason": b"caf\xe9", "address": "::1"},
        {},
        {},
    )
    for number, changes in enumerate(answers):
        archive.put([Entry(exchange(f"http://site.test/odd?{number}", **changes))])
    archive.close()
    assert archive.counters["revisits"]
    validate(tmp_path)


def test_a_package_is_valid(scrapy: Scrapy, crawled: Path, tmp_path: Path) -> None:
    assert scrapy("archive", "--wacz", "crawl.wacz").returncode == 0
    said(tool("wacz"), "validate", "-f", "crawl.wacz", cwd=tmp_path)


@contextmanager
def pywb(archive: Path, directory: Path) -> Iterator[str]:
    """Run pywb over the files and the index as the crawl has left them; the value is where it replays."""
    collection = directory / "collections" / "crawl"
    (collection / "indexes").mkdir(parents=True)
    (collection / "archive").symlink_to(archive)
    lines = (capture.line() for capture in captures_in(archive))
    (collection / "indexes" / "index.cdxj").write_bytes(b"".join(lines))
    port = free_port()
    command = [tool("wayback"), "--port", str(port), "--bind", "127.0.0.1"]
    with (
        (directory / "pywb.log").open("wb") as log,
        subprocess.Popen(command, cwd=directory, stdout=log, stderr=log) as process,
    ):
        try:
            yield wait_for(f"http://127.0.0.1:{port}/crawl/", process)
        finally:
            process.terminate()


def wait_for(url: str, process: subprocess.Popen[bytes]) -> str:
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        try:
            urllib.request.urlopen(url, timeout=10).close()
            return url
        except OSError:
            time.sleep(0.1)
    raise AssertionError("pywb does not start.")


class Unfollowed(urllib.request.HTTPRedirectHandler):
    """Takes a redirect for an answer."""

    def redirect_request(self, *_: object) -> None:
        """Follow none."""


def replayed(url: str) -> tuple[int, bytes]:
    try:
        with urllib.request.build_opener(Unfollowed).open(url, timeout=30) as response:
            return response.status, response.read()
    except HTTPError as error:
        with error:
            return error.code, error.read()


@pytest.mark.timeout(180)
def test_pywb_replays_a_crawl(crawled: Path, tmp_path: Path) -> None:
    captures = [*captures_in(crawled)]
    kinds = {capture.mime == REVISIT for capture in captures}
    assert kinds == {True, False} and {"200", "404"} <= {each.status for each in captures}
    with pywb(crawled, tmp_path / "pywb") as base:
        for capture in captures:
            status, body = replayed(f"{base}{capture.date}id_/{capture.url}")
            assert (status, body) == (int(capture.status), answer(crawled, capture)[1]), capture
        page = next(each for each in captures if each.mime == "text/html" and each.status == "200")
        _, shown = replayed(f"{base}{page.date}mp_/{page.url}")
        assert re.search(
            rb"href=['\"]/crawl/\d+mp_/http://", shown
        )  # its links lead into the archive
    assert len([*files_of(crawled)]) == 1
