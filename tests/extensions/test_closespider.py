"""The limits of Scrapy count as users count, and are kept."""

from __future__ import annotations

import re
import socket
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running

if TYPE_CHECKING:
    from tests.conftest import Crawler

SITE = Parameters(seed=4, levels=3, pages=4)


def fetched(log: Path) -> list[str]:
    """Return the URLs that a server was asked for, robots.txt left out."""
    urls = [line.split()[3] for line in log.read_text().splitlines()]
    return [url for url in urls if not url.endswith("/robots.txt")]


@pytest.mark.parametrize("limit", [1, 7])
def test_as_many_pages_are_fetched_as_asked_for(crawl: Crawler, tmp_path: Path, limit: int) -> None:
    with running(SITE, log=tmp_path / "access.log") as origin:
        found = crawl(f"{origin}/", CLOSESPIDER_PAGECOUNT=limit)
    assert len(fetched(tmp_path / "access.log")) == limit
    assert f"done in this run: {limit} page" in found.output
    assert "stopped by CLOSESPIDER_PAGECOUNT" in found.output


def test_redirects_are_not_pages(crawl: Crawler, tmp_path: Path) -> None:
    site = Parameters(seed=4, levels=3, pages=4, redirected=0.5)
    with running(site, log=tmp_path / "access.log") as origin:
        found = crawl(f"{origin}/", CLOSESPIDER_PAGECOUNT=10)
    assert re.search(r"done in this run: .*\b10 pages\b", found.output), found.output
    assert re.search(r"done in this run: .*\b\d+ redirects?\b", found.output)


def test_items_are_pages_that_were_read(crawl: Crawler) -> None:
    site = Parameters(seed=4, levels=3, pages=4, redirected=0.3, missing=0.3)
    with running(site) as origin:
        found = crawl(f"{origin}/", CLOSESPIDER_ITEMCOUNT=10, POLITENESS_AT_ONCE=1)
    pages = re.search(r"done in this run: (\d+) page", found.output)
    assert pages
    assert 10 <= int(pages[1]) <= 11


def test_a_time_limit_is_kept_though_pages_are_slow(crawl: Crawler) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:  # it accepts and never answers
        seed = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        started = time.monotonic()
        found = crawl(seed, CLOSESPIDER_TIMEOUT=3, DOWNLOAD_TIMEOUT=100, ROBOTS_OBEY=False)
        assert time.monotonic() - started < 60, "with DOWNLOAD_TIMEOUT it would be 103"
    assert "1 URL = 0 done + 0 failed + 0 denied + 1 waiting" in found.output
    assert "Traceback" not in found.output


class Odd(BaseHTTPRequestHandler):
    """Answers with redirects that lead nowhere, a missing sitemap, and pages."""

    def do_GET(self) -> None:
        status = {"/304": 304, "/300": 300, "/sitemap.xml": 404}.get(self.path, 200)
        body = b"User-agent: *\nSitemap: /sitemap.xml\n" if self.path == "/robots.txt" else b"<p>x"
        self.send_response(status)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(0 if status == 304 else len(body)))
        self.end_headers()
        if status != 304:
            self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.mark.parametrize("paths", [("/304", "/300", "/a"), ("/a", "/b", "/c")])
def test_a_limit_of_pages_ends_a_crawl_whatever_is_answered(
    crawl: Crawler, paths: tuple[str, ...]
) -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Odd) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            origin = f"http://127.0.0.1:{server.server_port}"
            seeds = ",".join(origin + path for path in paths)
            found = crawl(seeds, CLOSESPIDER_PAGECOUNT=2, ROBOTS_SITEMAPS=True)
        finally:
            server.shutdown()
            thread.join()
    assert "Crawl stopped by CLOSESPIDER_PAGECOUNT" in found.output
