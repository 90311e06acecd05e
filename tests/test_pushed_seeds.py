"""Seeds that come by way of Redis, from whoever can reach it, open nothing on this machine or network."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest
import redis

if TYPE_CHECKING:
    from tests.conftest import Scrapy
    from tests.frontier.redis_servers import Server

from tests.frontier.conftest import redis_server

__all__ = ["redis_server"]


@pytest.fixture
def canary() -> Iterator[tuple[str, list[str]]]:
    """Return the address of a private server, and what it was asked for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<p>private</p>")

        def log_message(self, *arguments: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"127.0.0.1:{server.server_port}", asked
        server.shutdown()
        thread.join()


def test_a_pushed_seed_opens_no_private_address(
    scrapy: Scrapy, redis_server: Server, canary: tuple[str, list[str]]
) -> None:
    address, asked = canary
    with redis.Redis(port=redis_server.port) as client:
        client.flushall()
        client.rpush("rdfa:start_urls", f"http://{address}/secret")
    settings = {"FRONTIER_URL": redis_server.url, "POLITENESS_DELAY": 0.01}
    crawled = scrapy("crawl", "rdfa", **settings)
    assert f"The seed http://{address}/secret will be denied" in crawled.stderr
    assert "RESOLVER_ALLOW" in crawled.stderr
    denied = scrapy("frontier", "--denied", FRONTIER_URL=redis_server.url).stdout
    assert "address" in denied and address in denied
    assert not asked


@pytest.mark.parametrize("how", ["setting", "argument"])
def test_what_the_user_of_a_worker_names_is_open(
    scrapy: Scrapy, redis_server: Server, canary: tuple[str, list[str]], how: str
) -> None:
    address, asked = canary
    with redis.Redis(port=redis_server.port) as client:
        client.flushall()
        client.rpush("rdfa:start_urls", f"http://{address}/mine")
    settings = {"FRONTIER_URL": redis_server.url, "POLITENESS_DELAY": 0.01}
    if how == "setting":
        crawled = scrapy("crawl", "rdfa", **settings, RESOLVER_ALLOW=address)
    else:
        crawled = scrapy("crawl", "rdfa", "-a", f"seeds=http://{address}/", **settings)
    assert crawled.returncode == 0, crawled.stderr
    assert "/mine" in asked, crawled.stderr
