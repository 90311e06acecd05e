from __future__ import annotations

import gzip
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.frontier import redis_servers

if TYPE_CHECKING:
    from tests.commands.conftest import AtTerminal
    from tests.conftest import Scrapy


@pytest.fixture
def redis_server(tmp_path: Path) -> Iterator[redis_servers.Server]:
    with redis_servers.server(tmp_path / "redis") as server:
        yield server


@pytest.mark.slow
def test_seeds_are_pushed_and_listed(
    scrapy: Scrapy, redis_server: redis_servers.Server, tmp_path: Path
) -> None:
    (tmp_path / "seeds.txt").write_text("# mine\nhttp://a.test\nnonsense\nhttp://b.test/x\n")
    url = f"{redis_server.url}?crawl=mine"
    added = scrapy("seeds", "add", "seeds.txt", "http://c.test", FRONTIER_URL=url)
    assert added.returncode == 0, added.stderr
    assert added.stdout == "3 seeds pushed to mine:start_urls, 1 bad ones skipped.\n"
    assert "Skipped the seed nonsense in seeds.txt, line 3: " in added.stderr
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


@pytest.mark.slow
def test_many_seeds_are_pushed_in_seconds(
    at_terminal: AtTerminal, redis_server: redis_servers.Server, tmp_path: Path
) -> None:
    with gzip.open(tmp_path / "seeds", "wt") as file:
        file.writelines(f"http://h{number % 999}.test/{number}\n" for number in range(300_000))
    start = time.monotonic()
    shown = at_terminal("seeds", "add", "seeds", "-s", f"FRONTIER_URL={redis_server.url}")
    assert time.monotonic() - start < 30, "on a machine that is busy"
    assert shown.code == 0
    assert re.search(r"\r\x1b\[K\d+,000 seeds pushed …", shown.text), "how far it has come"
    assert shown.lines == ["300,000 seeds pushed to rdfa:start_urls.", ""]
    with redis_server.client() as client:
        assert client.llen("rdfa:start_urls") == 300_000


def test_a_file_that_breaks_off_says_how_far_it_got(
    scrapy: Scrapy, redis_server: redis_servers.Server, tmp_path: Path
) -> None:
    lines = "".join(f"http://h{number}.test/{number * 7919}\n" for number in range(30_000))
    packed = gzip.compress(lines.encode())
    (tmp_path / "seeds.gz").write_bytes(packed[: len(packed) // 2])
    result = scrapy("seeds", "add", "seeds.gz", FRONTIER_URL=redis_server.url)
    assert result.returncode == 1
    assert result.stderr.startswith("scrapy seeds: Cannot read the seeds: seeds.gz is damaged")
    with redis_server.client() as client:
        pushed = client.llen("rdfa:start_urls")
    assert pushed > 0
    assert f"{pushed:,} seeds were pushed before." in result.stderr


def test_many_bad_seeds_are_counted_and_not_all_named(
    scrapy: Scrapy, redis_server: redis_servers.Server
) -> None:
    bad = "".join(f"nonsense {number}\n" for number in range(500))
    url = redis_server.url
    result = scrapy("seeds", "add", "-", stdin=bad + "http://a.test/\n", FRONTIER_URL=url)
    assert result.returncode == 0
    assert result.stdout == "1 seeds pushed to rdfa:start_urls, 500 bad ones skipped.\n"
    assert "Skipped the seed nonsense 19 in standard input, line 20" in result.stderr
    assert result.stderr.count("\n") == 21
    result = scrapy("seeds", "add", "-", stdin=bad, FRONTIER_URL=url)
    assert result.returncode == 1
    assert result.stderr.endswith("scrapy seeds: No usable seed in -: 500 bad ones.\n")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "Say scrapy seeds add"),
        (("add",), "Say scrapy seeds add"),
        (("list", "more"), "Say scrapy seeds add"),
        (("list",), "SEEDS_URL=redis"),
        (
            ("add", "http://a.test/", "--depth", "251"),
            "--depth must be between 0 and 250, not 251.",
        ),
    ],
)
def test_mistakes_are_said_in_a_sentence(
    scrapy: Scrapy, tmp_path: Path, arguments: tuple[str, ...], sentence: str
) -> None:
    result = scrapy("seeds", *arguments)
    assert result.returncode == 1
    assert result.stderr.startswith("scrapy seeds: ")
    assert sentence in result.stderr
    assert result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == [], "nothing is created"


@pytest.mark.parametrize("argument", ["missing.txt", "."])
def test_a_file_that_cannot_be_read(
    scrapy: Scrapy, redis_server: redis_servers.Server, argument: str
) -> None:
    result = scrapy("seeds", "add", argument, FRONTIER_URL=redis_server.url)
    assert result.returncode == 1
    assert result.stderr.startswith(f"scrapy seeds: Cannot read the seeds: {argument} is neither")
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("arguments", [("list",), ("add", "http://a.test/")])
def test_no_redis(scrapy: Scrapy, arguments: tuple[str, ...]) -> None:
    url = f"redis://:sesame@127.0.0.1:{redis_servers.free_port()}/0"
    result = scrapy("seeds", *arguments, FRONTIER_URL=url)
    assert result.returncode == 1
    assert result.stderr.startswith("scrapy seeds: The seeds in Redis at redis://")
    assert result.stderr.count("\n") == 1
    assert "sesame" not in result.stderr


def test_redis_at_a_socket(scrapy: Scrapy, tmp_path: Path) -> None:
    """Ask for one that is not there: the address must reach the client whole."""
    result = scrapy("seeds", "list", FRONTIER_URL=f"redis+unix://{tmp_path}/redis.sock?crawl=mine")
    assert result.returncode == 1
    assert "No such file" in result.stderr
    assert "Redis URL must specify" not in result.stderr
