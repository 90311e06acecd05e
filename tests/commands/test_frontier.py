from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from rdfaspider.frontier.local import LocalFrontier
from rdfaspider.frontier.politeness import Politeness
from rdfaspider.frontier.shared import SharedFrontier
from tests.frontier import redis_servers

if TYPE_CHECKING:
    from tests.conftest import Scrapy


@pytest.fixture
def crawl_directory(tmp_path: Path) -> Path:
    """Leave a frontier with a URL in each state."""
    path = tmp_path / "crawl" / "frontier"
    with LocalFrontier(str(path), politeness=Politeness(delay=0.0)) as frontier:
        frontier.put([f"http://a.test/{n}" for n in range(5)] + ["http://b.test/"])
        for state in ("done", "failed", "failed", "denied"):
            taken = frontier.take(0.0)
            assert taken
            frontier.finish(taken, state, 0.0)
    return path


def test_states_add_up_and_hosts_are_listed(scrapy: Scrapy, crawl_directory: Path) -> None:
    result = scrapy("frontier")
    assert result.returncode == 0, result.stderr
    assert "6 URLs = 1 done + 2 failed + 1 denied + 2 waiting" in result.stdout
    assert "a.test: " in result.stdout
    assert "is ready" in result.stdout


def test_a_running_crawl_can_be_looked_at(scrapy: Scrapy, crawl_directory: Path) -> None:
    with LocalFrontier(str(crawl_directory)):
        result = scrapy("frontier")
    assert result.returncode == 0, result.stderr
    assert "6 URLs" in result.stdout


def test_one_url(scrapy: Scrapy, crawl_directory: Path) -> None:
    shown = scrapy("frontier", "--url", "HTTP://b.test")
    assert shown.stdout.startswith("http://b.test/\n  state     ")
    assert "not known" in scrapy("frontier", "--url", "http://c.test/").stdout


def test_failed_urls_can_be_tried_again(scrapy: Scrapy, crawl_directory: Path) -> None:
    failed = scrapy("frontier", "--failed", "").stdout.split()
    assert len(failed) == 2
    result = scrapy("frontier", "--requeue", "^" + failed[0] + "$")
    assert result.stdout.startswith("1 failed URLs wait again")
    assert "1 failed + 1 denied + 3 waiting" in scrapy("frontier").stdout
    with LocalFrontier(str(crawl_directory), politeness=Politeness(delay=0.0)) as frontier:
        taken = set()
        while (url := frontier.take(0.0)) is not None:
            taken.add(url.url)
            frontier.finish(url, "done", 0.0)
        assert failed[0] in taken
        assert failed[1] not in taken


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["-s", "JOBDIR=nowhere"], "There is no frontier in nowhere/frontier"),
        (["--failed", "("], "not a regular expression"),
        (["--url", "nonsense"], "Not a URL"),
    ],
)
def test_a_mistake_is_answered_by_a_sentence(
    scrapy: Scrapy, crawl_directory: Path, arguments: list[str], sentence: str
) -> None:
    result = scrapy("frontier", *arguments)
    assert result.returncode == 1
    assert sentence in result.stderr
    assert "Traceback" not in result.stderr


def test_a_running_crawl_is_not_requeued(scrapy: Scrapy, crawl_directory: Path) -> None:
    with LocalFrontier(str(crawl_directory)):
        result = scrapy("frontier", "--requeue", ".")
    assert result.returncode == 1
    assert "in use by another crawl" in result.stderr


def test_failed_urls_of_a_shared_crawl_can_be_tried_again(scrapy: Scrapy, tmp_path: Path) -> None:
    with redis_servers.server(tmp_path / "redis") as server:
        with SharedFrontier(server.url, read_ahead=0, politeness=Politeness(delay=0.0)) as frontier:
            frontier.put(["http://a.test/1", "http://b.test/2"])
            for _ in range(2):
                taken = frontier.take(0.0)
                assert taken
                frontier.finish(taken, "failed", 0.0)
        options = {"FRONTIER_URL": server.url}
        listed = scrapy("frontier", "--failed", "b.test", **options)
        assert listed.stdout == "http://b.test/2\n", listed.stderr
        result = scrapy("frontier", "--requeue", "b.test", **options)
        assert result.stdout.startswith("1 failed URLs wait again"), result.stderr
        assert "1 failed + 0 denied + 1 waiting" in scrapy("frontier", **options).stdout
        shown = scrapy("frontier", "--url", "http://b.test/2", **options)
        assert shown.stdout == "http://b.test/2\n  state     waiting\n  depth     0\n"
        assert "not known" in scrapy("frontier", "--url", "http://c.test/", **options).stdout
