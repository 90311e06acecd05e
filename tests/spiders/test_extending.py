"""A spider of one's own on top of ours: where it is found, and which answers its `parse` gets."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.conftest import Scrapy

SPIDER = """
from rdfaspider.spiders import RdfaSpider

class Shop(RdfaSpider):
    name = "shop"
    handle_httpstatus_list = [404]

    def parse(self, response, **kwargs):
        self.logger.info("PARSED %s %s", response.url.rpartition("/")[2], response.status)
        yield from super().parse(response, **kwargs)
"""
STATUSES = {"/": 200, "/good": 200, "/moved": 302, "/missing": 404, "/broken": 500}


class Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        links = "".join(f"<a href='{path}'>x</a>" for path in STATUSES)
        body = b"" if self.path == "/robots.txt" else f"<title>A</title>{links}".encode()
        self.send_response(STATUSES.get(self.path, 200))
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        if self.path == "/moved":
            self.send_header("Location", "/good")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def origin() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as server:
        thread = Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_parse_gets_the_answers_that_it_would_get_from_scrapy(
    scrapy: Scrapy, origin: str, tmp_path: Path
) -> None:
    (tmp_path / "shop.py").write_text(SPIDER)
    seeds = ("-a", f"seeds={origin}")
    own_server = {"POLITENESS_OFF_FOR_OWN_SERVERS": 1, "FRONTIER_RETRIES": 0}
    crawled = scrapy("runspider", "shop.py", *seeds, **own_server)
    assert crawled.returncode == 0, crawled.stderr
    parsed = sorted(re.findall(r"PARSED (\w*) (\d+)", crawled.stderr))
    assert parsed == [("", "200"), ("good", "200"), ("missing", "404")]
    # The others are Pages all the same.
    assert "5 URLs = 3 done + 2 failed + 0 denied + 0 waiting" in crawled.stderr


def test_the_package_of_spiders_is_imported_without_scrapy() -> None:
    """Commands that need seeds alone begin sooner."""
    program = "import sys, rdfaspider.spiders; print('scrapy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "False\n", done.stderr
