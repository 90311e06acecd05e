from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.frontier import redis_servers

if TYPE_CHECKING:
    from tests.conftest import Scrapy


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[redis_servers.Server]:
    with redis_servers.server(tmp_path / "redis") as server:
        yield server


def test_seeds_are_pushed_and_listed(
    scrapy: Scrapy, redis_server: redis_servers.Server, tmp_path: Path
) -> None:
    (tmp_path / "seeds.txt").write_text("# mine\nhttp://a.test\nnonsense\nhttp://b.test/x\n")
    url = f"{redis_server.url}?crawl=mine"
    added = scrapy("seeds", "add", "seeds.txt", "http://c.test", FRONTIER_URL=url)
    assert added.returncode == 0, added.stderr
    assert added.stdout == "3 seeds pushed to mine:start_urls, 1 bad ones skipped.\n"
    scrapy("seeds", "add", "--depth", "2", "http://d.test", FRONTIER_URL=url)
    with redis_server.client() as client:
        assert client.lrange("mine:start_urls", 0, -1) == [
            b"http://a.test/",
            b"http://b.test/x",
            b"http://c.test/",
            b'{"url": "http://d.test/", "depth": 2}',
        ]
    listed = scrapy("seeds", "list", FRONTIER_URL=url)
    assert listed.stdout.startswith("4 seeds wait in mine:start_urls.\nhttp://a.test/\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "Say scrapy seeds add"),
        (("add",), "Say scrapy seeds add"),
        (("list",), "FRONTIER_URL=redis"),
    ],
)
def test_mistakes_are_said_in_a_sentence(
    scrapy: Scrapy, arguments: tuple[str, ...], sentence: str
) -> None:
    result = scrapy("seeds", *arguments)
    assert result.returncode != 0
    assert sentence in result.stdout + result.stderr


def test_no_redis(scrapy: Scrapy) -> None:
    url = f"redis://127.0.0.1:{redis_servers.free_port()}/0"
    result = scrapy("seeds", "list", FRONTIER_URL=url)
    assert result.returncode == 1
    assert result.stderr.startswith("scrapy seeds: Redis cannot be reached")
