"""Seeds that cannot be reached say so at once, and a crawl without any answer ends soon."""

from __future__ import annotations

import re
import socket
from typing import TYPE_CHECKING

import pytest

from rdfaspider.site.parameters import Parameters
from rdfaspider.site.process import running

if TYPE_CHECKING:
    from tests.conftest import Scrapy

pytestmark = pytest.mark.slow


def dead_port() -> int:
    """Return a port on which nobody listens."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        port: int = server.getsockname()[1]
        return port


def test_a_crawl_whose_seeds_do_not_answer_says_so_and_fails_soon(
    scrapy: Scrapy,
) -> None:
    seeds = f"http://127.0.0.1:{dead_port()}/,http://no-such-name.invalid/"
    result = scrapy("crawl", "rdfa", "-a", f"seeds={seeds}")
    assert result.returncode == 1
    assert "/ cannot be fetched: the connection is refused." in result.stderr
    assert "no-such-name.invalid/ cannot be fetched: its name has no address." in result.stderr
    assert "No server has answered" in result.stderr
    assert re.search(r"Crawl gave up, as no server answered, after 0:\d\d,", result.stderr)
    assert "2 URLs = 0 done + 0 failed + 0 denied + 2 waiting" in result.stderr
    assert "Traceback" not in result.stderr


def test_it_fails_too_if_it_ends_by_itself(scrapy: Scrapy) -> None:
    result = scrapy("crawl", "rdfa", "-a", "seeds=http://no.invalid/", FRONTIER_RETRIES=0)
    assert result.returncode == 1
    assert "1 failed" in result.stderr


def test_a_certificate_nobody_trusts_is_named(scrapy: Scrapy) -> None:
    with running(Parameters(levels=0)) as origin:
        seed = origin.replace("http:", "https:")
        result = scrapy("crawl", "rdfa", "-a", f"seeds={seed}/", DOWNLOAD_TIMEOUT=3)
    assert result.returncode == 1
    assert f"The seed {seed}/ cannot be fetched: " in result.stderr


def test_one_dead_seed_does_not_end_the_crawl_of_others(scrapy: Scrapy) -> None:
    with running(Parameters(levels=1, pages=3)) as origin:
        seeds = f"{origin}/,http://no.invalid/"
        result = scrapy(
            "crawl", "rdfa", "-a", f"seeds={seeds}", FRONTIER_RETRIES=0, POLITENESS_DELAY=0
        )
    assert result.returncode == 0
    assert "no.invalid/ cannot be fetched: its name has no address." in result.stderr
    assert "done in this run: 4 page" in result.stderr
    assert "No server has answered" not in result.stderr


def test_a_seed_that_is_missing_or_forbidden_is_named(scrapy: Scrapy) -> None:
    with running(Parameters(levels=1, pages=3, disallowed=1.0)) as origin:
        result = scrapy("crawl", "rdfa", "-a", f"seeds={origin}/nothing/here", POLITENESS_DELAY=0)
    assert "/nothing/here cannot be fetched: the server answers 404." in result.stderr
    assert result.returncode == 0


def test_many_dead_seeds_are_counted_once_each(scrapy: Scrapy) -> None:
    seeds = ",".join(f"http://n{number}.invalid/" for number in range(30))
    result = scrapy(
        "crawl", "rdfa", "-a", f"seeds={seeds}", FRONTIER_RETRIES=1, FRONTIER_RETRY_DELAY=1
    )
    assert result.returncode == 1
    assert result.stderr.count("cannot be fetched") == 20
    assert "30 seeds could not be fetched at the first try." in result.stderr


def test_a_seed_that_a_known_robots_txt_disallows_has_been_answered(scrapy: Scrapy) -> None:
    with running(Parameters(seed=1, levels=2, pages=4, disallowed=0.5)) as origin:
        first = scrapy("crawl", "rdfa", "-a", f"seeds={origin}/", POLITENESS_DELAY=0)
        denied = scrapy("frontier", "--denied").stdout.split("\t")
        url = next(text for text in denied if text.startswith("http"))
        second = scrapy("crawl", "rdfa", "-a", f"seeds={url}", POLITENESS_DELAY=0)
    assert first.returncode == second.returncode == 0, second.stderr
